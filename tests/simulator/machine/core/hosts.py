# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the programs that run Windows' own services, such as svchost.exe. They do nothing.

A Python module that simulates a service of svchost.exe lists it in `SERVICES`, with the key `svchost:SERVICE_NAME`.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import IdleServiceProgram, ServiceProgram

SERVICES: Mapping[str, ServiceProgram] = {
    name: IdleServiceProgram() for name in ("svchost", "lsass", "services", "spoolsv")
}
