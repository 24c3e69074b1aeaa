# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Power cuts of joined machines."""

from __future__ import annotations

from collections.abc import Sequence

from simulator_tests.waiting import wait_for

from simulator.machine.machine import Machine


def started_after_a_power_cut(machine: Machine, order: Sequence[str]) -> list[str]:
    """Cut the power, and return some services in the order in which they started, once all of them run.

    Windows may try to start automatic services in any order, except that it first starts what a service depends on
    (https://learn.microsoft.com/windows/win32/services/automatically-starting-services). So here it tries the reverse
    of the expected order, which shows any missing dependency.

    Args:
        machine: the machine.
        order: the services in the expected order.
    """
    machine.services.first_at_boot = list(reversed(order))
    machine.power.reset()
    machine.services.first_at_boot = ()

    def all_run() -> bool:
        found = [machine.services.get(name) for name in order]
        return all(service is not None and service.state == "Running" for service in found)

    wait_for(all_run, "the services run", 60)
    # A service that ended because another one was not ready yet started again.
    return list(dict.fromkeys(name for name in machine.services.started if name in order))
