# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""patch_install and patch_info on simulated servers, in this process over Ansible's real connection plugins."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins import loader as plugin_loader
from ansible.template import Templar
from integration.networks import free_network

from ansible_collections.winkube.node.plugins.plugin_utils.patches import update as patches_update
from ansible_collections.winkube.node.plugins.plugin_utils.remote import outage, reboot
from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.updates import update_catalogue, update_package
from simulator.windows.updates.component_store import store_of
from simulator.windows.updates.update_catalogue import Update

PASSWORD = "Passw0rd!"
CACHE = r"C:\Windows\winkube\patches"
MARKER = r"HKLM:\SOFTWARE\winkube\patches"
CONTROL = r"HKLM:\SYSTEM\CurrentControlSet\Control"
WUAUSERV = r"HKLM:\SYSTEM\CurrentControlSet\Services\wuauserv"
CONNECTIONS: Mapping[str, Mapping[str, Any]] = {
    "winrm": {
        "ansible_winrm_scheme": "http",
        "ansible_winrm_transport": "ntlm",
        "ansible_winrm_read_timeout_sec": 30,
        "ansible_winrm_operation_timeout_sec": 20,
    },
    "psrp": {
        "ansible_psrp_protocol": "http",
        "ansible_psrp_auth": "ntlm",
        "ansible_psrp_reconnection_retries": 0,
        "ansible_psrp_read_timeout": 25,
        "ansible_psrp_operation_timeout": 20,
    },
}
OLD, HERE, NEXT = "KB5044281", "KB5046616", "KB5048654"
FIX = Update("KB5999001", builds=(20348,), reboots=0)
STAGED = Update("KB5999002", builds=(20348,), reboots=1)
TOOL = Update("KB5999003", builds=(20348,), reboots=1)
QUICK: Mapping[str, Any] = {
    "reboot_seconds": 0.1,
    "time_scale": 0.01,
    "update_seconds": 10,
    "update_settle_seconds": 20,
}
"""Windows' own delays, 100 times as fast."""
OPTIONS: Mapping[str, Any] = {"settle_timeout": 4, "reconnect_timeout": 60, "reboot_timeout": 120, "timeout": 120}


def settings(name: str, address: str, **entry: Any) -> MachineSettings:
    """Return the settings of a server with very fast updates."""
    return MachineSettings.read({"name": name, "address": address, "password": PASSWORD, **QUICK, **entry})


def run(
    machine: Machine,
    module: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    connection: str = "psrp",
    check: bool = False,
) -> dict[str, Any]:
    """Run one of the collection's actions against a machine, as a single task does.

    Args:
        module: the name without that of the collection.
        connection: winrm or psrp.
        check: whether to run in check mode, with a diff.
    """
    variables = {
        "ansible_host": machine.address,
        "ansible_port": 5985,
        "ansible_user": machine.settings.user,
        "ansible_password": PASSWORD,
        **CONNECTIONS[connection],
    }
    context = PlayContext()
    plugin = plugin_loader.connection_loader.get(f"ansible.builtin.{connection}", context)
    plugin.set_options(var_options={**variables, "_extras": {}})
    plugin._shell.set_options(var_options={})
    task, loader = Task(), DataLoader()
    task.action, task.environment, task.async_val = f"winkube.node.{module}", [], 0
    task.args, task.check_mode, task.diff = dict(arguments or {}), check, check
    action = plugin_loader.action_loader.get(
        task.action,
        task=task,
        connection=plugin,
        play_context=context,
        loader=loader,
        templar=Templar(loader=loader),
        shared_loader_obj=plugin_loader,
    )
    try:
        result: dict[str, Any] = action.run(task_vars={"inventory_hostname": machine.name.lower()})
        return result
    finally:
        with contextlib.suppress(Exception):
            plugin.close()


def install(machine: Machine, patches: list[Any], *, connection: str = "psrp", **options: Any) -> dict[str, Any]:
    """Run patch_install with options for short delays."""
    check = options.pop("check", False)
    return run(machine, "patch_install", {**OPTIONS, "patches": patches, **options}, connection=connection, check=check)


def statuses(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the status of each patch in a result, by name."""
    return {entry["name"]: entry["status"] for entry in result["patches"]}


def state(machine: Machine) -> dict[str, Any]:
    """Return the part of a machine's state that patching changes, or must not change."""
    registry, files = machine.registry, machine.files
    entries = store_of(machine).entries.values()
    return {
        "ubr": machine.windows.ubr,
        "updates": sorted((entry.update.kb, entry.state) for entry in entries),
        "wuauserv": registry.data(WUAUSERV, "Start"),
        "marker": sorted(registry.values(MARKER)) if registry.key_exists(MARKER) else [],
        "files": [entry.path for entry in files.listing(CACHE)] if files.is_directory(CACHE) else [],
        "test_signing": "TESTSIGNING" in str(registry.data(CONTROL, "SystemStartOptions")),
    }


class Files:
    """An HTTP server for patches, which counts the requests for each."""

    def __init__(self, address: str, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        files = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                files.requests.append(self.path)
                name = self.path.partition("?")[0].strip("/")
                if name.startswith("expired"):
                    self.send_error(403)
                    return
                data = (folder / name).read_bytes()
                begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
                self.send_response(206 if begin else 200)
                self.send_header("Content-Length", str(len(data) - begin))
                self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
                self.end_headers()
                # The client disconnects when its disk is full.
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(data[begin:])

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, update: Update | str, container: str = "msu", *, name: str = "", **more: Any) -> dict[str, str]:
        """Publish the file of an update, and return the patch entry for it."""
        found = update if isinstance(update, Update) else find(update)
        name = name or f"windows10.0-{found.kb.lower()}-x64.{container}"
        data = update_package.make(found, container, **more)  # type: ignore[arg-type]
        (self.folder / name).write_bytes(data)
        return {"url": f"{self.url}/{name}", "sha256": hashlib.sha256(data).hexdigest()}


def find(kb: str) -> Update:
    """Return an update from the simulator's catalogue."""
    found = update_catalogue.find(kb)
    assert found is not None, kb
    return found


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the delays for reboots, updates and outages, which take much less time on simulated machines."""
    monkeypatch.setattr(reboot, "_GOING_DOWN", 0.25)
    monkeypatch.setattr(reboot, "_DELAY", 0)
    monkeypatch.setattr(reboot, "BATCH_DELAY", 0)
    monkeypatch.setattr(reboot, "_PAUSE", 0.5)
    monkeypatch.setattr(reboot, "_FIRST_PAUSE", 0.05)
    monkeypatch.setattr(reboot, "_LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(patches_update, "_DELAY", 0.2)
    monkeypatch.setattr(outage, "_FIRST_PAUSE", 0.05)
    monkeypatch.setattr(outage, "_LONGEST_PAUSE", 1.0)


def fleet_of(*entries: MachineSettings) -> Fleet:
    """Return a fleet, for use as a context manager."""
    return Fleet(entries)


Serve = Callable[..., Machine]


@pytest.fixture
def server() -> Iterator[Serve]:
    """Yield a function that starts a server: `server(windows="2025", secure_boot=False)`."""
    with contextlib.ExitStack() as stack:

        def start(**entry: Any) -> Machine:
            fleet = stack.enter_context(fleet_of(settings("PATCHED", f"{free_network()}.1", **entry)))
            return fleet.machine("PATCHED")

        yield start


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    """Yield a server for the files of patches."""
    served = Files(f"{free_network()}.2", tmp_path)
    yield served
    served.stop()


def installed(machine: Machine) -> set[str]:
    """Return the articles of the installed updates."""
    return {kb for kb, how in state(machine)["updates"] if how == "Installed"}


def message(result: Mapping[str, Any], name: str) -> str:
    """Return the message about a patch in a result."""
    return next(str(entry["message"]) for entry in result["patches"] if entry["name"] == name)
