# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Single checks and parsers, with values that no simulated node has; the faults of whole nodes are in integration."""

from __future__ import annotations

import dataclasses
import datetime
import json
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import (
    check_cluster,
    check_kubelet,
    check_machine,
    check_network,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.causes import FoundCause
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.connection import ApiConnection
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.diagnose import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.examination import Examination
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.kubelet_facts import (
    ConfigurationFile,
    KubeletCommand,
    KubeletFacts,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.machine_facts import (
    DiskSpace,
    MachineFacts,
    ServiceFacts,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import (
    FirstFacts,
    ObservationOptions,
    SecondFacts,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.runtime_facts import (
    ImageState,
    RuntimeFacts,
    RuntimeState,
)
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.cni import Cni
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import HnsFacts, Snapshot
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.objects import HnsObjects
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.runtime import Runtime
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.uplink import AdapterFacts
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_certificate import ClientCertificate
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_kubeconfig import KubeletKubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.windows.node_paths import CONTAINERD_PIPE
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo

GIB = 2**30
NOW = datetime.datetime(2026, 11, 25, 12, tzinfo=datetime.UTC)
NODE = {"ready": "True", "reason": "", "since": "", "pressure": {}, "pending_pods": [], "sandbox_errors": []}


def service(name: str, status: str = "Running", start_mode: str = "automatic") -> ServiceFacts:
    return ServiceFacts(name=name, status=status, start_mode=start_mode, command=(), environment={})


def examination(
    *, kubelet: KubeletFacts | None = None, second: SecondFacts | None = None, view: t.Any = None, **first: t.Any
) -> Examination:
    """Return what is known about a node, on which everything is unknown or in order by default."""
    windows = WindowsInfo(
        build=20348, ubr=1, product="", installation="Server", computer_name="WIN", active_computer_name="WIN",
        pending_reboot=(),
    )  # fmt: skip
    snapshot = Snapshot(objects=HnsObjects(), runtime=Runtime())
    usual: dict[str, t.Any] = {
        "windows": windows,
        "clock_skew": 0.0,
        "machine": machine("hns", "kubelet", "containerd"),
        "kubelet": kubelet or KubeletFacts(),
        "runtime": RuntimeFacts(
            pipes=frozenset(), states={}, problems={}, sandbox_image="", images={}, containers=None
        ),
        "hns": HnsFacts(observations=(snapshot,), cni=Cni(), services=(), adapters=AdapterFacts()),
        "cni_files": {},
        "network_record": {},
        "kube_proxy": ConfigurationFile(path="C:\\k\\kube-proxy\\config.yaml", text=None),
    }
    return Examination(
        first=FirstFacts(**(usual | first)),
        second=second or SecondFacts(),
        cluster=ClusterView.of(view),
        options=ObservationOptions(),
    )


def machine(*names: str, disk: DiskSpace | None = None) -> MachineFacts:
    return MachineFacts(services={name: service(name) for name in names}, host_name="Win", environment={}, disk=disk)


def causes(found: t.Iterable[FoundCause]) -> list[str]:
    return [one.cause for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10%", 10.0), ("5Gi", 5.0 * GIB), ("500M", 500e6), ("1000", 1000.0), ("x", None), ("", None), ("5Xi", None)],
)
def test_eviction_thresholds(text: str, expected: float | None) -> None:
    assert check_machine.threshold(text, 100) == expected


@pytest.mark.parametrize(
    ("free", "eviction", "expected"),
    [
        (16, {}, []),
        (15, {}, []),
        (14, {}, ["imagefs.available is 15%"]),
        (9, {}, ["nodefs.available is 10%", "imagefs.available is 15%"]),
        (9, {"nodefs.available": "5%", "imagefs.available": "5%"}, []),
        # With thresholds of its own, the kubelet ignores the defaults.
        (4, {"nodefs.available": "5Gi"}, ["nodefs.available is 5Gi"]),
        (9, {"memory.available": "1Gi"}, []),
        (9, ["malformed"], ["nodefs.available is 10%", "imagefs.available is 15%"]),
    ],
)
def test_the_kubelet_s_own_thresholds_count(free: int, eviction: t.Any, expected: list[str]) -> None:
    text = json.dumps({"evictionHard": eviction})
    kubelet = KubeletFacts(configuration=ConfigurationFile(path="x", text=text))
    space = machine(disk=DiskSpace(free=free * GIB, total=100 * GIB))
    found = list(check_machine.disk(examination(kubelet=kubelet, machine=space)))
    assert [one.evidence[0].rpartition("threshold ")[2] for one in found] == expected


@pytest.mark.parametrize(
    ("settings", "flags", "expected"),
    [
        ({}, (), {"nodefs.available": "10%", "imagefs.available": "15%"}),
        ({"evictionHard": {"nodefs.available": "1Gi"}, "mergeDefaultEvictionSettings": True}, (),
         {"nodefs.available": "1Gi", "imagefs.available": "15%"}),
        ({"evictionHard": {"nodefs.available": "1Gi"}}, ("--eviction-hard=nodefs.available<5%,memory.available<1Gi",),
         {"nodefs.available": "5%", "memory.available": "1Gi"}),
        ({"evictionHard": {"nodefs.available": "1Gi"}}, ("--eviction-hard", ""), {"nodefs.available": "1Gi"}),
    ],
)  # fmt: skip
def test_which_thresholds_apply(settings: t.Any, flags: tuple[str, ...], expected: dict[str, str]) -> None:
    configuration = ConfigurationFile(path="x", text=json.dumps(settings))
    kubelet = KubeletFacts(command=KubeletCommand(program="k", flags=flags), configuration=configuration)
    assert check_machine.eviction_thresholds(kubelet) == expected


def test_drop_ins_are_merged_into_the_configuration() -> None:
    texts = ('{"maxPods": 1, "evictionHard": {"a": "1", "b": "2"}}', '{"evictionHard": {"b": "3"}}', "not: [yaml", "[]")
    first, *others = (ConfigurationFile(path="x", text=text) for text in texts)
    merged = KubeletFacts(configuration=first, drop_ins=tuple(others)).settings
    assert merged == {"maxPods": 1, "evictionHard": {"a": "1", "b": "3"}}
    assert KubeletFacts(drop_ins=tuple(others)).settings == {}


def test_the_cluster_s_disk_pressure_is_evidence() -> None:
    view = {"authorities": [], "nodes": {"win": NODE | {"pressure": {"DiskPressure": "kubelet has disk pressure"}}}}
    space = machine(disk=DiskSpace(free=12 * GIB, total=100 * GIB))
    (cause,) = check_machine.disk(examination(machine=space, view=view))
    assert cause.evidence[1] == "the cluster reports DiskPressure: kubelet has disk pressure"


def test_a_pending_file_rename_is_no_cause() -> None:
    node = examination()
    windows = dataclasses.replace(node.first.windows, pending_reboot=("file_rename",))
    assert list(check_machine.pending_reboot(examination(windows=windows))) == []
    windows = dataclasses.replace(windows, pending_reboot=("file_rename", "update"))
    (found,) = check_machine.pending_reboot(examination(windows=windows))
    assert found.evidence == ("Windows Update waits for a reboot",)


@pytest.mark.parametrize(
    ("line", "program", "log_file", "value"),
    [
        ([], "", "", ""),
        (["C:\\k\\kubelet.exe", "--node_ip=a_b"], "C:\\k\\kubelet.exe", "", "a_b"),
        (["C:\\k\\kubelet.exe", "--node-ip", "10.0.0.5"], "C:\\k\\kubelet.exe", "", "10.0.0.5"),
        (["C:\\k\\kube-log-runner.exe", "-log-file=C:\\l.log", "-also-stdout", "C:\\k\\kubelet.exe", "--node-ip=x"],
         "C:\\k\\kubelet.exe", "C:\\l.log", "x"),
        (["C:\\k\\kube-log-runner.exe", "-log-file=C:\\l.log"], "", "C:\\l.log", ""),
        (["C:\\powershell.exe", "-File", "C:\\k\\kubelet-launcher.ps1"], "C:\\k\\kubelet.exe", "", ""),
    ],
)  # fmt: skip
def test_command_lines_of_the_kubelet(line: list[str], program: str, log_file: str, value: str) -> None:
    command = KubeletCommand.parse(line)
    assert (command.program, command.log_file, command.flag("node-ip")) == (program, log_file, value)


def test_an_error_in_the_log_of_a_kubelet_that_runs_is_an_old_one() -> None:
    configuration = ConfigurationFile(
        path="x", text="apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    )
    second = SecondFacts(kubelet_error="failed to load kubelet config file, path: x")
    kubelet = KubeletFacts(configuration=configuration)
    running = examination(kubelet=kubelet, second=second)
    assert causes(check_kubelet.configuration(running)) == []
    stopped = MachineFacts(services={"kubelet": service("kubelet", "Stopped")}, host_name="", environment={}, disk=None)
    assert causes(check_kubelet.configuration(examination(kubelet=kubelet, second=second, machine=stopped))) == [
        "kubelet_configuration_invalid"
    ]
    unknown = SecondFacts(kubelet_error="failed to parse kubelet flag: unknown flag: --x")
    assert causes(check_kubelet.flags(examination(second=unknown))) == []
    assert causes(check_kubelet.flags(examination(second=unknown, machine=stopped))) == ["kubelet_flags_unknown"]


@pytest.mark.parametrize("version", ["", "x", "1.37.1"])
def test_flags_of_an_unknown_version_are_not_judged(version: str) -> None:
    kubelet = KubeletFacts(command=KubeletCommand(program="x", flags=("--no-such-flag=1",)))
    found = check_kubelet.flags(examination(kubelet=kubelet, second=SecondFacts(kubelet_version=version)))
    assert causes(found) == (["kubelet_flags_unknown"] if version == "1.37.1" else [])


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({"asked": False, "direct_problem": "x"}, []),
        ({}, []),
        ({"direct_problem": "x"}, ["api_unreachable"]),
        ({"resolution_problem": "n", "direct_problem": "x"}, ["api_name_unresolved", "api_unreachable"]),
        # The system knows the name in another way, such as the hosts file.
        ({"resolution_problem": "n"}, []),
        # Only the proxy reaches the API server, which is what the kubelet uses.
        ({"direct_problem": "x", "proxy": "http://p"}, []),
        ({"direct_problem": "x", "proxy": "http://p", "proxy_problem": "y"}, ["api_unreachable"]),
        ({"proxy": "http://p", "proxy_problem": "y"}, ["api_proxy"]),
        ({"proxy": "http://p"}, []),
    ],
)
def test_connections_to_the_api_server(connection: dict[str, t.Any], expected: list[str]) -> None:
    second = SecondFacts(api=ApiConnection(**{"asked": True, **connection}))
    assert causes(check_cluster.connection(examination(second=second))) == expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("C:\\var\\lib\\kubelet\\pki\\kubelet-client-current.pem", ["certificate_missing"]),
        ("/var/lib/kubelet/pki/kubelet-client-current.pem", ["certificate_missing"]),
        # Neither of these files was read.
        ("D:\\own.pem", []),
        ("", []),
    ],
)
def test_only_the_certificate_that_the_kubelet_rotates_is_read(file: str, expected: list[str]) -> None:
    kubelet = KubeletFacts(joined=True, kubeconfig=KubeletKubeconfig(certificate_file=file))
    assert causes(check_cluster.certificate(examination(kubelet=kubelet), NOW)) == expected


@pytest.mark.parametrize(("program", "expected"), [("C:\\k\\kubelet.exe", ["wrong_name"]), ("powershell.exe", [])])
def test_the_name_of_a_kubelet_that_a_script_starts_is_unknown(program: str, expected: list[str]) -> None:
    certificate = ClientCertificate(common_name="system:node:other", begins=NOW, ends=NOW)
    kubelet = KubeletFacts(command=KubeletCommand(program=program), certificate=certificate)
    assert causes(check_cluster.name(examination(kubelet=kubelet))) == expected


def test_a_name_that_the_inventory_does_not_expect() -> None:
    certificate = ClientCertificate(common_name="system:node:win", begins=NOW, ends=NOW)
    node = dataclasses.replace(examination(kubelet=KubeletFacts(certificate=certificate)), expected_name="win-1")
    (cause,) = check_cluster.name(node)
    assert cause.evidence == ("the machine is the node win, but the inventory expects win-1",)


def test_a_folder_of_configurations_that_was_not_searched_is_not_missing() -> None:
    def missing(folder: str, problem: str = "") -> list[str]:
        pipe = CONTAINERD_PIPE
        state = RuntimeState(conf_dir=folder, network_problem=problem)
        runtime = RuntimeFacts(
            pipes=frozenset([pipe]), states={pipe: state}, problems={}, sandbox_image="", images={}, containers=None
        )
        return causes(check_network.cni(examination(kubelet=KubeletFacts(joined=True), runtime=runtime)))

    assert missing("D:\\net.d") == []
    assert missing("D:\\net.d", "cni plugin not initialized") == ["cni_configuration_missing"]
    assert missing("c:/etc/cni/net.d/") == ["cni_configuration_missing"]


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        (None, []),
        (frozenset(), ["kube_proxy_missing"]),
        (frozenset({"pause"}), ["kube_proxy_missing"]),
        (frozenset({"kube-proxy"}), []),
    ],
)
def test_kube_proxy_is_missing_only_if_the_containers_are_known(
    containers: frozenset[str] | None, expected: list[str]
) -> None:
    runtime = RuntimeFacts(
        pipes=frozenset(), states={}, problems={}, sandbox_image="", images={}, containers=containers
    )
    record = {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}
    node = examination(kubelet=KubeletFacts(joined=True), runtime=runtime, network_record=record)
    assert causes(check_network.kube_proxy(node)) == expected


def test_the_pause_image_before_containerd_2() -> None:
    def pause_causes(image: ImageState | None, **more: t.Any) -> list[str]:
        images = {} if image is None else {"pause": image}
        runtime = RuntimeFacts(
            pipes=frozenset(), states={}, problems={}, sandbox_image="pause", images=images, containers=None
        )
        view = {"authorities": [], "nodes": {"win": NODE | more}}
        return causes(check_network.pause_image(examination(runtime=runtime, view=view)))

    assert pause_causes(None) == []
    assert pause_causes(ImageState(status="complete")) == []
    assert pause_causes(ImageState(status="incomplete")) == []
    assert pause_causes(ImageState(status="unavailable")) == ["pause_image_unusable"]
    assert pause_causes(ImageState(status="complete", builds=(17763,))) == ["pause_image_unusable"]
    assert pause_causes(ImageState(status="complete", builds=(17763, 20348))) == []
    error = 'failed to get sandbox image "pause": no match for platform in manifest: not found'
    assert pause_causes(None, sandbox_errors=[error]) == ["pause_image_unusable"]
    # An image of a user's pod is not the pause image.
    assert pause_causes(None, pending_pods=["a/b: no match for platform in manifest: not found"]) == []


@pytest.mark.parametrize("status", ["False", "Unknown", "", "Strange"])
def test_a_node_that_is_not_ready_is_never_without_a_cause(status: str) -> None:
    view = {"authorities": [], "nodes": {"win": NODE | {"ready": status, "reason": "Kubelet: x", "since": "then"}}}
    kubelet = KubeletFacts(joined=True, kubeconfig=KubeletKubeconfig(server="https://[fd00::5]:6443/"))
    found = diagnose(examination(kubelet=kubelet, view=view), NOW)
    assert found.status in ("NotReady", "Unknown")
    assert found.findings
    assert found.status_detail == "Kubelet: x (since then)"


def test_a_risk_does_not_explain_why_a_node_is_not_ready() -> None:
    view = {"authorities": [], "nodes": {"win": NODE | {"ready": "False", "reason": "x"}}}
    windows = dataclasses.replace(examination().first.windows, pending_reboot=("update",))
    runtime = dataclasses.replace(examination().first.runtime, pipes=frozenset([CONTAINERD_PIPE]))
    files = {"C:\\etc\\cni\\net.d\\10.conf": "{}"}
    kubelet = KubeletFacts(joined=True)
    node = examination(kubelet=kubelet, windows=windows, runtime=runtime, cni_files=files, view=view)
    diagnosis = diagnose(node, NOW)
    assert {one.finding.cause for one in diagnosis.findings} == {"pending_reboot", "unexplained"}
