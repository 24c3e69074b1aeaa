# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Access that access lists deny: to users, administrators and services, by cmdlets, verbs and programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from simulator_tests.batches import observe

from simulator.machine import accounts, commands
from simulator.machine.core.cmd import run_line
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.powershell.host import run_script
from simulator.machine.rights.defaults import TRUSTED_INSTALLER
from simulator.machine.services import ServiceError
from simulator.machine.session import Session
from wire_provider.module import run

CLOSED = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
LOCKED = "O:S-1-5-21-1-2-3-1001D:P(A;OICI;FA;;;S-1-5-21-1-2-3-1001)"
DENIED = "System.UnauthorizedAccessException"
CMD = r"C:\Windows\System32\cmd.exe"


@pytest.fixture
def user(machine: Machine) -> Session:
    """Return a session of an account that is only in the group Users."""
    accounts.add(machine, "mallory", "User")
    return Session(machine, machine.processes.begin("powershell.exe", "mallory"), "mallory")


def error(session: Session, command: str, **parameters: object) -> dict[str, Any]:
    """Run a verb, cmdlet or program in a batch, and return its error."""
    call = {"id": "x", "command": command, "parameters": parameters}
    found: dict[str, Any] = observe(session, call)["calls"]["x"]["error"]
    return found


def fails(session: Session, command: str, **parameters: object) -> CmdletError:
    """Run a cmdlet, and return its terminating error."""
    with session.machine.acting.as_account(session.user), pytest.raises(CmdletError) as caught:
        commands.run(session.machine, command, parameters, session=session)
    return caught.value


def locked(machine: Machine) -> None:
    """Create a folder to which SYSTEM and the administrators have no access."""
    machine.files.make_directory(r"C:\own\deep")
    machine.files.write_text(r"C:\own\x.txt", "old")
    machine.files.set_sddl(r"C:\own", LOCKED)


@pytest.mark.parametrize("account", ["Administrator", "SYSTEM"])
def test_access_lists_apply_to_every_account(machine: Machine, account: str) -> None:
    locked(machine)
    session = Session(machine, machine.processes.begin("powershell.exe", account), account)
    path = r"C:\own\y.txt"
    for verb, parameters, named in [
        ("@write-file", {"path": path, "content": "new"}, path),
        ("@make-directory", {"path": path, "sddl": CLOSED}, path),
        ("@copy-file", {"files": [{"path": CMD, "destination": path}]}, None),
        ("@set-acl", {"path": r"C:\own", "sddl": CLOSED}, None),
        ("New-Item", {"Path": path, "ItemType": "File"}, path),
        ("Set-Content", {"Path": r"C:\own\x.txt", "Value": "new"}, r"C:\own\x.txt"),
        ("Get-Content", {"Path": r"C:\own\x.txt"}, r"C:\own\x.txt"),
        ("Get-ChildItem", {"Path": r"C:\own"}, r"C:\own"),
    ]:
        if verb == "@copy-file":
            copied = observe(session, {"id": "x", "command": verb, "parameters": parameters})["calls"]["x"]["output"]
            assert copied[0]["error"] == f"Access to the path '{path}' is denied."
            continue
        found = error(session, verb, **parameters)
        assert (found["category"], found["type"]) == ("PermissionDenied", DENIED), verb
        if named and verb != "@write-file":
            assert found["message"] == f"Access to the path '{named}' is denied.", verb
    # In a folder that a process may not list, files seem not to exist.
    seen = observe(session, {"id": "x", "command": "@read-file", "parameters": {"paths": [r"C:\own\x.txt"]}})
    assert seen["calls"]["x"]["output"][0]["exists"] is False
    assert machine.files.read_text(r"C:\own\x.txt") == "old"
    assert [entry.name for entry in machine.files.listing(r"C:\own")] == ["deep", "x.txt"]


def test_an_administrator_takes_ownership_and_then_sets_the_list(machine: Machine, session: Session) -> None:
    locked(machine)
    with machine.acting.as_account("Administrator"):
        shell = machine.programs.run
        # icacls.exe does not use a privilege to change the owner.
        refused = shell("icacls.exe", [r"C:\own", "/setowner", "Administrators"], user="Administrator")
        assert (refused.exit_code, refused.stderr) == (5, "C:\\own: Access is denied.\r\n")
        assert shell("icacls.exe", [r"C:\own", "/grant", "Administrators:(OI)(CI)F"]).exit_code == 5
        taken = shell("takeown.exe", ["/f", r"C:\own", "/a"], user="Administrator")
        assert taken.stdout == '\r\nSUCCESS: The file (or folder): "C:\\own" now owned by the administrators group.\r\n'
        assert machine.files.sddl(r"C:\own").startswith("O:BA")
        assert fails(session, "Get-Content", Path=r"C:\own\x.txt").category == "PermissionDenied"
        assert shell("icacls.exe", [r"C:\own", "/grant", "Administrators:(OI)(CI)F"]).exit_code == 0
        assert commands.run(machine, "Get-Content", {"Path": r"C:\own\x.txt"}).objects == ["old"]
        # icacls.exe writes entries in the canonical order, in which denying ones come first.
        assert shell("icacls.exe", [r"C:\own\x.txt", "/deny", "Administrators:R"]).exit_code == 0
        assert fails(session, "Get-Content", Path=r"C:\own\x.txt").category == "PermissionDenied"


def test_get_acl_and_set_acl_use_privileges(machine: Machine, session: Session, user: Session) -> None:
    locked(machine)
    machine.files.make_directory(r"C:\like")
    machine.files.set_sddl(r"C:\like", f"O:BA{CLOSED}(A;;FR;;;BU)")
    script = r"Set-Acl C:\own (Get-Acl C:\like); (Get-Acl C:\own).Owner"
    with machine.acting.as_account(user.user):
        outcome = run_script(user, script, [])
        messages = [found.message for found in (*outcome.errors, outcome.failure) if found]
        assert messages[0] == "Attempted to perform an unauthorized operation."
    with machine.acting.as_account(session.user):
        assert run_script(session, script, []).output == ["BUILTIN\\Administrators"]
    assert "(A;OICI;FA;;;BA)" in machine.files.sddl(r"C:\own")


def test_the_files_of_windows_are_trusted_installers(machine: Machine, session: Session) -> None:
    before = machine.files.read_bytes(CMD)
    found = error(session, "@write-file", path=CMD, content="x")
    assert (found["category"], found["type"]) == ("PermissionDenied", DENIED)
    assert found["message"] == "Access to the path is denied."
    assert machine.files.read_bytes(CMD) == before
    assert [e.name for e in machine.files.listing(r"C:\Windows\System32") if ".part" in e.name] == []
    for command, error_id in [
        ("Remove-Item", "RemoveFileSystemItemUnAuthorizedAccess"),
        ("Clear-Content", "ClearContentUnauthorizedAccessError"),
    ]:
        denied = fails(session, command, Path=CMD)
        assert (denied.category, denied.error_id.split(",")[0]) == ("PermissionDenied", error_id)
    renamed = fails(session, "Rename-Item", Path=CMD, NewName="x.exe")
    assert (renamed.error_id.split(",")[0], renamed.message) == (
        "RenameItemUnauthorizedAccessError",
        "Access to the path is denied.",
    )
    with machine.acting.as_account(session.user):
        assert run_line(session, rf"del {CMD}").exit_code == 1
        # It is allowed to run them, and to create files in the same folder.
        assert machine.programs.run(CMD, "/c echo x", user=session.user).stdout == "x\r\n"
        machine.files.write_text(r"C:\Windows\System32\own.txt", "x")
        machine.files.delete(r"C:\Windows\System32\own.txt")
    assert machine.files.sddl(CMD).startswith(f"O:{TRUSTED_INSTALLER}")


def test_the_rights_of_users_on_a_fresh_server(machine: Machine, user: Session) -> None:
    files = machine.files
    with machine.acting.as_account(user.user):
        for path in (r"C:\Windows\x", r"C:\Windows\System32\x", r"C:\Program Files\x", r"C:\Users\x", r"C:\x"):
            assert fails(user, "Set-Content", Path=path, Value="x").message == f"Access to the path '{path}' is denied."
        assert fails(user, "Get-ChildItem", Path=r"C:\Users\Administrator").error_id.startswith("DirUnauthorized")
        assert files.read_bytes(CMD)
        # All users may create folders in C:\ and files in C:\ProgramData, and own what they create.
        files.make_directory(r"C:\made")
        for path in (r"C:\made\x.txt", r"C:\ProgramData\x.txt", r"C:\Windows\Temp\x.txt"):
            files.write_text(path, "x")
            assert files.sddl(path).startswith(f"O:{files.guard.token.user}")
            files.delete(path)
    files.write_text(r"C:\ProgramData\admin.txt", "x")
    found = error(user, "@write-file", path=r"C:\ProgramData\admin.txt", content="evil")
    assert found["category"] == "PermissionDenied"
    assert files.read_text(r"C:\ProgramData\admin.txt") == "x"


@pytest.mark.parametrize("account", ["guest", "mallory", "NT AUTHORITY\\LocalService"])
def test_only_administrators_change_services_and_machine_keys(machine: Machine, account: str) -> None:
    session = Session(machine, machine.processes.begin("powershell.exe", account), account)
    key = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
    for command, parameters in [
        ("New-Item", {"Path": r"HKLM:\SOFTWARE\evil"}),
        ("Set-ItemProperty", {"Path": key, "Name": "x", "Value": "1"}),
        ("Remove-Item", {"Path": key, "Recurse": True}),
    ]:
        denied = fails(session, command, **parameters)
        assert (denied.category, denied.exception_type) == ("PermissionDenied", "System.Security.SecurityException")
    with machine.acting.as_account(account):
        for change in (
            lambda: machine.services.create("evil", CMD),
            lambda: machine.services.configure("W32Time", Start=4),
            lambda: machine.services.start("W32Time"),
            lambda: machine.services.stop("EventLog"),
            lambda: machine.services.delete("W32Time"),
        ):
            with pytest.raises(ServiceError) as caught:
                change()
            assert caught.value.code == 5
        assert machine.registry.data(key, "ProductName")


@pytest.mark.parametrize(("acl", "code"), [(CLOSED, 5), (f"{CLOSED}(A;OICI;0x1200a9;;;LS)", 1053)])
def test_a_service_is_started_as_its_account(machine: Machine, acl: str, code: int) -> None:
    files, account = machine.files, "NT AUTHORITY\\LocalService"
    files.make_directory(r"C:\srv\etc")
    files.write_bytes(r"C:\srv\containerd.exe", make("containerd", "2.2.0"))
    files.write_text(r"C:\srv\etc\config.toml", "version = 3\n")
    line = r"C:\srv\containerd.exe --run-service --config C:\srv\etc\config.toml"
    machine.services.create("containerd", line, ObjectName=account)
    machine.services.start("containerd")
    machine.services.stop("containerd")
    # One access list denies the service its executable, and the other one only its configuration.
    files.set_sddl(r"C:\srv", acl)
    files.set_sddl(r"C:\srv\etc", CLOSED)
    with pytest.raises(ServiceError) as caught:
        machine.services.start("containerd")
    assert caught.value.code == code
    machine.services.configure("containerd", ObjectName="LocalSystem")
    machine.services.start("containerd")


def test_a_junction_does_not_bypass_access_lists(machine: Machine, user: Session) -> None:
    machine.files.make_directory(r"C:\closed")
    machine.files.write_text(r"C:\closed\x.txt", "secret")
    machine.files.set_sddl(r"C:\closed", CLOSED)
    with machine.acting.as_account(user.user):
        machine.files.make_directory(r"C:\mine")
        assert run_line(user, r"mklink /j C:\mine\way C:\closed").exit_code == 0
        with pytest.raises(PermissionError):
            machine.files.read_text(r"C:\mine\way\x.txt")
        assert fails(user, "Get-ChildItem", Path=r"C:\mine\way").category == "PermissionDenied"


def test_a_tree_is_deleted_but_for_what_is_closed(machine: Machine, user: Session) -> None:
    files = machine.files
    with machine.acting.as_account(user.user):
        files.make_directory(r"C:\mine\a")
        files.write_text(r"C:\mine\a\x.txt", "x")
    files.make_directory(r"C:\mine\b")
    files.write_text(r"C:\mine\b\admin.txt", "x")
    files.set_sddl(r"C:\mine\b", CLOSED)
    denied = fails(user, "Remove-Item", Path=r"C:\mine\b", Recurse=True)
    assert (denied.category, denied.exception_type) == ("PermissionDenied", DENIED)
    with machine.acting.as_account(user.user), pytest.raises(PermissionError):
        files.delete(r"C:\mine")
    assert not files.exists(r"C:\mine\a")
    assert files.exists(r"C:\mine\b\admin.txt")


def test_a_protected_key_is_protected_in_any_case(machine: Machine) -> None:
    machine.registry.protect(r"HKLM:\SOFTWARE\Own")
    with machine.acting.as_account("Administrator"), pytest.raises(PermissionError):
        machine.registry.set(r"HKEY_LOCAL_MACHINE\software\OWN\Below", "x", 1, "DWord")


def test_programs_report_that_access_is_denied(machine: Machine, user: Session) -> None:
    files = machine.files
    files.make_directory(r"C:\closed")
    files.write_bytes(r"C:\closed\own.exe", make("whoami.exe", "1.0"))
    files.write_text(r"C:\closed\x.txt", "secret")
    files.set_sddl(r"C:\closed", CLOSED)
    with machine.acting.as_account(user.user):
        for line in (r"type C:\closed\x.txt", r"copy C:\closed\x.txt C:\ProgramData\x", r"echo x > C:\closed\y",
                     r"C:\closed\own.exe", r"mkdir C:\closed\z"):  # fmt: skip
            result = run_line(user, line)
            assert (result.exit_code, result.stderr) == (1, "Access is denied.\r\n"), line
        tar = machine.programs.run("tar.exe", ["-cf", r"C:\ProgramData\x.tar", r"C:\closed\x.txt"])
        assert tar.exit_code == 1
        curl = machine.programs.run("curl.exe", ["-o", r"C:\closed\y", "file:///C:/Windows/System32/cmd.exe"])
        assert curl.exit_code == 23
        curl = machine.programs.run("curl.exe", ["-o", r"C:\ProgramData\y", "file:///C:/closed/x.txt"])
        assert curl.exit_code == 37
    assert [entry.name for entry in files.listing(r"C:\closed")] == ["own.exe", "x.txt"]


def test_a_user_cannot_keep_batches(machine: Machine, user: Session) -> None:
    # The folder of batches has the access list for administrators from its creation on.
    batch = {"calls": [{"id": "x", "command": "Get-Date"}], "key": "0123456789abcdef0123456789abcdef"}
    answer = run(machine, json.dumps(batch), user.process, user.user, user.environment)
    assert answer["failed"] is True
    assert answer["msg"] == "The security identifier is not allowed to be the owner of this object."
