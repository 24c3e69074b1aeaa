# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate `exec` probes, which run a program in a container (kubernetes pkg/kubelet/prober).

Only the `exec` probes of HostProcess containers are modelled, because the simulator runs no programs in other
containers. Every other probe counts as successful.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Run = Callable[[list[str], float], tuple[bool, str]]
"""A function that runs a command with a time limit in seconds.

It returns whether the command succeeded, and the command's output.
"""


@dataclass
class _Probe:
    """The state of one probe during one run of a container."""

    due: float = 0.0
    successes: int = 0
    failures: int = 0
    passed: bool = False
    failed: bool = False
    output: str = ""

    def step(self, about: Mapping[str, Any], run: Run, scale: float) -> None:
        """Run the probe if it is due."""
        now = time.monotonic()
        if not self.due:
            self.due = now + int(about.get("initialDelaySeconds") or 0) * scale
        if now < self.due:
            return
        good, self.output = run(list(about["exec"]["command"]), float(about.get("timeoutSeconds") or 1))
        self.due = time.monotonic() + int(about.get("periodSeconds") or 10) * scale
        self.successes, self.failures = (self.successes + 1, 0) if good else (0, self.failures + 1)
        if self.successes >= int(about.get("successThreshold") or 1):
            self.passed, self.failed = True, False
        if self.failures >= int(about.get("failureThreshold") or 3):
            self.passed, self.failed = False, True


@dataclass
class Probes:
    """The states of one container's probes."""

    run_id: str = ""
    known: dict[str, _Probe] = field(default_factory=dict)

    def step(self, container: Mapping[str, Any], run_id: str, run: Run, scale: float) -> str:
        """Run the probes that are due.

        Args:
            run_id: the id of the container's current run. For a new run, the probes start over.

        Returns:
            A message about the startup or liveness probe that has failed too often, or an empty string if none has.
        """
        if run_id != self.run_id:
            self.run_id, self.known = run_id, {}
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            about = container.get(name) or {}
            if "exec" in about:
                probe = self.known.setdefault(name, _Probe())
                probe.step(about, run, scale)
                if probe.failed and name != "readinessProbe":
                    kind = name.removesuffix("Probe").capitalize()
                    return f"{kind} probe failed: {probe.output.strip()}"
        return ""

    def ready(self, container: Mapping[str, Any], run_id: str) -> bool:
        """Return whether the container has no `exec` readiness probe, or has one that passes in this run."""
        if "exec" not in (container.get("readinessProbe") or {}):
            return True
        probe = self.known.get("readinessProbe")
        return run_id == self.run_id and probe is not None and probe.passed
