# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action that gives the administrator of a simulated machine a random password."""

from __future__ import annotations

import stat
import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.action import administrator_password as action
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import administrator_password
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.password_file import PasswordFile
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.machine import accounts
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

ACCOUNT = "Administrator"


class Action(action.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action with a connection that need not exist."""

    def __init__(self, *, transport: str = "psrp", password: str = "s3cret", check_mode: bool = False) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode)
        options = {"remote_password": password, "password": password, "become_pass": None}
        self._connection = types.SimpleNamespace(transport=transport, get_option=options.__getitem__)


class UserNode(DirectNode):
    """A machine to which Ansible connects with an account."""

    def __init__(self, machine: Machine, user: str) -> None:
        super().__init__(machine)
        self.user, self.modules, self.lost = user, 0, 0
        own = machine.programs.run
        machine.programs.run = lambda name, *rest, **more: own(  # type: ignore[method-assign]
            name, *rest, **({**more, "user": self.user} if name == "whoami.exe" else more)
        )

    def run_module(self, name: str, arguments: t.Mapping[str, t.Any], *, step: str = "") -> dict[str, t.Any] | None:
        self.modules += 1
        result = super().run_module(name, arguments, step=step)
        if self.lost:
            self.lost -= 1
            return None
        return result


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    entry = {"name": "win1", "address": "127.0.0.11", "windows": "2022", "user": "operator"}
    found = Machine(MachineSettings.read(entry), tmp_path / "machine")
    found.power_on()
    yield found
    found.power.power_off()


def password(machine: Machine, name: str = ACCOUNT) -> str:
    account = accounts.find(machine, name, "User")
    assert account is not None
    return account.password


def run(node: UserNode, file: Path | None = None, *, by: Action | None = None, length: int = 32) -> dict[str, t.Any]:
    options = {"file": str(file or ""), "length": length}
    return (by or Action()).perform(options, NodeSession(t.cast("t.Any", node)))


def test_a_password_is_set_once_and_discarded(machine: Machine) -> None:
    node = UserNode(machine, "operator")
    result = run(node)
    assert (result["changed"], result["account"], len(result["changes"])) == (True, ACCOUNT, 1)
    first = password(machine)
    assert len(first) == 32
    assert first not in str(result)
    node.remote_commands = 0
    again = run(node)
    assert (again["changed"], again["changes"], again["remote_commands"]) == (False, [], 1)
    assert password(machine) == first


def test_a_machine_from_an_image_gets_a_password_of_its_own(machine: Machine) -> None:
    node = UserNode(machine, "operator")
    run(node)
    first = password(machine)
    # Sysprep gives the machine another SID. The mark in the registry is part of the image.
    machine.sid = "S-1-5-21-7-8-9"
    assert run(node)["changed"]
    assert password(machine) != first


def test_the_file_keeps_the_password(machine: Machine, tmp_path: Path) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "credentials" / "win1.txt"
    assert run(node, file)["changed"]
    assert file.read_text(encoding="utf-8") == f"{password(machine)}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == ["win1.txt"]
    assert not run(node, file)["changed"]
    before = password(machine)
    # A deleted file means that the password is unknown.
    file.unlink()
    assert run(node, file)["changes"][0]["why"] == "the file with its password does not exist"
    assert file.read_text(encoding="utf-8").strip() == password(machine) != before


def test_an_interrupted_run_continues_with_the_same_password(machine: Machine, tmp_path: Path) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "win1.txt"
    node.lost = 2
    with pytest.raises(NodeError, match="node-1: set the administrator's password: the connection failed before"):
        run(node, file)
    kept = file.read_text(encoding="utf-8").strip()
    node.lost = 1
    assert run(node, file)["changed"]
    assert password(machine) == kept
    assert node.modules == 4


def test_hosts_with_one_file_get_the_password_that_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "all.txt"
    first, second = (PasswordFile(str(file), "file") for _ in range(2))

    def between() -> str:
        assert second.read_or_create(lambda: "of the second") == "of the second"
        return "of the first"

    assert first.read_or_create(between) == "of the second"
    assert file.read_text(encoding="utf-8") == "of the second\n"
    assert [one.name for one in tmp_path.iterdir()] == ["all.txt"]
    file.write_text("", encoding="utf-8")
    assert first.read_or_create(lambda: "new") == "new"


def test_a_file_that_was_encrypted_later_needs_no_change(machine: Machine, tmp_path: Path) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "win1.txt"
    run(node, file)
    file.write_text("$ANSIBLE_VAULT;1.1;AES256\n616263\n", encoding="utf-8")
    assert not run(node, file)["changed"]
    machine.sid = "S-1-5-21-7-8-9"
    before = password(machine)
    with pytest.raises(ResourceError, match="encrypted with Ansible Vault"):
        run(node, file)
    assert password(machine) == before


def test_check_mode_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "win1.txt"
    assert run(node, file, by=Action(check_mode=True))["changed"]
    assert (password(machine), file.exists(), node.modules) == ("", False, 0)


def test_check_mode_writes_no_file(machine: Machine, tmp_path: Path) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "credentials" / "of" / "win1.txt"
    assert run(node, file, by=Action(check_mode=True))["changed"]
    assert list(tmp_path.glob("cred*")) == []
    # It still finds a file that could not be written.
    (tmp_path / "credentials").write_text("", encoding="utf-8")
    with pytest.raises(ResourceError, match="expected a file that can be read and written"):
        run(node, file, by=Action(check_mode=True))


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_domain_controller_is_refused_before_anything_is_written(tmp_path: Path, check_mode: bool) -> None:
    entry = {"name": "dc1", "address": "127.0.0.12", "windows": "2022", "user": "operator", "domain_controller": True}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    try:
        node, file = UserNode(machine, "operator"), tmp_path / "credentials" / "dc1.txt"
        with pytest.raises(NodeError, match="expected a machine with local accounts, got a domain controller"):
            run(node, file, by=Action(check_mode=check_mode))
        assert (password(machine), node.modules, node.remote_commands) == ("", 0, 1)
        assert not file.parent.exists()
    finally:
        machine.power.power_off()


@pytest.mark.parametrize(
    ("connection", "refused"),
    [(Action(), True), (Action(transport="ssh"), True), (Action(transport="ssh", password=""), False)],
)
def test_the_account_of_the_connection_keeps_its_password_unless_ansible_uses_a_key(
    machine: Machine, tmp_path: Path, connection: Action, refused: bool
) -> None:
    node, file = UserNode(machine, ACCOUNT), tmp_path / "win1.txt"
    if not refused:
        assert run(node, file, by=connection)["changed"]
        return
    with pytest.raises(NodeError, match="expected Ansible to connect with an account other than Administrator"):
        run(node, file, by=connection)
    assert (password(machine), file.exists()) == ("", False)


def test_a_renamed_administrator_is_found_by_its_sid(machine: Machine) -> None:
    account = accounts.find(machine, ACCOUNT, "User")
    assert account is not None
    known = accounts.accounts(machine).accounts
    known["chief"] = known.pop(ACCOUNT.casefold())
    account.name = "chief"
    assert run(UserNode(machine, "operator"))["account"] == "chief"
    assert password(machine, "chief")


def test_a_failure_does_not_show_the_password(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    node = UserNode(machine, "operator")

    def fail(_name: str, arguments: t.Mapping[str, t.Any], *, step: str) -> dict[str, t.Any]:
        assert step
        return {"failed": True, "msg": f"no {arguments['password']} here"}

    monkeypatch.setattr(node, "run_module", fail)
    with pytest.raises(NodeError, match=r"node-1: set the administrator's password: no \*\*\* here"):
        run(node)


@pytest.mark.parametrize("length", [13, 128])
def test_wrong_options_are_rejected_before_the_machine_is_contacted(
    machine: Machine, tmp_path: Path, length: int
) -> None:
    node, file = UserNode(machine, "operator"), tmp_path / "win1.txt"
    with pytest.raises(ResourceError, match="length: expected 14 to 127"):
        run(node, length=length)
    file.write_text("abc", encoding="utf-8")
    file.chmod(0o640)
    with pytest.raises(ResourceError, match="expected a file with mode 0600, got 0640"):
        run(node, file)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ResourceError, match="expected a file that can be read and written"):
        run(node, tmp_path / "file" / "win1.txt")
    assert node.remote_commands == 0


def test_passwords_are_random_and_have_characters_of_all_groups() -> None:
    found = {administrator_password.random_password(14) for _ in range(200)}
    assert len(found) == 200
    for one in found:
        assert any(character.islower() for character in one)
        assert any(character.isupper() for character in one)
        assert any(character.isdigit() for character in one)
        assert not one.isalnum()
        # These would need quotes in a shell, cmd.exe, XML or YAML.
        assert not set(one) & set("\"'`$&|<>^%!;(){}[]*?~# \\")
