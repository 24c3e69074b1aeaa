# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse command lines in the syntax of Go's flag package, limited to what the simulated add-ons use."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class GoUsageError(Exception):
    """Raised if a command line is invalid. The exception's message is what the program prints."""


def parse(argv: Sequence[str], known: Collection[str]) -> dict[str, str]:
    """Return the values of the flags on a command line, by name.

    Args:
        argv: the arguments, without the program.
        known: the names of the program's flags.

    Raises:
        GoUsageError: a flag is unknown, or an argument is not a flag.
    """
    flags = {}
    for word in argv:
        name, given, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in known:
            raise GoUsageError(f"flag provided but not defined: -{name}")
        flags[name] = value if given else "true"
    return flags
