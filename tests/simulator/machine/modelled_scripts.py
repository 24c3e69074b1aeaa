# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""PowerShell scripts whose effects a Python function models. Their text is not interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simulator.machine.session import Session


@dataclass(frozen=True)
class ScriptCall:
    """A call of a modelled script by another script.

    Attributes:
        session: the context of the calling script.
        path: the path of the called script.
        modules: the paths, in lower case, of the module files that were imported in the runspace.
        variable: a function that returns the value of a variable that the calling script can see.
    """

    session: Session
    path: str
    modules: frozenset[str]
    variable: Callable[[str], object]


ModelledFile = Callable[[ScriptCall], Iterable[object]]
"""A function that runs a script, and returns its output objects."""
