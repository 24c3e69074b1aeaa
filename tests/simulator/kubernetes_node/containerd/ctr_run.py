# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One run of ctr: its connection, its arguments and its output tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.kubernetes_node.containerd.runtime import Containerd
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import Puller
from simulator.kubernetes_node.images.registry_client import insecure
from simulator.kubernetes_node.images.registry_hosts import RegistryEndpoint, endpoints
from simulator.kubernetes_node.images.store import StoredImage
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.kubernetes_node.programs import cli, contracts
from simulator.machine.objects import Invocation, ProcessEndedError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


class CtrError(Exception):
    """Raised if a ctr command fails. ctr prints the exception's message after `ctr: `."""


class CtrRun:
    """One run of ctr with its connection to containerd."""

    def __init__(self, machine: Machine, invocation: Invocation, line: cli.CommandLine, server: Containerd) -> None:
        self.machine, self.invocation, self.line, self.server = machine, invocation, line, server
        self.warnings: list[str] = []
        self.namespace = line.text("namespace") or invocation.variable("CONTAINERD_NAMESPACE") or "default"

    def argument(self, index: int, what: str) -> str:
        """Return a required argument. If it is missing, raise CtrError with the message in `what`."""
        if len(self.line.arguments) <= index:
            raise CtrError(what)
        return self.line.arguments[index]

    def image(self, name: str) -> StoredImage:
        """Return the image with the given name.

        Raises:
            CtrError: the image does not exist.
        """
        found = self.server.store.get(name, self.namespace)
        if found is None:
            raise CtrError(f'image "{name}": not found')
        return found

    @property
    def transfers(self) -> bool:
        """Whether containerd, rather than ctr, transfers images (since 2.0, unless --local is given)."""
        return contracts.at_least(self.server.version, "2.0") and not self.line.on("local")

    def places(self, reference: oci.ImageReference, *, own: bool = False) -> list[RegistryEndpoint]:
        """Return the registry's endpoints for pulls and pushes.

        The hosts.toml files are in the folder that --hosts-dir specifies. Without this flag, they are in the folder of
        containerd's transfer service if containerd transfers the image.

        Args:
            reference: the image's name, which contains the registry's host.
            own: whether ctr itself transfers the image even if `transfers` is true, as for `content fetch`.
        """
        line = self.line
        folders = [drive(line.text("hosts-dir"))] if line.text("hosts-dir") else []
        if self.transfers and not own and not folders:
            folders = self.server.config.transfer_config_path
        found = endpoints(self.machine, reference.host, folders, plain_http=line.on("plain-http"))
        if line.text("tlscacert"):
            found = [replace(place, ca=(*place.ca, drive(line.text("tlscacert")))) for place in found]
        return insecure(found) if line.on("skip-verify") else found

    def puller(self, *, own: bool = False) -> Puller:
        """Return the client that downloads images.

        The client uses the credentials in --user, and the proxies in the environment of ctr or containerd, depending
        on which process downloads the images.
        """
        environment = self.server.environment if self.transfers and not own else self.invocation.environment
        user, stop = self.line.text("user"), self.invocation.stop
        return Puller(self.machine, environment, user, stop, version=self.server.version)

    def alive(self) -> None:
        """Raise ProcessEndedError if this run of ctr has been told to end."""
        if self.invocation.stop.is_set():
            raise ProcessEndedError


Command = Callable[[CtrRun], str]


def parse(name: str) -> oci.ImageReference:
    """Parse an image reference as ctr does.

    Raises:
        CtrError: the reference is invalid.
    """
    try:
        return oci.parse(name)
    except oci.ReferenceFormatError as error:
        raise CtrError(str(error)) from error


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Format a table as Go's tabwriter does: each column but the last is one space wider than its widest entry."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    lines = [
        " ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    ]
    return "".join(f"{line}\n" for line in lines)


def size_text(size: int) -> str:
    """Return a size in the format of containerd's progress package: `1.2 MiB`."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.1f} {unit}"
        value /= 1024
    return ""


def pairs(items: Sequence[str]) -> dict[str, str]:
    """Parse a list of `name=value` pairs."""
    return {name: value for name, _, value in (item.partition("=") for item in items)}
