# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The named pipes and local ports of one machine. A pipe or port is open while the program that listens on it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


@dataclass(frozen=True)
class Port:
    """The program that listens on a TCP port.

    Args:
        address: the address to which the program is bound, or `::` for all addresses.
        program: the name of the program, without `.exe`.
    """

    address: str
    program: str


@dataclass
class Listeners:
    r"""The open pipes (`\\.\pipe\name`, in lower case) with the objects that serve them, and the open TCP ports.

    The ports are only recorded here. The host opens no real port for them.
    """

    pipes: dict[str, object] = field(default_factory=dict)
    ports: dict[int, Port] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> Listeners:
        """Return an object without listeners, because a machine that starts from a copy of this one's disk has none."""
        return Listeners()


def pipe_name(address: str) -> str:
    r"""Return the normal form of a pipe's name: `npipe:////./pipe/x` and `npipe://\\.\pipe\x` become `\\.\pipe\x`."""
    text = address.strip().removeprefix("npipe:").replace("/", "\\")
    return "\\\\" + text.lstrip("\\").casefold()


def open_pipe(machine: Machine, address: str, server: object) -> None:
    """Start listening on a pipe."""
    machine.part(Listeners).pipes[pipe_name(address)] = server


def close_pipe(machine: Machine, address: str, server: object) -> None:
    """Stop listening on a pipe, unless another object serves it now."""
    pipes = machine.part(Listeners).pipes
    if pipes.get(pipe_name(address)) is server:
        del pipes[pipe_name(address)]


def behind(machine: Machine, address: str) -> object | None:
    """Return the object that serves a pipe, or None if no program listens on it."""
    return machine.part(Listeners).pipes.get(pipe_name(address))
