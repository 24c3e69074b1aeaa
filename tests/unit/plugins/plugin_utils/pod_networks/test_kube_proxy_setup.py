# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch file with which kube-proxy's pod prepares a node, run by a simulated cmd.exe."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from unit.plugins.plugin_utils.node_resources import samples
from unit.pod_batches import VOLUME, run_batch

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_join
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import kube_proxy, kube_proxy_pods
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.settings import MachineSettings

FOLDER = "C:\\k\\kube-proxy"
CONFIGURATION = f"{FOLDER}\\config.yaml"


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> t.Iterator[Machine]:
    machine = Machine(MachineSettings.read({"name": "win", "address": "127.0.0.13"}), tmp_path / "machine")
    machine.power_on()
    machine.files.make_directory("C:\\k")
    yield machine
    machine.power.power_off()


def prepare(machine: Machine, answer: str, node_name: str = "win1", **network: t.Any) -> ProgramResult:
    """Run the batch file for a network."""
    mode = samples.network(**network).mode
    cluster = ClusterSettings(
        api_server="10.0.0.1:6443",
        conf_dir="C:\\conf",
        install_dir="C:\\k",
        images={"host_process_image": "base"},
        cluster_cidr="10.244.0.0/16",
    )
    files = kube_proxy_pods.objects(cluster, mode, "1.36.3")[0]["data"]
    return run_batch(machine, files, answer, node_name)


def expected(**given: t.Any) -> str:
    """Return the configuration that a run writes for the same node."""
    return kube_proxy.to_text(node_join.kube_proxy_configuration(samples.joined(**given))).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("pod_cidr", "address"),
    [
        ("10.244.3.0/24", "10.244.3.254"),
        ("192.168.8.0/21", "192.168.15.254"),
        ("172.16.0.64/26", "172.16.0.126"),
        ("223.255.0.0/16", "223.255.255.254"),
    ],
)
def test_an_overlay_gets_the_same_configuration_as_from_a_run(machine: Machine, pod_cidr: str, address: str) -> None:
    assert prepare(machine, f"echo {pod_cidr}").exit_code == 0
    text = machine.files.read_bytes(CONFIGURATION).decode()
    assert text == expected(pod_cidr=pod_cidr)
    assert yaml.safe_load(text)["winkernel"]["sourceVip"] == address
    reserved = f"C:\\var\\lib\\cni\\networks\\flannel.4096\\{address}"
    path, content = samples.network().reservation(pod_cidr) or ("", "")
    assert (path, content) == (reserved, machine.files.read_bytes(reserved).decode())
    assert machine.files.read_text(f"{FOLDER}\\access\\kubeconfig.conf")


def test_calico_gets_the_address_of_its_endpoint(machine: Machine) -> None:
    network = {"plugin": "calico", "mode": "vxlan"}
    assert prepare(machine, "echo 10.233.64.193", **network).exit_code == 0
    text = machine.files.read_bytes(CONFIGURATION).decode()
    assert text == expected(network=samples.network(**network), overlay_address="10.233.64.193")


def test_other_networks_need_nothing_of_the_cluster(machine: Machine) -> None:
    network = {"plugin": "flannel", "mode": "host-gw"}
    assert prepare(machine, "exit /b 1", **network).exit_code == 0
    assert machine.files.read_bytes(CONFIGURATION).decode() == expected(network=samples.network(**network))


@pytest.mark.parametrize("name", ["1234", "1e5", "0x1f", "0o17", "null", "yes", "2026-11-26", "1.5"])
def test_a_name_that_looks_like_another_value_is_in_quotes(machine: Machine, name: str) -> None:
    network = {"plugin": "flannel", "mode": "host-gw"}
    assert prepare(machine, "exit /b 1", name, **network).exit_code == 0
    text = machine.files.read_bytes(CONFIGURATION).decode()
    assert text == expected(network=samples.network(**network), name=name)
    assert f"\nhostnameOverride: '{name}'\r\n" in text
    assert yaml.safe_load(text)["hostnameOverride"] == name


@pytest.mark.parametrize("answer", ["exit /b 1", "rem nothing"])
def test_the_pod_waits_for_the_address(machine: Machine, answer: str) -> None:
    assert prepare(machine, answer).exit_code == 1
    assert not machine.files.exists(CONFIGURATION)


def test_a_configuration_of_the_pod_is_replaced_and_one_of_a_run_stays(machine: Machine) -> None:
    assert prepare(machine, "echo 10.244.3.0/24").exit_code == 0
    # The machine has joined again.
    assert prepare(machine, "echo 10.244.4.0/24").exit_code == 0
    assert yaml.safe_load(machine.files.read_text(CONFIGURATION))["winkernel"]["sourceVip"] == "10.244.4.254"
    machine.files.write_text(CONFIGURATION, "of: a run")
    assert prepare(machine, "echo 10.244.5.0/24").exit_code == 0
    assert machine.files.read_text(CONFIGURATION) == "of: a run"


def test_a_configuration_that_a_power_cut_left_half_written_is_replaced(machine: Machine) -> None:
    assert prepare(machine, "echo 10.244.3.0/24").exit_code == 0
    whole = machine.files.read_bytes(CONFIGURATION)
    machine.files.write_text(f"{FOLDER}\\unfinished", "pod")
    machine.files.write_bytes(CONFIGURATION, whole[:50])
    assert prepare(machine, "echo 10.244.3.0/24").exit_code == 0
    assert machine.files.read_bytes(CONFIGURATION) == whole
    assert not machine.files.exists(f"{FOLDER}\\unfinished")


@pytest.mark.parametrize("name", ["config-head.yaml", "config-tail.yaml"])
def test_a_part_that_cannot_be_read_fails_the_pod_and_changes_nothing(machine: Machine, name: str) -> None:
    assert prepare(machine, "echo 10.244.3.0/24").exit_code == 0
    whole = machine.files.read_bytes(CONFIGURATION)
    machine.files.delete(f"{VOLUME}\\{name}")
    known = {**machine.environment(), "POD_UID": "uid-1", "NODE_NAME": "win1"}
    assert machine.programs.run("cmd.exe", ["/c", f"{VOLUME}\\configure.cmd"], environment=known).exit_code == 1
    assert machine.files.read_bytes(CONFIGURATION) == whole


def test_settings_of_users_are_in_the_configuration() -> None:
    cluster = ClusterSettings(
        api_server="10.0.0.1:6443",
        conf_dir="C:\\conf",
        install_dir="C:\\k",
        images={"host_process_image": "base"},
        kube_proxy_configuration={
            "hostnameOverride": "ignored",
            "winkernel": {"enableDSR": True, "sourceVip": "10.0.0.9"},
            "bindAddress": "::",
        },
    )
    files = kube_proxy_pods.objects(cluster, samples.network().mode, "")[0]["data"]
    whole = yaml.safe_load(files["config-head.yaml"] + files["config-tail.yaml"])
    assert whole["winkernel"] == {"enableDSR": True, "networkName": "flannel.4096"}
    assert whole["bindAddress"] == "::"
    assert "hostnameOverride" not in whole
