# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Push container images: blobs before the manifests that refer to them, and the tagged manifest or index last.

Sources: containerd core/remotes/docker/pusher.go;
https://github.com/opencontainers/distribution-spec/blob/main/spec.md#push
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.registry_client import PullError, RegistryClient
from simulator.kubernetes_node.images.registry_hosts import RegistryEndpoint
from simulator.kubernetes_node.images.store import ImageStore


def push(store: ImageStore, client: RegistryClient, places: list[RegistryEndpoint], reference: oci.ImageReference,
         target: Mapping[str, Any]) -> None:  # fmt: skip
    """Push and tag the manifest or index that a descriptor names. Push everything that it refers to first.

    Raises:
        PullError: the registry rejects a request, or content is missing.
    """
    place = next((place for place in places if "push" in place.capabilities), None)
    if place is None:
        raise PullError("no push hosts: not found")
    _push(store, client, place, reference, target, reference.tag)


def _push(store: ImageStore, client: RegistryClient, place: RegistryEndpoint, reference: oci.ImageReference,
          target: Mapping[str, Any], tag: str) -> None:  # fmt: skip
    digest = str(target["digest"])
    document = store.document(_there(store, digest))
    for entry in document.get("manifests", []):
        _push(store, client, place, reference, entry, "")
    for part in [*document.get("layers", []), *([document["config"]] if "config" in document else [])]:
        _blob(store, client, place, reference, str(part["digest"]))
    media_type = str(target.get("mediaType") or document.get("mediaType") or oci.MANIFEST)
    path = f"{reference.path}/manifests/{tag or digest}"
    answer = client.ask(place, "PUT", path, last=False, body=store.read(digest), media_type=media_type)
    answer.stream.close()
    if answer.status >= 300:
        raise PullError(f"unexpected status from PUT request to {place.url}/v2/{path}: {answer.status_text()}")


def _there(store: ImageStore, digest: str) -> str:
    if not store.has(digest):
        raise PullError(f"failed to push: content digest {digest}: not found")
    return digest


def _blob(
    store: ImageStore, client: RegistryClient, place: RegistryEndpoint, reference: oci.ImageReference, digest: str
) -> None:
    head = client.ask(place, "HEAD", f"{reference.path}/blobs/{digest}", last=False)
    head.stream.close()
    if head.status == 200:
        return
    begun = client.ask(place, "POST", f"{reference.path}/blobs/uploads/", last=False)
    begun.stream.close()
    location = begun.headers.get("location", "")
    if begun.status not in (201, 202) or not location:
        url = f"{place.url}/v2/{reference.path}/blobs/uploads/"
        raise PullError(f"unexpected status from POST request to {url}: {begun.status_text()}")
    query = ("&" if "?" in location else "?") + f"digest={quote(digest)}"
    data = store.read(_there(store, digest))
    answer = client.ask(place, "PUT", location + query, last=False, body=data, media_type="application/octet-stream")
    answer.stream.close()
    if answer.status >= 300:
        raise PullError(f"unexpected status from PUT request to {location}: {answer.status_text()}")
