# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Verifying and serving a bundle, and the facts that lead nodes to the server."""

from __future__ import annotations

import datetime
import json
import types
import typing as t
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.action_run import run, variables_of
from unit.bundle_site import FILE, PATCH, SHA256, make, needs

from ansible_collections.winkube.node.plugins.action import bundle_info, bundle_server
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server as bundle_servers

HOSTS = {"a": {"ansible_host": "127.0.0.1"}, "b": {"here": "controller.example"}}


@pytest.fixture
def started() -> Iterator[list[int]]:
    """Yield a list of servers that are stopped after the test."""
    found: list[int] = []
    yield found
    for pid in found:
        bundle_servers.stop(pid)


def served(site: Path, key: str, hosts: t.Mapping[str, t.Any] = HOSTS, **options: t.Any) -> dict[str, t.Any]:
    """Serve the bundle to hosts."""
    given = {"path": str(site / "bundle"), "public_key": key, **options}
    return run(bundle_server, given, variables_of(hosts))


def entry(site: Path) -> dict[str, t.Any]:
    """Return the single entry of the bundle's index."""
    (time,) = (one["time"] for one in json.loads((site / "bundle/index.json").read_text(encoding="utf-8"))["files"])
    return {
        "path": FILE,
        "kind": "patch",
        "name": "KB5999001",
        "version": "KB5999001",
        "source": str(site / "kb5999001.msu"),
        "sha256": SHA256,
        "size": len(PATCH),
        "time": time,
        "windows": (),
        "digest": "",
    }


@pytest.mark.waits
def test_a_bundle_is_served_to_the_hosts_of_the_play(site: Path, started: list[int]) -> None:
    key = make(site, needs(site))["public_key"]
    found = served(site, key, address_variable="here")
    started.append(found["pid"])
    port = found["urls"]["a"].split(":")[2].split("/")[0]
    tokens = {host: url.rpartition("/")[2] for host, url in found["urls"].items()}
    assert found == {
        "changed": False,
        "_ansible_no_log": True,
        "path": str(site / "bundle"),
        "entries": [entry(site)],
        "urls": {
            "a": f"http://127.0.0.1:{port}/{tokens['a']}",
            "b": f"http://controller.example:{port}/{tokens['b']}",
        },
        "pid": found["pid"],
        "revocations": found["revocations"],
    }
    url = f"{found['urls']['a']}/{FILE}"
    assert urllib.request.urlopen(url).read() == PATCH
    assert run(bundle_info, {"server": found}, {"inventory_hostname": "b"}) == {
        "changed": False,
        "_ansible_no_log": True,
        "bundle_sites": [{"url": found["urls"]["b"], "overrides": True, "proxy": "", "digests": {}}],
        "bundle_images": {},
        "bundle_patches": {SHA256: f"{found['urls']['b']}/{FILE}"},
        "bundle_pushed": "",
    }
    options = {"state": "revoked", "revocations": found["revocations"], "urls": [found["urls"]["b"]]}
    assert run(bundle_server, options) == {"changed": False}
    assert Path(found["revocations"]).read_text(encoding="ascii") == (
        bundle_servers.serving_nodes.fingerprint(tokens["b"]) + "\n"
    )
    # A server that has ended does not accept tokens any more.
    assert run(bundle_server, {**options, "revocations": "/none/such"}) == {"changed": False}
    assert run(bundle_server, {"state": "stopped", "pid": found["pid"]}) == {"changed": False}


def test_a_bundle_that_is_pushed_is_verified_only(site: Path) -> None:
    key = make(site, needs(site))["public_key"]
    found = served(site, key, serve=False)
    expected = {"changed": False, "path": str(site / "bundle"), "entries": [entry(site)], "urls": {}, "pid": None}
    assert found == expected
    assert run(bundle_info, {"server": found, "pushed": True}, {"inventory_hostname": "b"}) == {
        "changed": False,
        "_ansible_no_log": True,
        "bundle_sites": [{"url": "file:///C:/Windows/winkube/bundle", "overrides": True, "proxy": "", "digests": {}}],
        "bundle_images": {},
        "bundle_patches": {SHA256: f"{site}/bundle/{FILE}"},
        "bundle_pushed": "C:\\Windows\\winkube\\bundle",
    }


def test_the_options_reach_the_server(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make(site, needs(site))["public_key"]
    asked: dict[str, t.Any] = {}

    def start(found: object, **options: t.Any) -> bundle_servers.ServedBundle:
        asked.update(options)
        return bundle_servers.ServedBundle(
            port=1, tokens=dict.fromkeys(options["nodes"], "~t"), scheme="https", pid=7, revoked="/revoked"
        )

    monkeypatch.setattr(bundle_server.server, "start", start)
    found = served(site, key, {"127.0.0.1": {}}, port=65535, certificate="/c.pem", certificate_key="/k.pem")
    assert found["urls"] == {"127.0.0.1": "https://127.0.0.1:1/~t"}
    assert (found["pid"], found["revocations"]) == (7, "/revoked")
    own = {"nodes": {"127.0.0.1": "127.0.0.1"}, "bind": "127.0.0.1"}
    assert asked == {**own, "port": 65535, "certificate": "/c.pem", "key": "/k.pem"}
    # Two addresses, or a given one, which may be translated on the way.
    served(site, key, {"a": {"bundle_address": "192.0.2.7"}, "b": {"ansible_host": "127.0.0.1"}})
    assert asked == {
        "nodes": {"a": "192.0.2.7", "b": "127.0.0.1"}, "bind": "0.0.0.0", "port": 0, "certificate": "", "key": "",
    }  # fmt: skip
    served(site, key, {"a": {"bundle_address": "192.0.2.7"}})
    assert asked["bind"] == "0.0.0.0"
    served(site, key, {"a": {"bundle_address": "192.0.2.7"}}, bind="192.0.2.8")
    assert asked["bind"] == "192.0.2.8"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": 65536}, "bundle_port: expected 0 (any free port) to 65535, got 65536"),
        ({"port": -1}, "bundle_port: expected 0 (any free port) to 65535, got -1"),
        (
            {"certificate_key": "/k.pem"},
            "bundle_certificate: expected a path, because bundle_certificate_key is set, got nothing",
        ),
        ({"max_age": -1}, "bundle_max_age: expected a number of days, or 0 for any age, got -1"),
        (
            {"path": "/none/such"},
            "bundle_dir: expected a folder that bundle.yml created, got '/none/such'. There is no such folder.",
        ),
    ],
)
def test_a_bundle_that_cannot_be_served_is_a_failure(site: Path, options: dict[str, t.Any], message: str) -> None:
    key = make(site, needs(site))["public_key"]
    assert served(site, key, **options) == {"failed": True, "msg": f"no node was touched: {message}"}


def test_an_old_bundle_is_refused_or_accepted_as_asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = needs(site)
    key = make(site, content)["public_key"]
    old = {name: (site / "bundle" / name).read_bytes() for name in ("index.json", "index.json.sig")}

    class Later(datetime.datetime):
        """A clock that is two days ahead."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
            assert tz is datetime.UTC
            return datetime.datetime.now(tz) + datetime.timedelta(days=2)

    clock = types.SimpleNamespace(datetime=Later, UTC=datetime.UTC)
    with monkeypatch.context() as later:
        later.setattr(bundle_server, "datetime", clock)
        assert "signed in the last 1 days (bundle_max_age)" in served(site, key, serve=False, max_age=1)["msg"]
        assert "failed" not in served(site, key, serve=False, max_age=3)
    assert "failed" not in served(site, key, serve=False, max_age=1)
    assert (site / "state/winkube/bundles.json").exists()
    make(site, prune=True)
    served(site, key, serve=False)
    (site / "bundle" / FILE).parent.mkdir(parents=True, exist_ok=True)
    (site / "bundle" / FILE).write_bytes(PATCH)
    for name, data in old.items():
        (site / "bundle" / name).write_bytes(data)
    assert "bundle_allow_older: true accepts the older bundle" in served(site, key, serve=False)["msg"]
    assert "failed" not in served(site, key, serve=False, allow_older=True)


def test_a_controller_that_cannot_record_the_bundle_warns(site: Path) -> None:
    key = make(site, needs(site))["public_key"]
    (site / "state").write_text("a file", encoding="utf-8")
    (warning,) = served(site, key, serve=False)["warnings"]
    assert "could not check whether the bundle" in warning


@pytest.mark.parametrize(
    ("host", "address"), [("a", "10.0.0.1"), ("b", "b"), ("new-a", "10.0.0.1"), ("new-b", "b"), ("made", "10.0.0.9")]
)
def test_a_machine_that_does_not_exist_yet_is_near_the_one_that_it_replaces(host: str, address: str) -> None:
    hosts = {
        "a": {"ansible_host": "10.0.0.1"},
        "b": {},
        "new-a": {"winkube_replaces_host": "a"},
        "new-b": {"winkube_replaces_host": "b"},
        "made": {"winkube_replaces_host": "a", "ansible_host": "10.0.0.9"},
    }
    assert bundle_servers.address_of(host, hosts) == address
