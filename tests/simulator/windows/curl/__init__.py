# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Windows' curl.exe, with the options of its version. It transfers real data to the node's files."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import Program
from simulator.windows.curl.program import run

PROGRAMS: Mapping[str, Program] = {"curl.exe": run}
