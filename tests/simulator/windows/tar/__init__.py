# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""tar.exe, which is bsdtar on Windows: tar archives (plain, gzip, bzip2, xz) and zip archives in the node's files.

The messages are those of bsdtar 3.3 to 3.7. Source: https://man.freebsd.org/cgi/man.cgi?query=bsdtar
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import Program
from simulator.windows.tar.program import run

PROGRAMS: Mapping[str, Program] = {"tar.exe": run}
