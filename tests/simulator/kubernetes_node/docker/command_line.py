# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker.exe's command line and its output: options (contracts/docker.json), Go templates and tables.

`--format` supports the Go templates `{{json .}}`, and `{{.Field}}` and `{{json .Field}}` with text around them.
Source: https://docs.docker.com/reference/cli/docker/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node.docker.dockerd import DockerContainer, Dockerd, DockerError
from simulator.kubernetes_node.programs import contracts
from simulator.machine.objects import Invocation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

GLOBAL = {"config": True, "context": True, "c": True, "debug": False, "D": False, "host": True, "H": True,
          "log-level": True, "l": True, "version": False, "v": False, "help": False}  # fmt: skip
_ALIASES = {
    "container ls": "ps", "container list": "ps", "container ps": "ps", "container start": "start",
    "container stop": "stop", "container rm": "rm", "container inspect": "inspect", "image ls": "images",
    "image list": "images", "image pull": "pull", "image push": "push", "image tag": "tag", "image rm": "rmi",
    "image remove": "rmi", "image load": "load", "image save": "save", "image build": "build",
    "builder build": "build", "system info": "info", "network list": "network ls",
}  # fmt: skip


class DockerUsageError(Exception):
    """Raised if docker.exe rejects a command line. The exception's message is that of docker.exe."""


class DockerRun:
    """One run of docker.exe: its options, its arguments and the daemon.

    Attributes:
        machine: the machine that docker.exe runs on.
        invocation: the invocation of docker.exe.
        server: the dockerd to use.
        options: the values of each option.
        arguments: the arguments after the command's name.
        errors: the lines to write to standard error at the end. If there are any, the exit code is 1.
        configuration: the folder of docker.exe's config.json.
    """

    def __init__(
        self,
        machine: Machine,
        invocation: Invocation,
        server: Dockerd,
        options: Mapping[str, Sequence[str]],
        arguments: Sequence[str],
    ) -> None:
        self.machine, self.invocation, self.server = machine, invocation, server
        self.options, self.arguments = options, arguments
        self.errors: list[str] = []
        self.configuration = ""

    def on(self, *names: str) -> bool:
        """Return whether a switch is on."""
        return any(self.options.get(name, ["false"])[-1] != "false" for name in names)

    def text(self, *names: str) -> str:
        """Return an option's last value, or an empty string if the option was not given."""
        return next((self.options[name][-1] for name in names if name in self.options), "")

    def several(self, *names: str) -> list[str]:
        """Return all values of an option."""
        return [value for name in names for value in self.options.get(name, ())]

    @property
    def template(self) -> str:
        """The value of `--format`, or an empty string if it was not given."""
        return self.text("format", "f")

    def path(self, name: str) -> str:
        """Return the absolute path for a path on the command line."""
        text = name.replace("/", "\\")
        return text if ":" in text or text.startswith("\\") else f"{self.invocation.directory.rstrip(chr(92))}\\{text}"

    def each(self, act: Callable[[DockerContainer], None]) -> list[str]:
        """Apply a function to each container named on the command line, and return the names for which it succeeded."""
        done: list[str] = []
        for name in self.arguments:
            try:
                act(self.server.find(name))
                done.append(name)
            except DockerError as error:
                self.errors.append(f"Error response from daemon: {error}")
        return done


def command(words: list[str], known: Mapping[str, object]) -> tuple[str, list[str]]:
    """Return the name of the command at the start of a command line, and the words after it.

    Aliases are replaced by the main name, such as `container ls` by `ps`.
    """
    two = " ".join(words[:2])
    for name in (two, "".join(words[:1])):
        found = _ALIASES.get(name, name)
        if found in known:
            return found, words[len(name.split()) :]
    return two if words[:1] in (["image"], ["network"], ["system"], ["manifest"]) else "".join(words[:1]), []


def flags_of(name: str) -> dict[str, bool]:
    """Map each long and short option of a command to whether the option takes a value."""
    found: dict[str, bool] = {}
    for option, about in contracts.load("docker")["docker"][name].items():
        found[option] = about["type"] != "bool"
        if about.get("short"):
            found[str(about["short"])] = found[option]
    return found


def parse(
    words: list[str], known: Mapping[str, bool], *, anywhere: bool = True
) -> tuple[dict[str, list[str]], list[str]]:
    """Parse options and arguments as pflag does.

    Args:
        words: the options and arguments.
        known: maps the name of each known option to whether the option takes a value.
        anywhere: whether options may follow arguments. Otherwise, everything from the first argument on is returned
            unparsed.

    Returns:
        The values of each option, and the arguments.

    Raises:
        DockerUsageError: the command line is invalid.
    """
    options: dict[str, list[str]] = {}
    arguments: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            arguments.append(word)
            if not anywhere:
                return options, [*arguments, *words]
            continue
        whole = word.startswith("--")
        name, given, value = word[2 if whole else 1 :].partition("=")
        if not whole and len(name) > 1 and name not in known:
            if all(known.get(letter) is False for letter in name):
                for letter in name:
                    options.setdefault(letter, []).append("true")
                continue
            if known.get(name[0]):
                name, given, value = name[0], "=", word[2:]
        if name not in known or (whole and len(name) == 1):
            raise DockerUsageError(
                f"unknown flag: {word}" if whole else f"unknown shorthand flag: {name[:1]!r} in {word}"
            )
        if known[name] and not given:
            if not words:
                raise DockerUsageError(f"flag needs an argument: {word}")
            value = words.pop(0)
        options.setdefault(name, []).append(value or ("true" if not known[name] else ""))
    return options, arguments


def render(template: str, fields: Mapping[str, object]) -> str:
    """Fill in the fields of a Go template."""
    if template in ("json", "{{json .}}"):
        return json.dumps(fields)

    def field(match: re.Match[str]) -> str:
        value: object = fields
        for part in match[1].split("."):
            value = value.get(part, "<no value>") if isinstance(value, Mapping) else "<no value>"
        if match[0].startswith("{{json") or isinstance(value, bool):
            return json.dumps(value)  # Go prints true and false as JSON does
        if isinstance(value, list):
            return f"[{' '.join(map(str, value))}]"
        return str(value)

    return re.sub(r"\{\{\s*(?:json\s+)?\.([\w.]+)\s*\}\}", field, template)


def rows(run: DockerRun, found: Sequence[Mapping[str, object]], head: Sequence[str], keys: Sequence[str]) -> str:
    """Format a list of objects as ids (with --quiet), with a template (with --format), or otherwise as a table."""
    from simulator.kubernetes_node.cri.crictl_views import table

    if run.on("q", "quiet"):
        return "".join(f"{row['ID']}\n" for row in found)
    if run.template and not run.template.startswith("table"):
        return "".join(f"{render(run.template, row)}\n" for row in found)
    return table([list(head), *([str(row[key]) for key in keys] for row in found)])
