# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated Windows Installer packages: real files that describe what their installation changes.

An .msi is an OLE compound file (https://learn.microsoft.com/windows/win32/msi/windows-installer-file-extensions). A
simulated package begins with the same bytes as such a file, and contains a line `SIMULATED-PACKAGE {…}`. Without this
line, msiexec rejects the package.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARK = b"SIMULATED-PACKAGE "
HEAD_SIZE = 16384


@dataclass(frozen=True)
class PackageService:
    """A service that a package installs: its command line and its account."""

    path: str
    display_name: str
    account: str = "LocalSystem"


@dataclass(frozen=True)
class InstallerPackage:
    """The contents of a Windows Installer package.

    Args:
        programs: maps the Windows path of each executable to the identity of the program.
        texts: maps the Windows path of each text file to its contents.
        generated: the text files that the package's custom actions write, as a map from the Windows path to the
            contents. These files stay when the product is removed.
        users: the local users that the package creates.
        system_property: the name of a public property. If the command line sets it, the services run as LocalSystem,
            and `users` are not created.
        code: the ProductCode, if it is the same for all versions.
        exit_code: msiexec's exit code: 0; 3010 if a reboot is needed; or an error code if the installation must fail.
        errors: the lines of the log that explain an error.
    """

    name: str
    version: str
    publisher: str
    programs: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, PackageService] = field(default_factory=dict)
    users: tuple[str, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    system_property: str = ""
    code: str = ""
    exit_code: int = 0
    errors: tuple[str, ...] = ()

    @property
    def product_code(self) -> str:
        """The ProductCode. It usually differs for each version."""
        return (
            self.code
            or "{" + str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.publisher}/{self.name}/{self.version}")).upper() + "}"
        )


def make(package: InstallerPackage) -> bytes:
    """Return the contents of a package file. Equal packages always result in the same bytes."""
    return MAGIC + b"\n" + _MARK + json.dumps(asdict(package), sort_keys=True).encode() + b"\n"


def read(data: bytes) -> InstallerPackage | None:
    """Return the package in a file, or None if it is not a simulated package."""
    start = data[:HEAD_SIZE].find(_MARK)
    if not data.startswith(MAGIC) or start < 0:
        return None
    found = json.loads(data[start + len(_MARK) :].split(b"\n", 1)[0])
    services = {name: PackageService(**entry) for name, entry in found.pop("services").items()}
    users, errors = tuple(found.pop("users")), tuple(found.pop("errors"))
    return InstallerPackage(services=services, users=users, errors=errors, **found)
