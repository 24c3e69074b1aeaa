# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which fields and feature gates a version of kubelet and kube-proxy accepts."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import configuration_fields as fields
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import DATA
from simulator.kubernetes_node.programs import contracts

KINDS: dict[fields.Kind, str] = {
    "KubeletConfiguration": "kubelet.config.k8s.io/v1beta1",
    "KubeProxyConfiguration": "kubeproxy.config.k8s.io/v1alpha1",
}
MEASURED = tuple(contracts.load("kubernetes")["versions"])


def paths(kind: fields.Kind, document: dict[str, t.Any], version: str) -> list[str]:
    """Return the fields of a document that a version does not accept."""
    return [one.path for one in fields.objections(kind, document, version)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_file_has_what_the_programs_of_every_version_accept(kind: fields.Kind) -> None:
    """The file is derived from the same measurements as the simulator's contract."""
    known = json.loads((DATA / "kubernetes_configuration.json").read_text(encoding="utf-8"))
    contract = contracts.load("kubernetes")
    assert known["measured"] == contract["versions"]
    expected = contract["configuration"][f"{KINDS[kind]} {kind}"]["fields"]
    assert known[kind] == {path: about for path, about in expected.items() if path not in ("apiVersion", "kind")}
    gates = {
        name: [[span, default == "on", "locked" in rest] for span, dummy, default, *rest in states]
        for name, states in contract["feature_gates"].items()
    }
    assert known["feature_gates"] == gates


@pytest.mark.parametrize(
    ("version", "accepted"),
    [("1.30.4", False), ("1.31.5", False), ("1.32.2", False), ("1.33.0", True), ("1.37.1", True)],
)
def test_a_field_exists_from_a_version_on(version: str, accepted: bool) -> None:
    given = {"mergeDefaultEvictionSettings": True}
    assert paths("KubeletConfiguration", given, version) == ([] if accepted else ["mergeDefaultEvictionSettings"])


def test_a_version_between_two_recorded_ones_accepts_what_either_of_them_does() -> None:
    # 1.31 was not recorded. crashLoopBackOff exists from 1.32 on.
    given = {"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}}
    assert paths("KubeletConfiguration", given, "1.31.0") == []
    assert paths("KubeletConfiguration", given, "1.30.0") == ["crashLoopBackOff"]


@pytest.mark.parametrize(
    ("given", "path", "expected", "hint"),
    [
        (
            {"clusterDns": ["10.0.0.10"]},
            "clusterDns",
            "expected a field of KubeletConfiguration in Kubernetes 1.37",
            "Did you mean clusterDNS?",
        ),
        ({"clusterDNS": "10.0.0.10"}, "clusterDNS", "expected a list", ""),
        ({"maxPods": "110"}, "maxPods", "expected a whole number", ""),
        ({"maxPods": True}, "maxPods", "expected a whole number", ""),
        ({"failSwapOn": "false"}, "failSwapOn", "expected true or false", ""),
        ({"systemReserved": {"cpu": 1}}, "systemReserved.cpu", "expected a string in quotes", ""),
        ({"systemReserved": ["cpu"]}, "systemReserved", "expected a mapping", ""),
        ({"syncFrequency": 60}, "syncFrequency", "expected a duration such as 5m0s", ""),
        ({"syncFrequency": "1 minute"}, "syncFrequency", "expected a duration such as 5m0s", ""),
        (
            {"registerWithTaints": [{"key": "a"}, {"efect": "x"}]},
            "registerWithTaints[1].efect",
            "expected a field of KubeletConfiguration in Kubernetes 1.37",
            "Did you mean effect?",
        ),
        ({"logging": {"verbosity": -1}}, "logging.verbosity", "expected a whole number that is not negative", ""),
        ({"memoryThrottlingFactor": "0.9"}, "memoryThrottlingFactor", "expected a number", ""),
    ],
)
def test_a_field_that_the_kubelet_would_not_start_with(
    given: dict[str, t.Any], path: str, expected: str, hint: str
) -> None:
    (found,) = fields.objections("KubeletConfiguration", given, "1.37.1")
    assert (found.path, found.expected, found.hint) == (path, expected, hint)


def test_ordinary_settings_are_accepted() -> None:
    given = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "maxPods": 110,
        "evictionHard": {"memory.available": "500Mi"},
        "clusterDNS": ["10.0.0.10"],
        "memoryThrottlingFactor": 1,
        "syncFrequency": "1m30s",
        "logging": {"flushFrequency": 5, "format": "text"},
        "staticPodURLHeader": {"a": ["b"]},
        "nodeLeaseDurationSeconds": None,
    }
    assert paths("KubeletConfiguration", given, "1.37.1") == []
    proxy = {"winkernel": {"enableDSR": True}, "windowsRunAsService": True, "featureGates": {"WinDSR": True}}
    assert paths("KubeProxyConfiguration", proxy, "1.33.0") == []
    assert paths("KubeProxyConfiguration", proxy, "1.30.0") == ["windowsRunAsService"]


@pytest.mark.parametrize("version", MEASURED)
def test_gates_are_those_of_the_version(version: str) -> None:
    """An unknown gate and a changed locked one are refused, exactly where the programs refuse them."""
    known = contracts.feature_gates(f"{version}.0")
    every = contracts.load("kubernetes")["feature_gates"]
    for value in (True, False):
        refused = {one.path for one in fields.gate_objections(dict.fromkeys(every, value), f"{version}.0")}
        expected = {
            f"featureGates.{name}"
            for name in every
            if name not in known or (known[name][1] and known[name][0] is not value)
        }
        assert refused == expected


@pytest.mark.parametrize(
    ("gates", "expected", "hint"),
    [
        (
            {"WinDSR": False},
            "expected true",
            "Kubernetes 1.37 does not allow this feature gate to be changed. Delete it.",
        ),
        (
            {"GracefulNodeShutdow": True},
            "expected a feature gate of Kubernetes 1.37",
            "Did you mean GracefulNodeShutdown?",
        ),
        ({"CPUManager": True}, "expected a feature gate of Kubernetes 1.37", "It exists in Kubernetes 1.30 to 1.32."),
        ({"CSIMigrationRBD": True}, "expected a feature gate of Kubernetes 1.37", "It exists in Kubernetes 1.30."),
        ({"Abcdefghijklm": True}, "expected a feature gate of Kubernetes 1.37", ""),
    ],
)
def test_the_message_about_a_gate_says_what_to_do(gates: dict[str, t.Any], expected: str, hint: str) -> None:
    (found,) = fields.gate_objections(gates, "1.37.1")
    assert (found.expected, found.hint) == (expected, hint)


def test_a_newer_version_may_have_fields_and_gates_that_are_not_known_here() -> None:
    given = {"fieldOfTheFuture": {"a": 1}, "maxPods": "110", "featureGates": {"GateOfTheFuture": True}}
    assert paths("KubeletConfiguration", given, "1.38.0") == ["maxPods"]
