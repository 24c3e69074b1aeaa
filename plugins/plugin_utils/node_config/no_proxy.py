# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The addresses that a node contacts without its proxy."""

from __future__ import annotations

import typing as t


def no_proxy(given: str | t.Iterable[str], *more: str | t.Iterable[str] | None) -> str:
    """Return the value of NO_PROXY, which contains the user's entries and then further entries, without duplicates.

    Args:
        given: the user's `no_proxy`: a comma-separated string or a list.
        more: further entries (CIDRs, addresses, host names, domains). Each argument is a string, a list or None.

    Returns:
        The entries, separated by commas.
    """
    entries: list[str] = []
    for part in (given, *more):
        texts = part.split(",") if isinstance(part, str) else list(part or ())
        entries += [str(text).strip() for text in texts]
    seen: dict[str, str] = {}
    for entry in entries:
        if entry:
            seen.setdefault(entry.lower(), entry)
    return ",".join(seen.values())
