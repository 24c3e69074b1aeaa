# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plugins of Container Credential Guard: verified files, their COM registration, and what a second run changes."""

from __future__ import annotations

import struct
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.active_directory.ccg_plugins import CcgPlugin
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import ccg_plugins, kubernetes_node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

CLSID, APPLICATION = "{CCC2A336-D7F3-4818-A213-272B7924213E}", "{557110E1-88BC-4583-8281-6AAC6F708584}"
PLUGIN: dict[str, t.Any] = {
    "name": "akv",
    "version": "1.1.5",
    "url": "https://site.example/plugin.zip",
    "sha256": "a" * 64,
    "member": "x64/CCGAKVPlugin.dll",
    "clsid": CLSID.lower().strip("{}"),
    "app_id": APPLICATION,
}
CLASSES = "HKLM:\\SOFTWARE\\Classes"
ALLOWED = "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\CCG\\COMClasses"


def resources(**more: t.Any) -> list[dict[str, t.Any]]:
    return ccg_plugins.resources([CcgPlugin(**PLUGIN | more)], samples.downloads(), ["kubelet"])


def registration(**more: t.Any) -> list[dict[str, t.Any]]:
    return [one for one in resources(**more) if one["type"] == "Registry"]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    machine = Machine(MachineSettings(name="win1", address="127.0.0.1"), tmp_path)
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


def converge(node: DirectNode, items: list[dict[str, t.Any]]) -> ConvergenceOutcome:
    return Convergence(NodeSession(node), load(items), check_mode=False).run()


def test_com_finds_the_plugin_and_ccg_may_activate_it(node: DirectNode) -> None:
    outcome = converge(node, registration())
    assert outcome.failures == []
    assert len(outcome.changes) == len(registration())
    read = node.machine.registry.data
    library = "C:\\Program Files\\ccg-plugins\\akv\\CCGAKVPlugin.dll"
    assert read(f"{CLASSES}\\CLSID\\{CLSID}\\InprocServer32", "") == library
    assert read(f"{CLASSES}\\CLSID\\{CLSID}\\InprocServer32", "ThreadingModel") == "Both"
    assert read(f"{CLASSES}\\CLSID\\{CLSID}", "AppID") == APPLICATION
    assert read(f"{CLASSES}\\AppID\\{APPLICATION}", "DllSurrogate") == ""
    assert read(f"{CLASSES}\\AppID\\{APPLICATION}", "LaunchPermission") == bytes(ccg_plugins.permissions())
    assert node.machine.registry.key_exists(f"{ALLOWED}\\{CLSID}")
    assert converge(node, registration()).changes == []


def test_without_an_application_the_class_gives_its_guid() -> None:
    keys = [one["key"] for one in registration(app_id="")]
    assert f"{CLASSES}\\AppID\\{CLSID}" in keys
    assert not any(APPLICATION in key for key in keys)


def test_a_protected_key_is_explained(node: DirectNode) -> None:
    node.machine.registry.create_key(ALLOWED)
    node.machine.registry.protect(ALLOWED)
    (failure,) = converge(node, registration()).failures
    assert f"Windows protects {ALLOWED}\\{CLSID} even from administrators: take ownership" in failure


def test_the_permissions_are_a_descriptor_for_system_and_services() -> None:
    data = bytes(ccg_plugins.permissions())
    revision, control, owner, group, sacl, dacl = struct.unpack_from("<BxHIIII", data)
    assert (revision, control, sacl, dacl) == (1, 0x8004, 0, 20)
    assert data[owner:group] == data[group:] == bytes.fromhex("01020000000000052000000020020000")
    _, size, count = struct.unpack_from("<HHH", data, dacl)
    assert (size, count) == (owner - dacl, 2)
    entries = [data[dacl + 8 + 20 * number : dacl + 28 + 20 * number] for number in range(count)]
    assert [(entry[0], struct.unpack_from("<I", entry, 4)[0]) for entry in entries] == [(0, 0xB), (0, 0xB)]
    assert [struct.unpack_from("<I", entry, 16)[0] for entry in entries] == [18, 6]


def test_the_files_are_verified_and_closed_before_they_are_registered() -> None:
    found = resources()
    artifact, archive = (next(one for one in found if one["type"] == kind) for kind in ("Artifact", "Archive"))
    assert artifact["sha256"] == "a" * 64
    assert (archive["members"], archive["strip_components"], archive["check"]) == (
        ["x64/CCGAKVPlugin.dll"],
        1,
        ["CCGAKVPlugin.dll"],
    )
    assert archive["stops"] == ["kubelet"]
    kinds = [one["type"] for one in found]
    assert kinds.index("Directory") < kinds.index("Artifact") < kinds.index("Archive") < kinds.index("Registry")
    load(found)


def test_a_node_without_plugins_has_none_of_this() -> None:
    assert ccg_plugins.resources([], samples.downloads(), []) == []
    names = [one["name"] for one in kubernetes_node.resources(samples.kubernetes()) if "name" in one]
    assert not [name for name in names if "ccg" in name]
    # The kubelet's service stays the last resource.
    found = kubernetes_node.resources(samples.kubernetes(ccg_plugins=(CcgPlugin(**PLUGIN),)))
    assert (found[-1]["type"], found[-1]["name"]) == ("Service", "kubelet")
    load(found)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"name": "a/b"}, "name: expected at most 63 letters, digits, ., - and _, beginning with"),
        ({"url": ""}, "url: expected the URL of an archive with the plugin, got nothing"),
        ({"sha256": ""}, "sha256: expected the SHA-256 of the archive (64 hexadecimal digits), got nothing"),
        ({"member": "..\\x.dll"}, "member: expected the path of a DLL in the archive, such as x64/plugin.dll"),
        ({"member": "install.ps1"}, "member: expected the path of a DLL"),
        ({"clsid": "akv"}, "clsid: expected a GUID such as {CCC2A336-D7F3-4818-A213-272B7924213E}, got 'akv'"),
        ({"app_id": "akv"}, "app_id: expected a GUID"),
    ],
)
def test_what_is_refused(more: dict[str, t.Any], text: str) -> None:
    with pytest.raises(ResourceError) as refused:
        CcgPlugin(**PLUGIN | more)
    assert str(refused.value).startswith(text)
