# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of a network check, what the status of its pods means, and which namespaces may be deleted."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils.network_check import leftovers, objects, options, outcome
from ansible_collections.winkube.node.plugins.module_utils.network_check.nodes import CheckedNode

WIN, LIN = CheckedNode("win.example", "windows", "192.0.2.1"), CheckedNode("lin", "linux", "192.0.2.2")
IMAGES = objects.Images("win-image", "lin-image", [{"key": "a", "operator": "Exists"}])


def status_of(*states: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
    statuses = [{"name": f"probe-{number}", "state": state} for number, state in enumerate(states)]
    containers = [{"name": f"probe-{number}"} for number in range(len(states))] or [{"name": "probe-0"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers},
            "status": {"containerStatuses": statuses, **more}}  # fmt: skip


def ended(code: int, message: str = "", reason: str = "Error") -> dict[str, t.Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize("node", [WIN, LIN])
def test_pods_satisfy_the_restricted_standard(node: CheckedNode) -> None:
    for pod in (
        objects.server_pod("s", node, IMAGES),
        objects.probe_pod("p", node, [objects.Probe("a", "10.0.0.1", 80, 5)], IMAGES),
    ):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        assert spec["os"] == {"name": node.os}
        assert spec["nodeSelector"] == {"kubernetes.io/os": node.os}
        assert spec["tolerations"] == [{"key": "a", "operator": "Exists"}]
        (container,) = spec["containers"]
        assert container["image"] == ("win-image" if node is WIN else "lin-image")
        # The API server refuses these settings for Windows.
        assert ("securityContext" in container) == (node is LIN)
        assert ("seccompProfile" in spec["securityContext"]) == (node is LIN)
        assert ("windowsOptions" in spec["securityContext"]) == (node is WIN)


def test_a_namespace_has_our_labels_and_the_strictest_security() -> None:
    found = objects.namespace("n", "mark")["metadata"]
    assert found["labels"]["app.kubernetes.io/managed-by"] == "winkube.node"
    assert found["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert found["annotations"] == {"winkube.node/network-check": "mark"}


def test_an_ipv6_address_is_in_brackets() -> None:
    assert objects.Probe("a", "fd00::1", 80, 5).address == "[fd00::1]:80"
    assert objects.Probe("a", "name.example", 80, 5).address == "name.example:80"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ended(0), (True, "")),
        (ended(1, "TIMEOUT\n"), (False, "no response within 5 seconds")),
        (ended(1, "REFUSED\n"), (False, "the connection was refused")),
        (ended(1, "DNS: lookup x: no such host\n"), (False, "the name cannot be resolved: lookup x: no such host")),
        (ended(1, "OTHER: no route to host"), (False, "the connection failed: no route to host")),
        # Wrong arguments are no evidence about the network.
        (ended(1, "UNKNOWN: bad"), (None, "the probe could not run: UNKNOWN: bad (Error, exit code 1)")),
        (ended(128, "no such program", "StartError"),
         (None, "the probe could not run: no such program (StartError, exit code 128)")),
        (ended(2, "TIMEOUT"), (None, "the probe could not run: TIMEOUT (Error, exit code 2)")),
        (ended(-1073741510), (None, "the probe could not run: no message (Error, exit code -1073741510)")),
    ],
)  # fmt: skip
def test_what_a_probe_observed(state: dict[str, t.Any], expected: tuple[bool | None, str]) -> None:
    assert outcome.answers(status_of(state), 5) == {"probe-0": outcome.Answer(*expected)}


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_only_an_exit_code_of_zero_is_a_connection(code: t.Any) -> None:
    (answer,) = outcome.answers(status_of({"terminated": {"exitCode": code}}), 5).values()
    assert (answer.connected is True) == (code == 0 and not isinstance(code, (str, dict)))


def test_a_probe_that_has_not_ended_has_no_answer() -> None:
    assert outcome.answers(status_of({"running": {}}, {"waiting": {}}, ended(0)), 5).keys() == {"probe-2"}
    assert outcome.answers(status_of(), 5) == {}
    refused = status_of(phase="Failed", reason="NodeAffinity", message="Pod was rejected: \x1b[2J")
    assert outcome.answers(refused, 5)["probe-0"] == (None, "the pod failed: Pod was rejected: \\x1b[2J")


@pytest.mark.parametrize(
    ("states", "running"),
    [
        ([{"running": {}}], True),
        ([{"running": {}}, ended(0)], True),
        ([{"running": {}}, {"waiting": {}}], False),
        ([ended(0)], False),
        ([{}], False),
        ([], False),
    ],
)
def test_a_pod_runs_if_all_its_containers_have_started(states: list[dict[str, t.Any]], running: bool) -> None:
    assert outcome.is_running(status_of(*states)) is running


def test_a_server_has_an_address_if_it_runs() -> None:
    assert outcome.server_address(status_of({"running": {}}, phase="Running", podIP="10.0.0.1")) == "10.0.0.1"
    assert outcome.server_address(status_of({"running": {}}, phase="Running")) == ""
    assert outcome.server_address(status_of({"waiting": {}}, phase="Pending", podIP="10.0.0.1")) == ""
    assert outcome.server_address({"spec": {}, "metadata": {}}) == ""


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (status_of({"waiting": {"reason": "ErrImagePull", "message": "not\nfound"}}), "ErrImagePull: not found"),
        (status_of({"waiting": {"reason": "ContainerCreating"}}), "ContainerCreating"),
        (status_of(message="Failed to create pod sandbox: no network"), "Failed to create pod sandbox: no network"),
        (status_of(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]),
         "the scheduler reported: 0/3 nodes"),
        (status_of(), "its kubelet has not reported"),
        (status_of(message="x" * 900), "x" * 299 + "…"),
    ],
)  # fmt: skip
def test_why_a_pod_does_not_run(pod: dict[str, t.Any], why: str) -> None:
    assert outcome.why_waiting(pod) == why


def marked(mark: object) -> dict[str, t.Any]:
    return {"metadata": {"name": "n", "annotations": {objects.RUN_ANNOTATION: str(mark)}}}


@pytest.mark.parametrize(
    ("mark", "interrupted"),
    [
        (leftovers.RunMark("here", 7, 100.0), False),
        (leftovers.RunMark("here", 8, 100.0), True),
        # The process of another machine is not known, so its time limit counts.
        (leftovers.RunMark("there", 8, 100.0), False),
        (leftovers.RunMark("there", 8, 49.0), True),
        (leftovers.RunMark("here", 7, 49.0), True),
        ("nonsense", True),
        ('{"on": "here"}', True),
        ("[]", True),
    ],
)
def test_a_namespace_of_a_run_that_has_ended_may_be_deleted(mark: object, interrupted: bool) -> None:
    assert leftovers.is_interrupted(marked(mark), "here", 50.0, lambda process: process == 7) is interrupted


def test_a_namespace_without_a_mark_may_be_deleted() -> None:
    assert leftovers.is_interrupted({"metadata": {"name": "n"}}, "here", 50.0, bool)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("parallel", 0, "parallel: expected a number of at least 1, got 0"),
        ("sample", -1, "sample: expected a number of at least 0, got -1"),
        ("windows_image", " ", "windows_image: expected the name of a container image, got nothing"),
        ("outbound_url", "x", "outbound_url: expected a URL such as https://registry.k8s.io, got 'x'"),
        ("outbound_url", "", ""),
        ("cleanup_timeout", 0, ""),
    ],
)
def test_options_that_cannot_be_used_are_refused(name: str, value: object, why: str) -> None:
    usual = {option: spec.get("default") for option, spec in options.OPTIONS.items()}
    assert options.problem({**usual, name: value}) == why
