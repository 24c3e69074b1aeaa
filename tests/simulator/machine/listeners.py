# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What programs listen on: named pipes and local ports of one machine, by name; open while the program runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


@dataclass(frozen=True)
class Port:
    """Who listens on a TCP port.

    Args:
        address: that it is bound to, `::` for all.
        program: its name, without `.exe`.
    """

    address: str
    program: str


@dataclass
class Listeners:
    r"""Pipes (`\\.\pipe\name`, in lower case) with what answers there, and TCP ports.

    The ports are the machine's own and only listed: nothing real is opened for them.
    """

    pipes: dict[str, object] = field(default_factory=dict)
    ports: dict[int, Port] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> Listeners:
        """A machine that starts from this one's disk listens on nothing."""
        return Listeners()


def pipe_name(address: str) -> str:
    r"""Return a pipe's name in one form: `npipe:////./pipe/x` and `npipe://\\.\pipe\x` are `\\.\pipe\x`."""
    text = address.strip().removeprefix("npipe:").replace("/", "\\")
    return "\\\\" + text.lstrip("\\").casefold()


def open_pipe(machine: Machine, address: str, server: object) -> None:
    """Listen on a pipe."""
    machine.part(Listeners).pipes[pipe_name(address)] = server


def close_pipe(machine: Machine, address: str, server: object) -> None:
    """Stop listening."""
    pipes = machine.part(Listeners).pipes
    if pipes.get(pipe_name(address)) is server:
        del pipes[pipe_name(address)]


def behind(machine: Machine, address: str) -> object | None:
    """Return what listens on a pipe."""
    return machine.part(Listeners).pipes.get(pipe_name(address))
