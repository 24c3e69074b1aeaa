# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The service control manager: what a service needs to run, and what becomes of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import pytest

from simulator.machine import executables
from simulator.machine.families import Families
from simulator.machine.machine import Machine
from simulator.machine.objects import IdleServiceProgram
from simulator.machine.services import ServiceError, failure_action, make_failure_actions

pytestmark = pytest.mark.waits

EXE = r"C:\Program Files\demo\demo.exe"


@pytest.fixture(scope="session")
def families() -> Families:
    """All families, and a program that can run as a service."""
    from simulator.machine.families import load

    found = load()
    return dataclasses.replace(found, services={**found.services, "demo": IdleServiceProgram()})


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """A machine with the program's file."""
    machine.files.make_directory(r"C:\Program Files\demo")
    machine.files.write_bytes(EXE, executables.make("demo", "1.0"))
    return machine


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen within 60 s"
        time.sleep(0.02)


def code_of(machine: Machine, name: str) -> int:
    with pytest.raises(ServiceError) as caught:
        machine.services.start(name)
    return caught.value.code


def refused(change: Callable[[], None]) -> int:
    with pytest.raises(ServiceError) as caught:
        change()
    return caught.value.code


def test_services_do_not_depend_on_each_other_in_a_circle(machine: Machine) -> None:
    services = machine.services
    services.create("a", EXE, DependOnService=["B"])
    services.create("b", EXE, DependOnService=["c", "RpcSs"])
    assert refused(lambda: services.create("c", EXE, DependOnService=["A"])) == 1059
    assert not services.exists("c")
    assert refused(lambda: services.configure("b", DependOnService=["b"])) == 1059
    services.create("c", EXE)
    assert refused(lambda: services.configure("C", DependOnService=["RpcSs", "a"])) == 1059
    services.configure("b", DependOnService=None)
    services.configure("c", DependOnService=["a"])


@pytest.mark.parametrize(
    ("account", "exists"),
    [
        ("LocalSystem", True),
        ("NT AUTHORITY\\LocalService", True),
        ("NT Authority\\Network Service", True),
        ("NT AUTHORITY\\Nobody", False),
        ("NT SERVICE\\demo", True),
        ("NT SERVICE\\w32time", True),
        ("NT SERVICE\\other", False),
        (".\\Administrator", True),
        ("WIN-A\\administrator", True),
        (".\\someone", False),
        ("someone", False),
        ("NOSUCH\\user", False),
        ("someone@example.com", False),
    ],
)
def test_a_service_needs_an_account_that_exists(machine: Machine, account: str, exists: bool) -> None:
    services = machine.services
    if exists:
        services.create("demo", EXE, ObjectName=account)
        return
    assert refused(lambda: services.create("demo", EXE, ObjectName=account)) == 1057
    services.create("demo", EXE)
    assert refused(lambda: services.configure("demo", ObjectName=account)) == 1057
    found = services.get("demo")
    assert found is not None
    assert found.account == "LocalSystem"


def test_only_drivers_start_with_the_system(machine: Machine) -> None:
    services = machine.services
    assert refused(lambda: services.create("demo", EXE, Start=0)) == 87
    services.create("driver", EXE, Type=1, Start=1)
    services.create("demo", EXE)
    assert refused(lambda: services.configure("demo", Start=1)) == 87


def test_a_service_needs_its_program(machine: Machine) -> None:
    machine.services.create("demo", f'"{EXE}" --service')
    assert code_of(machine, "demo") == 2
    machine.files.make_directory(r"C:\Program Files\demo")
    machine.files.write_bytes(EXE, b"MZ no program")
    assert code_of(machine, "demo") == 193
    # sc.exe runs, but it never answers the service manager.
    machine.services.create("wrong", r"C:\Windows\System32\sc.exe")
    assert code_of(machine, "wrong") == 1053
    machine.files.write_bytes(EXE, executables.make("demo", "1.0"))
    machine.services.start("demo")
    service = machine.services.get("DEMO")
    assert service is not None
    assert (service.state, service.argv) == ("Running", [EXE, "--service"])
    assert service.process_id in [process.id for process in machine.processes.all()]


def test_unquoted_path_with_blanks(installed: Machine) -> None:
    installed.services.create("demo", f"{EXE} --a b")
    installed.services.start("demo")
    service = installed.services.get("demo")
    assert service is not None
    assert service.argv == [EXE, "--a", "b"]


def test_dependencies_start_first_and_stop_last(installed: Machine) -> None:
    services = installed.services
    services.create("base", f'"{EXE}"')
    services.create("upper", f'"{EXE}"', DependOnService=["base"])
    services.start("upper")
    assert states(installed, "base", "upper") == ["Running", "Running"]
    with pytest.raises(ServiceError, match="1051"):
        services.stop("base")
    services.stop("base", force=True)
    assert states(installed, "base", "upper") == ["Stopped", "Stopped"]


def states(machine: Machine, *names: str) -> list[str]:
    return [service.state for name in names if (service := machine.services.get(name))]


def test_refusals(installed: Machine) -> None:
    services = installed.services
    services.create("demo", f'"{EXE}"', Start=4)
    assert code_of(installed, "demo") == 1058
    services.configure("demo", Start=3, DependOnService=["nope"])
    assert code_of(installed, "demo") == 1075
    services.configure("demo", DependOnService=None)
    services.start("demo")
    assert code_of(installed, "demo") == 1056
    assert code_of(installed, "nope") == 1060
    with pytest.raises(ServiceError, match="1073"):
        services.create("Demo", f'"{EXE}"')
    services.delete("demo")
    with pytest.raises(ServiceError, match="1072"):
        services.configure("demo", Start=2)
    services.halt()
    assert services.get("demo") is None, "a running service that was deleted goes when it stops"


def test_a_failing_dependency(installed: Machine) -> None:
    installed.services.create("base", r"C:\nope.exe")
    installed.services.create("upper", f'"{EXE}"', DependOnService=["base"])
    assert code_of(installed, "upper") == 1068


def test_recovery_restarts_a_crashed_service(installed: Machine) -> None:
    actions = make_failure_actions(86400, [("restart", 5000), ("", 0)])
    installed.services.create("demo", f'"{EXE}"', FailureActions=actions)
    installed.services.start("demo")
    installed.services.crash("demo")
    wait_for(lambda: states(installed, "demo") == ["Running"])
    # The second failure has no action.
    installed.services.crash("demo")
    time.sleep(0.3)
    assert states(installed, "demo") == ["Stopped"]


def test_automatic_services_come_up_at_boot(installed: Machine) -> None:
    installed.services.create("auto", f'"{EXE}"', Start=2)
    installed.services.create("late", f'"{EXE}"', Start=2, DelayedAutostart=1)
    installed.services.create("manual", f'"{EXE}"')
    installed.services.create("broken", r"C:\nope.exe", Start=2)
    installed.power.reset()
    assert states(installed, "auto", "late", "manual", "broken") == ["Running", "Running", "Stopped", "Stopped"]
    assert any("broken" in event for event in installed.services.events)


def test_failure_actions_value() -> None:
    data = make_failure_actions(86400, [("restart", 60000), ("reboot", 1), ("", 0)])
    assert [failure_action(data, index) for index in range(4)] == [
        ("restart", 60000),
        ("reboot", 1),
        ("none", 0),
        ("none", 0),
    ]
    assert failure_action(None, 0) == ("none", 0)
