# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the batch file of kube-proxy's pod that writes the CNI configuration, run by a simulated cmd.exe."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from unit.plugins.plugin_utils.node_resources import samples
from unit.pod_batches import VOLUME, run_batch

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_join
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings
from ansible_collections.winkube.node.plugins.plugin_utils.resources.file import File
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.settings import MachineSettings

ADDRESS = "10.0.0.11"
FOLDER = "C:\\etc\\cni\\net.d"
AZURE = {"plugin": "azure", "mode": "bridge", "cluster_dns": ("10.96.0.10",), "block_wireserver": True}
BRIDGE = {"plugin": "sdnbridge", "mode": "bridge"}
OVERLAY = {"plugin": "sdnoverlay", "mode": "overlay", "block_imds": True}
FILES = {"azure": "10-azure.conflist", "sdnbridge": "10-sdnbridge.conf", "sdnoverlay": "10-sdnoverlay.conf"}
OWN_IMAGE = {"host_process_image": "base", "kube_proxy_image": "own"}


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> t.Iterator[Machine]:
    machine = Machine(MachineSettings.read({"name": "win", "address": "127.0.0.13"}), tmp_path / "machine")
    machine.power_on()
    machine.files.make_directory("C:\\k")
    machine.files.make_directory(FOLDER)
    yield machine
    machine.power.power_off()


def kube_proxy_objects(network: dict[str, t.Any], images: dict[str, str] | None = None) -> list[dict[str, t.Any]]:
    """Return the ConfigMap and the DaemonSet of kube-proxy."""
    cluster = ClusterSettings(
        api_server="10.0.0.1:6443",
        conf_dir=FOLDER,
        install_dir="C:\\k",
        folders={"flannel_dir": "C:\\opt\\flannel"},
        images=images or {"host_process_image": "base"},
        cluster_cidr="10.244.0.0/16",
    )
    return [
        one
        for one in samples.network(**network).cluster_objects(cluster)
        if one["metadata"]["name"] == "kube-proxy-windows"
    ]


def prepare(machine: Machine, network: dict[str, t.Any], answer: str = "echo 10.244.3.0/24") -> ProgramResult:
    return run_batch(machine, kube_proxy_objects(network)[0]["data"], answer, address=ADDRESS)


def target(network: dict[str, t.Any]) -> str:
    return f"{FOLDER}\\{FILES[network['plugin']]}"


def of_run(network: dict[str, t.Any]) -> bytes:
    """Return the content that a run of a playbook writes."""
    node = samples.joined(network=samples.network(**network), conf_dir=FOLDER, internal_ip=ADDRESS)
    mapping = samples.named(node_join.resources(node), target(network))
    return File(**{key: value for key, value in mapping.items() if key != "type"}).data() or b""


@pytest.mark.parametrize("network", [AZURE, BRIDGE, OVERLAY], ids=FILES)
def test_a_node_gets_the_same_configuration_as_from_a_run(machine: Machine, network: dict[str, t.Any]) -> None:
    assert prepare(machine, network).exit_code == 0
    written = machine.files.read_bytes(target(network))
    assert written == of_run(network)
    assert json.loads(written) == (samples.network(**network).cni_configuration(ADDRESS) or ("", {}))[1]
    # Programs read all configurations in this folder.
    assert [entry.name for entry in machine.files.listing(FOLDER)] == [FILES[network["plugin"]]]


def test_the_address_of_the_node_is_in_the_configuration(machine: Machine) -> None:
    assert prepare(machine, OVERLAY).exit_code == 0
    policies = json.loads(machine.files.read_bytes(target(OVERLAY)))["delegate"]["AdditionalArgs"]
    (address,) = [one["Value"]["Settings"] for one in policies if one["Value"]["Type"] == "ProviderAddress"]
    assert address == {"ProviderAddress": ADDRESS}


def test_only_a_network_that_needs_the_address_gets_it() -> None:
    def names(network: dict[str, t.Any]) -> list[str]:
        (setup,) = kube_proxy_objects(network)[1]["spec"]["template"]["spec"]["initContainers"]
        return [one["name"] for one in setup["env"]]

    assert names(OVERLAY) == ["POD_UID", "NODE_NAME", "HOST_IP"]
    assert names(AZURE) == names(BRIDGE) == ["POD_UID", "NODE_NAME"]


def test_the_configuration_does_not_wait_for_the_pod_cidr(machine: Machine) -> None:
    assert prepare(machine, OVERLAY, "exit /b 1").exit_code == 1
    assert machine.files.read_bytes(target(OVERLAY)) == of_run(OVERLAY)
    assert not machine.files.exists("C:\\k\\kube-proxy\\config.yaml")


def test_a_configuration_of_the_pod_is_replaced_and_one_of_a_run_stays(machine: Machine) -> None:
    assert prepare(machine, AZURE).exit_code == 0
    changed = {**AZURE, "vnet_subnets": ("10.240.0.0/12",)}
    assert prepare(machine, changed).exit_code == 0
    assert machine.files.read_bytes(target(AZURE)) == of_run(changed) != of_run(AZURE)
    # A run writes the variables of its host, which may differ from those of the host that applied the DaemonSet.
    own = of_run({**AZURE, "block_imds": True})
    machine.files.write_bytes(target(AZURE), own)
    for network in (changed, AZURE):
        assert prepare(machine, network).exit_code == 0
        assert machine.files.read_bytes(target(AZURE)) == own


def test_a_configuration_that_was_removed_is_written_again(machine: Machine) -> None:
    assert prepare(machine, BRIDGE).exit_code == 0
    machine.files.delete(target(BRIDGE))
    assert prepare(machine, BRIDGE).exit_code == 0
    assert machine.files.read_bytes(target(BRIDGE)) == of_run(BRIDGE)


def test_a_configuration_that_a_power_cut_left_half_written_is_replaced(machine: Machine) -> None:
    assert prepare(machine, BRIDGE).exit_code == 0
    machine.files.write_text("C:\\k\\kube-proxy\\unfinished-cni", "pod")
    machine.files.write_bytes(target(BRIDGE), b"\0" * 50)
    assert prepare(machine, BRIDGE).exit_code == 0
    assert machine.files.read_bytes(target(BRIDGE)) == of_run(BRIDGE)
    assert not machine.files.exists("C:\\k\\kube-proxy\\unfinished-cni")


@pytest.mark.parametrize("name", ["cni-head.json", "cni-tail.json"])
def test_a_part_that_cannot_be_read_fails_the_pod_and_changes_nothing(machine: Machine, name: str) -> None:
    assert prepare(machine, OVERLAY).exit_code == 0
    files = kube_proxy_objects({**OVERLAY, "services_subnet": "10.97.0.0/16"})[0]["data"]
    machine.files.delete(f"{VOLUME}\\{name}")
    kept = {file: text for file, text in files.items() if file != name}
    assert run_batch(machine, kept, "echo 10.244.3.0/24").exit_code == 1
    assert machine.files.read_bytes(target(OVERLAY)) == of_run(OVERLAY)


def test_a_machine_without_the_folder_fails(machine: Machine) -> None:
    machine.files.delete(FOLDER)
    assert prepare(machine, AZURE).exit_code == 1
    assert not machine.files.exists(FOLDER)


def test_a_kube_proxy_of_the_user_writes_only_the_cni_configuration(machine: Machine) -> None:
    config_map, daemon_set = kube_proxy_objects(AZURE, OWN_IMAGE)
    assert set(config_map["data"]) == {"kubeconfig.conf", "configure.cmd", "cni-head.json"}
    pod = daemon_set["spec"]["template"]["spec"]
    assert [one["image"] for one in (*pod["initContainers"], *pod["containers"])] == ["base", "own"]
    assert run_batch(machine, config_map["data"], "exit /b 1").exit_code == 0
    assert machine.files.read_bytes(target(AZURE)) == of_run(AZURE)
    assert not machine.files.exists("C:\\k\\kube-proxy\\config.yaml")


def test_kube_proxy_writes_no_configuration_of_a_network_whose_own_pod_does() -> None:
    flannel = {"plugin": "flannel", "mode": "host-gw"}
    assert "cni-head.json" not in kube_proxy_objects(flannel)[0]["data"]
    assert "initContainers" not in kube_proxy_objects(flannel, OWN_IMAGE)[1]["spec"]["template"]["spec"]
