# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Labels, annotations, taints and programs of the join are checked before any node is touched."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import node_labels
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import joining


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"node_join_pre_kubeadm_commands": [["a.exe"], ["b.cmd"]]},
            "node_join_pre_kubeadm_commands[1][0]: expected a program whose name ends in .exe",
        ),
        (
            {"node_join_post_kubeadm_commands": ["C:\\x.exe --password=hunter2"]},
            "node_join_post_kubeadm_commands[0][0]: expected a program whose name ends in .exe",
        ),
        ({"node_join_post_kubeadm_commands": [[]]}, "node_join_post_kubeadm_commands[0]: expected a program"),
        ({"node_join_node_labels": {"a b": "c"}}, "node_join_node_labels.a b: expected NAME or PREFIX/NAME"),
        ({"node_join_node_labels": {"a": "b c"}}, "node_join_node_labels.a: expected at most 63 letters"),
        ({"node_join_node_labels": {"a": 64 * "b"}}, "node_join_node_labels.a: expected at most 63 letters"),
        (
            {"node_join_node_labels": {"kubernetes.io/os": "linux"}},
            "node_join_node_labels.kubernetes.io/os: expected a different label, got 'linux'. The kubelet",
        ),
        (
            {"node_join_node_labels": {"winkube.node/pod-network": "x"}},
            "node_join_node_labels.winkube.node/pod-network",
        ),
        ({"node_join_node_annotations": {"/a": "b"}}, "node_join_node_annotations./a: expected NAME or PREFIX/NAME"),
        ({"node_join_node_taints": [{"key": "a b", "effect": "NoSchedule"}]}, "node_join_node_taints[0].key: expected"),
        (
            {"node_join_node_taints": [{"key": "a", "value": "b,c", "effect": "NoSchedule"}]},
            "node_join_node_taints[0].value: expected at most 63",
        ),
        (
            {"node_join_token_source": "control_plane", "node_join_control_plane": ""},
            "node_join_control_plane: expected the name of a host of the control plane, got nothing",
        ),
    ],
)
def test_a_value_that_the_cluster_or_the_node_would_refuse(values: dict[str, t.Any], text: str) -> None:
    (problem,) = joining.problems(values)
    assert str(problem).startswith(text)
    assert "hunter2" not in str(problem)


def test_ordinary_values_are_accepted() -> None:
    values = {
        "node_join_pre_kubeadm_commands": [["a.exe", "b"], {"program": "c.exe"}],
        "node_join_node_labels": {"site": "a", "node-role.kubernetes.io/worker": ""},
        "node_join_node_annotations": {"example.com/owner": "Team A, building 5"},
        "node_join_node_taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        "node_join_token_source": "api",
        "node_join_control_plane": "",
    }
    assert joining.problems(values) == []
    assert joining.problems({}) == []


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("site", True),
        ("example.com/site", True),
        ("node.kubernetes.io/instance-type", True),
        ("pool.node.kubernetes.io/a", True),
        ("kubelet.kubernetes.io/a", True),
        ("topology.kubernetes.io/zone", True),
        ("node-role.kubernetes.io/worker", False),
        ("node-restriction.kubernetes.io/a", False),
        ("kubernetes.io/role", False),
        ("k8s.io/a", False),
        ("xkubernetes.io/a", True),
    ],
)
def test_labels_that_a_kubelet_may_set(label: str, allowed: bool) -> None:
    assert node_labels.is_allowed_to_kubelets(label) is allowed
