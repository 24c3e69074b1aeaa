# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubelet, kube-proxy and kubeadm reject what the real programs reject."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.kubelet import settings as kubelet_settings
from simulator.kubernetes_node.programs import configuration, contracts
from simulator.machine.services import ServiceError

from .conftest import KUBELET, Node

pytestmark = pytest.mark.waits

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def bare(make_node: Callable[..., Node]) -> Node:
    """Return a machine with the programs of Kubernetes, none of which runs."""
    node = make_node()
    node.install_kubernetes()
    return node


def kubelet_error(node: Node, *arguments: str) -> str:
    with pytest.raises(kubelet_settings.KubeletError) as caught:
        kubelet_settings.read(node.machine, arguments, node.kubernetes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("version", "flag", "known"),
    [
        ("1.34.4", "--pod-infra-container-image=x", True),
        ("1.35.4", "--pod-infra-container-image=x", False),
        ("1.33.1", "--cloud-config=x", True),
        ("1.34.4", "--cloud-config=x", False),
        ("1.37.1", "--bogus", False),
    ],
)
def test_flags_by_version(make_node: Callable[..., Node], version: str, flag: str, known: bool) -> None:
    node = make_node(kubernetes=version)
    node.install_kubernetes()

    result = node.run(r"C:\k\kubelet.exe", flag, "--config=C:\\none.yaml")

    assert result.exit_code == 1
    message = f"failed to parse kubelet flag: unknown flag: {flag.split('=')[0]}"
    assert (message in result.stderr) is not known


def test_an_unknown_field_is_refused(bare: Node) -> None:
    bare.write(r"C:\config.yaml", HEADER + "maxPods: 10\nmaxPodz: 1\nauthentication: {x509: {clientCa: x}}\n")

    output = kubelet_error(bare, r"--config=C:\config.yaml")

    assert 'strict decoding error: unknown field "maxPodz", unknown field "authentication.x509.clientCa"' in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "maxPods: many\n",
            "json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
        ),
        ("syncFrequency: 5x\n", 'time: invalid duration "5x"'),
        ("featureGates: {NoSuchGate: true}\n", "unrecognized feature gate: NoSuchGate"),
        (
            "featureGates: {WinOverlay: false}\n",
            "cannot set feature gate WinOverlay to false, feature is locked to true",
        ),
        ("cgroupsPerQOS: true\n", "is not supported on Windows"),
    ],
)
def test_wrong_values_are_refused(bare: Node, text: str, message: str) -> None:
    bare.write(r"C:\config.yaml", HEADER + text)

    assert message in kubelet_error(bare, r"--config=C:\config.yaml")


def test_drop_ins_override_the_configuration(bare: Node) -> None:
    bare.write(
        r"C:\config.yaml", HEADER + "maxPods: 10\nevictionHard: {memory.available: '1', nodefs.available: '2'}\n"
    )
    bare.write(r"C:\drop\20.conf", HEADER + "maxPods: 20\n")
    bare.write(r"C:\drop\10.conf", HEADER + "maxPods: 15\nevictionHard: {memory.available: '3'}\n")
    bare.write(r"C:\drop\30.txt", "not read")

    settings = kubelet_settings.read(bare.machine, [r"--config=C:\config.yaml", r"--config-dir=C:\drop"], "1.37.1")

    assert settings.max_pods == 20
    assert settings.document["evictionHard"] == {"memory.available": "3", "nodefs.available": "2"}
    bare.write(r"C:\drop\40.conf", HEADER + "bogus: 1\n")
    assert 'unknown field "bogus"' in kubelet_error(bare, r"--config=C:\config.yaml", r"--config-dir=C:\drop")


def test_the_service_needs_windows_service_and_its_files(bare: Node) -> None:
    bare.start_containerd()
    services = bare.machine.services

    with pytest.raises(ServiceError) as missing:
        services.start("kubelet")
    assert missing.value.code == 1053
    bare.write(r"C:\var\lib\kubelet\config.yaml", HEADER)
    services.configure("kubelet", ImagePath=KUBELET.replace("--windows-service ", ""))
    with pytest.raises(ServiceError) as console:
        services.start("kubelet")
    assert console.value.code == 1053


def test_a_kubelet_without_credentials_ends(bare: Node) -> None:

    bare.start_containerd()
    bare.write(r"C:\var\lib\kubelet\config.yaml", HEADER)
    bare.machine.services.start("kubelet")

    def ended() -> bool:
        service = bare.machine.services.get("kubelet")
        return service is not None and service.state == "Stopped" and service.exit_code == 1067

    wait_for(ended, "the kubelet ends")
    assert any("unable to load bootstrap kubeconfig" in text for text in bare.machine.services.events)


def proxy(node: Node, document: dict[str, object], *flags: str) -> str:
    head = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration"}
    node.write(r"C:\proxy.yaml", json.dumps({**head, **document}))
    result = node.run(r"C:\k\kube-proxy.exe", r"--config=C:\proxy.yaml", *flags)
    assert result.exit_code == 1
    return result.stderr


def test_kube_proxy_refuses_what_it_cannot(bare: Node) -> None:
    from simulator.kubernetes_node import hns

    assert "must be kernelspace or blank" in proxy(bare, {"mode": "iptables"})
    assert "unknown flag: --bogus" in proxy(bare, {}, "--bogus")
    assert "Environment variable KUBE_NETWORK and network-flag not initialized" in proxy(bare, {})
    hns.store(bare.machine).create_network("vxlan0", "Overlay", "10.244.1.0/24")
    assert "unable to create proxier: source-vip flag not set" in proxy(bare, {"winkernel": {"networkName": "vxlan0"}})


@pytest.mark.parametrize(
    ("version", "gates", "message"),
    [
        ("1.32.2", {"WinOverlay": False}, "WinOverlay feature gate not enabled"),
        ("1.34.4", {"WinOverlay": False}, "feature is locked to true"),
    ],
)
def test_kube_proxy_by_version(
    make_node: Callable[..., Node], version: str, gates: dict[str, bool], message: str
) -> None:
    from simulator.kubernetes_node import hns

    node = make_node(kubernetes=version)
    node.install_kubernetes()
    hns.store(node.machine).create_network("vxlan0", "Overlay", "10.244.1.0/24")

    assert message in proxy(
        node, {"featureGates": gates, "winkernel": {"networkName": "vxlan0", "sourceVip": "10.244.1.2"}}
    )


def test_direct_server_return_needs_its_gate(make_node: Callable[..., Node]) -> None:
    from simulator.kubernetes_node import hns

    node = make_node(kubernetes="1.32.2")
    node.install_kubernetes()
    hns.store(node.machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")

    assert "WinDSR feature gate not enabled" in proxy(node, {"winkernel": {"networkName": "cbr0", "enableDSR": True}})


@pytest.mark.parametrize(
    ("version", "api", "code", "message"),
    [
        ("1.36.0", "v1beta4", 0, ""),
        ("1.36.0", "v1beta3", 0, ""),
        ("1.37.0", "v1beta3", 1, "Please use kubeadm v1.36 instead"),
        ("1.37.1", "v1beta3", 1, "Please use kubeadm v1.36 instead"),
        ("1.30.0", "v1beta4", 1, "experimental API spec"),
        ("1.37.1", "v1beta4", 0, ""),
        ("1.30.4", "v1beta4", 1, "experimental API spec"),
    ],
)
def test_config_validate(make_node: Callable[..., Node], version: str, api: str, code: int, message: str) -> None:
    node = make_node(kubernetes=version)
    node.install_kubernetes()
    head = f"apiVersion: kubeadm.k8s.io/{api}\nkind: JoinConfiguration\n"
    bootstrap = "{apiServerEndpoint: 'a:1', token: abcdef.0123456789abcdef, unsafeSkipCAVerification: true}"
    body = f"discovery: {{bootstrapToken: {bootstrap}}}\n"
    node.write(r"C:\join.yaml", head + body)

    result = node.run(r"C:\k\kubeadm.exe", "config", "validate", "--config", r"C:\join.yaml")

    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    node.write(r"C:\join.yaml", head + body + "bogus: 1\n")
    strict = node.run(r"C:\k\kubeadm.exe", "config", "validate", "--config", r"C:\join.yaml")
    assert strict.exit_code == 1
    assert code or 'strict decoding error: unknown field "bogus"' in strict.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("config", "validate"), "the --config flag is mandatory"),
        (("config", "migrate"), "the --old-config flag is mandatory"),
        (("config", "validate", "--config", r"C:\none"), r"open C:\none: The system cannot find the file specified."),
        (
            ("join", "--config", r"C:\none"),
            r'unable to read config from "C:\none" : open C:\none: The system cannot find the file specified.',
        ),
    ],
)
def test_kubeadm_without_its_configuration(bare: Node, words: tuple[str, ...], message: str) -> None:
    assert bare.run(r"C:\k\kubeadm.exe", *words).stderr.splitlines()[0] == f"error: {message}"


def test_kubeadm_prints_its_version(bare: Node) -> None:
    assert bare.run(r"C:\k\kubeadm.exe", "version", "-o", "short").stdout == "v1.37.1\n"
    about = json.loads(bare.run(r"C:\k\kubeadm.exe", "version", "-o", "json").stdout)
    assert about["clientVersion"]["platform"] == "windows/amd64"
    assert "unknown flag: --bogus" in bare.run(r"C:\k\kubeadm.exe", "join", "--bogus").stderr
    assert 'unknown command "bogus" for "kubeadm"' in bare.run(r"C:\k\kubeadm.exe", "bogus").stderr


def test_spans_of_minors() -> None:
    assert contracts.includes("all", "1.30")
    assert contracts.includes("1.7-2.0,2.2-2.4", "2.2")
    assert not contracts.includes("1.7-2.0,2.2-2.4", "2.1")
    assert contracts.nearest("kubernetes", "1.31.5") == "1.30"
    assert contracts.nearest("kubernetes", "1.40.0") == "1.37"
    assert configuration.check({"logging": {"flushFrequency": 0}}, kubelet_settings.KIND, "1.37.1") == []
