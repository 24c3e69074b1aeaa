# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The settings of WinRM: what is set, what is removed, and what is missing after generalizing."""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from simulator.machine import winrm_settings

AUTH = "winrm/config/service/auth"
LISTENER = "winrm/config/Listener"
HTTPS = {"Address": "*", "Transport": "HTTPS"}


def test_basic_authentication_is_switched_off(shell: Any) -> None:
    assert shell.one("Get-WSManInstance", ResourceURI=AUTH)["Basic"] == "true"
    shell.all("Set-WSManInstance", ResourceURI=AUTH, ValueSet={"Basic": "false"})
    assert not winrm_settings.basic_allowed(shell.machine)
    assert shell.error("Set-WSManInstance", ResourceURI=AUTH, ValueSet={"Frob": "true"}).category == "InvalidOperation"


def test_a_listener_is_removed_and_made_again(shell: Any) -> None:
    assert winrm_settings.listeners(shell.machine) == ["HTTP", "HTTPS"]
    shell.all("Remove-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS)
    assert winrm_settings.listeners(shell.machine) == ["HTTP"]
    error = shell.error("Remove-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS)
    assert error.error_id == "WsManError,Microsoft.WSMan.Management.RemoveWSManInstanceCommand"
    assert (
        "appropriate certificate" in shell.error("New-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS).message
    )
    strange = {"CertificateThumbprint": "AB" * 20}
    error = shell.error("New-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS, ValueSet=strange)
    assert "appropriate certificate" in error.message
    mark = shell.one("New-SelfSignedCertificate", DnsName="win-1", CertStoreLocation="Cert:\\LocalMachine\\My")[
        "Thumbprint"
    ]
    values = {"CertificateThumbprint": mark}
    made = shell.one("New-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS, ValueSet=values)
    assert made["CertificateThumbprint"] == mark
    listed = shell.all("Get-WSManInstance", ResourceURI=LISTENER, Enumerate=True)
    assert [item["Port"] for item in listed] == ["5985", "5986"]


def test_the_certificate_of_a_listener_is_in_the_store(shell: Any) -> None:
    listed = shell.all("Get-WSManInstance", ResourceURI=LISTENER, Enumerate=True)
    (mark,) = [item["CertificateThumbprint"] for item in listed if item["Transport"] == "HTTPS"]
    my = r"Cert:\LocalMachine\My"
    assert [item["Thumbprint"] for item in shell.all("Get-ChildItem", Path=my)] == [mark]
    assert winrm_settings.wire_settings(shell.machine).transports == {"HTTP", "HTTPS"}
    shell.all("Remove-Item", LiteralPath=rf"{my}\{mark.lower()}", DeleteKey=True)
    assert shell.all("Get-ChildItem", Path=my) == []
    assert shell.error("Remove-Item", LiteralPath=rf"{my}\{mark}", DeleteKey=True).error_id.startswith("PathNotFound")
    # The listener still exists, but without its certificate it does not work.
    assert winrm_settings.listeners(shell.machine) == ["HTTP", "HTTPS"]
    assert winrm_settings.wire_settings(shell.machine).transports == {"HTTP"}


def test_a_generalized_disk_has_windows_own_settings(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    machine.programs.run(r"C:\Windows\System32\Sysprep\sysprep.exe", ["/oobe", "/generalize", "/quiet", "/quit"])
    machine.power.reset()
    assert (winrm_settings.listeners(machine), winrm_settings.basic_allowed(machine)) == (["HTTP"], False)


def test_a_listener_gets_another_certificate_and_serves_it(shell: Any) -> None:
    extension = "2.5.29.17={text}DNS=win-1.example&IPAddress=192.0.2.21"
    made = shell.one(
        "New-SelfSignedCertificate",
        Subject="CN=win-1",
        TextExtension=[extension],
        FriendlyName="listener",
        CertStoreLocation="Cert:\\LocalMachine\\My",
    )
    certificate = x509.load_der_x509_certificate(bytes(made["RawData"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["win-1.example"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.21"]
    values = {"CertificateThumbprint": made["Thumbprint"]}
    shell.all("Set-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS, ValueSet=values)
    assert certificate.public_bytes(Encoding.PEM) in winrm_settings.wire_settings(shell.machine).certificate
    path = rf"Cert:\LocalMachine\My\{made['Thumbprint']}"
    assert shell.one("Get-Item", LiteralPath=path)["FriendlyName"] == "listener"
    strange = {"CertificateThumbprint": "AB" * 20}
    error = shell.error("Set-WSManInstance", ResourceURI=LISTENER, SelectorSet=HTTPS, ValueSet=strange)
    assert "not found" in error.message
    shell.all("Remove-Item", LiteralPath=path, DeleteKey=True)
    assert winrm_settings.wire_settings(shell.machine).transports == {"HTTP"}
