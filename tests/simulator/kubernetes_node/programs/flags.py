# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse command lines of the Kubernetes programs as spf13/pflag does, given the flags and their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

DURATION = re.compile(r"^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$|^0$")
_TRUE = {"1", "t", "T", "true", "TRUE", "True"}
_FALSE = {"0", "f", "F", "false", "FALSE", "False"}
_LISTS = {"stringSlice", "mapStringString", "mapStringBool", "[]v1.Taint"}


class FlagError(Exception):
    """An error about a command line that the program rejects. The text is pflag's error message."""


class CommandFlags(dict[str, list[str]]):
    """A dictionary that maps the name of each flag on a command line to its values, in the order given."""

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a flag, or the default if the flag is not given."""
        return self[name][-1] if self.get(name) else default

    def on(self, name: str, default: bool = False) -> bool:
        """Return the last value of a boolean flag, or the default if the flag is not given."""
        return self[name][-1] in _TRUE if self.get(name) else default

    def items_of(self, name: str) -> list[str]:
        """Return the elements of a list flag. The flag may be repeated, and commas separate the elements of a value."""
        return [item for value in self.get(name, []) for item in value.split(",") if item]

    def pairs(self, name: str) -> dict[str, str]:
        """Return the keys and values of a flag whose value is a map, such as `a=1,b=2`."""
        return {key.strip(): value.strip() for key, _, value in (item.partition("=") for item in self.items_of(name))}


def parse(argv: Sequence[str], known: Mapping[str, Mapping[str, Any]]) -> tuple[CommandFlags, list[str]]:
    """Parse a command line as pflag does.

    Args:
        argv: the arguments of the program.
        known: maps the name of each accepted flag to its `type` and, optionally, to its one-letter name, `short`.

    Returns:
        The flags, and the arguments that are not flags.

    Raises:
        FlagError: pflag rejects the command line.
    """
    shorts = {str(about["short"]): name for name, about in known.items() if about.get("short")}
    # All programs that use cobra have these flags.
    table = {"help": {"type": "bool"}, "version": {"type": "version"}, **known}
    found, rest = CommandFlags(), list[str]()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            rest += words
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, given, value = _split(word, shorts, table)
        kind = str(table[name]["type"])
        if not given:
            if kind in ("bool", "version"):
                value = "true"
            elif words:
                value = words.pop(0)
            else:
                shown = word if word.startswith("--") else f"{word[1]!r} in {word}"
                raise FlagError(f"flag needs an argument: {shown}")
        short = table[name].get("short")
        _check(f"-{short}, --{name}" if short else f"--{name}", kind, value)
        found.setdefault(name, []).append(value)
    return found, rest


def _split(word: str, shorts: Mapping[str, str], known: Mapping[str, object]) -> tuple[str, bool, str]:
    """Return the name of the flag in an argument, whether the argument contains a value, and this value.

    Raises:
        FlagError: the flag is unknown.
    """
    if word.startswith("--"):
        name, given, value = word[2:].partition("=")
        name = name.replace("_", "-")
        if name not in known:
            raise FlagError(f"unknown flag: --{name}")
        return name, bool(given), value
    letter, rest = word[1], word[2:]
    if letter not in shorts:
        raise FlagError(f"unknown shorthand flag: {letter!r} in {word}")
    return shorts[letter], bool(rest), rest.removeprefix("=")


def _check(flag: str, kind: str, value: str) -> None:
    wrong = ""
    if kind == "bool" and value not in _TRUE | _FALSE:
        wrong = f'strconv.ParseBool: parsing "{value}": invalid syntax'
    elif kind in ("int32", "int64", "Level") and not re.fullmatch(r"[+-]?\d+", value):
        wrong = f'strconv.ParseInt: parsing "{value}": invalid syntax'
    elif kind in ("float32",) and not re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
        wrong = f'strconv.ParseFloat: parsing "{value}": invalid syntax'
    elif kind == "duration" and not DURATION.match(value):
        wrong = f'time: invalid duration "{value}"'
    elif kind in ("mapStringString", "mapStringBool") and value and "=" not in value:
        wrong = f"malformed pair, expect string={'bool' if kind == 'mapStringBool' else 'string'}"
    if wrong:
        raise FlagError(f'invalid argument "{value}" for "{flag}" flag: {wrong}')


def duration(value: float) -> str:
    """Return a number of seconds as Go prints a duration, e.g. `1m20s`."""
    minutes, rest = divmod(value, 60)
    hours, minutes = divmod(minutes, 60)
    whole = f"{hours:.0f}h{minutes:.0f}m" if hours else f"{minutes:.0f}m" if minutes else ""
    return f"{whole}{rest:g}s"


def seconds(text: str, default: float = 0.0) -> float:
    """Return a Go duration (`1m30s`) in seconds, or the default if the string is not a duration."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
    parts = re.findall(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)", str(text))
    return sum(float(amount) * units[unit] for amount, unit in parts) if parts else default
