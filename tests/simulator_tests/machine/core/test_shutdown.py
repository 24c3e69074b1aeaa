# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""shutdown.exe."""

from __future__ import annotations

import pytest
from simulator_tests.waiting import wait_for

pytestmark = pytest.mark.waits


def test_a_restart_comes_after_its_delay(shell):
    boots = shell.machine.power.boots
    assert shell.program("shutdown.exe", "/r", "/f", "/t", "10", "/c", "updates").exit_code == 0
    assert shell.machine.power.last_reason == "updates"
    wait_for(lambda: shell.machine.power.boots == boots + 1 and shell.machine.power.state == "on")


def test_a_shutdown_stays_off(shell):
    assert shell.program("shutdown.exe", "-s", "-t", "0").exit_code == 0
    wait_for(lambda: shell.machine.power.state == "off")


def test_a_second_one_is_refused_and_the_first_can_be_taken_back(shell):
    assert shell.program("shutdown.exe", "/r", "/t", "99999").exit_code == 0
    second = shell.program("shutdown.exe", "/s")
    assert (second.exit_code, "(1190)" in second.stderr) == (1190, True)
    assert shell.program("shutdown.exe", "/a").exit_code == 0
    none = shell.program("shutdown.exe", "/a")
    assert (none.exit_code, "(1116)" in none.stderr) == (1116, True)
    assert shell.machine.power.state == "on"


@pytest.mark.parametrize(
    "words",
    [["/r", "/s"], ["/t", "1"], ["/r", "/t"], ["/r", "/t", "-1"], ["/r", "/bogus"], ["/r", "/d", "x"], ["r"],
     ["/r", "/t", "315360001"], ["/r", "/c", "x" * 513]],
)  # fmt: skip
def test_a_wrong_command_line_does_nothing(shell, words):
    assert shell.program("shutdown.exe", *words).exit_code == 1
    assert not shell.machine.power.abort()
