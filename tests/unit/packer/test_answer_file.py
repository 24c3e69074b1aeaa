# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The answer file, as Packer renders it, obeys the rules of Windows Setup."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from unit.packer.packer_templates import MISSING, Packer
from unit.packer.packer_variables import QEMU, WINDOWS, from_iso
from unit.packer.unattend import problems, value

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
KEY = "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"
HOSTILE = "a<b>&\"' c]]>%TEMP%^!${x}%{if}é&amp;"
"""A password with the special characters of XML, cmd.exe, HCL and Packer."""
CASES: dict[str, dict[str, Any]] = {
    "2019, BIOS, product key": {"version": "2019", "firmware": "bios", "edition": "standard"},
    "2022, UEFI, evaluation": {"version": "2022"},
    "2025, UEFI, product key": {"version": "2025", "edition": "datacenter"},
    "Insider, by number": {"version": "insider", "edition": "2", "allow_unsupported_windows": True},
    "another language": {"language": "de-DE", "time_zone": "W. Europe Standard Time"},
}


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Packer:
    return Packer(tmp_path_factory.mktemp("packer"))


def rendered(packer: Packer, password: str = "", **variables: Any) -> tuple[str, str]:
    """Return the answer file and the script of the first logon."""
    environment = {"PKR_VAR_build_password": password} if password else {}
    code, output = packer.run("build", "-only=answer-file.*", variables=from_iso(**variables), environment=environment)
    assert code == 0, output
    folder = packer.folder / "build" / "answer_file"
    script = (folder / "first_logon.cmd").read_bytes().decode()
    return (folder / "Autounattend.xml").read_text(encoding="utf-8"), script


@pytest.mark.parametrize("case", CASES)
def test_setup_accepts_the_answer_file(packer: Packer, case: str) -> None:
    key = KEY if "product key" in case else ""
    answers, _ = rendered(packer, windows=WINDOWS | CASES[case], windows_product_key=key)
    assert problems(answers) == []
    root = ET.fromstring(answers.encode())
    expected = WINDOWS | CASES[case]
    index = {"standard": "2", "datacenter_core": "3", "datacenter": "4"}.get(expected["edition"], expected["edition"])
    assert value(root, "ImageInstall/OSImage/InstallFrom/MetaData/Value") == index
    assert value(root, "UserData/ProductKey/Key") == key
    assert value(root, "TimeZone") == expected["time_zone"]
    assert value(root, "UILanguage") == expected["language"]
    assert value(root, "fDenyTSConnections") == "false"
    assert ("EFI" in answers) == (expected["firmware"] == "uefi")


def test_a_password_keeps_its_special_characters(packer: Packer) -> None:
    answers, script = rendered(packer, HOSTILE)
    assert problems(answers) == []
    assert value(ET.fromstring(answers.encode()), "UserAccounts/AdministratorPassword/Value") == HOSTILE
    assert HOSTILE not in script


def test_each_build_has_a_password_of_its_own(packer: Packer) -> None:
    passwords = set()
    for _ in range(2):
        answers, _ = rendered(packer)
        passwords.add(value(ET.fromstring(answers.encode()), "UserAccounts/AdministratorPassword/Value"))
    assert len(passwords) == 2
    # Windows' rule: three of upper case, lower case, digits and others.
    for password in passwords:
        assert password.startswith("Wk1-")
        assert len(password) == 40


def test_setup_finds_the_drivers_for_virtio(packer: Packer) -> None:
    answers, _ = rendered(packer, windows=WINDOWS | {"version": "2025"}, qemu=QEMU | {"virtio_dir": "/srv/virtio"})
    assert problems(answers) == []
    for driver in ("viostor", "NetKVM"):
        assert rf"<Path>E:\{driver}\2k25\amd64</Path>" in answers
    without, _ = rendered(packer)
    assert "DriverPaths" not in without


def test_the_first_logon_enables_winrm_last(packer: Packer) -> None:
    _, script = rendered(packer, winrm_clients=["192.0.2.0/24", "2001:db8::1"])
    lines = script.split("\r\n")
    assert "\n" not in "".join(lines)
    last = lines[-2]
    assert last.startswith("powershell.exe ")
    assert "-Controller '192.0.2.0/24','2001:db8::1' " in last
    # Packer's NTLM has no channel binding, which the script requires otherwise.
    assert last.index("CbtHardeningLevel = 'Relaxed'") > last.index("Enable-WinRMOverHttps.ps1")
    assert "DefaultPassword" in script


TARGET = "<InstallTo>\n            <DiskID>0</DiskID>\n            <PartitionID>"
SECOND = '<SynchronousCommand wcm:action="add"><Order>2</Order><CommandLine>x</CommandLine></SynchronousCommand>'
MISTAKES = {
    "unknown setting": ("<HideEULAPage>true</HideEULAPage>", "<HideEula>true</HideEula>"),
    "wrong pass": ('<settings pass="specialize">', '<settings pass="windowsPe">'),
    "component in the wrong pass": (
        'name="Microsoft-Windows-International-Core" ',
        'name="Microsoft-Windows-International-Core-WinPE" ',
    ),
    "no value": ("<FullName>Administrator</FullName>", "<FullName></FullName>"),
    "no logon count": ("<LogonCount>1</LogonCount>", ""),
    "long command": ("<CommandLine>", f"<CommandLine>{'x' * 1000}"),
    "entry without action": ('<Disk wcm:action="add">', "<Disk>"),
    "entry without key": (' wcm:keyValue="RemoteDesktop"', ""),
    "architecture": ('processorArchitecture="amd64"', 'processorArchitecture="x86"'),
    "size and extend": ("<Extend>true</Extend>", "<Extend>true</Extend><Size>100</Size>"),
    "no MSR": ("<Type>MSR</Type>", "<Type>Primary</Type>"),
    "EFI without FAT32": ("<Format>FAT32</Format>", "<Format>NTFS</Format>"),
    "installed to another partition": (f"{TARGET}3", f"{TARGET}1"),
    "repeated order": ("<Order>2</Order>", "<Order>1</Order>"),
    "key of the wrong form": ("<ProductKey>", "<ProductKey><Key>AAAAA</Key>"),
    "two commands": ("</FirstLogonCommands>", f"{SECOND}</FirstLogonCommands>"),
    "passwords differ": ("<AdministratorPassword>\n          <Value>", "<AdministratorPassword>\n          <Value>x"),
    "long name": ("<ComputerName>*</ComputerName>", "<ComputerName>a-name-with-16-ch</ComputerName>"),
}


@pytest.fixture(scope="module")
def correct(packer: Packer) -> str:
    return rendered(packer)[0]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_rules_find_a_mistake(correct: str, mistake: str) -> None:
    before, after = MISTAKES[mistake]
    assert before in correct
    assert problems(correct.replace(before, after))


def test_only_its_user_can_read_the_answer_file(packer: Packer, correct: str) -> None:
    assert (packer.folder / "build" / "answer_file" / "Autounattend.xml").stat().st_mode & 0o077 == 0
