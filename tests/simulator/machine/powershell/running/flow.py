# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Exceptions that leave loops, functions, pipelines and scripts."""

from __future__ import annotations


class FlowControl(Exception):
    """The base class of exceptions that leave a loop, a function or the script."""


class LoopFlow(FlowControl):
    """Raised by `break` or `continue`, for the innermost loop or the loop with the given label."""

    def __init__(self, label: str = "") -> None:
        super().__init__()
        self.label = label


class BreakFlow(LoopFlow):
    """Raised by `break`."""


class ContinueFlow(LoopFlow):
    """Raised by `continue`."""


class ReturnFlow(FlowControl):
    """Raised by `return`. The returned values are already in the output."""


class ExitFlow(FlowControl):
    """Raised by `exit CODE`."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class StopUpstream(Exception):
    """Raised by a command that needs no more input, to end the commands before it in the pipeline."""

    def __init__(self, stage: object) -> None:
        super().__init__()
        self.stage = stage
