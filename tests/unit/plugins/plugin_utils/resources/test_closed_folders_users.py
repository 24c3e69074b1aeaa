# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Accounts that still have access to the closed folders: SYSTEM's services, and the users of containers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources import directory
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

KUBELET = r"C:\var\lib\kubelet"
VOLUME = rf"{KUBELET}\pods\0123\volumes\kubernetes.io~projected\access"
EMPTY = rf"{KUBELET}\pods\0123\volumes\kubernetes.io~empty-dir\scratch"
USERS = ("ContainerUser", "mallory", "NT AUTHORITY\\LocalService")


@pytest.fixture(params=["2019", "2025"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Yield a machine with the access lists that the roles set on its folders, and with a pod's volumes."""
    settings = MachineSettings.read({"name": "node-1", "address": "127.0.0.11", "windows": request.param})
    machine = Machine(settings, tmp_path / "m")
    machine.power_on()
    folders = (
        *directory.closed([KUBELET], users="read", open_folders=["pods"], shallow=True),
        *directory.closed([rf"{KUBELET}\pki", r"C:\etc\kubernetes", r"C:\ProgramData\winkube\cache"]),
    )
    outcome = Convergence(NodeSession(DirectNode(machine)), load(list(folders))).run()
    assert outcome.failures == []
    with machine.acting.as_account("SYSTEM"):
        for folder in (VOLUME, EMPTY):
            machine.files.make_directory(folder)
        machine.files.write_text(rf"{VOLUME}\token", "token")
        machine.files.write_text(rf"{KUBELET}\pki\kubelet.key", "key")
        machine.files.write_text(rf"{KUBELET}\config.yaml", "config")
    yield machine
    machine.power.power_off()


@pytest.mark.parametrize("account", ["SYSTEM", "Administrator", "ContainerAdministrator"])
def test_system_and_administrators_reach_everything(machine: Machine, account: str) -> None:
    with machine.acting.as_account(account):
        for path in (rf"{VOLUME}\token", rf"{KUBELET}\pki\kubelet.key", rf"{KUBELET}\config.yaml"):
            machine.files.write_text(path, machine.files.read_text(path))
        machine.files.write_text(rf"{EMPTY}\x", "x")
        machine.files.delete(rf"{KUBELET}\pods\0123")


@pytest.mark.parametrize("account", USERS)
def test_the_users_of_containers_read_volumes_and_write_their_own_files(machine: Machine, account: str) -> None:
    with machine.acting.as_account(account):
        assert machine.files.read_text(rf"{VOLUME}\token") == "token"
        machine.files.write_text(rf"{EMPTY}\x", "x")
        assert machine.files.read_text(rf"{EMPTY}\x") == "x"
        machine.files.delete(rf"{EMPTY}\x")


@pytest.mark.parametrize("account", USERS)
def test_only_administrators_read_keys_and_change_configuration(machine: Machine, account: str) -> None:
    files = machine.files
    with machine.acting.as_account(account):
        assert files.read_text(rf"{KUBELET}\config.yaml") == "config"
        for path in (rf"{KUBELET}\pki\kubelet.key",):
            with pytest.raises(PermissionError):
                files.read_text(path)
        for path in (rf"{KUBELET}\config.yaml", rf"{KUBELET}\evil", rf"{VOLUME}\token", r"C:\etc\kubernetes\evil",
                     r"C:\ProgramData\winkube\cache\evil"):  # fmt: skip
            with pytest.raises(PermissionError):
                files.write_text(path, "evil")
        for path in (KUBELET, rf"{KUBELET}\pki", r"C:\etc\kubernetes"):
            with pytest.raises(PermissionError):
                files.move(path, rf"{path}-moved")
