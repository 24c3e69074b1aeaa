# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module bundle_server: see plugins/modules/bundle_server.yml."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.bundle import freshness, server, verify
from ..plugin_utils.bundle.index import BundleError
from ..plugin_utils.values.errors import refusal


class ActionModule(ControllerAction):
    """Verifies a bundle and serves it to the hosts of the play. Opens no connection to a node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "path": {"type": "path"},
        "public_key": {"type": "str"},
        "serve": {"type": "bool", "default": True},
        "bind": {"type": "str", "default": ""},
        "port": {"type": "int", "default": 0},
        "certificate": {"type": "path"},
        "certificate_key": {"type": "path", "no_log": False},
        "max_age": {"type": "int", "default": 0},
        "allow_older": {"type": "bool", "default": False},
        "revocations": {"type": "path"},
        "urls": {"type": "list", "elements": "str", "no_log": True},
        "address_variable": {"type": "str", "default": "bundle_address"},
        "state": {"type": "str", "choices": ["started", "stopped", "revoked"], "default": "started"},
        "pid": {"type": "int"},
    }
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {
        "required_if": [
            ("state", "started", ("path", "public_key")),
            ("state", "stopped", ("pid",)),
            ("state", "revoked", ("revocations", "urls")),
        ]
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if options["state"] == "stopped":
            server.stop(options["pid"])
            return {"changed": False}
        if options["state"] == "revoked":
            # A server that has ended accepts no tokens, so revoking them is not necessary.
            with contextlib.suppress(OSError):
                server.revoke(options["revocations"], map(server.token, options["urls"]))
            return {"changed": False}
        try:
            return self._start(options, variables)
        except BundleError as error:
            return {"failed": True, "msg": f"no node was touched: {error}"}

    def _start(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if not 0 <= options["port"] <= 65535:
            raise BundleError(refusal("bundle_port", options["port"], "expected 0 (any free port) to 65535"))
        if options["certificate_key"] and not options["certificate"]:
            expected = "expected a path, because bundle_certificate_key is set"
            raise BundleError(refusal("bundle_certificate", None, expected))
        bundle = verify.verify(options["path"], options["public_key"])
        if options["max_age"] < 0:
            expected = "expected a number of days, or 0 for any age"
            raise BundleError(refusal("bundle_max_age", options["max_age"], expected))
        warning = freshness.check(
            bundle,
            options["public_key"],
            max_age=options["max_age"],
            allow_older=options["allow_older"],
            state=freshness.state_file(),
            now=datetime.datetime.now(datetime.UTC),
        )
        entries = [dataclasses.asdict(entry) for entry in bundle.entries.values()]
        result: dict[str, t.Any] = {"changed": False, "path": str(bundle.directory), "entries": entries}
        result |= {"urls": {}, "pid": None, **({"warnings": [warning]} if warning else {})}
        if not options["serve"]:
            return result
        addresses, own = self._addresses(options["address_variable"], variables)
        served = server.start(
            bundle,
            nodes=addresses,
            bind=options["bind"] or server.bind_address(addresses.values(), own),
            port=options["port"],
            certificate=options["certificate"] or "",
            key=options["certificate_key"] or "",
        )
        # Hide the result, because each URL contains a token that gives access to the bundle.
        urls = {host: served.url(host, address) for host, address in addresses.items()}
        return {**result, "_ansible_no_log": True, "urls": urls, "pid": served.pid, "revocations": served.revoked}

    def _addresses(self, name: str, variables: t.Mapping[str, t.Any]) -> tuple[dict[str, str], bool]:
        """Return the controller's address for each host, and whether all addresses were detected automatically.

        An address that the user configured may belong to a different machine.

        Raises:
            BundleError: there is no route to a host.
        """
        by_host: dict[str, str] = {}
        own = True
        for host in variables["ansible_play_hosts_all"]:
            about = variables["hostvars"][host]
            given = self._templar.template(about.get(name)) or ""
            own = own and not given
            by_host[host] = str(given) or server.own_address(server.address_of(host, variables["hostvars"]))
        return by_host, own
