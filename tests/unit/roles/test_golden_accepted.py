# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs accept the golden files: the real program if it is in KUBEBUILDER_ASSETS, else its contract.

A real API server checks the manifests: tests/simulator_tests/cluster/test_golden_manifests.py.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from golden import comparison
from unit.roles.rendered import BACKENDS, CONTAINERD, RUNTIMES

from simulator.kubernetes_node.api import client as api
from simulator.kubernetes_node.cni import flannel
from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.containerd import config
from simulator.kubernetes_node.docker import dockerd_config
from simulator.kubernetes_node.images import registry_hosts
from simulator.kubernetes_node.kubeadm import discovery, join_configuration
from simulator.kubernetes_node.kubelet import log_runner
from simulator.kubernetes_node.programs import configuration, contracts, flags
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

# One worker, because the last test checks what the others have read.
pytestmark = pytest.mark.xdist_group("golden_accepted")
KUBERNETES = tuple(contracts.load("kubernetes")["versions"])
OLD = tuple(version for version in KUBERNETES if not contracts.at_least(f"{version}.0", "1.34"))
KUBEADM = ("kubeadm-1.30.4", "kubeadm-1.34.4", "kubeadm-1.35.4", "kubeadm-1.36.3", "kubeadm")
DOCKERD = ("23.0.0", "25.0.14", "29.2.1")
OF_ONE_MODE = {"azure": "10-azure.conflist", "sdnbridge": "10-sdnbridge.conf", "sdnoverlay": "10-sdnoverlay.conf"}
COMPONENTS = [
    *(f"kubelet/{kind}/50-windows.conf" for kind in (*RUNTIMES, "reserved")),
    *(f"network/{backend}/{runtime}/kube-proxy.yaml" for backend in BACKENDS for runtime in RUNTIMES),
    *(f"network/{plugin}/kube-proxy.yaml" for plugin in OF_ONE_MODE),
]
JOINS = ("containerd", "docker", "full", "own-endpoint", "labels", "private")


class Golden:
    """Reads golden files, and records their names."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def __call__(self, name: str) -> str:
        """Return the text of a golden file."""
        self.read.add(name)
        return comparison.path(name).read_bytes().decode()


@pytest.fixture(scope="module")
def golden() -> Golden:
    """Return the reader that all tests of this module share."""
    return Golden()


def program(name: str) -> Path:
    """Return the path of a real program, or skip the test."""
    found = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/nonexistent") / name
    if not found.exists():
        pytest.skip(f"KUBEBUILDER_ASSETS names no folder with {name}")
    return found


def kubeadm_objects_to(name: str, texts: t.Iterable[str], folder: Path) -> str:
    """Return a real kubeadm's errors for configuration files; empty if it accepts them."""
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
    return Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )


@pytest.mark.parametrize(
    ("name", "version"), [*((version, version) for version in CONTAINERD), ("layers-kept", "2.3.7")]
)
def test_containerd_has_no_warning_by_contract(name: str, version: str, golden: Golden) -> None:
    text = golden(f"containerd/{name}.toml")
    read = config.load(text, version, "config.toml")
    assert read.warnings == []
    assert read.cni_conf_dir == r"C:\etc\cni\net.d"
    assert read.cni_bin_dirs == [r"C:\opt\cni\bin"]


@pytest.mark.parametrize("version", ["1.7.35", "2.4.2"])
def test_the_real_containerd_accepts_the_configuration(version: str) -> None:
    file = comparison.path(f"containerd/{version}.toml")
    arguments = [program(f"containerd-{version}"), "--config", file, "config", "dump"]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "level=warning" not in ran.stderr
    assert "registry.k8s.io/pause:3.10.2" in ran.stdout


def of_a_cluster(text: str, name: str) -> str:
    """Return the configuration of a component together with that of a cluster, without which kubeadm ignores it."""
    api_version = "v1beta3" if name == KUBEADM[0] else "v1beta4"
    version = name.rpartition("-")[2] if "-" in name else "1.37.1"
    head = {
        "apiVersion": f"kubeadm.k8s.io/{api_version}",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": f"v{version}",
    }
    return f"{yaml.safe_dump(head)}---\n{text}"


@pytest.mark.parametrize("name", KUBEADM)
def test_the_real_kubeadm_takes_what_kubelet_and_kube_proxy_read(name: str, tmp_path: Path, golden: Golden) -> None:
    # kubeadm decodes the configuration of these two in strict mode, like its own.
    assert kubeadm_objects_to(name, [of_a_cluster(golden(file), name) for file in COMPONENTS], tmp_path) == ""
    wrong = [golden(COMPONENTS[0]).replace("resolvConf", "resolveConf"), golden(COMPONENTS[-1]).replace("DSR", "Dsr")]
    found = kubeadm_objects_to(name, [of_a_cluster(text, name) for text in wrong], tmp_path)
    assert 'unknown field "resolveConf"' in found
    assert 'unknown field "winkernel.enableDsr"' in found


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("file", COMPONENTS)
def test_kubelet_and_kube_proxy_know_every_field_by_contract(file: str, version: str, golden: Golden) -> None:
    document = yaml.safe_load(golden(file))
    assert configuration.check(document, f"{document['apiVersion']} {document['kind']}", version) == []


@pytest.mark.parametrize(
    ("file", "versions"),
    [
        ("1.30-to-1.33", OLD),
        ("1.34-and-later", KUBERNETES[len(OLD) :]),
        ("without-log", KUBERNETES),
        ("nssm", KUBERNETES),
        ("cloud-provider", KUBERNETES[len(OLD) :]),
        ("own-flags", KUBERNETES[len(OLD) :]),
    ],
)
def test_kubelet_and_kube_log_runner_know_every_flag(file: str, versions: t.Sequence[str], golden: Golden) -> None:
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
def test_the_real_kubeadm_takes_the_join(api: str, name: str, tmp_path: Path, golden: Golden) -> None:
    # It requires that the kubeconfig for discovery exists at this path.
    here = str(comparison.path("kubeadm/discovery.json"))
    texts = [
        golden(f"kubeadm/{api}/{join}.yaml").replace("/ProgramData/winkube/discovery.conf", here) for join in JOINS
    ]
    assert kubeadm_objects_to(name, texts, tmp_path) == ""
    wrong = [text.replace("criSocket:", "criSockets:") for text in texts]
    assert kubeadm_objects_to(name, wrong, tmp_path).count('unknown field "nodeRegistration.criSockets"') == len(JOINS)


@pytest.mark.parametrize("name", KUBEADM[1:])
def test_the_real_kubeadm_takes_the_reset(name: str, tmp_path: Path, golden: Golden) -> None:
    text = golden("kubeadm/v1beta4/reset.yaml")
    assert kubeadm_objects_to(name, [text], tmp_path) == ""
    wrong = text.replace("force:", "forced:")
    assert 'unknown field "forced"' in kubeadm_objects_to(name, [wrong], tmp_path)


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("join", JOINS)
def test_kubeadm_takes_the_join_by_contract(join: str, version: str, golden: Golden) -> None:
    api = "v1beta3" if version == "1.30" else "v1beta4"
    text = golden(f"kubeadm/{api}/{join}.yaml")
    read = join_configuration.read(text, flags.CommandFlags(), [], f"{version}.0", "host")
    assert read.warnings == []
    assert read.node_name == "win1"
    wrong = text.replace("criSocket:", "criSockets:")
    (warning,) = join_configuration.read(wrong, flags.CommandFlags(), [], f"{version}.0", "host").warnings
    assert 'unknown field "nodeRegistration.criSockets"' in warning


@pytest.mark.parametrize("version", DOCKERD)
@pytest.mark.parametrize("kind", ["plain", "proxy", "registries"])
def test_dockerd_takes_daemon_json_by_contract(kind: str, version: str, machine: Machine, golden: Golden) -> None:
    path = r"C:\ProgramData\docker\config\daemon.json"
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, golden(f"docker/{kind}/daemon.json").encode())
    given = dockerd_config.read_flags(["--run-service", "--config-file", path], version)
    read = dockerd_config.read(machine, given, version)
    assert read.root == r"C:\ProgramData\docker"


def test_cri_dockerd_knows_every_flag_by_contract(golden: Golden) -> None:
    arguments = golden("docker/cri-dockerd.txt").splitlines()
    given, rest = flags.parse(arguments, dockerd_config.table("0.4.10", "cri-dockerd"))
    assert rest == []
    assert given.text("network-plugin") == "cni"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("docker.io", ["https://mirror.example", "http://10.0.0.9:5000", "https://registry-1.docker.io"]),
        ("registry.example:5000", ["https://registry.example:5000"]),
        ("plain.example", ["http://plain.example"]),
    ],
)
def test_containerd_pulls_from_the_hosts_in_hosts_toml(
    host: str, expected: list[str], machine: Machine, golden: Golden
) -> None:
    folder = host.replace(":5000", "_5000_")
    place = rf"C:\certs.d\{folder}"
    machine.files.make_directory(place)
    machine.files.write_bytes(rf"{place}\hosts.toml", golden(f"registries/{folder}/hosts.toml").encode())
    found = registry_hosts.endpoints(machine, host, [r"C:\certs.d"])
    assert [endpoint.url for endpoint in found] == expected
    if "example:" in host:
        assert found[0].headers == {"Authorization": "Basic cmVhZGVyOnMzY3JldA=="}
        assert found[0].ca == (rf"{place}\ca-8d92501b8557.pem",)


_ACL = {"Protocols", "Action", "Direction", "RemoteAddresses", "RemotePorts", "Priority", "RuleType"}
# The arguments that the plugins pass to HNS. API version 2: microsoft/hcsshim hcn/hcnpolicy.go
# (OutboundNatPolicySetting,
# SDNRoutePolicySetting); version 1: internal/hns/hnspolicy.go (OutboundNatPolicy, OutboundEncap: ROUTE).
POLICIES: dict[int, dict[str, set[str]]] = {
    2: {"OutBoundNAT": {"Exceptions"}, "SDNROUTE": {"DestinationPrefix", "NeedEncap"}},
    1: {"OutBoundNAT": {"ExceptionList"}, "ROUTE": {"DestinationPrefix", "NeedEncap"}},
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_policies_are_in_the_form_of_their_api_version(backend: str, runtime: str, golden: Golden) -> None:
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


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_containerd_and_cri_dockerd_load_the_network(
    backend: str, runtime: str, machine: Machine, golden: Golden
) -> None:
    machine.files.make_directory(r"C:\etc\cni\net.d")
    text = golden(f"network/{backend}/{runtime}/10-flannel.conf")
    machine.files.write_bytes(r"C:\etc\cni\net.d\10-flannel.conf", text.encode())
    read = cni.load(machine, r"C:\etc\cni\net.d", [r"C:\opt\cni\bin"])
    assert (read.name, [plugin["type"] for plugin in read.plugins]) == (json.loads(text)["name"], ["flannel"])


@pytest.mark.parametrize("place", ["", "in-azure/"])
@pytest.mark.parametrize("name", [*BACKENDS, *OF_ONE_MODE])
def test_hns_knows_every_setting_of_every_policy(name: str, place: str, golden: Golden, machine: Machine) -> None:
    """microsoft/hcsshim hcn/hcnpolicy.go (AclPolicySetting) and internal/hns/hnspolicy.go (ACLPolicy)."""
    nested = {**POLICIES[2], "SDNRoute": POLICIES[2]["SDNROUTE"], "ProviderAddress": {"ProviderAddress"}}
    files = [f"network/{name}/{place}{OF_ONE_MODE[name]}"] if name in OF_ONE_MODE else []
    files += [f"network/{name}/{runtime}/{place}10-flannel.conf" for runtime in RUNTIMES if name in BACKENDS]
    for file in files:
        folder = rf"C:\{file.replace('/', '.')}"
        machine.files.make_directory(folder)
        machine.files.write_bytes(rf"{folder}\{file.rpartition('/')[2]}", golden(file).encode())
        (plugin,) = cni.load(machine, folder, [r"C:\opt\cni\bin"]).plugins
        called = plugin.get("delegate", plugin)
        values = [one["Value"] for one in called.get("policies", called.get("AdditionalArgs"))]
        assert [one["Type"] for one in values].count("ACL") == (5 if place else 0)
        for one in values:
            settings = set(one.get("Settings", one)) - {"Type"}
            known = {"ACL": _ACL, **(nested if "Settings" in one else POLICIES[1])}
            assert settings <= known[one["Type"]], file


@pytest.mark.parametrize(("backend", "kind"), [("host-gw", "L2Bridge"), ("vxlan", "Overlay")])
def test_flanneld_takes_its_flags_and_its_network(backend: str, kind: str, machine: Machine, golden: Golden) -> None:
    given = flannel.parse(golden(f"network/{backend}/docker/flanneld.txt").splitlines())
    assert (given["iface"], given["kube-subnet-mgr"]) == ("10.0.0.11", "true")
    machine.files.make_directory(given["net-config-path"].rpartition("\\")[0])
    machine.files.write_bytes(given["net-config-path"], golden(f"network/{backend}/net-conf.json").encode())
    assert flannel.backend_of(flannel.network_settings(machine, given)).kind == kind


@pytest.mark.parametrize(("component", "token"), [("flannel", "token 2"), ("kube-proxy", "token 1")])
@pytest.mark.parametrize("backend", BACKENDS)
def test_clients_read_their_kubeconfig(
    backend: str, component: str, token: str, machine: Machine, golden: Golden
) -> None:
    path = r"C:\etc\kubernetes\client.kubeconfig"
    machine.files.make_directory(r"C:\etc\kubernetes")
    machine.files.write_bytes(path, golden(f"network/{backend}/docker/{component}.kubeconfig").encode())
    read = api.read_kubeconfig(machine, path)
    assert (read.server, read.ca, read.token) == ("https://lb-apiserver.kubernetes.local:6443", "a certificate", token)


def test_kubeadm_finds_the_cluster_in_its_file(machine: Machine, golden: Golden) -> None:
    path = r"C:\ProgramData\winkube\discovery.conf"
    machine.files.make_directory(path.rpartition("\\")[0])
    text = golden("kubeadm/discovery.json")

    def problem(text: str) -> str:
        machine.files.write_bytes(path, text.encode())
        requested = discovery.Discovery("", "", file="/ProgramData/winkube/discovery.conf")
        with pytest.raises(discovery.DiscoveryError) as raised:
            discovery.discover(machine, requested, 0, lambda _seconds: True)
        return str(raised.value)

    # The server does not exist: kubeadm has read the file when it tries to connect.
    assert problem(text).startswith("couldn't validate the identity of the API Server")
    with_token = golden("kubeadm/discovery-token.json")
    assert problem(with_token).startswith("couldn't validate the identity of the API Server")
    assert problem(with_token.replace("current-context", "context")).endswith("the current context is invalid: ")
    named = text.replace('"name": ""', '"name": "a"')
    assert problem(named).endswith("the current context is invalid: ")


def test_host_local_takes_the_reserved_address_for_taken(golden: Golden) -> None:
    """See plugins/ipam/host-local/backend/disk/backend.go of containernetworking/plugins.

    The file has the name of the address, in a folder with the name of the network. It contains the container, CRLF and
    adapter.
    """
    file = json.loads(golden("network/vxlan/reserved-address.json"))
    folder, _, address = file["name"].rpartition("\\")
    network = json.loads(golden("network/vxlan/docker/10-flannel.conf"))["name"]
    assert folder == rf"{cni.HOST_LOCAL}\{network}"
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.244.3.0/24")
    assert (file["content"].split("\r\n"), file["line_ending"]) == (["kube-proxy-source-vip", "eth0"], "as_is")


def test_every_golden_file_is_read_by_a_test_of_this_module(golden: Golden, request: pytest.FixtureRequest) -> None:
    module = request.module
    mine = {item.function for item in request.session.items if getattr(item, "module", None) is module}
    tests = {found for name, found in vars(module).items() if name.startswith("test_")}
    if mine != tests:
        pytest.skip("only some tests of this module run")
    # The manifests: tests/simulator_tests/cluster/test_golden_manifests.py.
    assert {name for name in comparison.recorded() if not name.startswith("manifests/")} == golden.read
