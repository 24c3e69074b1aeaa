# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the signatures of programs on a node."""

from __future__ import annotations

import re
import typing as t

from ..values.errors import ResourceError
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json

SIGNATURE = (
    "Status",
    "StatusMessage",
    "SignerCertificate.Subject",
    "SignerCertificate.Issuer",
    "SignerCertificate.Thumbprint",
)
"""The properties that are read from a file's signature."""
_SIGNED = (".exe", ".dll", ".sys", ".ps1", ".psm1")
"""Extensions of the files whose signatures are checked: programs, libraries, drivers and PowerShell scripts."""


def is_thumbprint(signer: str) -> bool:
    """Return whether a signer is given as a thumbprint and not as a subject."""
    return bool(re.fullmatch(r"[0-9A-Fa-f]{40}", signer))


def check_signers(signers: t.Sequence[str], where: str = "allowed_signers") -> None:
    """Check the list of allowed signers.

    Args:
        signers: subjects or thumbprints.
        where: name of the option, for error messages.

    Raises:
        ResourceError: the list mixes subjects and thumbprints, or an entry is neither of them.
    """
    accepted = "expected thumbprints (40 hexadecimal digits) or complete subjects (CN=…, O=…), all of one kind"
    thumbprints = [is_thumbprint(signer) for signer in signers]
    for index, signer in enumerate(signers):
        if not thumbprints[index] and "=" not in signer:
            raise ResourceError(f"{where}[{index}]", signer, accepted)
    if any(thumbprints) and not all(thumbprints):
        raise ResourceError(where, list(signers), accepted)


def signer(signers: t.Sequence[str]) -> tuple[str, list[Json]]:
    """Return which property of a signature must match, and the values that are accepted."""
    by = "Thumbprint" if is_thumbprint(signers[0]) else "Subject"
    return f"SignerCertificate.{by}", list(signers)


def can_be_signed(name: str) -> bool:
    """Return whether a file is a program, library, driver or PowerShell script, which can contain a signature."""
    return name.lower().endswith(_SIGNED)


def call(call_id: str, path: str, signers: t.Sequence[str]) -> Call:
    """Return a call that fails unless one of the signers has validly signed the file.

    Args:
        call_id: id of the call.
        path: Windows path of the file.
        signers: subjects or thumbprints, at least one.
    """
    name, allowed = signer(signers)
    return query(
        call_id,
        "Get-AuthenticodeSignature",
        {"LiteralPath": path},
        select=SIGNATURE,
        until={"Status": ["Valid"], name: allowed},
        on_error="stop",
    )


def signed_by(result: CallResult) -> str:
    """Return a description of a file's signature and signer, for messages."""
    signature = result.first or {}
    subject = signature.get("SignerCertificate.Subject")
    thumbprint = signature.get("SignerCertificate.Thumbprint")
    shown = f"{signature.get('Status') or result.error}, {f'by {subject}' if subject else 'no signer'}"
    if not thumbprint and signature.get("StatusMessage"):
        shown += f" ({str(signature['StatusMessage']).strip()})"
    return f"{shown} ({thumbprint}), issued by {signature.get('SignerCertificate.Issuer')}" if thumbprint else shown
