# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs accept the golden files: the real program where KUBEBUILDER_ASSETS has it, else its contract decides.

The manifests are checked by a real API server: tests/simulator_tests/cluster/test_golden_manifests.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from golden import comparison
from unit.roles.rendered import BACKENDS, CONTAINERD, RUNTIMES

from simulator.kubernetes_node import (
    configuration,
    containerd_config,
    contracts,
    dockerd_config,
    flags,
    join_configuration,
    log_runner,
    registry_hosts,
)
from simulator.machine.machine import Machine
from simulator.machine.settings import Settings

KUBERNETES = tuple(contracts.load("kubernetes")["versions"])
OLD = tuple(version for version in KUBERNETES if not contracts.at_least(f"{version}.0", "1.34"))
KUBEADM = ("kubeadm-1.30.4", "kubeadm-1.34.4", "kubeadm-1.35.4", "kubeadm-1.36.3", "kubeadm")
DOCKERD = ("23.0.0", "25.0.14", "29.2.1")
COMPONENTS = [f"kubelet/{runtime}/50-windows.conf" for runtime in RUNTIMES] + [
    f"network/{backend}/{runtime}/kube-proxy.yaml" for backend in BACKENDS for runtime in RUNTIMES
]
JOINS = ("containerd", "docker", "full", "own-endpoint")


def golden(name: str) -> str:
    return comparison.path(name).read_bytes().decode()


def program(name: str) -> Path:
    """A real program, or the test is skipped."""
    found = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/nonexistent") / name
    if not found.exists():
        pytest.skip(f"KUBEBUILDER_ASSETS names no folder with {name}")
    return found


def kubeadm_objects_to(name: str, texts: t.Iterable[str], folder: Path) -> str:
    """What a real kubeadm says against configuration files; empty: nothing."""
    found = ""
    for text in texts:
        file = folder / "configuration.yaml"
        file.write_text(text, encoding="utf-8")
        arguments = [program(name), "config", "validate", "--config", file]
        ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
        found += f"{text}: {ran.stderr}\n" if ran.returncode or "strict decoding" in ran.stderr else ""
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(Settings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine")


@pytest.mark.parametrize("version", CONTAINERD)
def test_containerd_has_no_warning_by_contract(version: str) -> None:
    text = golden(f"containerd/{version}.toml")
    read = containerd_config.load(text, version, "config.toml")
    assert read.warnings == []
    assert read.cni_conf_dir == r"C:\etc\cni\net.d"
    assert read.cni_bin_dirs == [r"C:\opt\cni\bin"]


@pytest.mark.parametrize("version", ["1.7.35", "2.4.2"])
def test_the_real_containerd_takes_it(version: str) -> None:
    file = comparison.path(f"containerd/{version}.toml")
    arguments = [program(f"containerd-{version}"), "--config", file, "config", "dump"]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "level=warning" not in ran.stderr
    assert "registry.k8s.io/pause:3.10.2" in ran.stdout


def of_a_cluster(text: str, name: str) -> str:
    """The configuration of a component, beside that of a cluster: alone kubeadm passes over it."""
    api = "v1beta3" if name == KUBEADM[0] else "v1beta4"
    version = name.rpartition("-")[2] if "-" in name else "1.37.1"
    head = {"apiVersion": f"kubeadm.k8s.io/{api}", "kind": "ClusterConfiguration", "kubernetesVersion": f"v{version}"}
    return f"{yaml.safe_dump(head)}---\n{text}"


@pytest.mark.parametrize("name", KUBEADM)
def test_the_real_kubeadm_takes_what_kubelet_and_kube_proxy_read(name: str, tmp_path: Path) -> None:
    # kubeadm decodes the configuration of these two strictly, as it does its own.
    assert kubeadm_objects_to(name, [of_a_cluster(golden(file), name) for file in COMPONENTS], tmp_path) == ""
    wrong = [golden(COMPONENTS[0]).replace("resolvConf", "resolveConf"), golden(COMPONENTS[-1]).replace("DSR", "Dsr")]
    found = kubeadm_objects_to(name, [of_a_cluster(text, name) for text in wrong], tmp_path)
    assert 'unknown field "resolveConf"' in found
    assert 'unknown field "winkernel.enableDsr"' in found


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("file", COMPONENTS)
def test_kubelet_and_kube_proxy_know_every_field_by_contract(file: str, version: str) -> None:
    document = yaml.safe_load(golden(file))
    assert configuration.check(document, f"{document['apiVersion']} {document['kind']}", version) == []


@pytest.mark.parametrize(
    ("file", "versions"),
    [("1.30-to-1.33", OLD), ("1.34-and-later", KUBERNETES[len(OLD) :]), ("without-log", KUBERNETES)],
)
def test_kubelet_and_kube_log_runner_know_every_flag(file: str, versions: t.Sequence[str]) -> None:
    command = golden(f"kubelet/flags/{file}.txt").splitlines()
    for version in versions:
        arguments = command[1:]
        if command[0].endswith("kube-log-runner.exe"):
            dummy, (kubelet, *arguments) = log_runner.read(command[1:], f"{version}.0")
            assert kubelet.endswith("kubelet.exe")
        given, rest = flags.parse(arguments, contracts.flags("kubelet", f"{version}.0"))
        assert rest == []
        assert given.text("config-dir") == r"C:\etc\kubernetes\kubelet.conf.d"


@pytest.mark.parametrize(("api", "name"), [("v1beta3", KUBEADM[0]), *(("v1beta4", name) for name in KUBEADM[1:])])
def test_the_real_kubeadm_takes_the_join(api: str, name: str, tmp_path: Path) -> None:
    # It wants the kubeconfig that says where the cluster is to be there.
    here = str(comparison.path("kubeadm/discovery.json"))
    texts = [
        golden(f"kubeadm/{api}/{join}.yaml").replace("/ProgramData/winkube/discovery.conf", here) for join in JOINS
    ]
    assert kubeadm_objects_to(name, texts, tmp_path) == ""


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("join", JOINS)
def test_kubeadm_takes_the_join_by_contract(join: str, version: str) -> None:
    api = "v1beta3" if version == "1.30" else "v1beta4"
    read = join_configuration.read(golden(f"kubeadm/{api}/{join}.yaml"), flags.Flags(), [], f"{version}.0", "host")
    assert read.warnings == []
    assert read.node_name == "win1"


@pytest.mark.parametrize("version", DOCKERD)
@pytest.mark.parametrize("kind", ["plain", "proxy", "registries"])
def test_dockerd_takes_daemon_json_by_contract(kind: str, version: str, machine: Machine) -> None:
    path = r"C:\ProgramData\docker\config\daemon.json"
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, golden(f"docker/{kind}/daemon.json").encode())
    given = dockerd_config.read_flags(["--run-service", "--config-file", path], version)
    read = dockerd_config.read(machine, given, version)
    assert read.root == r"C:\ProgramData\docker"


def test_cri_dockerd_knows_every_flag_by_contract() -> None:
    arguments = golden("docker/cri-dockerd.txt").splitlines()
    given, rest = flags.parse(arguments, dockerd_config.table("0.4.10", "cri-dockerd"))
    assert rest == []
    assert given.text("network-plugin") == "cni"


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("docker.io", ["https://mirror.example", "http://10.0.0.9:5000", "https://registry-1.docker.io"]),
        ("registry.example:5000", ["https://registry.example:5000"]),
        ("plain.example", ["http://plain.example"]),
    ],
)
def test_containerd_pulls_from_where_hosts_toml_says(host: str, wanted: list[str], machine: Machine) -> None:
    folder = host.replace(":5000", "_5000_")
    place = rf"C:\certs.d\{folder}"
    machine.files.make_directory(place)
    machine.files.write_bytes(rf"{place}\hosts.toml", golden(f"registries/{folder}/hosts.toml").encode())
    found = registry_hosts.endpoints(machine, host, [r"C:\certs.d"])
    assert [endpoint.url for endpoint in found] == wanted
    if "example:" in host:
        assert found[0].headers == {"Authorization": "Basic cmVhZGVyOnMzY3JldA=="}
        assert found[0].ca == (rf"{place}\ca-8d92501b8557.pem",)


# What the plugins pass to HNS. API version 2: microsoft/hcsshim hcn/hcnpolicy.go (OutboundNatPolicySetting,
# SDNRoutePolicySetting); version 1: internal/hns/hnspolicy.go (OutboundNatPolicy, OutboundEncap: ROUTE).
POLICIES: dict[int, dict[str, set[str]]] = {
    2: {"OutBoundNAT": {"Exceptions"}, "SDNROUTE": {"DestinationPrefix", "NeedEncap"}},
    1: {"OutBoundNAT": {"ExceptionList"}, "ROUTE": {"DestinationPrefix", "NeedEncap"}},
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_policies_are_in_the_form_of_their_api_version(backend: str, runtime: str) -> None:
    network = json.loads(golden(f"network/{backend}/{runtime}/10-flannel.conf"))
    assert network["name"] == json.loads(golden(f"network/{backend}/net-conf.json"))["Backend"]["Name"]
    delegate = network["delegate"]
    assert delegate["type"] == {"host-gw": "win-bridge", "vxlan": "win-overlay"}[backend]
    version = delegate["apiVersion"]
    assert version == (1 if runtime == "docker" else 2)
    found = {}
    for policy in delegate["policies"]:
        about = dict(policy["Value"])
        kind = about.pop("Type")
        found[kind] = about["Settings"] if version == 2 else about
    assert {kind: set(settings) for kind, settings in found.items()} == POLICIES[version]
