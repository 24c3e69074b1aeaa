# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Process the keys of a cloud-config in the order in which cloudbase-init processes them.

Sources: userdataplugins/cloudconfig.py and cloudconfigplugins of cloudbase-init.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from simulator.machine import accounts
from simulator.machine.objects import NotModelled
from simulator.windows.cloudbase import scripts
from simulator.windows.cloudbase.configuration import CloudbaseRun
from simulator.windows.cloudbase.identity import add_account, set_host_name, write_keys

_MODULE = "plugins.common.userdataplugins.cloudconfig"
_RETURN_END = 1003


def process(run: CloudbaseRun, content: bytes) -> int:
    """Process a cloud-config, and return the plugin's exit code: 1003 if a key needs a reboot, otherwise 0.

    Keys that fail or that cloudbase-init does not support are only logged.

    Raises:
        ValueError: the content is not YAML.
        NotModelled: the simulator does not model a key.
    """
    try:
        found = yaml.safe_load(content)
    except yaml.YAMLError as error:
        # Errors of the parser are not among those that cloudbase-init expects.
        raise ValueError(str(error)) from error
    if not found:
        run.log("ERROR", _MODULE, "Could not process part type <class 'bytes'>: 'Empty yaml stream provided.'")
        return 0
    code = 0
    ordered = sorted(found.items(), key=lambda item: list(KEYS).index(item[0]) if item[0] in KEYS else 999)
    for key, value in ordered:
        if key not in KEYS:
            run.log("ERROR", _MODULE, f"Plugin {key!r} is currently not supported")
            continue
        try:
            if KEYS[key](run, value):
                code = _RETURN_END
        except NotModelled:
            raise
        except Exception as error:
            run.log("ERROR", _MODULE, f"Processing plugin {key} failed: {error}")
    return code


def _write_files(run: CloudbaseRun, value: Any) -> bool:
    """Write files. As in cloudbase-init, `owner` and `permissions` have no effect on access lists."""
    for item in [value] if isinstance(value, dict) else value:
        if not {"path", "content"} <= set(item):
            run.log("WARNING", f"{_MODULE}plugins.write_files", f"Missing required keys from file information {item}")
            continue
        path = str(item["path"]).replace("/", "\\")
        path = path if path[1:2] == ":" else f"C:{path}"
        run.machine.files.make_directory(path.rpartition("\\")[0])
        content = _decoded(item["content"], str(item.get("encoding") or ""))
        if item.get("append") and run.machine.files.is_file(path):
            content = run.machine.files.read_bytes(path) + content
        run.machine.files.write_bytes(path, content)
    return False


def _decoded(content: Any, encoding: str) -> bytes:
    data = content if isinstance(content, bytes) else str(content).encode()
    steps = encoding.lower().strip()
    if steps in ("b64", "base64", "gz+base64", "gzip+base64", "gz+b64", "gzip+b64"):
        data = base64.b64decode(data)
    return gzip.decompress(data) if steps.startswith("gz") else data


def _host_name(run: CloudbaseRun, value: Any) -> bool:
    return set_host_name(run, str(value))


def _groups(run: CloudbaseRun, value: Any) -> bool:
    for item in value:
        name, members = (item, []) if isinstance(item, str) else next(iter(item.items()))
        group = accounts.find(run.machine, name, "Group") or accounts.add(run.machine, name, "Group")
        for member in members:
            account = accounts.find(run.machine, member, "User")
            assert account is not None, member
            accounts.join(run.machine, group, account.key)
    return False


def _users(run: CloudbaseRun, value: Any) -> bool:
    for item in value:
        if not isinstance(item, dict) or not item.get("name"):
            continue
        groups = item.get("groups") or []
        add_account(run, item["name"], groups.split(", ") if isinstance(groups, str) else groups)
        if keys := item.get("ssh_authorized_keys"):
            write_keys(run, item["name"], keys)
    return False


def _runcmd(run: CloudbaseRun, value: Any) -> bool:
    lines = ["rem cmd", *(" ".join(map(str, one)) if isinstance(one, list) else one for one in value)]
    run.log("INFO", f"{_MODULE}plugins.runcmd", "Running cloud-config runcmd entries.")
    code = scripts.run_data(run, "".join(f"{line}\r\n" for line in lines).encode())
    return scripts.plugin_result(code)[1]


def _not_modelled(what: str) -> Callable[[CloudbaseRun, Any], bool]:
    def fail(run: CloudbaseRun, value: Any) -> bool:
        raise NotModelled(f"the key {what} of a cloud-config")

    return fail


KEYS: Mapping[str, Callable[[CloudbaseRun, Any], bool]] = {
    "write_files": _write_files,
    "set_timezone": _not_modelled("set_timezone"),
    "timezone": _not_modelled("timezone"),
    "set_hostname": _host_name,
    "hostname": _host_name,
    "ntp": _not_modelled("ntp"),
    "groups": _groups,
    "users": _users,
    "runcmd": _runcmd,
}
