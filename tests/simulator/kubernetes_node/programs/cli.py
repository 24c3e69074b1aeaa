# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse command lines of containerd and ctr as urfave/cli does. contracts/containerd.json lists the flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.kubernetes_node.programs import contracts


class UsageError(Exception):
    """An error about a command line that the program rejects.

    Args:
        text: the last line on standard error, such as `ctr: flag needs an argument: --user`.
        printed: what the program wrote to standard output before the error.
    """

    def __init__(self, text: str, printed: str = "") -> None:
        super().__init__(text)
        self.printed = printed


@dataclass
class CommandLine:
    """A parsed command line. The flags of all command levels are keyed by their long names without dashes."""

    command: str = ""
    flags: dict[str, list[str]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a flag, or the default if the flag is not given."""
        return self.flags[name][-1] if self.flags.get(name) else default

    def on(self, name: str) -> bool:
        """Return whether a boolean flag is given and is not `false`."""
        return bool(self.flags.get(name)) and self.flags[name][-1] != "false"


def read(program: str, argv: Sequence[str], version: str, hidden: Mapping[str, bool] | None = None) -> CommandLine:
    """Parse a command line of containerd or ctr.

    Args:
        argv: the arguments of the program.
        hidden: maps the name of each flag that --help does not show to whether the flag takes a value.

    Raises:
        UsageError: the program rejects the command line.
    """
    minor = contracts.nearest("containerd", version)
    table = contracts.load("containerd")[program]
    extra = {f"--{name}": {"value": value} for name, value in (hidden or {}).items()}
    found, words, here = CommandLine(), list(argv), table[""]
    while words:
        word = words.pop(0)
        if word == "--":
            found.arguments += words
            break
        if word.startswith("-") and word != "-" and not found.arguments:
            _flag(found, word, words, {**extra, **here["flags"]}, minor, program)
            continue
        below = _command(word, here.get("subcommands", {}), table, found.command, minor)
        if below and not found.arguments:
            found.command = below
            here = table.get(below, {"flags": {}})
        elif here.get("subcommands") and not found.arguments:
            raise UsageError(f"No help topic for '{word}'")
        else:
            found.arguments.append(word)
    return found


def _command(word: str, below: Mapping[str, list[str]], table: Mapping[str, Any], at: str, minor: str) -> str:
    for name, aliases in below.items():
        path = f"{at} {name}".strip()
        if word in (name, *aliases) and contracts.includes(table.get(path, {}).get("minors", "all"), minor):
            return path
    return ""


def _flag(found: CommandLine, word: str, words: list[str], known: Mapping[str, Any], minor: str, program: str) -> None:
    name, given, value = word.partition("=")
    bare = name.lstrip("-")
    for flag, about in known.items():
        names = [flag.lstrip("-"), *(alias.lstrip("-") for alias in about.get("aliases", []))]
        if bare in names and contracts.includes(about.get("minors", "all"), minor):
            if about.get("value") and not given:
                if not words:
                    raise UsageError(
                        f"{program}: flag needs an argument: {name}", _incorrect(f"flag needs an argument: {name}")
                    )
                value = words.pop(0)
            found.flags.setdefault(flag.lstrip("-"), []).append(value if given or about.get("value") else "true")
            return
    if bare in ("help", "h"):
        found.flags["help"] = ["true"]
        return
    message = f"flag provided but not defined: -{bare}"
    raise UsageError(f"{program}: {message}", _incorrect(message))


def _incorrect(message: str) -> str:
    return f"Incorrect Usage: {message}\n\n"
