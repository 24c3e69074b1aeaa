# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Get-AuthenticodeSignature cmdlet for packages and programs.

Sources: https://learn.microsoft.com/powershell/module/microsoft.powershell.security/get-authenticodesignature and, for
the status values, https://learn.microsoft.com/dotnet/api/system.management.automation.signaturestatus
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject
from simulator.windows.updates import packages, update_install
from simulator.windows.updates.update_package import INSTALLER, SIGNERS, UpdateSigner, signer_of

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_STATES = {"Valid": 0, "UnknownError": 1, "NotSigned": 2, "HashMismatch": 3}
_TYPES = {"None": 0, "Authenticode": 1, "Catalog": 2}
_NAMESPACE = "System.Management.Automation"
_OWN = "C:\\Windows\\"


def get_signature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-AuthenticodeSignature with -FilePath or -LiteralPath."""
    if "Content" in bound:
        raise NotModelled("Get-AuthenticodeSignature -Content")
    for path in bound.texts("LiteralPath") or bound.texts("FilePath"):
        if not machine.files.is_file(path):
            message = f"File {path} was not found."
            kind = "System.IO.FileNotFoundException"
            bound.write_error(CmdletError("ObjectNotFound", "SignatureCommandsBaseFileNotFound", message, kind))
            continue
        yield _signature(machine, path)


def _signature(machine: Machine, path: str) -> PSObject:
    signer, state, message, kind = _inspect(machine, path)
    properties: dict[str, object] = {
        "SignerCertificate": _certificate(signer) if signer else None,
        "TimeStamperCertificate": None,
        "Status": Enumeration(state, _STATES[state], f"{_NAMESPACE}.SignatureStatus"),
        "StatusMessage": message,
        "Path": path,
        "SignatureType": Enumeration(kind, _TYPES[kind], f"{_NAMESPACE}.SignatureType"),
        "IsOSBinary": kind == "Catalog",
    }
    return PSObject(f"{_NAMESPACE}.Signature", properties)


def _inspect(machine: Machine, path: str) -> tuple[UpdateSigner | None, str, str, str]:
    """Return the signer of a file (None if unsigned), and the status, status message and type of its signature."""
    data = machine.files.read_bytes(path)
    identity = executables.identify(data)
    if identity is not None and identity[0] != INSTALLER and path.casefold().startswith(_OWN.casefold()):
        return SIGNERS["microsoft"], "Valid", "Signature verified.", "Catalog"
    signer, intact = signer_of(data)
    if signer is None:
        if data[:2] == b"MZ" or data[:4] == b"MSCF":
            return None, "NotSigned", f"The file {path} is not digitally signed.", "None"
        return None, "UnknownError", "The form specified for the subject is not one supported or known.", "None"
    if not intact:
        message = f"The contents of file {path} might have been changed by an unauthorized user or process."
        return signer, "HashMismatch", message, "Authenticode"
    if not packages.trusts(machine, signer):
        return signer, "UnknownError", packages.MESSAGES[update_install.UNTRUSTED_ROOT], "Authenticode"
    return signer, "Valid", "Signature verified.", "Authenticode"


def _certificate(signer: UpdateSigner) -> PSObject:
    properties: dict[str, object] = {
        "Subject": signer.subject,
        "Issuer": signer.issuer,
        "Thumbprint": signer.thumbprint,
        "SerialNumber": signer.thumbprint[:32],
        "NotBefore": datetime(2024, 1, 1, tzinfo=UTC),
        "NotAfter": datetime(2030, 1, 1, tzinfo=UTC),
        "FriendlyName": "",
        "Version": 3,
        "HasPrivateKey": False,
    }
    text = f"[Subject]\r\n  {signer.subject}\r\n\r\n[Thumbprint]\r\n  {signer.thumbprint}\r\n"
    return PSObject("System.Security.Cryptography.X509Certificates.X509Certificate2", properties, text)


CMDLETS: Mapping[str, Cmdlet] = {"Get-AuthenticodeSignature": get_signature}
