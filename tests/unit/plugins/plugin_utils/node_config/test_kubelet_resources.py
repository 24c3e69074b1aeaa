# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reserved resources and eviction thresholds that a kubelet on Windows supports."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubelet_resources as resources


@pytest.mark.parametrize(
    "signal",
    ["nodefs.inodesFree", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available"],
)
@pytest.mark.parametrize("field", ["evictionHard", "evictionMinimumReclaim"])
def test_signals_of_linux_are_refused_by_name(signal: str, field: str) -> None:
    (found,) = resources.objections({field: {signal: "5%"}}, "1.37.1")
    assert found.path == f"{field}.{signal}"
    assert found.expected == "expected one of the signals memory.available, nodefs.available, imagefs.available"
    assert found.hint == f"{signal} exists only on Linux."


@pytest.mark.parametrize(("version", "accepted"), [("1.30.14", False), ("1.31.0", True), ("1.37.1", True)])
def test_the_kubelet_acts_on_memory_from_a_version_on(version: str, accepted: bool) -> None:
    found = resources.objections({"evictionHard": {"memory.available": "500Mi"}}, version)
    assert (found == []) is accepted
    if not accepted:
        assert found[0].expected == "expected Kubernetes 1.31 or newer"
        assert "kubernetes_node_system_reserved" in found[0].hint


@pytest.mark.parametrize(
    ("configuration", "path"),
    [
        ({"evictionHard": {"memory.available": "500MB"}}, "evictionHard.memory.available"),
        ({"evictionHard": {"memory.available": "101%"}}, "evictionHard.memory.available"),
        ({"evictionHard": {"memory.available": "-1Gi"}}, "evictionHard.memory.available"),
        ({"evictionHard": {"memory": "1Gi"}}, "evictionHard.memory"),
        ({"evictionSoft": {"nodefs.available": "15%"}}, "evictionSoftGracePeriod.nodefs.available"),
        ({"evictionSoftGracePeriod": {"nodefs.available": "soon"}}, "evictionSoftGracePeriod.nodefs.available"),
        ({"kubeReserved": {"memory": "1 GiB"}}, "kubeReserved.memory"),
        ({"kubeReserved": {"memory": "10%"}}, "kubeReserved.memory"),
        ({"systemReserved": {"pid": "100"}}, "systemReserved.pid"),
        ({"systemReserved": {"disk": "1Gi"}}, "systemReserved.disk"),
    ],
)
def test_what_the_kubelet_does_not_understand_is_refused(configuration: dict[str, t.Any], path: str) -> None:
    assert [one.path for one in resources.objections(configuration, "1.37.1")] == [path]


def test_ordinary_reservations_and_thresholds_are_accepted() -> None:
    configuration = {
        "kubeReserved": {"cpu": "250m", "memory": "1Gi", "ephemeral-storage": "5e9"},
        "systemReserved": {"cpu": "0.5", "memory": "2Gi"},
        "evictionHard": {"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "0%"},
        "evictionSoft": {"memory.available": "1.5Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "evictionMinimumReclaim": {"nodefs.available": "500Mi"},
    }
    assert resources.objections(configuration, "1.37.1") == []


def test_the_thresholds_that_are_not_set_keep_the_defaults_of_windows() -> None:
    """If one is set, the kubelet disables the others."""
    given = {"imagefs.available": "15%", "nodefs.available": "5%"}
    merged = resources.hard_thresholds(given, "1.37.1")
    assert merged == {"memory.available": "500Mi", **given}
    # The kubelet of 1.30 has no default for memory on Windows.
    assert resources.hard_thresholds(given, "1.30.4") == given
    assert resources.hard_thresholds({}, "1.37.1") == {}
