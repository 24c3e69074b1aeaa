# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings of kubelet and kube-proxy are compared with their version before any node is touched."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import kubelet

CONFIGURATION = "kubernetes_node_kubelet_configuration"
FLAGS = "kubernetes_node_kubelet_arguments"


def messages(version: str = "1.37.1", **values: t.Any) -> list[str]:
    return [str(one) for one in kubelet.problems(values, version)]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({CONFIGURATION: {"maxPodz": 5}}, f"{CONFIGURATION}.maxPodz: expected a field of KubeletConfiguration"),
        (
            {CONFIGURATION: {"featureGates": {"WinOverlay": False}}},
            f"{CONFIGURATION}.featureGates.WinOverlay: expected",
        ),
        (
            {CONFIGURATION: {"evictionHard": {"pid.available": "10%"}}},
            f"{CONFIGURATION}.evictionHard.pid.available: expected one of the signals",
        ),
        ({CONFIGURATION: {"cgroupsPerQOS": True}}, f"{CONFIGURATION}.cgroupsPerQOS: expected false, got True"),
        (
            {CONFIGURATION: {"enforceNodeAllocatable": ["pods"]}},
            f"{CONFIGURATION}.enforceNodeAllocatable: expected an empty list",
        ),
        (
            {CONFIGURATION: {"userNamespaces": {"idsPerPod": 65536}}},
            f"{CONFIGURATION}.userNamespaces: expected no value",
        ),
        (
            {CONFIGURATION: {"resolvConf": "/etc/resolv.conf"}},
            f"{CONFIGURATION}.resolvConf: expected an empty string or Host",
        ),
        (
            {"kubernetes_node_kube_reserved": {"pid": "100"}},
            "kubernetes_node_kube_reserved.pid: expected one of the resources cpu, memory, ephemeral-storage, got",
        ),
        ({"kubernetes_node_system_reserved": {"memory": "2GB"}}, "kubernetes_node_system_reserved.memory: expected"),
        (
            {"kubernetes_node_eviction_hard": {"nodefs.inodesFree": "5%"}},
            "kubernetes_node_eviction_hard.nodefs.inodesFree: expected one of the signals",
        ),
        (
            {"node_join_kube_proxy_configuration": {"winkernel": {"enableDsr": True}}},
            "node_join_kube_proxy_configuration.winkernel.enableDsr: expected a field of KubeProxyConfiguration",
        ),
        (
            {FLAGS: {"pod-infra-container-image": "pause"}},
            f"{FLAGS}.pod-infra-container-image: expected a kubelet flag of Kubernetes 1.37, got",
        ),
        ({FLAGS: {"source": "a"}}, f"{FLAGS}.source: expected a kubelet flag"),
        ({FLAGS: {"--v": 2}}, "Write the flag's name without leading hyphens."),
        ({FLAGS: {"feature-gates": "WinDSR=true,CPUManager=true"}}, f"{FLAGS}.feature-gates.CPUManager: expected"),
        (
            {FLAGS: {"eviction-hard": "memory.available<500Mi,nodefs.inodesFree<5%"}},
            f"{FLAGS}.eviction-hard.nodefs.inodesFree: expected one of the signals",
        ),
        ({FLAGS: {"system-reserved": "cpu=500m,pid=10"}}, f"{FLAGS}.system-reserved.pid: expected"),
        (
            {"node_join_kubelet_arguments": {"node-labels": "site=a,node-role.kubernetes.io/worker="}},
            "arguments.node-labels.node-role.kubernetes.io/worker: expected a label that a kubelet may set",
        ),
    ],
)
def test_a_setting_with_which_the_program_would_not_work_is_refused(values: dict[str, t.Any], text: str) -> None:
    (message,) = messages(**values)
    assert text in message


def test_the_value_of_an_unknown_flag_is_not_shown() -> None:
    (message,) = messages(**{FLAGS: {"tokn": "hunter2"}})
    assert "hunter2" not in message


@pytest.mark.parametrize("version", ["1.30.4", "1.31.2", "1.34.4", "1.37.1"])
def test_ordinary_settings_are_accepted(version: str) -> None:
    values = {
        CONFIGURATION: {"maxPods": 50, "resolvConf": "Host", "enforceNodeAllocatable": [], "cgroupsPerQOS": False},
        FLAGS: {"node-ip": "10.0.0.5", "v": 4, "feature-gates": "", "node-labels": "site=a,node.kubernetes.io/x=y"},
        "kubernetes_node_eviction_hard": {"nodefs.available": "5%"},
        "kubernetes_node_system_reserved": {"cpu": 1, "memory": "2Gi"},
    }
    assert messages(version, **values) == []


@pytest.mark.parametrize("version", ["", "newest"])
def test_without_a_version_nothing_is_compared(version: str) -> None:
    assert messages(version, **{CONFIGURATION: {"maxPodz": 5}}) == []
