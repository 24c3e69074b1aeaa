# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Texts and whole results that are safe to send to a terminal. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils.printable import printable
from .url_credentials import each_text

__all__ = ["all_printable", "printable"]


def all_printable(value: t.Any) -> t.Any:
    """A value of JSON with all of its texts printable, names in mappings included."""
    return each_text(value, printable)
