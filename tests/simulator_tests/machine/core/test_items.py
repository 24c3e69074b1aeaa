# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files, folders, links and registry keys as items."""

from __future__ import annotations

import pytest

KEY = r"HKLM:\SOFTWARE\winkube-test"


def test_folders_are_made_with_their_parents_and_twice_only_with_force(shell):
    made = shell.one("New-Item", Path=[r"C:\a\b"], ItemType="Directory", Force=True)
    assert (made["FullName"], made["PSIsContainer"]) == (r"C:\a\b", True)
    error = shell.error("New-Item", Path=[r"C:\a\b"], ItemType="Directory")
    assert (error.category, error.error_id) == (
        "ResourceExists",
        "DirectoryExist,Microsoft.PowerShell.Commands.NewItemCommand",
    )
    assert shell.one("New-Item", Path=[r"C:\A\B"], ItemType="Directory", Force=True)["Name"] == "b"


def test_files_need_their_folder(shell):
    error = shell.error("New-Item", Path=[r"C:\none\x.txt"], Value="text")
    assert error.error_id == "NewItemIOError,Microsoft.PowerShell.Commands.NewItemCommand"
    assert error.exception_type == "System.IO.DirectoryNotFoundException"
    assert not shell.machine.files.exists(r"C:\none")
    shell("New-Item", Path=[r"C:\none\x.txt"], Value="text", Force=True)
    assert shell.machine.files.read_text(r"C:\none\x.txt") == "text"
    assert shell.error("New-Item", Path=[r"C:\none\x.txt"]).error_id.startswith("NewItemIOError,")


def test_paths_are_tested_with_wildcards_or_literally(shell):
    shell("New-Item", Path=[r"C:\a\x[1].txt"], Force=True)
    shell("New-Item", Path=[KEY], Force=True)
    there = shell("Test-Path", Path=[r"C:\A\x*.txt", r"C:\a\*.log", r"Z:\x", KEY, KEY + "x", "Env:\\Path"])
    assert there == [True, False, False, True, False, True]
    assert shell("Test-Path", LiteralPath=[r"C:\a\x[1].txt"]) == [True]
    assert shell("Test-Path", Path=[r"C:\a\x[1].txt"]) == [False]
    assert shell("Test-Path", Path=[r"C:\a"], PathType="Leaf") == [False]


@pytest.mark.parametrize(
    ("command", "kind"),
    [("Get-Item", "GetItemCommand"), ("Get-ChildItem", "GetChildItemCommand"), ("Remove-Item", "RemoveItemCommand")],
)
def test_a_missing_item_is_path_not_found(shell, command, kind):
    error = shell.error(command, Path=[r"C:\nope"])
    assert error.error_id == f"PathNotFound,Microsoft.PowerShell.Commands.{kind}"
    assert error.exception_type == "System.Management.Automation.ItemNotFoundException"
    assert shell.error(command, Path=["Q:\\x"]).error_id.startswith("DriveNotFound,")
    assert shell(command, Path=[r"C:\nope*"]) == []


def test_children(shell):
    for path in (r"C:\t\one.log", r"C:\t\two.txt", r"C:\t\sub\three.log"):
        shell("New-Item", Path=[path], Force=True)

    def names(**parameters):
        return [str(item) for item in shell("Get-ChildItem", Path=[r"C:\t"], Name=True, **parameters)]

    assert names() == ["sub", "one.log", "two.txt"]
    assert names(Recurse=True, Filter="*.log") == ["one.log", r"sub\three.log"]
    assert names(File=True, Exclude=["*.txt"]) == ["one.log"]
    assert names(Directory=True) == ["sub"]
    assert [item["FullName"] for item in shell("Get-ChildItem", Path=[r"C:\t\*.txt"])] == [r"C:\t\two.txt"]


def test_a_folder_with_content_is_removed_only_with_recurse(shell):
    shell("New-Item", Path=[r"C:\t\x.txt"], Force=True)
    assert shell.error("Remove-Item", LiteralPath=[r"C:\t"]).category == "InvalidOperation"
    assert shell.machine.files.exists(r"C:\t\x.txt")
    shell("Remove-Item", LiteralPath=[r"C:\t"], Recurse=True, Force=True)
    assert not shell.machine.files.exists(r"C:\t")


def test_the_executable_of_a_running_service_cannot_be_deleted_or_written_over_but_moved(shell):
    shell("Copy-Item", Path=[r"C:\Windows\System32\svchost.exe"], Destination=r"C:\own.exe")
    shell("New-Service", Name="own", BinaryPathName=r"C:\own.exe")
    shell("Start-Service", Name=["own"])
    removed = shell.error("Remove-Item", LiteralPath=[r"C:\own.exe"], Force=True)
    assert removed.error_id.startswith("RemoveFileSystemItemUnAuthorizedAccess,")
    over = shell.error("Copy-Item", Path=[r"C:\Windows\System32\lsass.exe"], Destination=r"C:\own.exe")
    assert "being used by another process" in over.message
    shell("Rename-Item", Path=r"C:\own.exe", NewName="old.exe")
    assert shell.machine.files.exists(r"C:\old.exe")
    shell("Stop-Service", Name=["own"])
    shell("Remove-Item", LiteralPath=[r"C:\old.exe"])


def test_a_link_is_removed_and_its_target_stays(shell):
    shell("New-Item", Path=[r"C:\t\x.txt"], Force=True)
    link = shell.one("New-Item", Path=[r"C:\link"], ItemType="Junction", Value=r"C:\t")
    assert (link["LinkType"], link["Target"]) == ("Junction", [r"C:\t"])
    assert shell("Test-Path", Path=[r"C:\link\x.txt"]) == [True]
    shell("Remove-Item", LiteralPath=[r"C:\link"], Force=True, Recurse=True)
    assert shell.machine.files.exists(r"C:\t\x.txt")
    error = shell.error("New-Item", Path=[r"C:\link"], ItemType="Junction", Value=r"C:\no")
    assert error.error_id.startswith("PathNotFound,")


def test_copying_and_moving(shell):
    shell("New-Item", Path=[r"C:\from\sub\x.txt"], Force=True, Value="1")
    shell("Copy-Item", Path=[r"C:\from"], Destination=r"C:\to", Recurse=True)
    assert shell.machine.files.read_text(r"C:\to\sub\x.txt") == "1"
    shell("Copy-Item", Path=[r"C:\from"], Destination=r"C:\to", Recurse=True)
    assert shell.machine.files.exists(r"C:\to\from\sub\x.txt")
    missing = shell.error("Copy-Item", Path=[r"C:\from\sub\x.txt"], Destination=r"C:\none\x.txt")
    assert missing.exception_type == "System.IO.DirectoryNotFoundException"
    shell("Copy-Item", Path=[r"C:\from\sub\x.txt"], Destination=r"C:\y.txt")
    assert shell.error("Move-Item", Path=[r"C:\y.txt"], Destination=r"C:\to\sub\x.txt").error_id.startswith("MoveFile")
    shell("Move-Item", Path=[r"C:\y.txt"], Destination=r"C:\to\sub\x.txt", Force=True)
    assert not shell.machine.files.exists(r"C:\y.txt")


def test_keys(shell):
    error = shell.error("New-Item", Path=[KEY + r"\below"])
    assert error.error_id == "System.ArgumentException,Microsoft.PowerShell.Commands.NewItemCommand"
    key = shell.one("New-Item", Path=[KEY + r"\below"], Force=True)
    assert key["Name"] == r"HKEY_LOCAL_MACHINE\SOFTWARE\winkube-test\below"
    assert shell.error("New-Item", Path=[KEY]).category == "ResourceExists"
    assert [item["PSChildName"] for item in shell("Get-ChildItem", Path=[KEY])] == ["below"]
    assert shell.error("Remove-Item", LiteralPath=[KEY]).category == "InvalidOperation"
    shell("Remove-Item", LiteralPath=[KEY], Recurse=True, Force=True)
    assert not shell.machine.registry.key_exists(KEY)


def test_subkeys_are_copied_only_with_recurse(shell):
    shell.machine.registry.set(KEY + r"\from\below", "a", 1, "DWord")
    shell("Copy-Item", Path=[KEY + r"\from"], Destination=KEY + r"\flat")
    assert shell.machine.registry.subkeys(KEY + r"\flat") == []
    shell("Copy-Item", Path=[KEY + r"\from"], Destination=KEY + r"\deep", Recurse=True)
    assert shell.machine.registry.data(KEY + r"\deep\below", "a") == 1
    assert "same provider" in shell.error("Copy-Item", Path=[KEY], Destination=r"C:\t").message


@pytest.mark.parametrize(
    ("path", "destination", "message"),
    [(r"C:\t\sub", r"C:\t", "must be different"), (r"C:\t", r"C:\t\sub\new", "used by another process")],
)
def test_a_folder_is_not_moved_into_itself(shell, path, destination, message):
    shell("New-Item", Path=[r"C:\t\sub"], ItemType="Directory", Force=True)
    error = shell.error("Move-Item", Path=[path], Destination=destination)
    assert error.error_id.startswith("MoveDirectoryItemIOError,")
    assert message in error.message


def test_a_forced_key_is_empty(shell):
    shell.machine.registry.set(KEY, "a", 1, "DWord")
    shell("New-Item", Path=[KEY], Force=True)
    assert shell.machine.registry.values(KEY) == {}


def test_an_executable_shows_its_version(shell):
    version = shell.one("Get-Item", Path=[r"C:\Windows\System32\svchost.exe"])["VersionInfo"]
    assert version["ProductVersion"] == shell.machine.windows.full


@pytest.mark.parametrize(
    ("switch", "expected"),
    [("Parent", r"C:\a"), ("Leaf", "b.txt"), ("Qualifier", "C:"), ("NoQualifier", r"\a\b.txt"), ("IsAbsolute", True)],
)
def test_paths_are_split(shell, switch, expected):
    assert shell("Split-Path", Path=[r"C:\a\b.txt"], **{switch: True}) == [expected]


def test_only_a_path_with_a_drive_has_a_qualifier(shell):
    assert shell("Split-Path", Path=["a", r"C:\a"], Qualifier=True, ErrorAction="SilentlyContinue") == ["C:"]
    assert shell.error("Split-Path", Path=["a"], Qualifier=True).error_id.startswith("ParsePathFormatError,")


def test_paths_are_joined_and_resolved(shell):
    assert shell("Join-Path", Path=["C:\\a\\"], ChildPath="/b") == [r"C:\a\b"]
    assert shell("Split-Path", Path=[r"C:\a", "C:\\"]) == ["C:\\", ""]
    assert str(shell.one("Resolve-Path", Path=[r"c:\windows\system32\..\Temp"])) == r"C:\windows\Temp"


def test_access_lists_follow_the_sddl(shell):
    shell("New-Item", Path=[r"C:\t"], ItemType="Directory")
    shell.machine.files.set_sddl(r"C:\t", "O:BAG:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
    acl = shell.one("Get-Acl", Path=[r"C:\t"])
    assert (acl["Owner"], acl["AreAccessRulesProtected"]) == (r"BUILTIN\Administrators", True)
    assert [str(rule["IdentityReference"]) for rule in acl["Access"]] == [
        r"NT AUTHORITY\SYSTEM", r"BUILTIN\Administrators",
    ]  # fmt: skip
