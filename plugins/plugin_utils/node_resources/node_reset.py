# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the node_reset role, which return a machine to its state before it joined a cluster.

The resources that a join creates are defined by node_resources/node_join.py, lifecycle/join.py and the networks' data
files. A reset removes these resources. If the preparation of the machine also defines a resource, the reset restores
that resource to the state after the preparation instead.
"""

from __future__ import annotations

import dataclasses
import ntpath
import typing as t

from ..hns.guard.addresses import NOTE as UPLINK_GUARD
from ..lifecycle import join
from ..pod_networks.catalogue import catalogue
from ..pod_networks.network import PodNetwork, accounts
from ..values.errors import ResourceError
from ..windows import node_paths
from ..windows.registry_keys import SERVICES
from ..windows.sddl import SHARED
from . import cni, container_runtime, kubernetes_node, node_join
from .downloads import ResourceMapping
from .image_cache import ImageSettings, unused_images
from .kubernetes_node import KubernetesSettings
from .node_join import JoinedNode
from .services import KUBE_PROXY
from .variables import Variables

ROLE = "node_reset"
_LOGS = "C:\\var\\log"
_KUBELET_LOGS = f"{_LOGS}\\kubelet"
"""A log folder that only the kubelet uses. If the kubelet's log file is in another folder, a reset keeps that folder,
because it may also contain the logs of other programs."""
_SEPARATE = "Move the machine's CNI configurations to a folder of their own."
_PLACEHOLDERS: t.Mapping[str, t.Any] = {
    "name": "node",
    "pod_cidr": "192.0.2.0/24",
    "internal_ip": "192.0.2.1",
    "overlay_address": "192.0.2.2",
    "kube_proxy_configuration": {},
    "api_server": "192.0.2.1:6443",
    "ca_certificate": "",
    "cluster_cidr": "192.0.2.0/24",
    "tokens_known": True,
    "nssm_dir": "C:\\nssm",
    "network_changes": False,
    "former_services": "",
}
"""Placeholders for values that are known only after a join. A reset needs only the types and names of the resources
that a join creates, and these do not depend on the values. The one exception is the file that reserves kube-proxy's
address, but a reset empties the folder of this file anyway."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResetMachine:
    """A machine that is reset."""

    kubernetes: KubernetesSettings
    network: PodNetwork
    """The network for which the machine is prepared."""
    conf_dir: str
    """Folder of CNI configurations."""
    folders: t.Mapping[str, str]
    """Maps the name of each folder variable of the pod networks, without its `cni_` prefix, to the folder's path."""
    prepared: t.Sequence[ResourceMapping]
    """The resources that prepare the machine."""
    network_remains: t.Sequence[ResourceMapping]
    """The resources that remove what pod networks installed, but not what the preparation of the machine installed."""
    keep_logs: bool
    unused_images: ResourceMapping | None
    """The resource that removes unused images, or None if images are kept."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> ResetMachine:
        """Read the variables of the roles that prepare and reset a machine.

        Args:
            variables: the host's variables.
            prefix: prefix of the node_reset role's variables.

        Returns:
            The machine.
        """
        network = cni.pod_network(variables)
        kubernetes = variables.read(KubernetesSettings, kubernetes_node.ROLE)
        images = variables.value(f"{prefix}_images") == "remove"
        return cls(
            kubernetes=kubernetes,
            network=network,
            conf_dir=str(variables.value("cni_conf_dir")),
            folders=_program_folders(variables),
            prepared=[
                *container_runtime.of_host(variables),
                *cni.resources(variables.read(cni.CniSettings, cni.ROLE)),
                *kubernetes_node.resources(kubernetes),
            ],
            network_remains=[one for known in catalogue().values() for one in cni.remains(known, network, variables)],
            keep_logs=bool(variables.value(f"{prefix}_keep_logs")),
            unused_images=unused_images(variables.read(ImageSettings, "image_cache")) if images else None,
        )

    @property
    def joined(self) -> JoinedNode:
        """This machine as a joined node, with placeholders for values that only a join provides.

        Its resources have the same types and names as the resources of a real join (see `_PLACEHOLDERS`).
        """
        tokens = dict.fromkeys(accounts(name for name, known in catalogue().items() if "service" in known.run_as), "")
        return JoinedNode(
            **_PLACEHOLDERS,
            network=self.network,
            kubernetes=self.kubernetes,
            tokens=tokens,
            conf_dir=self.conf_dir,
            folders=self.folders,
        )


def resources(machine: ResetMachine) -> list[ResourceMapping]:
    """Return the resources that describe a machine after a reset.

    Args:
        machine: the machine.

    Returns:
        The resources, in the order in which they are applied. Services precede the files and folders that they use.

    Raises:
        ResourceError: the folder of CNI configurations, which a reset empties, contains programs, or files that the
            preparation of the machine creates.
    """
    _check_conf_dir(machine)
    folders = _state_folders(machine)
    removed = [
        *_removed(node_join.possible(machine.joined), machine),
        *machine.network_remains,
        *({"type": "File", "name": path, "state": "absent"} for path in (*join.MADE_FILES, UPLINK_GUARD)),
    ]
    inside = [str(one["name"]) for one in folders]
    own = {(one["type"], _name(one)): one for one in removed if not _is_below(_name(one), inside)}
    services = [one for one in own.values() if one["type"] == "Service"]
    return [
        *_kubelet(machine.kubernetes),
        *services,
        *(one for one in own.values() if one["type"] != "Service"),
        *folders,
        *([machine.unused_images] if machine.unused_images else []),
    ]


def service_names() -> tuple[str, ...]:
    """Return the names of the services that do not run after a reset."""
    names = (name for known in catalogue().values() for name in known.services)
    return ("kubelet", KUBE_PROXY, *dict.fromkeys(names))


def _kubelet(settings: KubernetesSettings) -> list[ResourceMapping]:
    """Return the kubelet's resources as the machine's preparation defines them, but without kubeadm's flags.

    The service is stopped. If nssm runs the kubelet, the kubelet's arguments are a separate resource.
    """
    of_join = ("arguments_from_file", "arguments_variable", "arguments_for_kubelet", "restarts")
    *parameters, service = (
        {key: value for key, value in one.items() if key not in of_join}
        for one in kubernetes_node.kubelet_services(settings)
    )
    arguments = ({**one, "if_exists": True} for one in parameters if one["type"] == "NssmArguments")
    return [{**service, "state": "stopped", "if_exists": True}, *arguments]


def _removed(made: t.Iterable[ResourceMapping], machine: ResetMachine) -> t.Iterator[ResourceMapping]:
    """Yield the resources that remove what a join created, except folders.

    Resources that the preparation of the machine also defines are skipped.
    """
    prepared = {(one["type"], _name(one).casefold()) for one in machine.prepared}
    made = [one for one in made if (one["type"], _name(one).casefold()) not in prepared]
    services = [f"{SERVICES}\\{one['name']}" for one in made if one["type"] == "Service"]
    for one in made:
        if one["type"] == "Registry":
            # The parameters of a service are removed with it.
            if not _is_below(str(one["key"]), services):
                kept = ("type", "name", "key", "value_name")
                yield {**{key: one[key] for key in kept if key in one}, "state": "absent"}
        elif one["type"] != "Directory":
            yield {"type": one["type"], "name": one["name"], "state": "absent"}


def _state_folders(machine: ResetMachine) -> list[ResourceMapping]:
    """Return the resources that empty or remove the folders that contain state.

    A subfolder of such a folder has no resource of its own. If logs are kept, log folders are omitted.
    """
    made = [str(one["name"]) for one in node_join.possible(machine.joined) if one["type"] == "Directory"]
    of_networks = [
        path
        for known in catalogue().values()
        for path in (*known.files.folders, *known.files.service_folders, *known.files.state)
    ]
    paths = [*join.FILLED_FOLDERS, *join.MADE_FOLDERS, *made, *of_networks, node_paths.CNI_STATE, machine.conf_dir]
    paths += [_KUBELET_LOGS] if _is_below(machine.kubernetes.kubelet_log_file, [_KUBELET_LOGS]) else []
    chosen: dict[str, ResourceMapping] = {}
    directories = {_name(one).casefold(): one for one in machine.prepared if one["type"] == "Directory"}
    for path in sorted(dict.fromkeys(paths), key=str.casefold):
        if _is_below(path, chosen) or (machine.keep_logs and _is_below(path, [_LOGS])):
            continue
        chosen[path] = _state_folder(path, directories)
    return list(chosen.values())


def _state_folder(path: str, directories: t.Mapping[str, ResourceMapping]) -> ResourceMapping:
    """Return the resource that empties a folder if the node's preparation creates it, and removes it otherwise."""
    own = directories.get(path.casefold())
    if own is None:
        return {"type": "StateFolder", "name": path, "state": "absent"}
    inner = dict.fromkeys(own.get("open_folders", ()), SHARED)
    for other in directories.values():
        if ntpath.dirname(str(other["name"])).casefold() == path.casefold() and "acl" in other:
            inner[ntpath.basename(str(other["name"]))] = other["acl"]
    return {
        "type": "StateFolder",
        "name": path,
        "state": "empty",
        **({"acl": own["acl"]} if "acl" in own else {}),
        **({"folders": inner} if inner else {}),
    }


def _check_conf_dir(machine: ResetMachine) -> None:
    """Check that a reset may empty the folder of CNI configurations.

    Raises:
        ResourceError: the folder contains programs, or files that the preparation of the machine creates.
    """
    folder = machine.conf_dir.rstrip("\\")
    programs = (machine.kubernetes.install_dir, *machine.folders.values())
    used = [path for path in programs if path.rstrip("\\").casefold() == folder.casefold()]
    used += [path for one in machine.prepared for path in _texts(one) if _is_below(path, [folder])]
    if used:
        expected = f"expected a folder that a reset may empty, without {used[0]}"
        raise ResourceError("cni_conf_dir", machine.conf_dir, expected, _SEPARATE)


def _texts(value: t.Any) -> t.Iterator[str]:
    """Yield all strings in a value, such as the paths in the properties of a resource."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, t.Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, t.Sequence):
        for item in value:
            yield from _texts(item)


def _is_below(path: str, folders: t.Iterable[str]) -> bool:
    return any(path.casefold().startswith(f"{folder.casefold()}\\") for folder in folders)


def _name(one: ResourceMapping) -> str:
    if one["type"] == "Registry":
        return f"{one['key']}\\{one.get('value_name', '')}"
    return str(one["name"])


def _program_folders(variables: Variables) -> dict[str, str]:
    """Map the name of each folder variable of all pod networks, without its `cni_` prefix, to the folder's path."""
    names = {one.destination for known in catalogue().values() for one in known.programs.values()}
    return {name: str(variables.optional(f"cni_{name}", f"C:\\{name}")) for name in sorted(names)}
