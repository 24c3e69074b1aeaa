# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the roles windows_settings and windows_features."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.plugins.plugin_utils.node_resources.samples import kinds, named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import windows_features, windows_settings
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.downloads import Proxy
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.windows_settings import WindowsSettings
from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.windows_features import (
    WindowsFeaturesVariables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.windows_settings import (
    PageFileSettings,
)

PLAIN = WindowsSettings(
    time_zone="UTC",
    time_servers=(),
    hosts={},
    automatic_updates="disabled",
    wsus_server="",
    page_file=PageFileSettings(),
    remote_desktop="",
    winrm_delayed_start=False,
    ssh_server="",
    ssh_url="https://example.test/OpenSSH-Win64.zip",
    ssh_sha256="",
    ssh_authorized_keys=(),
    hostname="",
    trusted_certificates=(),
    artifact_cache="C:\\cache",
    registry_fixes=False,
    proxy=Proxy(http_proxy="", https_proxy=""),
)


def resources(**given: t.Any) -> list[dict[str, t.Any]]:
    return windows_settings.resources(dataclasses.replace(PLAIN, **given))


def test_folders_of_the_collection_are_protected_before_anything_is_written() -> None:
    found = resources(trusted_certificates=("a", "b"))
    assert kinds(found)[:4] == [
        ("Directory", "C:\\ProgramData\\winkube"),
        ("Directory", "C:\\cache"),
        ("CertificateImport", "trusted certificate 1"),
        ("CertificateImport", "trusted certificate 2"),
    ]
    assert found[1]["move_aside"] == "writable"
    assert [one["content"] for one in found[2:4]] == ["a", "b"]


def test_the_name_comes_last_so_that_its_reboot_is_shared() -> None:
    assert kinds(resources(hostname="WIN1", registry_fixes=True))[-1] == ("ComputerName", "WIN1")
    assert "ComputerName" not in dict(kinds(resources()))


@pytest.mark.parametrize(
    ("given", "kind"),
    [({"time_servers": ("10.0.0.1",)}, "W32Time"), ({"page_file": PageFileSettings(automatic=True)}, "PageFile")],
)
def test_settings_without_a_variable_are_left_unchanged(given: dict[str, t.Any], kind: str) -> None:
    assert kind in dict(kinds(resources(**given)))
    assert kind not in dict(kinds(resources()))


def test_registry_fixes_are_a_choice() -> None:
    assert "Registry" in dict(kinds(resources(registry_fixes=True)))
    assert "Registry" not in dict(kinds(resources()))


def test_a_proxy_that_is_no_longer_set_is_removed() -> None:
    states = {one["name"]: one["state"] for one in resources() if str(one.get("name")).endswith("_PROXY")}
    assert states == dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"), "absent")
    assert all(one["managed"] for one in resources() if one["type"] in ("Environment", "WinHttpProxy"))


def test_a_proxy_is_the_machines() -> None:
    proxy = Proxy(http_proxy="http://u:p@p:1", https_proxy="", no_proxy="a,b")
    found = resources(proxy=proxy)
    variables = {one["name"]: one for one in found if one["type"] == "Environment"}
    assert {name: (one["state"], one["value"], one["no_log"]) for name, one in variables.items()} == {
        "HTTP_PROXY": ("present", "http://u:p@p:1", True),
        "HTTPS_PROXY": ("absent", None, False),
        "NO_PROXY": ("present", "a,b", False),
    }
    (machine,) = [one for one in found if one["type"] == "WinHttpProxy"]
    assert (machine["proxy"], machine["bypass"], machine["state"]) == ("http://u:p@p:1", ["a", "b"], "present")


def test_updates_come_from_the_sites_server() -> None:
    update = [one for one in resources(wsus_server="http://wsus") if one["type"] == "WindowsUpdateSettings"]
    assert [(one["wsus_server"], one["automatic_updates"]) for one in update] == [("http://wsus", "disabled")]
    assert [one["wsus_server"] for one in resources() if one["type"] == "WindowsUpdateSettings"] == [None]


@pytest.mark.parametrize(
    ("names", "hyper_v", "expected"),
    [
        (("Containers",), False, ["Containers"]),
        (("Containers", "Hyper-V"), True, ["Containers", "Hyper-V", "Hyper-V-PowerShell"]),
    ],
)
def test_features(names: tuple[str, ...], hyper_v: bool, expected: list[str]) -> None:
    found = windows_features.resources(WindowsFeaturesVariables(names=names, absent=("SMB1",), hyper_v=hyper_v))
    assert [one["name"] for one in found] == [*expected, "SMB1"]
    assert named(found, "SMB1")["state"] == "absent"
    assert all("state" not in one for one in found[:-1])


def by_name(found: list[dict[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    return {str(one.get("name") or one["value_name"]): one for one in found}


def test_remote_desktop_is_enabled_with_authentication_before_the_logon_or_disabled() -> None:
    enabled = by_name(resources(remote_desktop="enabled"))
    assert enabled["fDenyTSConnections"]["value"] == 0
    assert enabled["UserAuthentication"]["value"] == 1
    assert enabled["winkube-remote-desktop-tcp"]["local_ports"] == ["3389"]
    disabled = by_name(resources(remote_desktop="disabled"))
    assert disabled["fDenyTSConnections"]["value"] == 1
    assert disabled["winkube-remote-desktop-tcp"]["state"] == "absent"
    assert not [kind for kind in kinds(resources()) if "emote" in kind[1]]


def test_a_machine_from_an_image_with_a_server_gets_its_keys() -> None:
    found = resources(ssh_authorized_keys=("ssh-ed25519 AAAA a",))
    names = [one["name"] for one in found if "ssh" in one.get("name", "")]
    assert names == ["C:\\ProgramData\\ssh", "C:\\ProgramData\\ssh\\administrators_authorized_keys"]
    (keys,) = [one for one in found if one.get("name") == names[1]]
    # Only SYSTEM and administrators.
    assert (keys["content"], keys["acl"]) == ("ssh-ed25519 AAAA a\n", "O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)")
    assert len(found) == len(resources()) + 2


def test_sshd_accepts_passwords_only_without_keys_and_others_cannot_change_the_keys() -> None:
    found = resources(ssh_server="capability", ssh_authorized_keys=("ssh-ed25519 AAAA a", " ssh-rsa BBBB b "))
    one = by_name(found)
    assert "PasswordAuthentication no" in one["C:\\ProgramData\\ssh\\sshd_config"]["content"]
    keys = one["C:\\ProgramData\\ssh\\administrators_authorized_keys"]
    assert keys["content"] == "ssh-ed25519 AAAA a\nssh-rsa BBBB b\n"
    assert keys["acl"] == "O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)"
    assert one["sshd"]["if_exists"]
    without = by_name(resources(ssh_server="capability"))
    assert "PasswordAuthentication yes" in without["C:\\ProgramData\\ssh\\sshd_config"]["content"]
    order = [name for dummy, name in kinds(found)]
    assert order.index("OpenSSH.Server~~~~0.0.1.0") < order.index("C:\\ProgramData\\ssh") < order.index("sshd")


def test_an_archive_of_openssh_is_cached_and_verified() -> None:
    proxy = Proxy(http_proxy="", https_proxy="http://proxy:1", no_proxy="a,b")
    found = by_name(resources(ssh_server="archive", ssh_sha256="ab" * 32, proxy=proxy))
    artifact = found["OpenSSH"]
    assert artifact["path"].startswith("C:\\cache\\openssh\\")
    assert (artifact["sha256"], artifact["proxy"], artifact["no_proxy"]) == ("ab" * 32, "http://proxy:1", ["a", "b"])
    assert found["C:\\Program Files\\OpenSSH"]["path"] == artifact["path"]
    assert found["sshd"]["path"] == "C:\\Program Files\\OpenSSH\\sshd.exe"
