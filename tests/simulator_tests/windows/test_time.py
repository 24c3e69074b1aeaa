# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Time zones and the time service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from simulator.machine import commands

PARAMETERS = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\Parameters"


def test_the_time_zone(shell: Any) -> None:
    assert shell.one("Get-TimeZone")["Id"] == "UTC"
    shell.all("Set-TimeZone", Id="w. europe standard time")
    zone = shell.one("Get-TimeZone")
    assert (zone["Id"], str(zone["BaseUtcOffset"])) == ("W. Europe Standard Time", "1:00:00")
    assert shell.program("tzutil.exe", "/g").stdout == "W. Europe Standard Time"
    assert shell.error("Set-TimeZone", Id="Europe/Berlin").error_id.startswith("TimeZoneNotFound,")


def test_tzutil(shell: Any) -> None:
    assert shell.program("tzutil.exe", "/s", "Pacific Standard Time").exit_code == 0
    assert shell.one("Get-TimeZone")["Id"] == "Pacific Standard Time"
    assert shell.program("tzutil.exe", "/s", "Nowhere").exit_code == 1


def test_w32tm_needs_the_running_service(shell: Any) -> None:
    config = ("/config", "/manualpeerlist:ntp1.example,0x8 ntp2.example,0x8", "/syncfromflags:manual", "/update")
    stopped = shell.program("w32tm.exe", *config)
    assert stopped.exit_code != 0
    assert "The service has not been started. (0x80070426)" in stopped.stdout
    # The registry values are written nevertheless.
    assert shell.machine.registry.data(PARAMETERS, "NtpServer") == "ntp1.example,0x8 ntp2.example,0x8"
    shell.machine.services.start("W32Time")
    assert shell.program("w32tm.exe", *config).stdout == "The command completed successfully.\r\n"
    assert (
        "NtpServer: ntp1.example,0x8 ntp2.example,0x8 (Local)"
        in shell.program("w32tm.exe", "/query", "/configuration").stdout
    )


def test_a_configuration_without_update_is_not_in_effect(shell: Any) -> None:
    shell.machine.services.start("W32Time")
    assert "time.windows.com,0x8" in shell.program("w32tm.exe", "/query", "/peers").stdout
    shell.program("w32tm.exe", "/config", "/manualpeerlist:ntp.example", "/syncfromflags:manual")
    assert "time.windows.com,0x8" in shell.program("w32tm.exe", "/query", "/peers").stdout
    shell.program("w32tm.exe", "/config", "/update")
    assert "Peer: ntp.example" in shell.program("w32tm.exe", "/query", "/peers").stdout


def test_the_service_reads_its_configuration_when_it_starts(shell: Any) -> None:
    shell.machine.services.start("W32Time")
    shell.program("w32tm.exe", "/config", "/manualpeerlist:ntp.example", "/syncfromflags:manual")
    shell.machine.services.stop("W32Time")
    shell.machine.services.start("W32Time")
    assert "Peer: ntp.example" in shell.program("w32tm.exe", "/query", "/peers").stdout


def test_synchronising(shell: Any) -> None:
    shell.machine.services.start("W32Time")
    assert shell.program("w32tm.exe", "/query", "/source").stdout == "Local CMOS Clock\r\n"
    assert "completed successfully" in shell.program("w32tm.exe", "/resync").stdout
    assert shell.program("w32tm.exe", "/query", "/source").stdout == "time.windows.com,0x8\r\n"


@pytest.mark.parametrize(
    "arguments", [["/frobnicate"], ["/config"], ["/config", "/peers:x"], ["/query"], ["/query", "/x"]]
)
def test_invalid_options_of_w32tm_are_refused(shell: Any, arguments: list[str]) -> None:
    assert shell.program("w32tm.exe", *arguments).exit_code == -2147024809


def current_date(shell: Any) -> datetime:
    """Return the result of Get-Date."""
    (found,) = commands.run(shell.machine, "Get-Date", {}).objects
    assert isinstance(found, datetime)
    return found


def test_synchronising_puts_a_wrong_clock_right(shell: Any) -> None:
    shell.machine.services.start("W32Time")
    shell.machine.clock.offset = -7200
    assert current_date(shell) < datetime.now(UTC) - timedelta(hours=1)
    shell.program("w32tm.exe", "/resync")
    assert abs(current_date(shell) - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_clock_that_is_too_far_off_stays_wrong(shell: Any) -> None:
    shell.machine.services.start("W32Time")
    shell.machine.clock.offset = 86400
    output = shell.program("w32tm.exe", "/resync").stdout
    assert "The computer did not resync because the required time change was too big." in output
    assert shell.machine.clock.offset == 86400
