# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Host processes of Windows' own services. A family that models such a service offers `svchost:NAME` itself."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import IdleServiceProgram, ServiceProgram

SERVICES: Mapping[str, ServiceProgram] = {
    name: IdleServiceProgram() for name in ("svchost", "lsass", "services", "spoolsv")
}
