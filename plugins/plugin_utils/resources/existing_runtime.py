# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reject a machine whose base image contains a container runtime, or remove that runtime."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import is_missing, objects, only, remove
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows import command_line, node_paths
from ..windows.registry_calls import remove_value
from ..windows.registry_keys import SERVICES
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Input, Json, Results
from ..wire.scopes import Scope

_DATA: t.Mapping[str, str] = {
    "containerd": node_paths.CONTAINERD_DATA,
    "docker": node_paths.DOCKER_DATA,
}
"""Maps the service name of each container runtime to the folder that contains its container images by default."""
_NETWORK_TYPES = ("nat", "overlay", "transparent", "l2bridge", "l2tunnel")
"""The types of networks that container runtimes create. Networks of other types, such as Hyper-V's "Default Switch",
belong to Windows, even if Docker uses them.

Sources: learn.microsoft.com, Windows container network drivers; moby/moby#50154.
"""
_NETWORKS = Scope("remove-network-")
"""Prefix of the IDs of the calls that remove networks."""
_HNS_SECONDS = 60.0
"""Time limit of one call to the Host Networking Service (HNS), in seconds."""
_PROGRAM_FILES = re.compile(r"(C:\\Program Files\\[^\\\"%&|<>^]+)\\.*", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExistingRuntime(Resource):
    """A container runtime that the collection did not install, for example Docker in a base image.

    Its configuration, its container images and its network would become part of the golden image without appearing
    in any variable. So this resource rejects such a machine, or removes the runtime with its data and its container
    networks. A machine that the collection has already changed is accepted, unless an earlier removal is incomplete.
    """

    type: t.ClassVar[str] = "ExistingRuntime"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    existing: t.Literal["refuse", "remove"] = dataclasses.field(
        default="refuse",
        metadata={"help": "Whether to fail if there is such a runtime, or to remove it with its data."},
    )

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [{"path": f"{SERVICES}\\{name}", "name": "ImagePath"} for name in _DATA]
        values.append(managed_marks.registry_entry(self))
        return (
            query("services", "@read-registry", {"values": values}, select=("exists", "value")),
            query("own", "@read-file", {"paths": [node_paths.PROGRAM_DATA]}, select=("exists",)),
            *(
                [query("networks", "Get-HnsNetwork", select=("ID", "Name", "Type"), timeout=_HNS_SECONDS)]
                if self.existing == "remove"
                else []
            ),
        )

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        """Return the change that removes the runtime, or None if the machine is accepted as it is.

        Raises:
            ResourceError: there is a runtime, and it must not be removed.
        """
        *services, mark = objects(self, seen, "services")
        lines = {
            name: str(item.get("value") or "") for name, item in zip(_DATA, services, strict=True) if item.get("exists")
        }
        # The removal itself creates the collection's folder, so a mark in the registry shows that it is incomplete.
        incomplete = bool(mark.get("exists"))
        if not incomplete and (not lines or only(self, seen, "own").get("exists")):
            return None
        names = " and ".join(lines)
        if lines and self.existing == "refuse":
            raise ResourceError(
                self.title,
                names,
                "expected a machine without a container runtime",
                "Start from another base image, or set remove_existing_runtime: true, which removes the runtime with "
                "its container images.",
            )
        networks = self._networks(seen)
        calls = [
            *managed_marks.write(self.title, 1),
            *map(_stop, lines),
            *_network_removal(tuple(networks)),
            *(call for name, line in lines.items() for call in _removal(name, line)),
            remove_value("forget", managed_marks.KEY, self.title),
        ]
        why = f"the base image has {names}" if lines else "its removal was interrupted"
        return remove(self, {"services": names, "networks": sorted(networks.values())}, calls, why=why)

    def _networks(self, seen: Results) -> dict[str, str]:
        """Return the networks to remove, as a mapping from ID to name."""
        # Without the feature Containers, there is no such cmdlet, and there are no networks.
        unknown = self.existing == "refuse" or is_missing(seen.get("networks"))
        items = () if unknown else objects(self, seen, "networks")
        ours = [item for item in items if str(item.get("Type")).lower() in _NETWORK_TYPES]
        return {str(item.get("ID")): str(item.get("Name")) for item in ours}

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if call_id in _NETWORKS:
            return "A container may still use the network. Reboot the machine, and run again"
        return None


def _stop(name: str) -> Call:
    """Return the call that stops a service.

    `long` makes the batch run detached, because later calls of the batch may remove an external network, which
    interrupts the connection.
    """
    return action(f"stop-{name}", "Stop-Service", {"Name": [name], "Force": True}, on_error="continue", long=True)


def _network_removal(ids: t.Sequence[str]) -> t.Iterator[Call]:
    """Yield the calls that remove networks. Endpoints that a stopped service left in them are removed first."""
    if not ids:
        return
    yield query("endpoints", "Get-HnsEndpoint", select=("ID",), on_error="stop", timeout=_HNS_SECONDS)
    yield action(
        "remove-endpoints",
        "Remove-HnsEndpoint",
        {"ErrorAction": "Continue"},
        input=Input(calls=("endpoints",), where={"VirtualNetwork": list(ids)}),
        timeout=_HNS_SECONDS,
        on_error="continue",
    )
    # Stopping dockerd may have removed networks already.
    yield query("networks-left", "Get-HnsNetwork", select=("ID",), on_error="stop", timeout=_HNS_SECONDS)
    for number, identity in enumerate(ids):
        yield action(
            _NETWORKS.id(str(number)),
            "Remove-HnsNetwork",
            input=Input(calls=("networks-left",), where={"ID": identity}),
            timeout=_HNS_SECONDS,
            # HNS drops the references to a network a moment after its endpoints are gone.
            retries=3,
            delay=2.0,
        )


def _removal(name: str, line: str) -> t.Iterator[Call]:
    """Yield the calls that remove a service with its programs and data.

    The service is removed last, because its command line is the only record of the programs' location.

    The folders are removed with `rd`, because Remove-Item fails on the links in the layers of container images (see
    StateFolder).
    """
    programs = _PROGRAM_FILES.fullmatch("".join(command_line.split(line)[:1]))
    for number, folder in enumerate([*([programs[1]] if programs else []), _DATA[name]]):
        yield action(
            f"rd-{name}-{number}",
            "cmd.exe",
            arguments=("/d", "/c", "rd", "/s", "/q", folder),
            success_codes=(0, 2),
            retries=3,
            on_error="continue",
        )
        yield query(
            f"gone-{name}-{number}",
            "@read-file",
            {"paths": [folder]},
            select=("exists",),
            until={"exists": False},
            on_error="stop",
        )
    yield action(f"delete-{name}", "sc.exe", arguments=("delete", name))
