# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_service: each option changes the service in a first run, and nothing in a second one."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.machine.module_runs import run_module

from simulator.machine.services import failure_action
from simulator.machine.session import Session

KEY = r"HKLM:\SYSTEM\CurrentControlSet\Services\demo"


@pytest.fixture
def demo(session: Session) -> Session:
    """Return a session on a machine with a service that is not started."""
    session.machine.services.create("demo", r"C:\demo.exe", DisplayName="demo")
    return session


def service(session: Session, **options: object) -> dict[str, Any]:
    """Run win_service for the service `demo`, and return the result."""
    return run_module(session, "win_service", name="demo", **options)


@pytest.mark.parametrize(
    ("options", "value", "data"),
    [
        ({"error_control": "severe"}, "ErrorControl", 2),
        ({"service_type": "win32_share_process"}, "Type", 0x20),
        ({"desktop_interact": True}, "Type", 0x110),
        ({"pre_shutdown_timeout_ms": 30000}, "PreshutdownTimeout", 30000),
        ({"required_privileges": ["SeBackupPrivilege"]}, "RequiredPrivileges", ["SeBackupPrivilege"]),
        ({"sid_info": "restricted"}, "ServiceSidType", 3),
        ({"load_order_group": "net"}, "Group", "net"),
        ({"username": "NT AUTHORITY\\LocalService"}, "ObjectName", "NT AUTHORITY\\LOCAL SERVICE"),
        ({"username": "CONTOSO\\kubelet$"}, "ObjectName", "CONTOSO\\kubelet$"),
        ({"start_mode": "delayed"}, "DelayedAutostart", 1),
        ({"failure_actions_on_non_crash_failure": True}, "FailureActionsOnNonCrashFailures", 1),
        ({"failure_command": "cmd.exe"}, "FailureCommand", "cmd.exe"),
        ({"failure_reboot_msg": "bye"}, "RebootMessage", "bye"),
        ({"description": "for tests"}, "Description", "for tests"),
        ({"dependencies": ["WinRM"]}, "DependOnService", ["WinRM"]),
    ],
)
def test_an_option_is_kept_and_changes_nothing_again(
    demo: Session, options: dict[str, Any], value: str, data: object
) -> None:
    before = demo.machine.registry.data(KEY, value)
    assert run_module(demo, "win_service", check_mode=True, name="demo", **options)["changed"]
    assert demo.machine.registry.data(KEY, value) == before
    assert [service(demo, **options)["changed"] for _ in range(2)] == [True, False]
    assert demo.machine.registry.data(KEY, value) == data


def test_failure_actions(demo: Session) -> None:
    refused = service(demo, failure_reset_period_sec=60)
    assert "Cannot set FailureAction ResetPeriod without explicit Actions and no existing Actions" in refused["msg"]
    requested = [{"type": "restart", "delay_ms": 5000}, {"type": "run_command", "delay": 1}]
    options = {"failure_actions": requested, "failure_reset_period": 86400}
    assert [service(demo, **options)["changed"] for _ in range(2)] == [True, False]
    data = demo.machine.registry.data(KEY, "FailureActions")
    assert [failure_action(data, number) for number in range(2)] == [("restart", 5000), ("run", 1)]
    assert isinstance(data, bytes)
    assert int.from_bytes(data[:4], "little") == 86400
    # Actions without a period keep the earlier period. An empty list removes both.
    service(demo, failure_actions=requested[:1])
    kept = demo.machine.registry.data(KEY, "FailureActions")
    assert isinstance(kept, bytes)
    assert int.from_bytes(kept[:4], "little") == 86400
    assert [service(demo, failure_actions=[])["changed"] for _ in range(2)] == [True, False]
    assert demo.machine.registry.data(KEY, "FailureActions") is None


def test_dependencies_are_added_removed_and_set(demo: Session) -> None:
    def dependencies(action: str, *names: str) -> tuple[bool, list[str]]:
        found = service(demo, dependencies=list(names), dependency_action=action)
        return found["changed"], found["dependencies"]

    assert dependencies("set", "WinRM") == (True, ["WinRM"])
    assert dependencies("add", "EventLog", "WinRM") == (True, ["WinRM", "EventLog"])
    assert dependencies("add", "EventLog") == (False, ["WinRM", "EventLog"])
    assert dependencies("remove", "WinRM", "nobody") == (True, ["EventLog"])
    assert dependencies("set") == (True, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"username": "NOSUCH\\user"}, "Some or all identity references could not be translated."),
        ({"state": "paused"}, "failed to pause service demo: The service does not support pausing"),
        ({"dependencies": ["demo"]}, "Circular service dependency was specified, Win32ErrorCode 1059 - 0x00000423)"),
        (
            {"desktop_interact": True, "username": "NT AUTHORITY\\NetworkService"},
            "Can only set 'desktop_interact' to true when 'username' equals 'SYSTEM'",
        ),
        ({"state": "started"}, "Service 'demo (demo)' cannot be started due to the following error: "),
    ],
)
def test_requests_that_windows_refuses(demo: Session, options: dict[str, Any], message: str) -> None:
    found = service(demo, **options)
    assert found["failed"]
    assert message in found["msg"]
    assert found["changed"] is False


def test_a_password_is_set_with_its_account_and_never_shown(demo: Session) -> None:
    user = {"username": ".\\Administrator", "password": "s3cret-word"}
    answers = [service(demo, **user, **more) for more in ({}, {}, {"update_password": "always"})]
    assert [found["changed"] for found in answers] == [True, False, True]
    assert demo.machine.services.get("demo").account == "WIN-A\\Administrator"  # type: ignore[union-attr]
    for found in answers:
        assert found["invocation"]["module_args"]["password"] == "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
        assert "s3cret-word" not in str(found)


def test_a_service_is_made_found_by_its_display_name_and_removed(session: Session) -> None:
    made = run_module(session, "win_service", name="x", path=r"C:\x.exe", display_name="The X", start_mode="manual")
    assert (made["changed"], made["start_mode"], made["display_name"]) == (True, "manual", "The X")
    assert run_module(session, "win_service", name="The X")["name"] == "x"
    assert run_module(session, "win_service", name="nobody") == {
        "changed": False,
        "exists": False,
        "invocation": made["invocation"] | {"module_args": made["invocation"]["module_args"] | {
            "name": "nobody", "path": None, "display_name": None, "start_mode": None,
        }},
    }  # fmt: skip
    missing = run_module(session, "win_service", name="nobody", state="started")
    assert missing["msg"] == "Service 'nobody' is not installed, need to set 'path' to create a new service"
    assert [run_module(session, "win_service", name="x", state="absent")["changed"] for _ in range(2)] == [True, False]
    assert session.machine.services.get("x") is None


def test_dependants_stop_only_by_force(session: Session) -> None:
    services = session.machine.services
    services.configure("W32Time", DependOnService=["EventLog"])
    services.start("W32Time")
    refused = run_module(session, "win_service", name="EventLog", state="stopped")
    assert "because it has dependent services. It can only be stopped if the Force flag is set." in refused["msg"]
    assert run_module(session, "win_service", name="EventLog", state="stopped", force_dependent_services=True)[
        "changed"
    ]
    found = services.get("W32Time")
    assert found is not None
    assert found.state == "Stopped"
