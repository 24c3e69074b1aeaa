# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Services: configuration, recovery, arguments in a file, and whether they run."""

from __future__ import annotations

import struct
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import MISSING, answer, call, commands, failure, file, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubelet_flags
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import service_recovery

RESTART = {"reset_seconds": 86400, "actions": [{"action": "restart", "delay_seconds": 5}, {"action": "none"}]}
# How a real server stores `reset= 86400 actions= restart/5000//0`.
BYTES = [
    *(0x80, 0x51, 1, 0),
    *([0] * 8),
    *(2, 0, 0, 0),
    *(0x14, 0, 0, 0),
    *(1, 0, 0, 0),
    *(0x88, 0x13, 0, 0),
    *([0] * 8),
]


def kubelet(**more: t.Any) -> t.Any:
    return one(type="Service", name="kubelet", **more)


def running(status: str = "Running") -> t.Any:
    return answer({"Name": "kubelet", "Status": status})


def definition(**values: t.Any) -> t.Any:
    entries = {"ImagePath": "C:\\k\\kubelet.exe --v=2", "Start": 2, "ObjectName": "LocalSystem", **values}
    kept = {name: {"value": value, "kind": "x"} for name, value in entries.items() if value is not None}
    return answer({"key_exists": True, "values": kept})


NOTHING = answer({"key_exists": False, "values": {}})
DEFINED = {"path": "C:\\k\\kubelet.exe", "arguments": ["--v=2"]}


@pytest.mark.parametrize(
    ("requested", "values"),
    [
        ({}, {}),
        (DEFINED, {}),
        (DEFINED, {"ImagePath": '"c:\\K\\kubelet.exe"   "--v=2"'}),
        ({"path": "C:\\k\\kubelet.exe", "arguments": "--v=2"}, {}),
        ({"start_mode": "auto"}, {"DelayedAutostart": 0}),
        ({"start_mode": "delayed-auto"}, {"DelayedAutostart": 1}),
        ({"start_mode": "demand"}, {"Start": 3, "DelayedAutostart": 1}),
        ({"start_mode": "disabled"}, {"Start": 4}),
        ({"dependencies": ["Containerd", "Tcpip"]}, {"DependOnService": ["tcpip", "containerd"]}),
        ({"dependencies": []}, {}),
        ({"environment": {"B": "2", "A": "1=1"}}, {"Environment": ["A=1=1", "B=2"]}),
        ({"environment": {}}, {}),
        ({"account": "localsystem"}, {}),
        ({"recovery": RESTART}, {"FailureActions": BYTES}),
        ({"recovery": {"actions": []}}, {}),
        (
            {"recovery": {**RESTART, "on_error_exit": True}},
            {"FailureActions": BYTES, "FailureActionsOnNonCrashFailures": 1},
        ),
        (
            {"description": "Runs pods", "display_name": "Kubelet"},
            {"Description": "Runs pods", "DisplayName": "Kubelet"},
        ),
        ({"state": "running"}, {}),
    ],
)
def test_a_service_without_a_difference_needs_no_change(requested: dict[str, t.Any], values: dict[str, t.Any]) -> None:
    assert planned(kubelet(**requested), service=running(), definition=definition(**values)) is None


@pytest.mark.parametrize(
    ("requested", "values", "why", "arguments"),
    [
        (
            {"start_mode": "auto"},
            {"Start": 3},
            "start mode is demand, expected auto",
            [("config", "kubelet", "start=", "auto")],
        ),
        (
            {"start_mode": "auto"},
            {"DelayedAutostart": 1},
            "start mode is delayed-auto, expected auto",
            [("config", "kubelet", "start=", "auto")],
        ),
        (
            {"dependencies": ["containerd", "tcpip"]},
            {},
            "dependencies is empty, expected containerd, tcpip",
            [("config", "kubelet", "depend=", "containerd/tcpip")],
        ),
        (
            {"dependencies": []},
            {"DependOnService": ["x"]},
            "dependencies is x, expected empty",
            [("config", "kubelet", "depend=", "/")],
        ),
        (
            {"display_name": 'The "Kubelet"'},
            {},
            'display name is not set, expected The "Kubelet"',
            [("config", "kubelet", "displayname=", 'The "Kubelet"')],
        ),
        ({"description": "x"}, {}, "description is not set, expected x", [("description", "kubelet", "x")]),
        (
            {"recovery": RESTART},
            {},
            "recovery is nothing, expected restart after 5 s, none; reset after 86400 s",
            [("failure", "kubelet", "reset=", "86400", "actions=", "restart/5000//0")],
        ),
        (
            {"recovery": {**RESTART, "on_error_exit": True}},
            {"FailureActions": BYTES},
            "recovery on error exit is false, expected true",
            [("failureflag", "kubelet", "1")],
        ),
    ],
)
def test_settings_of_a_running_service_change_without_a_restart(
    requested: dict[str, t.Any], values: dict[str, t.Any], why: str, arguments: list[tuple[str, ...]]
) -> None:
    change = must(kubelet(**requested), service=running(), definition=definition(**values))
    assert change.why == why
    assert [call.arguments for call in change.calls] == arguments
    assert set(commands(change)) == {"sc.exe"}


def test_a_changed_command_line_restarts_a_running_service_once() -> None:
    requested = kubelet(
        path="C:\\Program Files\\k\\kubelet.exe", arguments=["--a=b c"], environment={"X": "1"}, state="running"
    )
    change = must(requested, service=running(), definition=definition())
    assert call(change, "config").arguments == (
        "config",
        "kubelet",
        "binpath=",
        '"C:\\Program Files\\k\\kubelet.exe" "--a=b c"',
    )
    assert commands(change) == ["sc.exe", "New-ItemProperty", "Restart-Service"]
    assert call(change, "environment").parameters["Value"] == ["X=1"]


def test_another_environment_alone_restarts_a_running_service() -> None:
    change = must(kubelet(environment={"X": "1"}), service=running(), definition=definition())
    assert commands(change) == ["New-ItemProperty", "Restart-Service"]


@pytest.mark.parametrize(
    ("requested", "status", "values"),
    [
        ({"environment": {"X": "1"}}, "Running", {}),
        ({"state": "running"}, "Stopped", {}),
        ({**DEFINED, "arguments": ["--v=4"], "state": "running"}, "Running", {}),
    ],
)
def test_a_change_that_may_cut_the_link_runs_detached(
    requested: dict[str, t.Any], status: str, values: dict[str, t.Any]
) -> None:
    for cuts in (True, False):
        change = must(
            kubelet(**requested, cuts_connection=cuts), service=running(status), definition=definition(**values)
        )
        assert change.calls[-1].command in ("Restart-Service", "Start-Service")
        assert change.calls[-1].long is cuts


def test_a_stopped_service_that_changes_is_not_started_unasked() -> None:
    change = must(kubelet(**{**DEFINED, "arguments": []}), service=running("Stopped"), definition=definition())
    assert commands(change) == ["sc.exe"]


@pytest.mark.parametrize(
    ("state", "status", "expected"),
    [
        ("running", "Running", None),
        ("running", "StartPending", None),
        ("running", "Stopped", ["Start-Service"]),
        ("running", "StopPending", ["Get-Service", "Start-Service"]),
        ("stopped", "Stopped", None),
        ("stopped", "Running", ["Stop-Service"]),
        ("absent", "Running", ["Stop-Service", "sc.exe"]),
        ("absent", "Stopped", ["sc.exe"]),
        (None, "Stopped", None),
    ],
)
def test_the_state_of_the_service_is_compared(state: str | None, status: str, expected: list[str] | None) -> None:
    change = planned(kubelet(state=state), service=running(status), definition=definition())
    assert (change and commands(change)) == expected


def test_a_new_service() -> None:
    requested = kubelet(
        **DEFINED,
        start_mode="delayed-auto",
        dependencies=["containerd"],
        recovery=RESTART,
        environment={},
        state="running",
    )
    change = must(requested, service=MISSING, definition=NOTHING)
    assert change.before["state"] == "absent"
    assert call(change, "create").arguments == (
        "create",
        "kubelet",
        "type=",
        "own",
        "error=",
        "normal",
        "binpath=",
        "C:\\k\\kubelet.exe --v=2",
        "start=",
        "delayed-auto",
        "depend=",
        "containerd",
    )
    assert [call.id for call in change.calls] == ["create", "recovery", "start"]


def test_a_missing_service() -> None:
    with pytest.raises(ResourceError, match=r"Service kubelet: expected an existing service, got nothing\. Set path"):
        planned(kubelet(start_mode="auto"), service=MISSING, definition=NOTHING)
    assert planned(kubelet(state="absent"), service=MISSING, definition=NOTHING) is None
    with pytest.raises(ResourceError, match="could not be read"):
        planned(kubelet(), service=failure("PermissionDenied", "x"), definition=NOTHING)


FLAGS = "C:\\var\\lib\\kubelet\\kubeadm-flags.env"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "C:\\k\\kubelet.exe --v=2 --node-ip=1"),
        (
            'KUBELET_KUBEADM_ARGS="--hostname-override=n1 --v=4"',
            "C:\\k\\kubelet.exe --node-ip=1 --hostname-override=n1 --v=4",
        ),
    ],
)
@pytest.mark.parametrize("arguments", [["--v=2", "--node-ip=1"], "--v=2 --node-ip=1"])
def test_flags_that_kubeadm_left_follow_the_arguments(content: str | None, line: str, arguments: t.Any) -> None:
    requested = kubelet(path="C:\\k\\kubelet.exe", arguments=arguments, arguments_from_file=FLAGS)
    flags = answer(file(FLAGS, content))
    change = must(requested, service=running(), definition=definition(ImagePath="x"), flags=flags)
    assert call(change, "config").arguments[-1] == line
    assert planned(requested, service=running(), definition=definition(ImagePath=line), flags=flags) is None


@pytest.mark.parametrize("scheme", ["http://", ""])
@pytest.mark.parametrize("requested", [{"HTTPS_PROXY": "{}u:s3cret@p:3128"}, {}], ids=["another", "none"])
def test_a_proxys_password_is_not_shown(requested: dict[str, str], scheme: str) -> None:
    environment = {name: value.format(scheme) for name, value in requested.items()}
    service = kubelet(environment=environment)
    assert service.private
    found = definition(Environment=[f"HTTPS_PROXY={scheme}u:0ld@p:3128"])
    change = must(service, service=running(), definition=found)
    shown = f"{change.why} {change.before} {change.after}"
    assert "s3cret" not in shown
    assert "0ld" not in shown
    assert "***@p:3128" in shown
    if environment:
        assert call(change, "environment").parameters["Value"] == [f"HTTPS_PROXY={scheme}u:s3cret@p:3128"]


def test_no_log_hides_the_environment() -> None:
    requested = kubelet(environment={"HTTPS_PROXY": "http://u:s3cret@p"}, no_log=True)
    change = must(requested, service=running(), definition=definition())
    assert "s3cret" not in f"{change.why}{change.before}{change.after}"
    assert all(call.secret for call in change.calls)


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "a/b"},
        {"name": ""},
        {"path": 'C:\\"x"'},
        {"environment": {"A=B": "1"}},
        {"dependencies": ["a/b"]},
        {"recovery": {"actions": [{"action": "restart", "delay_seconds": -1}]}},
        {"recovery": {"reset_seconds": -1, "actions": []}},
    ],
)
def test_invalid_services_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        one(**{"type": "Service", "name": "x", **properties})


_ACTION = st.builds(
    service_recovery.FailureAction,
    action=st.sampled_from(["restart", "none", "reboot"]),
    delay_seconds=st.integers(0, 4_000_000),
)


@given(st.integers(0, 2**32 - 1), st.lists(_ACTION, max_size=5))
def test_normalized_registry_values_equal_the_requested_ones(
    reset: int, actions: list[service_recovery.FailureAction]
) -> None:
    recovery = service_recovery.Recovery(reset_seconds=reset, actions=tuple(actions))
    # SERVICE_FAILURE_ACTIONSW in the registry: reset period, two pointers, count, offset; the actions.
    data = struct.pack("<5I", reset, 0, 0, len(actions), 20)
    kinds = ("none", "restart", "reboot")
    data += b"".join(struct.pack("<2I", kinds.index(each.action), each.milliseconds) for each in actions)
    assert service_recovery.parse(list(data)) == recovery.text
    # sc.exe expects pairs of action and milliseconds.
    words = recovery.sc_actions.split("/") if actions else []
    assert words[::2] == ["" if action.action == "none" else action.action for action in actions]
    assert words[1::2] == [str(action.milliseconds) for action in actions]


@given(st.lists(st.integers(0, 255), max_size=60))
def test_any_bytes_can_be_read(data: list[int]) -> None:
    assert service_recovery.parse(data)


def test_a_service_that_is_disabled_only_where_it_exists_and_remembered() -> None:
    requested = kubelet(if_exists=True, remember_start_mode=True, start_mode="disabled", state="stopped")
    assert planned(requested, service=MISSING, definition=NOTHING) is None
    change = must(requested, service=running(), definition=definition(DelayedAutostart=1))
    assert commands(change) == ["@read-registry", "New-Item", "New-ItemProperty", "sc.exe", "Stop-Service"]
    note = call(change, "note").parameters
    assert (note["Name"], note["Value"]) == ("Service kubelet", "delayed-auto")
    # The second run must not record that it is disabled.
    assert planned(requested, service=running("Stopped"), definition=definition(Start=4)) is None
    change = must(requested, service=running(), definition=definition(Start=4))
    assert commands(change) == ["Stop-Service"]


FLAGS_FILE = "C:\\var\\lib\\kubelet\\kubeadm-flags.env"
LEFT_BY_1_34 = 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.5 --pod-infra-container-image pause:3.10 -v=2"\n'


@pytest.mark.parametrize(
    ("version", "kept", "dropped"),
    [
        ("1.34.4", "--node-ip=10.0.0.5 --pod-infra-container-image pause:3.10 -v=2", ""),
        ("1.36.2", "--node-ip=10.0.0.5 -v=2", "--pod-infra-container-image pause:3.10"),
    ],
)
def test_unknown_kubelet_flags_are_left_out_and_reported(version: str, kept: str, dropped: str) -> None:
    resource = kubelet(
        path="C:\\k\\kubelet.exe", arguments_from_file=FLAGS_FILE, arguments_for_kubelet=version, state="running"
    )
    change = must(
        resource,
        service=running(),
        definition=definition(ImagePath="C:\\k\\kubelet.exe"),
        flags=answer(file(FLAGS_FILE, LEFT_BY_1_34)),
    )
    assert call(change, "config").arguments[-1] == f"C:\\k\\kubelet.exe {kept}"
    assert [dropped in warning for warning in change.warnings] == [True] * bool(dropped)
    # Nothing differs any more, and nothing is reported.
    same = definition(ImagePath=f"C:\\k\\kubelet.exe {kept}")
    assert planned(resource, service=running(), definition=same, flags=answer(file(FLAGS_FILE, LEFT_BY_1_34))) is None


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(ResourceError, match="arguments_for_kubelet"):
        kubelet(path="C:\\k\\kubelet.exe", arguments_for_kubelet="1.36")


@pytest.mark.parametrize(
    ("flag", "known", "unknown"),
    [
        ("--pod-infra-container-image=x", ["1.30.0", "1.31.9", "1.34.4"], ["1.35.0", "1.36.2", "1.37.1"]),
        ("--cloud-config=x", ["1.33.1"], ["1.34.0"]),
        # 1.31 was not recorded, so the flags of its neighbours are kept.
        ("--keep-terminated-pod-volumes", ["1.30.4", "1.31.0"], ["1.32.0"]),
        ("--fail-cgroupv1=false", ["1.31.0", "1.37.1"], ["1.30.0"]),
        ("--network-plugin=cni", ["1.38.0"], ["1.30.0", "1.37.1"]),
        ("--node_ip=10.0.0.5", ["1.30.0", "1.37.1"], []),
    ],
)
def test_flags_by_version(flag: str, known: list[str], unknown: list[str]) -> None:
    assert [kubelet_flags.part([flag], version).dropped for version in known] == [[]] * len(known)
    assert [kubelet_flags.part([flag], version).kept for version in unknown] == [[]] * len(unknown)


def test_a_service_contains_the_settings_of_another_role() -> None:
    whole = kubelet(if_exists=True, start_mode="disabled", state="stopped")
    part = one(type="Service", name="Kubelet", if_exists=True, start_mode="disabled")
    assert whole.joined(part) == part.joined(whole) == whole
    for other in ({"start_mode": "auto"}, {"dependencies": []}, {"path": "C:\\k\\kubelet.exe"}, {"windows": ["2022"]}):
        assert whole.joined(kubelet(**{"if_exists": True, **other})) is None
    assert whole.joined(kubelet(start_mode="disabled", path="C:\\k\\kubelet.exe")) is None
