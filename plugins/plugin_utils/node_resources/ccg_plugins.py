# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The programs and registry entries of plugins for Container Credential Guard (CCG).

A machine that is not a member of a domain needs such a plugin for gMSAs: the plugin returns the credentials with which
CCG retrieves the gMSA's password. COM activates the plugin in a separate process, so its AppID has a DllSurrogate.
Sources: Win32 reference (ICcgDomainAuthCredentials, "Registering the DLL Server for Surrogate Activation");
microsoft/Azure-Key-Vault-Plugin-gMSA, src/CCGAKVPlugin/InstallPlugin.ps1.
"""

from __future__ import annotations

import ntpath
import struct
import typing as t

from ..active_directory.ccg_plugins import CcgPlugin
from ..resources.directory import closed
from .downloads import Downloads, ResourceMapping, unpacked_file

FOLDER = "C:\\Program Files\\ccg-plugins"
_CLASSES = "HKLM:\\SOFTWARE\\Classes"
_ALLOWED = "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\CCG\\COMClasses"
"""Registry key that lists the COM classes that CCG may activate. Source: Win32 reference, GetPasswordCredentials."""
_ADMINISTRATORS = struct.pack("<BB6sII", 1, 2, b"\0\0\0\0\0\5", 32, 544)
_CALLERS = tuple(struct.pack("<BB6sI", 1, 1, b"\0\0\0\0\0\5", identity) for identity in (18, 6))
"""Binary SIDs of the accounts that may call a plugin: SYSTEM and SERVICE."""
_LOCAL = 0xB
"""COM_RIGHTS_EXECUTE, COM_RIGHTS_EXECUTE_LOCAL and COM_RIGHTS_ACTIVATE_LOCAL."""


def permissions() -> list[int]:
    """Return the bytes of the security descriptor ([MS-DTYP] 2.4.6) that lets SYSTEM and services call the plugin."""
    entries = b"".join(struct.pack("<BBHI", 0, 0, 8 + len(sid), _LOCAL) + sid for sid in _CALLERS)
    access = struct.pack("<BBHHH", 2, 0, 8 + len(entries), len(_CALLERS), 0) + entries
    owner = 20 + len(access)
    # SE_SELF_RELATIVE and SE_DACL_PRESENT.
    header = struct.pack("<BBHIIII", 1, 0, 0x8004, owner, owner + len(_ADMINISTRATORS), 0, 20)
    return list(header + access + 2 * _ADMINISTRATORS)


def resources(plugins: t.Sequence[CcgPlugin], downloads: Downloads, stops: t.Sequence[str]) -> list[ResourceMapping]:
    """Return the resources of the plugins: for each plugin its files, then the registry entries that register it.

    Args:
        plugins: the plugins.
        downloads: the sources of the role's artifacts.
        stops: services that stop before a file is replaced, in this order.

    Raises:
        ArtifactError: the settings of a download are invalid.
    """
    if not plugins:
        return []
    return [
        *closed([FOLDER], users="read"),
        *(one for plugin in plugins for one in (*_files(plugin, downloads, stops), *_registration(plugin))),
    ]


def _files(plugin: CcgPlugin, downloads: Downloads, stops: t.Sequence[str]) -> t.Iterator[ResourceMapping]:
    artifact = downloads.artifact(plugin.name, plugin.version, url=plugin.url, sha256=plugin.sha256)
    yield artifact
    yield unpacked_file(
        artifact,
        f"CCG plugin {plugin.name}",
        member=plugin.member,
        folder=f"{FOLDER}\\{plugin.name}",
        file=ntpath.basename(plugin.member),
        stops=stops,
    )


def _registration(plugin: CcgPlugin) -> t.Iterator[ResourceMapping]:
    library = f"{FOLDER}\\{plugin.name}\\{ntpath.basename(plugin.member)}"
    application, server = f"{_CLASSES}\\AppID\\{plugin.application}", f"{_CLASSES}\\CLSID\\{plugin.class_id}"
    yield _value(application, "DllSurrogate", "")
    for name in ("AccessPermission", "LaunchPermission"):
        yield {**_value(application, name, permissions()), "value_type": "Binary"}
    yield _value(server, "AppID", plugin.application)
    yield _value(f"{server}\\InprocServer32", "(default)", library)
    yield _value(f"{server}\\InprocServer32", "ThreadingModel", "Both")
    yield {"type": "Registry", "key": f"{_ALLOWED}\\{plugin.class_id}"}


def _value(key: str, name: str, value: t.Any) -> ResourceMapping:
    return {"type": "Registry", "key": key, "value_name": name, "value": value}
