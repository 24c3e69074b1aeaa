# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The members of a type: the methods that the simulator models, and the names of members that it does not model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Method = Callable[..., object]


@dataclass(frozen=True)
class Members:
    """The methods of a type, and the names of its members that are not modelled.

    Args:
        methods: maps each method's lower-case name to its minimum and maximum number of arguments and the function that
            implements it. The function is called with the value and the arguments.
        others: the lower-case names of methods and properties that exist in .NET but are not modelled; None if they are
            not known.
    """

    methods: Mapping[str, tuple[int, int, Method]] = field(default_factory=dict)
    others: frozenset[str] | None = frozenset()


def names(text: str) -> frozenset[str]:
    """Return the words of a string, in lower case."""
    return frozenset(text.casefold().split())
