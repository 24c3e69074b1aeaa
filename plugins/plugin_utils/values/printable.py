# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Make strings and whole results safe to print on a terminal (no I/O)."""

from __future__ import annotations

import typing as t

from ...module_utils.printable import printable
from .each_text import each_text

__all__ = ["all_printable", "printable"]


def all_printable(value: t.Any) -> t.Any:
    """Return a JSON value with all of its strings made printable, including keys."""
    return each_text(value, printable)
