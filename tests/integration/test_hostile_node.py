# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node that an attacker controls, over Ansible's real connection: its responses have no effect on anything else."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible import constants
from ansible.utils.display import Display
from integration.actions import connect, run_action
from integration.imaging import Machines

from simulator.machine.machine import ENVIRONMENT, Machine
from wire_provider import ansible_module

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("hostile_node"), pytest.mark.usefixtures("prompt")]

ESCAPES = "\x1b]0;OWNED\x07\x1b[2J\x1b]52;c;cm0gLXJmIC8K\x07"
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
PROXY = "http://robot:Hunter2-4711@proxy.example:3128"
Alter = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(4) as machines:
        yield machines


@pytest.fixture
def alter(monkeypatch: pytest.MonkeyPatch) -> Callable[[Alter], None]:
    """Return a function that lets the node alter each of its observations."""

    def use(change: Alter) -> None:
        answer = ansible_module.run_batch

        def altered(*arguments: Any) -> dict[str, Any]:
            result = answer(*arguments)
            if result.get("observation", {}).get("calls"):
                change(result["observation"])
            return result

        monkeypatch.setattr(ansible_module, "run_batch", altered)

    return use


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is written to the terminal."""
    lines: list[str] = []
    monkeypatch.setattr(Display, "display", lambda _self, line, *_, **__: lines.append(str(line)))
    return lines


def texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, including names."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (str(key), *texts(item))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)
    else:
        yield str(value)


def run(machine: Machine, action: str, options: dict[str, Any], **more: Any) -> dict[str, Any]:
    with connect(machine, "psrp") as connection:
        return run_action(connection, action, {"timeout": 60, "reconnect_timeout": 10, **options}, **more)


def test_names_of_files_in_an_archive_are_never_the_node_s(
    machines: Machines, alter: Callable[[Alter], None], tmp_path: Path
) -> None:
    machine = machines.bare()
    machine.files.make_directory(r"C:\ProgramData\winkube")
    text = {"ok": True, "exit_code": 0, "stdout": "pwned", "stderr": "", "output": ["pwned"]}
    names = ("facts.../../.bashrc", "commands.../../../../../../../../tmp/pwned", f"commands.{ESCAPES}", "version.../x")
    alter(lambda observation: observation["calls"].update(dict.fromkeys(names, text)))
    result = run(machine, "node_logs", {"directory": str(tmp_path)})
    assert not result.get("failed"), result
    with tarfile.open(result["archive"]) as archive:
        found = archive.getnames()
    assert "win/manifest.json" in found
    assert [name for name in found if not name.startswith("win/") or ".." in name or CONTROLS.search(name)] == []
    assert [name for name in found if "bashrc" in name or "pwned" in name] == []
    assert [text for text in texts(result) if CONTROLS.search(text)] == []


def test_an_archive_that_announces_more_than_was_selected_is_not_fetched(
    machines: Machines, alter: Callable[[Alter], None], tmp_path: Path
) -> None:
    machine = machines.bare()
    machine.files.make_directory(r"C:\ProgramData\winkube")

    def change(observation: dict[str, Any]) -> None:
        for item in observation["calls"].get("archive", {}).get("output", ()):
            item["size"] = 10**15

    alter(change)
    result = run(machine, "node_logs", {"directory": str(tmp_path)})
    assert "bytes for the selected logs, got 1000000000000000" in result["msg"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_no_escape_sequence_of_a_node_reaches_the_terminal(
    machines: Machines, alter: Callable[[Alter], None], screen: list[str], check_mode: bool
) -> None:
    machine = machines.bare() if check_mode else machines.fleet.machine("IMG-2")

    def change(observation: dict[str, Any]) -> None:
        for result in observation["calls"].values():
            result["warnings"] = [f"careful {ESCAPES}"]
            for item in result.get("output") or ():
                if isinstance(item, dict) and item.get("name") == "ProductName":
                    item["value"] += ESCAPES

    alter(change)
    resource = {"type": "Registry", "key": r"HKLM:\SOFTWARE\Example", "value_name": "a", "value": "x"}
    result = run(machine, "node_state", {"resources": [resource]}, check_mode=check_mode)
    assert not result.get("failed"), result
    assert "\\x1b]0;OWNED" in result["windows"]["product"]
    assert [text for text in (*texts(result), *screen) if CONTROLS.search(text)] == []


def test_an_error_of_a_node_is_printed_without_its_escape_sequences(
    machines: Machines, alter: Callable[[Alter], None]
) -> None:
    machine = machines.fleet.machine("IMG-2")
    error = {"category": "x", "id": "y", "type": "z", "message": f"boom {ESCAPES}"}
    alter(lambda observation: observation["calls"].update({"node.windows": {"ok": False, "error": error}}))
    result = run(machine, "node_state", {"resources": []})
    assert result["failed"]
    assert "boom \\x1b]0;OWNED" in result["msg"]
    assert not CONTROLS.search(result["msg"])


def test_secrets_are_not_sent_if_ansible_keeps_remote_files(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machines.fleet.machine("IMG-2")
    monkeypatch.setattr(constants, "DEFAULT_KEEP_REMOTE_FILES", True)
    secret = {"type": "File", "name": r"C:\secret.txt", "content": "Hunter2-4711", "no_log": True}
    refused = run(machine, "node_state", {"resources": [secret]})
    assert "ANSIBLE_KEEP_REMOTE_FILES" in refused["msg"]
    assert "Hunter2" not in refused["msg"]
    assert not machine.files.exists(r"C:\secret.txt")
    assert not run(machine, "node_state", {"resources": [{**secret, "content": "x", "no_log": False}]}).get("failed")


def test_an_image_that_would_carry_a_proxy_s_password_is_refused(machines: Machines) -> None:
    machine = machines.bare()
    machine.registry.set(ENVIRONMENT, "HTTP_PROXY", PROXY, "String")
    result = run(machine, "sysprep", {})
    assert result["failed"]
    assert "the machine's environment variable HTTP_PROXY" in result["msg"]
    assert "sysprep_proxy_credentials: remove" in result["msg"]
    assert "Hunter2" not in str(result)
    assert machine.environment()["HTTP_PROXY"] == PROXY
    assert machine.power.state == "on"
