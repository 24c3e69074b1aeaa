# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Volumes of pods: the files that a kubelet writes to C:\var\lib\kubelet\pods, and their mounts in containers."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api.client import ApiError, Client
from simulator.kubernetes_node.cri.mounts import Mount
from simulator.kubernetes_node.kubelet.settings import drive

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REFRESH = 45 * 60.0  # a token is renewed well before it expires after an hour


class VolumeError(Exception):
    """Raised if a volume cannot be set up yet. The exception's message is that of the kubelet's event."""


@dataclass
class Volumes:
    """The volumes of one pod. `paths` maps the name of each volume to its folder or file on the host."""

    paths: dict[str, str] = field(default_factory=dict)
    written: float = 0.0


def prepare(machine: Machine, client: Client, pod: Mapping[str, Any], root: str, known: Volumes) -> None:
    """Write the files of a pod's volumes, unless they were written less than 45 minutes ago.

    Writing them again renews service account tokens.

    Raises:
        VolumeError: a volume cannot be prepared.
        ApiError: the API server rejects the request for a ConfigMap or Secret.
        OSError: the API server is not reachable.
    """
    if known.written and time.monotonic() - known.written < _REFRESH:
        return
    uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or []:
        known.paths[volume["name"]] = _prepare(machine, client, pod, volume, f"{root}\\pods\\{uid}\\volumes", namespace)
    known.written = time.monotonic()


def _prepare(
    machine: Machine, client: Client, pod: Mapping[str, Any], volume: Mapping[str, Any], base: str, namespace: str
) -> str:
    name = volume["name"]
    if "hostPath" in volume:
        return _host_path(machine, volume["hostPath"], name)
    if "emptyDir" in volume:
        path = f"{base}\\kubernetes.io~empty-dir\\{name}"
        machine.files.make_directory(path)
        return path
    for kind, plugin in (
        ("configMap", "configmap"),
        ("secret", "secret"),
        ("projected", "projected"),
        ("downwardAPI", "downward-api"),
    ):
        if kind not in volume:
            continue
        path = f"{base}\\kubernetes.io~{plugin}\\{name}"
        source = dict(volume[kind])
        if kind == "secret":
            source["name"] = source.get("secretName")
        sources = source.get("sources") or [] if kind == "projected" else [{kind: source}]
        contents: dict[str, bytes] = {}
        for part in sources:
            contents |= _source(client, pod, part, namespace, name)
        _write(machine, path, contents)
        return path
    raise VolumeError(
        f'MountVolume.SetUp failed for volume "{name}" : the simulator does not model volumes of the type '
        f"{', '.join(sorted(set(volume) - {'name'}))}"
    )


def _host_path(machine: Machine, about: Mapping[str, Any], name: str) -> str:
    path, kind = drive(str(about["path"])), str(about.get("type") or "")
    if kind == "DirectoryOrCreate":
        machine.files.make_directory(path)
    elif kind == "FileOrCreate" and not machine.files.exists(path):
        machine.files.make_directory(path.rpartition("\\")[0])
        machine.files.write_bytes(path, b"")
    elif (kind == "Directory" and not machine.files.is_directory(path)) or (
        kind == "File" and not machine.files.is_file(path)
    ):
        raise VolumeError(
            f'MountVolume.SetUp failed for volume "{name}" : hostPath type check failed: {path} is not a {kind.lower()}'
        )
    return path


def _source(
    client: Client, pod: Mapping[str, Any], part: Mapping[str, Any], namespace: str, volume: str
) -> dict[str, bytes]:
    """Return the files of one source of a projected volume, as a dictionary that maps each path to its content."""
    for kind in ("configMap", "secret"):
        if kind in part:
            return _keys(client, kind, part[kind], namespace, volume)
    if "serviceAccountToken" in part:
        about = part["serviceAccountToken"]
        account = pod["spec"].get("serviceAccountName") or "default"
        return {str(about["path"]): _token(client, pod, account, about, volume).encode()}
    if "downwardAPI" in part:
        items = part["downwardAPI"].get("items") or []
        return {
            item["path"]: field_of(pod, item["fieldRef"]["fieldPath"], {}).encode()
            for item in items
            if "fieldRef" in item
        }
    return {}


def _keys(client: Client, kind: str, about: Mapping[str, Any], namespace: str, volume: str) -> dict[str, bytes]:
    plural = "configmaps" if kind == "configMap" else "secrets"
    found = client.find(f"/api/v1/namespaces/{namespace}/{plural}/{about['name']}")
    if found is None:
        if about.get("optional"):
            return {}
        noun = plural[:-1]
        raise VolumeError(f'MountVolume.SetUp failed for volume "{volume}" : {noun} "{about["name"]}" not found')
    plain = {name: text.encode() for name, text in (found.get("data") or {}).items()} if kind == "configMap" else {}
    binary = found.get("binaryData" if kind == "configMap" else "data") or {}
    data = {**plain, **{name: base64.b64decode(text) for name, text in binary.items()}}
    if not about.get("items"):
        return data
    missing = [item["key"] for item in about["items"] if item["key"] not in data]
    if missing and not about.get("optional"):
        raise VolumeError(
            f'MountVolume.SetUp failed for volume "{volume}" : references non-existent config key: {missing[0]}'
        )
    return {item["path"]: data[item["key"]] for item in about["items"] if item["key"] in data}


def _token(client: Client, pod: Mapping[str, Any], account: str, about: Mapping[str, Any], volume: str) -> str:
    metadata = pod["metadata"]
    bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
    spec: dict[str, Any] = {"expirationSeconds": int(about.get("expirationSeconds") or 3600), "boundObjectRef": bound}
    spec["audiences"] = [about["audience"]] if about.get("audience") else []
    document = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    try:
        answer = client.create(f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token", document)
    except ApiError as error:
        raise VolumeError(f'MountVolume.SetUp failed for volume "{volume}" : failed to fetch token: {error}') from error
    return str(answer["status"]["token"])


def _write(machine: Machine, folder: str, contents: Mapping[str, bytes]) -> None:
    machine.files.make_directory(folder)
    for path, data in contents.items():
        full = f"{folder}\\{path}".replace("/", "\\")
        machine.files.make_directory(full.rpartition("\\")[0])
        machine.files.write_bytes(full, data)


def mounts(container: Mapping[str, Any], volumes: Volumes, rootfs: str, bound: bool) -> tuple[Mount, ...]:
    """Return the mounts of a HostProcess container.

    Args:
        rootfs: the root folder of the container.
        bound: whether volumes are also visible at their mount paths, as with containerd 1.7 and Windows' bind filter.
    """
    found: list[Mount] = []
    for item in container.get("volumeMounts") or []:
        source = volumes.paths.get(item["name"])
        if source is None:
            continue
        if item.get("subPath"):
            source = f"{source}\\{item['subPath']}".replace("/", "\\")
        target = drive(str(item["mountPath"]))
        found.append(Mount(source, rootfs + (target[2:] if target[1:2] == ":" else f"\\{target}")))
        if bound:
            found.append(Mount(source, target))
    return tuple(found)


def field_of(pod: Mapping[str, Any], path: str, node: Mapping[str, str]) -> str:
    """Return the value of a pod's field to which a fieldRef refers, such as `metadata.name` or `status.hostIP`."""
    if path in node:
        return node[path]
    for kind in ("labels", "annotations"):
        if path.startswith(f"metadata.{kind}["):
            key = path[len(f"metadata.{kind}[") :].strip("]'\"")
            return str((pod["metadata"].get(kind) or {}).get(key, ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def remove(machine: Machine, root: str, uid: str) -> None:
    """Remove the kubelet's folder for a pod."""
    path = f"{root}\\pods\\{uid}"
    if machine.files.exists(path):
        machine.files.delete(path)
