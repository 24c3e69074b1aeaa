# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a type's members are: those that the simulator models, and the names of those that it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Method = Callable[..., object]


@dataclass(frozen=True)
class Members:
    """The methods of a type.

    Args:
        methods: lower-case name to how few and how many arguments it takes, and the function, which is called with the
            value and the arguments.
        others: lower-case names of methods and properties that exist in .NET and that the simulator does not model;
            None if they are not known.
    """

    methods: Mapping[str, tuple[int, int, Method]] = field(default_factory=dict)
    others: frozenset[str] | None = frozenset()


def words(text: str) -> frozenset[str]:
    """Return the names in a text, in lower case."""
    return frozenset(text.casefold().split())
