# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a pod network leaves on a node and in the cluster, in a form that is comparable between points in time."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from typing import Any, TypeAlias

from integration.playbooks import Site, cluster_api
from kubernetes import client

from simulator.machine.files import FileEntry
from simulator.machine.machine import Machine

Traces: TypeAlias = Mapping[str, Any]
OTHER_FILES = (
    # Results of remote commands; artifacts and images, which later runs use again (the kubelet removes unused images).
    r"C:\ProgramData\winkube\batches",
    r"C:\ProgramData\winkube\cache",
    r"C:\ProgramData\containerd",
    # Files of single pods, and logs of the kubelet and of the runtime.
    r"C:\var\lib\kubelet\pods",
    r"C:\var\log\pods",
    r"C:\var\log\containers",
    r"C:\var\log\containerd",
    r"C:\var\log\kubelet",
    r"C:\Users\Administrator\AppData\Local\Temp",
    r"C:\Windows\Temp",
)
"""Folders that are not part of a network."""
_OTHER_STATUS = ("containers", "container_images", "kube_proxy", "flanneld", "calico", "docker", "docker_images")
"""Logs of programs, and what the folders above contain."""
_POD = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}(?=-eth0)")
"""Ids of pods' sandboxes."""
_OF_PODS = r"C:\var\lib\cni"
"""The folder of files that contain ids of pods' sandboxes."""
_CORE = {
    "namespaces": "list_namespace",
    "config_maps": "list_config_map_for_all_namespaces",
    "secrets": "list_secret_for_all_namespaces",
    "service_accounts": "list_service_account_for_all_namespaces",
}
_RBAC = "rbac.authorization.k8s.io"
_GROUPS = {
    "daemon_sets": ("apps", "daemonsets"),
    "roles": (_RBAC, "roles"),
    "role_bindings": (_RBAC, "rolebindings"),
    "cluster_roles": (_RBAC, "clusterroles"),
    "cluster_role_bindings": (_RBAC, "clusterrolebindings"),
}
"""Kinds of objects that a network needs in the cluster, and how to list them."""
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def traces_at_rest(site: Site, host: str, name: str, seconds: float = 60.0) -> Traces:
    """Return the traces when nothing changes by itself any more: pods start after a node is Ready.

    Args:
        site: a site with a cluster.
        host: the server.
        name: the name of the node.
        seconds: the time limit.

    Raises:
        AssertionError: the node does not come to rest.
    """
    deadline = time.monotonic() + seconds
    before = traces(site, host, name)
    while time.monotonic() < deadline:
        time.sleep(1)
        after = traces(site, host, name)
        if after == before:
            return after
        before = after
    raise AssertionError(f"{host} did not come to rest within {seconds:g} s")


def traces(site: Site, host: str, name: str) -> Traces:
    """Return the traces of all networks of a node now; see `traces_at_rest`."""
    machine = site.machine(host)
    status: dict[str, Any] = {key: read(machine) for key, read in machine.families.status.items()}
    return {
        "hns": _hns(status.pop("hns")),
        "files": _files(machine),
        "registry": {f"{key}\\{value}": data for key, value, data in machine.registry.walk("HKLM")},
        "services": _services(machine),
        "windows": {key: value for key, value in status.items() if key not in _OTHER_STATUS},
        **_cluster(site, name),
    }


def mentions(found: Traces, word: str, ignored: str = "") -> list[str]:
    """Return the traces whose names contain a word, as `KIND NAME`.

    Args:
        found: the traces.
        word: a part of the names, in lower case.
        ignored: names that match this pattern do not count.
    """
    kinds = ("files", "registry", "services", "labels", "annotations", *_CORE, *_GROUPS)
    names = [f"{kind} {name}" for kind in kinds for name in found[kind]]
    names += [f"firewall {name}" for name in found["windows"]["firewall"]]
    names += [f"hns {name}" for network in found["hns"]["networks"] for name in [network["name"]]]
    return [name for name in names if word in name.lower() and not (ignored and re.search(ignored, name))]


def _hns(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return HNS's objects without ids, with a placeholder for the ids of pods."""
    return {
        kind: sorted((_without_ids(item) for item in status[kind]), key=str)
        for kind in ("networks", "endpoints", "policies", "namespaces")
    }


def _without_ids(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: len(value) if key in ("endpoints", "containers") else _POD.sub("POD", _ID.sub("ID", str(value)))
        for key, value in item.items()
        if key != "id"
    }


def _files(machine: Machine) -> dict[str, Any]:
    """Return the files with their size, content and access list, and the folders of files with their access list."""
    others = tuple(folder.casefold() for folder in OTHER_FILES)
    entries = [entry for entry in machine.files.walk("C:\\") if not entry.path.casefold().startswith(others)]
    files = [entry.path for entry in entries if not entry.is_directory]
    used = {path.rpartition("\\")[0] for path in files}
    counted = [entry for entry in entries if not entry.is_directory or entry.path in used]
    return {_POD.sub("POD", entry.path): _file(machine, entry) for entry in counted}


def _file(machine: Machine, entry: FileEntry) -> tuple[object, ...]:
    if entry.is_directory:
        return ("folder", machine.files.sddl(entry.path))
    try:
        if entry.path.startswith(_OF_PODS):
            digest = _POD.sub("POD", machine.files.read_text(entry.path))
        else:
            with machine.files.real(entry.path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:  # deleted in the meantime
        digest = ""
    return (entry.size, digest, machine.files.sddl(entry.path))


def _services(machine: Machine) -> dict[str, tuple[object, ...]]:
    found = {name: machine.services.get(name) for name in machine.services.names()}
    return {
        name: (item.state, item.start_mode, item.image_path, item.account, item.dependencies, dict(item.environment))
        for name, item in found.items()
        if item is not None
    }


def _cluster(site: Site, name: str) -> dict[str, Any]:
    """Return the node's metadata, and the objects of the cluster with their content."""
    api = cluster_api(site)
    core, groups = client.CoreV1Api(api), client.CustomObjectsApi(api)
    node = core.read_node(name)
    listed = {kind: api.sanitize_for_serialization(getattr(core, method)()) for kind, method in _CORE.items()}
    # These objects are not deserialized, because there are many of them, and deserializing takes time.
    listed |= {kind: groups.list_cluster_custom_object(group, "v1", names) for kind, (group, names) in _GROUPS.items()}
    return {
        "labels": dict(node.metadata.labels),
        "annotations": dict(node.metadata.annotations or {}),
        "spec": node.spec.to_dict(),
        **{kind: {_path(one): _content(one) for one in found["items"]} for kind, found in listed.items()},
    }


def _path(item: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (item["metadata"].get("namespace"), item["metadata"]["name"])))


def _content(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's labels, and its content without the status and without the values of a Secret."""
    content = {name: value for name, value in item.items() if name not in ("metadata", "status")}
    if "type" in item:
        content["data"] = sorted(item.get("data") or ())
    return {"labels": item["metadata"].get("labels"), **content}
