# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Host processes of Windows' own services. If a family models such a service, the family offers `svchost:NAME`."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import IdleServiceProgram, ServiceProgram

SERVICES: Mapping[str, ServiceProgram] = {
    name: IdleServiceProgram() for name in ("svchost", "lsass", "services", "spoolsv")
}
