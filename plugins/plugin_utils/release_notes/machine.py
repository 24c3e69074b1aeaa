# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the data about the first boot of a machine that was started from an image.

The calls of this file run in the same remote command as the calls of observation.py.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..values.printable import printable
from ..windows.node_paths import TRUSTED_FOLDER
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json, Observation

_STATE: t.Mapping[str, Json] = {
    "path": "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State",
    "name": "ImageState",
}
"""Registry value with the state of Windows Setup. Source: learn.microsoft.com, Windows Setup States."""
_FIRST_BOOT = f"{TRUSTED_FOLDER}\\first-boot"
"""Folder that is removed at the end of the first boot."""
_DRIVE: t.Mapping[str, Json] = {"DriveLetter": "C"}
_NOTED = re.compile(r'^ "(release|host|time)": "([^"\\]{0,300})"')
"""Matches the first lines of an image's release notes in JSON, as `contents.to_json` writes them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstBoot:
    """The data about a machine's image and first boot. A field other than `noted` is None if it cannot be read."""

    noted: t.Mapping[str, str] | None = None
    """`release`, `host` and `time` of the release notes in the image; empty if these do not exist or cannot be read."""
    image_state: str | None = None
    finished: bool | None = None
    """Whether the folder of the first boot is gone, which means that the first boot has finished."""
    unallocated: int | None = None
    """Bytes by which drive C could grow."""
    listeners: tuple[str, ...] | None = None
    """Thumbprints of the certificates of WinRM's HTTPS listeners."""


def calls(copy: str) -> tuple[Call, ...]:
    """Return the calls that read the data for `FirstBoot`.

    Args:
        copy: Windows path of the release notes in the image.
    """
    return (
        query("boot.notes", "Select-String", {"LiteralPath": copy, "Pattern": _NOTED.pattern}, select=("Line",)),
        query("boot.state", "@read-registry", {"values": [dict(_STATE)]}),
        query("boot.folder", "@read-file", {"paths": [_FIRST_BOOT]}, select=("exists",)),
        query("boot.partition", "Get-Partition", _DRIVE, select=("Size",)),
        query("boot.largest", "Get-PartitionSupportedSize", _DRIVE, select=("SizeMax",)),
        query(
            "boot.listeners",
            "Get-WSManInstance",
            {"ResourceURI": "winrm/config/Listener", "Enumerate": True},
            select=("Transport", "CertificateThumbprint"),
        ),
    )


def read(seen: Observation) -> FirstBoot:
    """Return the data that the results of `calls` contain."""
    return FirstBoot(
        noted=_noted(seen["boot.notes"]),
        image_state=_property(seen["boot.state"], "value", str),
        finished=_finished(seen["boot.folder"]),
        unallocated=_unallocated(seen),
        listeners=_listeners(seen["boot.listeners"]),
    )


def _noted(result: CallResult) -> dict[str, str] | None:
    if not result.ok:
        return {}
    matches = (_NOTED.match(str(item.get("Line"))) for item in result.output)
    return {match[1]: printable(match[2]) for match in matches if match}


def _property(result: CallResult, name: str, kind: type[t.Any]) -> t.Any:
    """Return a property of a call's first object, or None if the call failed or the property is not of type `kind`."""
    value = result.first.get(name) if result.ok and result.output else None
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _finished(result: CallResult) -> bool | None:
    exists = result.first.get("exists") if result.ok and result.output else None
    return not exists if isinstance(exists, bool) else None


def _unallocated(seen: Observation) -> int | None:
    size = _property(seen["boot.partition"], "Size", int)
    largest = _property(seen["boot.largest"], "SizeMax", int)
    return None if size is None or largest is None else max(0, largest - size)


def _listeners(result: CallResult) -> tuple[str, ...] | None:
    if not result.ok:
        return None
    https = [item for item in result.output if str(item.get("Transport")).upper() == "HTTPS"]
    return tuple(str(item.get("CertificateThumbprint") or "").replace(" ", "").upper() for item in https)
