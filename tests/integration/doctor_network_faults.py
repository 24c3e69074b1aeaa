# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of a node's pod network, like those in doctor_faults.py."""

from __future__ import annotations

import json
from collections.abc import Iterator

from integration.doctor_faults import AUTOMATIC, PIPE, fault, put, start, stop, written
from integration.playbooks import Site

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.containerd.runtime import Containerd, connect
from simulator.kubernetes_node.hns import fixtures
from simulator.kubernetes_node.hns.hang import Hang
from simulator.kubernetes_node.hns.objects import HnsState
from simulator.kubernetes_node.images.store import StoredImage
from simulator.machine.executables import make
from simulator.machine.machine import Machine

CNI_CONFIG = r"C:\etc\cni\net.d\10-flannel.conf"
RECORD = r"C:\ProgramData\winkube\cni.json"
PROXY_CONFIG = r"C:\k\kube-proxy\config.yaml"
CONTAINERD_CONFIG = r"C:\containerd\config.toml"
PAUSE = "registry.k8s.io/pause:3.10.2"


@fault("hns_stopped", "the hns service was stopped")
def _hns_does_not_start(_site: Site, machine: Machine) -> Iterator[None]:
    service, state = machine.services.get("hns"), machine.part(HnsState)
    assert service is not None
    kept = {name: dict(one) if isinstance(one, dict) else one for name, one in vars(state).items()}
    stop(machine, "hns")
    machine.services.configure("hns", ImagePath=r"C:\Windows\System32\gone.exe")
    yield
    machine.services.configure("hns", ImagePath=service.image_path)
    start(machine, "hns")
    vars(state).update(kept)
    start(machine, "containerd", "kubelet")


@fault("hns_not_responding", "Get-HnsPolicyList did not end within")
def _hns_hangs(_site: Site, machine: Machine) -> Iterator[None]:
    hang = machine.part(Hang)
    hang.until = "reboot"
    yield
    hang.over(broken=False)


@fault("hns_network_missing", "expected the network cbr0 (L2Bridge); networks in HNS: ")
def _network_missing(_site: Site, machine: Machine) -> Iterator[None]:
    state = machine.part(HnsState)
    identity = next(key for key, one in state.networks.items() if one.name == "cbr0")
    network = state.networks.pop(identity)
    yield
    state.networks[identity] = network


@fault("hns_network_type", "expected the type L2Bridge of the network cbr0, got Transparent")
def _network_of_another_type(_site: Site, machine: Machine) -> Iterator[None]:
    network = next(one for one in machine.part(HnsState).networks.values() if one.name == "cbr0")
    network.kind = "Transparent"
    yield
    network.kind = "L2Bridge"


@fault("hns_stale_endpoints", "1 endpoints without an owner")
def _stale_endpoint(_site: Site, machine: Machine) -> Iterator[None]:
    network = next(one for one in machine.part(HnsState).networks.values() if one.name == "cbr0")
    store, pod = hns.store(machine), "ab" * 32
    endpoint = store.add_endpoint(f"{pod}_cbr0", network.id, store.free_address(network), container=pod)
    yield
    machine.part(HnsState).endpoints.pop(endpoint.id)


@fault("cni_configuration_missing", r"C:\etc\cni\net.d contains no configuration")
def _cni_configuration_missing(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, CNI_CONFIG, None):
        yield


@fault("cni_configuration_invalid", "error parsing configuration")
def _cni_configuration_malformed(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, CNI_CONFIG, '{"name": "cbr0", "type"'):
        yield


@fault("cni_plugin_missing", r"flannel.exe not in C:\opt\cni\bin")
def _cni_plugin_missing(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, r"C:\opt\cni\bin\flannel.exe", None):
        yield


@fault("cni_plugin_missing", r"win-bridge.exe not in C:\opt\cni\bin")
def _delegate_missing(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, r"C:\opt\cni\bin\win-bridge.exe", None):
        yield


@fault("kube_proxy_stopped", "the service kube-proxy is stopped")
def _kube_proxy_stopped(_site: Site, machine: Machine) -> Iterator[None]:
    put(machine, r"C:\k\kube-proxy.exe", make("kube-proxy", "1.37.1"))
    machine.services.create("kube-proxy", r"C:\k\kube-proxy.exe --windows-service", Start=AUTOMATIC)
    yield
    machine.services.delete("kube-proxy")


@fault("kube_proxy_missing", "no container kube-proxy is running")
def _kube_proxy_missing(_site: Site, machine: Machine) -> Iterator[None]:
    record = {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}
    with written(machine, RECORD, json.dumps(record)):
        yield


@fault("source_vip_missing", "has no winkernel.sourceVip, and the network vxlan0 is an overlay")
def _source_address_missing(_site: Site, machine: Machine) -> Iterator[None]:
    network = fixtures.add_network(machine, "vxlan0", "Overlay", "10.245.0.0/16")
    with written(machine, PROXY_CONFIG, "kind: KubeProxyConfiguration\nwinkernel: {networkName: vxlan0}\n"):
        yield
    machine.part(HnsState).networks.pop(network.id)


@fault("hns_missing", "the hns service does not exist")
def _hns_missing(_site: Site, machine: Machine) -> Iterator[None]:
    key = r"HKLM:\SYSTEM\CurrentControlSet\Services\hns"
    before = {name: value.data for name, value in machine.registry.values(key).items()}
    stop(machine, "hns")
    machine.services.delete("hns")
    yield
    machine.services.create("hns", str(before.pop("ImagePath")), **before)
    start(machine, "hns", "containerd", "kubelet")


@fault("pause_image_unusable", "has no image for build")
def _pause_image_of_another_build(_site: Site, machine: Machine) -> Iterator[None]:
    build, name = 17763 if machine.windows.build != 17763 else 20348, "registry.k8s.io/pause:one-build"
    pull = ["-n", "k8s.io", "images", "pull", "--hosts-dir", r"C:\certs.d"]
    pull += ["--platform", f"windows(10.0.{build})/amd64", PAUSE]
    assert machine.programs.run("ctr.exe", pull).exit_code == 0
    store = runtime(machine).store
    index = store.get(PAUSE)
    assert index is not None
    entries = store.document(str(index.target["digest"]))["manifests"]
    entry = next(one for one in entries if str(one["platform"].get("os.version")).startswith(f"10.0.{build}."))
    store.put(StoredImage(name, entry, {}))
    text = machine.files.read_text(CONTAINERD_CONFIG)
    with written(machine, CONTAINERD_CONFIG, text.replace(PAUSE, name)):
        stop(machine, "containerd")
        start(machine, "containerd", "kubelet")
        yield
    stop(machine, "containerd")
    start(machine, "containerd", "kubelet")


def runtime(machine: Machine) -> Containerd:
    """Return the running containerd."""
    found = connect(machine, PIPE)
    assert found is not None
    return found
