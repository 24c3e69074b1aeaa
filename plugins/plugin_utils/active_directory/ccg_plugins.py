# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plugins of Container Credential Guard (CCG), as users define them in variables."""

from __future__ import annotations

import dataclasses
import re

from ..specification.describe import SECRET
from ..values.errors import ResourceError
from .credential_spec import GUID


@dataclasses.dataclass(frozen=True, kw_only=True)
class CcgPlugin:
    """A plugin of Container Credential Guard (CCG).

    On a machine that is not in the domain, CCG gets the credentials of a domain account from the plugin.
    """

    name: str
    """Name of the plugin's folder, and of its artifact."""
    version: str
    url: str = dataclasses.field(metadata=SECRET)
    """URL of an archive with the plugin."""
    sha256: str
    member: str
    """Path of the DLL in the archive."""
    clsid: str
    """The plugin's COM class, which credential specs name as PluginGUID."""
    app_id: str = ""
    """The AppID of the plugin's COM application; empty if it equals the CLSID."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", self.name):
            expected = "expected at most 63 letters, digits, ., - and _, beginning with a letter or digit"
            raise ResourceError("name", self.name, expected)
        if not self.url:
            raise ResourceError("url", None, "expected the URL of an archive with the plugin")
        # A plugin handles passwords of domain accounts, so an unverified plugin is never installed.
        if not re.fullmatch(r"[0-9a-fA-F]{64}", self.sha256):
            raise ResourceError(
                "sha256", self.sha256 or None, "expected the SHA-256 of the archive (64 hexadecimal digits)"
            )
        if not re.fullmatch(r"(?:[^/\\:*?\"<>|]+/)*[^/\\:*?\"<>|]+\.dll", self.member, re.IGNORECASE):
            raise ResourceError(
                "member", self.member, "expected the path of a DLL in the archive, such as x64/plugin.dll"
            )
        for field, value in (("clsid", self.clsid), ("app_id", self.app_id or self.clsid)):
            if not GUID.fullmatch(value):
                raise ResourceError(field, value, "expected a GUID such as {CCC2A336-D7F3-4818-A213-272B7924213E}")

    @property
    def class_id(self) -> str:
        """The CLSID in braces, as in the registry."""
        return _braced(self.clsid)

    @property
    def application(self) -> str:
        """The AppID in braces, as in the registry."""
        return _braced(self.app_id or self.clsid)


def _braced(guid: str) -> str:
    return f"{{{guid.strip('{}').upper()}}}"
