# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The basic parts of a machine: files, registry, executables, command lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine import command_line, executables
from simulator.machine.files import DiskFullError, FileSystem
from simulator.machine.registry import Registry, Value, full_name, is_registry_path
from simulator.machine.windows_paths import normalise


@pytest.fixture
def files(tmp_path: Path) -> FileSystem:
    """Return an empty drive of 1 MB."""
    made = FileSystem(tmp_path, 1 << 20)
    made.reserved = 0
    return made


def test_names_have_no_case(files: FileSystem) -> None:
    files.make_directory(r"C:\Program Files\Containerd")
    files.write_text(r"c:/program files/CONTAINERD/Config.toml", "x")
    assert files.read_text(r"C:\PROGRAM FILES\containerd\config.TOML") == "x"
    assert [entry.name for entry in files.listing(r"C:\program files\containerd")] == ["Config.toml"]
    assert [entry.path for entry in files.listing("C:\\")] == [r"C:\Program Files"]


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("c:/k/../etc/./x ", r"C:\etc\x"),
        (r"\\?\C:\k", r"C:\k"),
        ("C:\\", "C:\\"),
        (r"FileSystem::D:\a\\b\ ", r"D:\a\b"),
        (r"C:\k\name. ", r"C:\k\name"),
    ],
)
def test_normalise(path: str, normal: str) -> None:
    assert normalise(path) == normal


def test_a_path_never_leaves_the_private_folder(files: FileSystem, tmp_path: Path) -> None:
    assert files.real(r"C:\..\..\..\etc\passwd").is_relative_to(tmp_path)


def test_full_disk(files: FileSystem) -> None:
    files.write_bytes(r"C:\a", bytes(900_000))
    with pytest.raises(DiskFullError, match="not enough space"):
        files.write_bytes(r"C:\b", bytes(200_000))
    assert not files.exists(r"C:\b")
    # A file that replaces another one only needs the difference of the sizes.
    files.write_bytes(r"C:\a", bytes(1_000_000))
    assert files.free_space() == (1 << 20) - 1_000_000


def test_missing_folder_and_drive(files: FileSystem) -> None:
    with pytest.raises(FileNotFoundError):
        files.write_text(r"C:\nope\x", "")
    assert not files.exists(r"Z:\x")
    with pytest.raises(FileNotFoundError, match="drive"):
        files.real(r"Z:\x")


def test_access_lists_follow_their_file(files: FileSystem) -> None:
    files.make_directory(r"C:\a")
    files.write_text(r"C:\a\x", "")
    default = files.sddl(r"C:\a\x")
    files.set_sddl(r"C:\a\X", "D:P(A;;FA;;;SY)")
    files.move(r"C:\a", r"C:\b")
    assert files.sddl(r"C:\b\x") == "O:BAG:SYD:PAI(A;;FA;;;SY)"
    files.delete(r"C:\b")
    files.make_directory(r"C:\b")
    files.write_text(r"C:\b\x", "")
    assert files.sddl(r"C:\b\x") == default


@pytest.mark.parametrize(
    ("sddl", "valid"),
    [
        ("O:BAG:SYD:PAI(A;OICI;FA;;;SY)(D;;0x1200a9;;;S-1-5-21-1-2-3-500)", True),
        ("O:S-1-5-18", True),
        ("", False),
        ("O:XXD:(A;;FA;;;SY)", False),
        ("D:(A;;FA;;;XX)", False),
        ("D:(A;;FA;;;)", False),
        ("D:(A;;FA;;;S-1-5)", False),
        ("D:(A;ZZ;FA;;;SY)", False),
        ("D:(A;OIC;FA;;;SY)", False),
        ("D:P(A;;XX;;;SY)", False),
        ("D:(X;;FA;;;SY)", False),
        ("D:(A;;FA;;SY)", False),
    ],
)
def test_only_sddl_that_windows_reads_is_taken(files: FileSystem, sddl: str, valid: bool) -> None:
    files.write_text(r"C:\x", "")
    before = files.sddl(r"C:\x")
    if valid:
        files.set_sddl(r"C:\x", sddl)
        return
    with pytest.raises(ValueError, match="SDDL"):
        files.set_sddl(r"C:\x", sddl)
    assert files.sddl(r"C:\x") == before


def test_registry_keeps_kinds_and_case() -> None:
    registry = Registry()
    registry.set(r"HKLM:\SOFTWARE\Demo", "Name", "%X%", "ExpandString")
    registry.set(r"HKEY_LOCAL_MACHINE\software\demo", "NAME", 5, "DWord")
    assert registry.values(r"Registry::HKLM\Software\Demo") == {"Name": Value(5, "DWord")}
    assert registry.subkeys("HKLM:\\") == ["SOFTWARE"]
    assert registry.delete(r"HKLM:\SOFTWARE\Demo", "name")
    assert not registry.delete(r"HKLM:\SOFTWARE\Demo", "name")
    assert registry.delete_key(r"HKLM:\SOFTWARE")
    assert not registry.key_exists(r"HKLM:\SOFTWARE\Demo")


def test_volatile_keys_disappear_at_a_reboot() -> None:
    registry = Registry()
    registry.create_key(r"HKLM:\A\B")
    registry.create_key(r"HKLM:\A\C", volatile=True)
    registry.drop_volatile()
    assert registry.subkeys(r"HKLM:\A") == ["B"]


def test_registry_paths() -> None:
    assert full_name(r"HKCU:\x") == r"HKEY_CURRENT_USER\x"
    assert is_registry_path(r"Microsoft.PowerShell.Core\Registry::HKEY_LOCAL_MACHINE\x")
    assert not is_registry_path(r"C:\HKLM")
    with pytest.raises(KeyError):
        Registry().get(r"HKXX:\x", "y")


def test_executables_identify_themselves() -> None:
    data = executables.make("kubelet", "1.37.1", 10_000)
    assert len(data) == 10_000
    assert executables.identify(data) == ("kubelet", "1.37.1")
    assert executables.identify(data[: executables.HEAD_SIZE]) == ("kubelet", "1.37.1")
    assert executables.identify(b"MZ" + bytes(500)) is None
    assert executables.identify(b"#!/bin/sh") is None


@given(
    st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20), max_size=6)
)
def test_quoted_arguments_are_split_into_the_original_ones(arguments: list[str]) -> None:
    assert command_line.split(command_line.join(arguments)) == arguments


def test_unquoted_paths_with_blanks_are_searched_as_windows_does() -> None:
    there = {r"C:\Program Files\x\x.exe", r"C:\Program.exe"}
    line = r"C:\Program Files\x\x.exe --flag a"
    assert command_line.program_and_rest(line, {r"C:\Program Files\x\x.exe"}.__contains__) == (
        r"C:\Program Files\x\x.exe",
        "--flag a",
    )
    # Unquoted paths of services are ambiguous.
    assert command_line.program_and_rest(line, there.__contains__)[0] == r"C:\Program.exe"
    assert command_line.program_and_rest('"C:\\a b\\x.exe" -y', there.__contains__) == (r"C:\a b\x.exe", "-y")
