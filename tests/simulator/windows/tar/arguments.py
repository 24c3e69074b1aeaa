# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing of bsdtar's command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MODES = "ctxru"
_FLAGS = "vzjJakmpoOPhwlnSU"
_VALUES = {"f": "file", "C": "directory", "T": "files-from", "s": "substitute", "b": "block-size"}
_LONG_FLAGS = {
    "create": "c", "list": "t", "extract": "x", "get": "x", "verbose": "v", "gzip": "z", "bzip2": "j",
    "xz": "J",
    "auto-compress": "a", "keep-old-files": "k", "modification-time": "m", "preserve-permissions": "p",
    "to-stdout": "O",
    "absolute-paths": "P", "no-same-owner": "o", "same-permissions": "p", "version": "V", "help": "h?", "unlink": "U",
    "no-same-permissions": "", "numeric-owner": "",
}  # fmt: skip
_LONG_VALUES = ("file", "directory", "strip-components", "exclude", "include", "format", "files-from", "options")


class TarUsageError(Exception):
    """The error for an invalid command line.

    The text of the error is the message that bsdtar prints after `tar: `, or an empty string if it prints none.

    Args:
        usage: whether bsdtar also prints its usage.
    """

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass
class TarArguments:
    """A parsed command line of bsdtar: the mode, options, archive, folder and patterns.

    Args:
        names: the operands in their original order, each with the folders of the `-C` options that precede it.
    """

    mode: str = ""
    flags: set[str] = field(default_factory=set)
    file: str = "-"
    directories: list[str] = field(default_factory=list)
    strip: int = 0
    excludes: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    form: str = ""
    list_file: str = ""
    names: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


def parse(argv: Sequence[str]) -> TarArguments:
    """Parse the arguments of a bsdtar command line.

    Raises:
        TarUsageError: the command line is invalid.
    """
    arguments = TarArguments()
    rest = list(argv)
    if rest and not rest[0].startswith("-"):
        # The old form: the first word consists of letters, whose values follow in order.
        _letters(arguments, rest.pop(0), rest, bundled=False)
    while rest:
        word = rest.pop(0)
        if word == "--":
            arguments.names += [(name, tuple(arguments.directories)) for name in rest]
            break
        if word.startswith("--"):
            _long(arguments, word[2:], rest)
        elif word.startswith("-") and word != "-":
            _letters(arguments, word[1:], rest, bundled=True)
        else:
            arguments.names.append((word, tuple(arguments.directories)))
    if "V" not in arguments.flags and not arguments.mode:
        raise TarUsageError("Must specify one of -c, -r, -t, -u, -x")
    return arguments


def _letters(arguments: TarArguments, letters: str, rest: list[str], *, bundled: bool) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in MODES:
            _mode(arguments, letter)
        elif letter in _VALUES:
            if bundled and letters:
                value, letters = letters, ""
            elif rest:
                value = rest.pop(0)
            else:
                raise TarUsageError(f"Option {'-' if bundled else ''}{letter} requires an argument", usage=True)
            _value(arguments, _VALUES[letter], value)
        elif letter in _FLAGS:
            arguments.flags.add(letter)
        else:
            raise TarUsageError("", usage=True)


def _long(arguments: TarArguments, word: str, rest: list[str]) -> None:
    name, equals, value = word.partition("=")
    if name in _LONG_VALUES:
        if not equals:
            if not rest:
                raise TarUsageError(f"Option --{name} requires an argument", usage=True)
            value = rest.pop(0)
        _value(arguments, name, value)
    elif name in _LONG_FLAGS:
        letter = _LONG_FLAGS[name]
        if letter and letter in MODES:
            _mode(arguments, letter)
        elif letter:
            arguments.flags.add(letter)
    else:
        raise TarUsageError(f"Option --{name} is not supported", usage=True)


def _mode(arguments: TarArguments, letter: str) -> None:
    if arguments.mode and arguments.mode != letter:
        raise TarUsageError(f"Can't specify both -{letter} and -{arguments.mode}")
    arguments.mode = letter


def _value(arguments: TarArguments, name: str, value: str) -> None:
    match name:
        case "file":
            arguments.file = value
        case "directory":
            arguments.directories.append(value)
        case "strip-components":
            if not value.isdigit():
                raise TarUsageError("Invalid argument to --strip-components")
            arguments.strip = int(value)
        case "exclude":
            arguments.excludes.append(value)
        case "include":
            arguments.includes.append(value)
        case "format":
            arguments.form = value
        case "files-from":
            arguments.list_file = value
        case _:
            raise TarUsageError(f"the simulator does not model tar's option {name}")
