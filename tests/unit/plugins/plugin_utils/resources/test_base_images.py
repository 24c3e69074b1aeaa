# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What base images bring or lack, on a simulated machine: a container runtime, and the OpenSSH server."""

from __future__ import annotations

import pytest
from unit.direct_node import DirectNode
from unit.plugins.plugin_utils.resources.test_on_a_simulated_machine import converge, item, node, settles

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from simulator.kubernetes_node.docker import fixtures as docker_fixtures
from simulator.kubernetes_node.hns import networks as hns_networks
from simulator.kubernetes_node.hns.objects import Network
from simulator.kubernetes_node.hns.service import HnsStore, new_id
from simulator.kubernetes_node.hns.status import Refusals
from simulator.machine import executables

__all__ = ["node"]

SSHD = item("Service", "sshd", start_mode="auto", state="running", if_exists=True)


def test_a_capability_brings_a_service_that_the_same_run_configures(node: DirectNode) -> None:
    capability = item("WindowsCapability", "OpenSSH.Server~~~~0.0.1.0")
    assert settles(node, capability, SSHD) == ["WindowsCapability create", "Service update"]
    service = node.machine.services.get("sshd")
    assert service is not None
    assert (service.start_mode, service.state) == ("Automatic", "Running")


@pytest.mark.parametrize("source", [[], ["D:\\features"]])
def test_a_capability_comes_from_windows_update_unless_it_has_a_source(node: DirectNode, source: list[str]) -> None:
    capability = item("WindowsCapability", "OpenSSH.Server~~~~0.0.1.0", source=source)
    (planned,) = converge(node, capability, check_mode=True).changes
    assert planned.planned.change.downloads == ("" if source else "files of Windows Update")


def docker(node: DirectNode) -> None:
    """Install Docker, as a base image brings it."""
    files = node.machine.files
    for folder in (r"C:\Program Files\Docker", r"C:\ProgramData\docker\windowsfilter\layer"):
        files.make_directory(folder)
    files.write_bytes(r"C:\Program Files\Docker\dockerd.exe", executables.make("svchost", "20.10.9"))
    node.machine.services.create("docker", r'"C:\Program Files\Docker\dockerd.exe" --run-service', Start=2)


def test_the_runtime_of_a_base_image_is_refused_or_removed(node: DirectNode) -> None:
    docker(node)
    with pytest.raises(NodeError, match=r"a container runtime, got 'docker'.*remove_existing_runtime: true"):
        converge(node, item("ExistingRuntime", "base"))
    assert node.machine.services.exists("docker")
    assert settles(node, item("ExistingRuntime", "base", existing="remove")) == ["ExistingRuntime remove"]
    assert not node.machine.services.exists("docker")
    for folder in (r"C:\Program Files\Docker", r"C:\ProgramData\docker"):
        assert not node.machine.files.exists(folder)


def test_the_networks_of_the_runtime_go_with_it_and_those_of_windows_stay(node: DirectNode) -> None:
    settles(node, item("WindowsFeature", "Containers"))
    docker_fixtures.populate(node.machine, running=1, stale=1)
    for name, kind in (("transparent", "Transparent"), ("Default Switch", "ICS"), ("WSL", "Internal")):
        hns_networks.place(node.machine, Network(new_id(), name, kind, "172.30.0.0/20"))
    done = converge(node, item("ExistingRuntime", "base", existing="remove")).changes
    assert done[0].planned.change.before["networks"] == ["nat", "transparent"]
    found = HnsStore(node.machine)
    assert sorted(network.name for network in found.networks()) == ["Default Switch", "WSL"]
    assert found.endpoints() == []
    assert settles(node, item("ExistingRuntime", "base", existing="remove")) == []


def test_a_network_that_stays_fails_the_removal_and_the_next_run_removes_it(node: DirectNode) -> None:
    settles(node, item("WindowsFeature", "Containers"))
    docker_fixtures.populate(node.machine, running=0)
    found = HnsStore(node.machine)
    (network,) = found.networks()
    node.machine.part(Refusals).ids.add(network.id)
    remove = item("ExistingRuntime", "base", existing="remove")
    with pytest.raises(AssertionError, match=r"remove-network-0.*Reboot the machine, and run again"):
        converge(node, remove)
    assert [item.name for item in found.networks()] == ["nat"]
    node.machine.part(Refusals).ids.clear()
    assert settles(node, remove) == ["ExistingRuntime remove"]
    assert found.networks() == []


def test_a_runtime_that_the_collection_installed_is_no_reason_to_refuse(node: DirectNode) -> None:
    docker(node)
    node.machine.files.make_directory(r"C:\ProgramData\winkube")
    assert settles(node, item("ExistingRuntime", "base")) == []
    assert node.machine.services.exists("docker")


def test_a_removal_that_failed_continues_in_the_next_run(node: DirectNode) -> None:
    docker(node)
    used = r"C:\ProgramData\docker\windowsfilter\layer\file"
    node.machine.files.write_bytes(used, b"")
    remove = item("ExistingRuntime", "base", existing="remove")
    with node.machine.files.open.hold(used, "r", "r"), pytest.raises(AssertionError, match="gone-docker-1"):
        converge(node, remove)
    # Each batch that changes a machine creates this folder.
    node.machine.files.make_directory(r"C:\ProgramData\winkube\batches")
    with pytest.raises(NodeError, match=r"a container runtime, got 'docker'"):
        converge(node, item("ExistingRuntime", "base"))
    assert settles(node, remove) == ["ExistingRuntime remove"]
    assert not node.machine.services.exists("docker")
    assert not node.machine.files.exists(used)
    # The collection's own runtime stays.
    docker(node)
    assert settles(node, remove) == []
