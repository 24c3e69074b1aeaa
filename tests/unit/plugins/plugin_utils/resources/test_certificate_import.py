# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Certificates of a site's own authority: imported once, and never with a private key."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.resource_answers import answer, call, commands, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.machine import certificate_store

END = "-----END CERTIFICATE-----\n"
PEM, OTHER = (
    text + END
    # Fixed certificates, because golden files contain their thumbprints. Their keys no longer exist.
    for text in (Path(__file__).parents[3] / "authorities.pem").read_text(encoding="utf-8").split(END)[:2]
)
MARK = certificate_store.thumbprint(certificate_store.load(PEM.encode())[0])


def entry(mark: str, exists: bool) -> dict[str, object]:
    return {"path": f"HKLM:\\SOFTWARE\\Microsoft\\SystemCertificates\\ROOT\\Certificates\\{mark}", "exists": exists}


def test_a_trusted_certificate_is_not_imported_again() -> None:
    resource = one(type="CertificateImport", name="ours", content=PEM)
    assert resource.thumbprints == (MARK,)
    assert planned(resource, store=answer(entry(MARK, True))) is None


def test_an_untrusted_certificate_is_imported_from_a_temporary_file() -> None:
    resource = one(type="CertificateImport", name="ours", content=f"our authority\n{PEM}\n{OTHER}")
    change = must(resource, store=answer(entry(MARK, True), entry(resource.thumbprints[1], False)))
    assert change.before == {"missing": [resource.thumbprints[1]]}
    assert commands(change) == ["@write-file", "Import-Certificate", "Remove-Item"]
    assert call(change, "import-0").parameters["CertStoreLocation"] == "Cert:\\LocalMachine\\Root"
    assert call(change, "clean-0").always
    # A user who created a folder in ProgramData before could replace the file by another authority's.
    written, taken = call(change, "write-0").parameters["path"], call(change, "import-0").parameters["FilePath"]
    assert written == taken
    assert str(taken).startswith("C:\\Windows\\winkube\\certificates\\")


def test_each_missing_registry_gets_its_own_file() -> None:
    """Import-Certificate imports only the first certificate in a file."""
    resource = one(type="CertificateImport", name="ours", content=f"{PEM}\n{OTHER}\n{PEM}")
    assert len(resource.thumbprints) == 2
    change = must(resource, store=answer(*(entry(mark, False) for mark in resource.thumbprints)))
    assert commands(change) == ["@write-file", "Import-Certificate", "Remove-Item"] * 2
    for index, mark in enumerate(resource.thumbprints):
        written = str(call(change, f"write-{index}").parameters["content"])
        (alone,) = certificate_store.load(written.encode())
        assert certificate_store.thumbprint(alone) == mark


@pytest.mark.parametrize(
    ("content", "accepted"),
    [
        ("", "a certificate in PEM"),
        ("C:\\ca.pem", "a certificate in PEM"),
        ("-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----", "a certificate in PEM"),
        (f"{PEM}\n-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----", "certificates only"),
    ],
    ids=["nothing", "a path", "no base64", "a private key"],
)
def test_an_invalid_certificate_is_refused(content: str, accepted: str) -> None:
    with pytest.raises(ResourceError, match=accepted):
        one(type="CertificateImport", name="ours", content=content)
