# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The service control manager: what a service needs to start, and its recovery, dependencies and order at boot."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import pytest
from simulator_tests.waiting import wait_for

from simulator.machine import executables, service_startup
from simulator.machine.families import Families
from simulator.machine.faults import set_fault
from simulator.machine.machine import Machine
from simulator.machine.objects import IdleServiceProgram
from simulator.machine.services import ServiceError, failure_action, make_failure_actions

pytestmark = pytest.mark.waits

EXE = r"C:\Program Files\demo\demo.exe"


@pytest.fixture(scope="session")
def families() -> Families:
    """Return all families, and a program that can run as a service."""
    from simulator.machine.families import load

    found = load()
    return dataclasses.replace(found, services={**found.services, "demo": IdleServiceProgram()})


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """Return a machine with the executable of the program."""
    machine.files.make_directory(r"C:\Program Files\demo")
    machine.files.write_bytes(EXE, executables.make("demo", "1.0"))
    return machine


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
    # sc.exe runs, but does not communicate with the service manager.
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


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_a_deleted_service_goes_when_it_ends(installed: Machine, end: str) -> None:
    services = installed.services
    services.create("demo", f'"{EXE}"', FailureActions=make_failure_actions(86400, [("restart", 0)]))
    services.start("demo")
    services.delete("demo")
    assert refused(lambda: services.delete("demo")) == 1072
    getattr(services, end)("demo")
    assert not services.exists("demo")


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
    installed.services.create("manual", f'"{EXE}"')
    installed.services.create("broken", r"C:\nope.exe", Start=2)
    installed.power.reset()
    assert states(installed, "auto", "manual", "broken") == ["Running", "Stopped", "Stopped"]
    assert any("broken" in event for event in installed.services.events)


def test_delayed_services_start_after_all_others(installed: Machine) -> None:
    services = installed.services
    services.create("base", f'"{EXE}"', Start=3)
    services.create("a-late", f'"{EXE}"', Start=2, DelayedAutostart=1, DependOnService=["base"])
    services.create("b-late", f'"{EXE}"', Start=2, DelayedAutostart=1)
    services.create("needed", f'"{EXE}"', Start=2, DelayedAutostart=1)
    services.create("upper", f'"{EXE}"', Start=2, DependOnService=["needed"])
    installed.power.reset()
    # A delayed service that another service needs at boot starts without the delay.
    assert states(installed, "needed", "upper") == ["Running", "Running"]
    wait_for(lambda: states(installed, "a-late", "b-late") == ["Running", "Running"])
    assert services.started[-3:] == ["base", "a-late", "b-late"]


def test_a_shutdown_ends_the_delay(installed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_startup, "DELAY_SECONDS", 500.0)
    installed.services.create("late", f'"{EXE}"', Start=2, DelayedAutostart=1)
    installed.power.reset()
    installed.power.power_off()
    time.sleep(0.7)
    assert states(installed, "late") == ["Stopped"]


def boot_order(machine: Machine, *names: str) -> list[str]:
    """Reset the machine, and return the order in which these services started."""
    machine.power.reset()
    return [name for name in machine.services.started if name in names]


def test_windows_promises_no_order_of_services(installed: Machine) -> None:
    names = [f"s{number}" for number in range(6)]
    for name in names:
        installed.services.create(name, f'"{EXE}"', Start=2)
    orders = [boot_order(installed, *names) for dummy in range(3)]
    assert [sorted(order) for order in orders] == [names] * 3
    assert len({tuple(order) for order in orders}) > 1
    installed.services.first_at_boot = ["s5", "s0"]
    assert boot_order(installed, *names)[:2] == ["s5", "s0"]


def test_dependencies_and_groups_define_the_order(installed: Machine) -> None:
    services = installed.services
    installed.registry.write(service_startup.GROUP_ORDER, {"List": ["early", "network"]})
    services.create("a", f'"{EXE}"', Start=2, DependOnService=["b"])
    services.create("b", f'"{EXE}"', Start=2, DependOnService=["c"])
    services.create("c", f'"{EXE}"', Start=2)
    services.create("in-network", f'"{EXE}"', Start=2, Group="Network")
    services.create("in-early", f'"{EXE}"', Start=2, Group="early")
    services.first_at_boot = ["a"]
    names = ("a", "b", "c", "in-network", "in-early")
    assert boot_order(installed, *names) == ["in-early", "in-network", "c", "b", "a"]


def test_a_group_needs_one_service_that_runs(installed: Machine) -> None:
    services = installed.services
    services.create("broken", r"C:\nope.exe", Group="network")
    services.create("upper", f'"{EXE}"', DependOnGroup=["network"])
    assert code_of(installed, "upper") == 1068
    services.create("works", f'"{EXE}"', Group="network")
    services.start("upper")
    assert states(installed, "broken", "works", "upper") == ["Stopped", "Running", "Running"]


def test_what_depends_on_a_failed_service_stays_stopped(installed: Machine) -> None:
    actions = make_failure_actions(86400, [("restart", 1000)])
    installed.services.create("base", f'"{EXE}"', Start=2)
    installed.services.create("upper", f'"{EXE}"', Start=2, DependOnService=["base"], FailureActions=actions)
    set_fault(installed, {"kind": "service_hangs", "name": "base", "value": True})
    installed.power.reset()
    # Recovery is for services that ended unexpectedly, not for those that never started.
    time.sleep(0.3)
    assert states(installed, "base", "upper") == ["Stopped", "Stopped"]
    assert any("upper" in event and "(1068)" in event for event in installed.services.events)


def test_failure_actions_value() -> None:
    data = make_failure_actions(86400, [("restart", 60000), ("reboot", 1), ("", 0)])
    assert [failure_action(data, index) for index in range(4)] == [
        ("restart", 60000),
        ("reboot", 1),
        ("none", 0),
        ("none", 0),
    ]
    assert failure_action(None, 0) == ("none", 0)
