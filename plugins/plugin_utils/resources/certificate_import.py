# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Import certificates, such as those of a company's own authority, into the machine's certificate stores."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import re
import typing as t

from ...module_utils.redaction import HIDDEN
from ..engine.changes import objects, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows import sddl
from ..windows.node_paths import TRUSTED_FOLDER
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_STORES = "HKLM:\\SOFTWARE\\Microsoft\\SystemCertificates"
"""Registry key of the machine's certificate stores.

Source: learn.microsoft.com/windows/win32/seccrypto/system-store-locations.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CertificateImport(Resource):
    r"""Imports certificates into one of the machine's certificate stores, which curl.exe, WinHTTP and Go programs use.

    Other certificates in the store are not touched.
    """

    type: t.ClassVar[str] = "CertificateImport"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    content: str = dataclasses.field(metadata={"help": "One or more certificates in PEM, without a private key."})
    store: t.Literal["Root", "CA", "TrustedPublisher", "TrustedPeople"] = dataclasses.field(
        default="Root",
        metadata={"help": "The store. `Root` contains trusted root certificates, `CA` contains intermediate ones."},
    )

    def __post_init__(self) -> None:
        if "PRIVATE KEY" in self.content:
            raise ResourceError("content", AsItIs(HIDDEN), "expected certificates only, without a private key")
        if not self.thumbprints:
            raise ResourceError(
                "content", self.content[:60], "expected a certificate in PEM (-----BEGIN CERTIFICATE-----)"
            )

    @property
    def thumbprints(self) -> tuple[str, ...]:
        """SHA-1 thumbprints of the certificates."""
        return tuple(self._blocks)

    @property
    def _blocks(self) -> dict[str, str]:
        """Maps the thumbprint of each certificate to the certificate in PEM; empty if any certificate is malformed."""
        blocks = {}
        for body in _PEM.findall(self.content):
            try:
                der = base64.b64decode("".join(body.split()), validate=True)
            except binascii.Error:
                return {}
            # A certificate is an ASN.1 SEQUENCE.
            if not der.startswith(b"0"):
                return {}
            mark = hashlib.sha1(der, usedforsecurity=False).hexdigest().upper()
            blocks[mark] = f"-----BEGIN CERTIFICATE-----{body}-----END CERTIFICATE-----\n"
        return blocks

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [
            {"path": f"{_STORES}\\{self.store.upper()}\\Certificates\\{mark}", "name": "Blob"}
            for mark in self.thumbprints
        ]
        parameters: dict[str, Json] = {"values": values}
        select = ("path", "exists")
        return (query("store", "@read-registry", parameters, select=select),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        present = {
            str(item.get("path")).rpartition("\\")[2] for item in objects(self, seen, "store") if item.get("exists")
        }
        missing = [mark for mark in self.thumbprints if mark not in present]
        calls = [call for index, mark in enumerate(missing) for call in self._import(mark, str(index))]
        return update(
            self, {"missing": missing}, {"missing": []}, calls, why=f"not in {self.store}: {', '.join(missing)}"
        )

    def _import(self, mark: str, label: str) -> t.Iterator[Call]:
        """Yield the calls that import one certificate.

        Each certificate needs a file of its own, because Import-Certificate reads only the first one in a PEM file.

        Source: https://github.com/MicrosoftDocs/windows-powershell-docs/issues/3655
        """
        path = f"{TRUSTED_FOLDER}\\certificates\\{mark}.pem"
        write: dict[str, Json] = {"path": path, "content": self._blocks[mark], "sddl": sddl.ADMINISTRATORS_ONLY_FILE}
        take: dict[str, Json] = {"FilePath": path, "CertStoreLocation": f"Cert:\\LocalMachine\\{self.store}"}
        gone: dict[str, Json] = {"LiteralPath": path, "Force": True}
        yield action(f"write-{label}", "@write-file", write)
        yield action(f"import-{label}", "Import-Certificate", take, select=("Thumbprint",))
        yield action(f"clean-{label}", "Remove-Item", gone, needs=(f"write-{label}",), always=True)
