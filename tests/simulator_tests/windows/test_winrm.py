# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""WinRM's settings: what is set, removed, and gone after generalizing."""

from __future__ import annotations

from typing import Any

from simulator.windows import winrm

AUTH = "winrm/config/service/auth"
LISTENER = "winrm/config/Listener"
HTTPS = {"Address": "*", "Transport": "HTTPS"}


def test_basic_authentication_is_switched_off(shell: Any) -> None:
    assert shell.one("Get-WSManInstance", ResourceURI=AUTH)["Basic"] == "true"
    shell.all("Set-WSManInstance", ResourceURI=AUTH, ValueSet={"Basic": "false"})
    assert not winrm.basic_allowed(shell.machine)
    assert shell.error("Set-WSManInstance", ResourceURI=AUTH, ValueSet={"Frob": "true"}).category == "InvalidOperation"


def test_a_listener_is_removed_and_made_again(shell: Any) -> None:
    assert winrm.listeners(shell.machine) == ["HTTP", "HTTPS"]
    shell.all("Remove-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS)
    assert winrm.listeners(shell.machine) == ["HTTP"]
    error = shell.error("Remove-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS)
    assert error.error_id == "WsManError,Microsoft.WSMan.Management.RemoveWSManInstanceCommand"
    assert (
        "appropriate certificate" in shell.error("New-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS).message
    )
    values = {"CertificateThumbprint": "AB" * 20}
    shell.one("New-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS, ValueSet=values)
    listed = shell.all("Get-WSManInstance", ResourceURI=LISTENER, Enumerate=True)
    assert [item["Port"] for item in listed] == ["5985", "5986"]


def test_a_generalized_disk_has_windows_own_settings(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    machine.programs.run(r"C:\Windows\System32\Sysprep\sysprep.exe", ["/oobe", "/generalize", "/quiet", "/quit"])
    machine.power.reset()
    assert (winrm.listeners(machine), winrm.basic_allowed(machine)) == (["HTTP"], False)
