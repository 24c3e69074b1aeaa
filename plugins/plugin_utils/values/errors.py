# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define the error that is raised for an invalid value, and format its message."""

from __future__ import annotations

from .shown import shown


def refusal(where: str, value: object, expected: str, hint: str = "") -> str:
    """Return the message for an invalid value: `WHERE: expected X, got Y. How to fix it.`

    >>> refusal("retries", -1, "expected 0 or more", "Use 0 for one attempt.")
    'retries: expected 0 or more, got -1. Use 0 for one attempt.'

    Args:
        where: the variable, option or property.
        value: what the user gave, or None if nothing was given. Secret parts are not printed.
        expected: what is accepted, beginning with `expected`.
        hint: how to fix it, in complete sentences.
    """
    got = "nothing" if value is None else shown(value)
    return f"{where}: {expected}, got {got}{f'. {hint}' if hint else ''}"


class ResourceError(ValueError):
    """An error about an invalid value. For the constructor's arguments, see `refusal`."""

    def __init__(self, where: str, value: object, expected: str, hint: str = "") -> None:
        super().__init__(refusal(where, value, expected, hint))
        self.where = where
        self.value = value
        self.expected = expected
        self.hint = hint
