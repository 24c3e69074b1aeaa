# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Pull and push images as dockerd does, including its choice of registry endpoints and of manifest list entries.

Mirrors apply only to Docker Hub. If a registry is in insecure-registries or on this host, dockerd tries TLS without
verification and then plain HTTP. `certs.d\HOST` (without the colon of a port) contains CAs. Sources:
https://docs.docker.com/reference/cli/dockerd/, moby/moby registry/config.go and registry_windows.go.

Up to version 28, dockerd accepts entries with any build that is not newer than the host's, and prefers the host's own
build (daemon/internal/distribution/pull_v2_windows.go). From 29 on, the rules of containerd apply (moby/moby#53397).
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.docker.dockerd_config import DaemonConfig, at_least
from simulator.kubernetes_node.docker.images import DockerError, DockerImage, DockerImages, familiar
from simulator.kubernetes_node.images import oci, pusher
from simulator.kubernetes_node.images.puller import (
    Puller,
    PullError,
    PullOptions,
    RegistryAccess,
    RegistryEndpoint,
    pull,
)
from simulator.kubernetes_node.images.registry_client import RegistryClient

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CERTIFICATES = r"C:\ProgramData\docker\certs.d"


@dataclass(frozen=True)
class Pulled:
    """The result of a pull.

    Args:
        digest: the digest to which the name refers in the registry.
        id: the id of the image.
        fresh: whether this combination of name and digest is new in the store.
        layers: the digests of the layers.
    """

    digest: str
    id: str
    fresh: bool
    layers: tuple[str, ...] = ()


def insecure(config: DaemonConfig, host: str) -> bool:
    """Return whether dockerd skips the verification of a registry's TLS certificate."""
    bare = host.rpartition(":")[0] if ":" in host else host
    for entry in ("127.0.0.0/8", "localhost", *config.insecure):
        if entry in (host, bare):
            return True
        try:
            if ipaddress.ip_address(bare) in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False


def places(machine: Machine, config: DaemonConfig, host: str) -> list[RegistryEndpoint]:
    """Return the endpoints for the host in an image's name, in the order in which they are tried."""
    address = "registry-1.docker.io" if host == "docker.io" else host
    folder = f"{CERTIFICATES}\\{host.replace(':', '')}"
    ca: tuple[str, ...] = ()
    if machine.files.is_directory(folder):
        ca = tuple(entry.path for entry in machine.files.listing(folder) if entry.name.casefold().endswith(".crt"))
    own = RegistryEndpoint(f"https://{address}", ca=ca)
    found = [RegistryEndpoint(str(url).rstrip("/")) for url in config.mirrors] if host == "docker.io" else []
    if insecure(config, host):
        return [*found, replace(own, skip_verify=True), RegistryEndpoint(f"http://{address}")]
    return [*found, own]


def choose(entries: list[dict[str, Any]], build: int, version: str) -> dict[str, Any] | None:
    """Return the entry of a manifest list that dockerd uses, or None if no entry fits.

    Args:
        entries: the entries of the manifest list.
        build: the machine's Windows build.
        version: the version of Docker.
    """
    if at_least(version, "29"):
        return oci.best(entries, build, exact=False)
    fitting = [
        entry
        for entry in entries
        if (entry.get("platform") or {}).get("os") == "windows"
        and entry["platform"].get("architecture") == "amd64"
        and _build(entry["platform"]) <= build
    ]
    return next((entry for entry in fitting if _build(entry["platform"]) == build), fitting[0] if fitting else None)


def _build(platform: dict[str, Any]) -> int:
    parts = str(platform.get("os.version", "")).split(".")
    return int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0


class DockerTransfer:
    """One pull or push by dockerd.

    Args:
        machine: the machine that dockerd runs on.
        version: the version of Docker.
        config: dockerd's configuration.
        environment: dockerd's environment variables; the proxies in dockerd's configuration take precedence.
        credentials: the `user:password` for the registry from docker.exe's config.json; empty for anonymous access.
        stop: an event that is set when docker.exe ends.
    """

    def __init__(
        self,
        machine: Machine,
        version: str,
        config: DaemonConfig,
        environment: Mapping[str, str],
        credentials: str = "",
        stop: threading.Event | None = None,
    ) -> None:
        self._machine, self._version, self._config = machine, version, config
        variables = {key: value for key, value in environment.items() if key.casefold() not in config.proxies}
        self._environment = {**variables, **config.proxies}
        self._credentials, self._stop = credentials, stop
        self._puller = Puller(machine, self._environment, credentials, stop)

    def _client(self) -> RegistryClient:
        return RegistryClient(self._machine, self._environment, RegistryAccess(self._credentials), self._stop)

    def answering(self, host: str) -> list[RegistryEndpoint]:
        """Return a registry's endpoints.

        If the registry is insecure, return its mirrors and the first of its own endpoints that responds, or only
        the mirrors if none of its own endpoints responds.

        Raises:
            PullError: the registry is insecure and has no mirrors, and none of its own endpoints responds.
        """
        found = places(self._machine, self._config, host)
        if not insecure(self._config, host):
            return found
        problem: PullError | None = None
        for place in found[-2:]:
            try:
                self._client().ask(place, "GET", "", last=True).stream.close()
                return [*found[:-2], place]
            except PullError as error:
                problem = error
        if len(found) > 2 or problem is None:
            return found[:-2]
        raise problem

    def login(self, host: str) -> None:
        """Check whether a registry accepts the credentials.

        Raises:
            DockerError: the registry rejects the credentials or does not respond.
        """
        try:
            place = self.answering(host)[-1]
            answer = self._client().ask(place, "GET", "", last=True)
        except PullError as error:
            raise DockerError(str(error)) from error
        answer.stream.close()
        if answer.status != 200:
            raise DockerError(f'Get "{place.url}/v2/": unauthorized: authentication required')

    def push(self, images: DockerImages, image: DockerImage, reference: oci.ImageReference) -> None:
        """Push an image.

        Raises:
            DockerError: the push fails.
        """
        try:
            own = self.answering(reference.host)[-1:]
            pusher.push(images.store, self._client(), own, reference, image.target)
        except PullError as error:
            raise _failure(error, reference) from error

    def pull(self, images: DockerImages, reference: oci.ImageReference) -> Pulled:
        """Pull an image.

        Raises:
            DockerError: the pull fails.
        """
        tag = "" if reference.digest else reference.tag
        name = oci.ImageReference(reference.host, reference.path, tag, reference.digest)
        try:
            problem: PullError | None = None
            for place in self.answering(reference.host):
                try:
                    _, digest = self._puller.resolve([place], name)
                    return self._take(images, name, place, digest)
                except PullError as error:
                    problem = error
            raise problem or PullError("no hosts to pull from")
        except PullError as error:
            raise _failure(error, name) from error

    def manifests(self, reference: oci.ImageReference) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the manifest or manifest list of an image in the registry, and all the image's manifests by digest.

        Raises:
            DockerError: the registry does not provide the manifest list or a manifest.
        """
        try:
            place = self.answering(reference.host)[-1:]
            _, digest = self._puller.resolve(place, reference)
            document = _document(self._puller.fetch(place, reference, "manifests", digest)[1])
            entries = document.get("manifests") or [{"digest": digest, "mediaType": document.get("mediaType")}]
            requested = [str(entry["digest"]) for entry in entries]
            fetched = {item: self._puller.fetch(place, reference, "manifests", item)[1] for item in requested}
        except PullError as error:
            raise _failure(error, reference) from error
        return {**document, "digest": digest}, {item: _document(data) for item, data in fetched.items()}

    def _take(self, images: DockerImages, name: oci.ImageReference, place: RegistryEndpoint, digest: str) -> Pulled:
        pinned = f"{name.host}/{name.path}@{digest}"
        known, pinned_image = images.store.get(str(name)), images.store.get(pinned)
        if known and pinned_image and known.target == pinned_image.target:
            return Pulled(digest, images.find(pinned).id, fresh=False)
        document = _document(self._puller.fetch([place], name, "manifests", digest)[1])
        build = self._machine.windows.build
        if "manifests" in document:
            entry = choose(list(document["manifests"]), build, self._version)
            if entry is None:
                raise DockerError(self._no_match())
            chosen, taken = str(entry["digest"]), _build(entry["platform"]) or build
        else:
            chosen, taken = digest, self._fits(place, name, document)
        reference = oci.ImageReference(name.host, name.path, "", chosen)
        with images.store.lease():
            before = images.store.get(str(reference))
            try:
                pulled, manifest = pull(
                    images.store, self._puller, [place], reference, PullOptions(taken, exact=True), self._alive
                )
            except PullError:
                # containerd's store adds the name before an image is unpacked; Docker's store adds it afterwards.
                if before is None:
                    images.store.delete(str(reference))
                raise
            identity = str(manifest["config"]["digest"])
            images.keep(identity, pulled.target, [pinned, *([] if name.digest else [str(name)])])
            if pinned != str(reference):
                images.store.delete(str(reference))
        return Pulled(digest, identity, fresh=True, layers=tuple(str(layer["digest"]) for layer in manifest["layers"]))

    def _alive(self) -> None:
        if self._stop is not None and self._stop.is_set():
            raise DockerError("context canceled")

    def _fits(self, place: RegistryEndpoint, name: oci.ImageReference, document: dict[str, Any]) -> int:
        """Return the Windows build of an image whose tag refers to a manifest instead of a manifest list.

        Raises:
            DockerError: the image cannot run on this machine.
            PullError: the image's configuration cannot be downloaded.
        """
        _, data = self._puller.fetch([place], name, "blobs", str(document["config"]["digest"]))
        platform = _document(data)
        if platform.get("os") != "windows":
            raise DockerError(
                f'image operating system "{platform.get("os", "")}" cannot be used on this platform: operating system '
                "is not supported"
            )
        build, own = _build(platform), self._machine.windows.build
        if build > own:
            raise DockerError(f"a Windows version 10.0.{build}-based image is incompatible with a 10.0.{own} host")
        return build or own

    def _no_match(self) -> str:
        build = self._machine.windows.build
        if at_least(self._version, "29"):
            return (
                f"no matching manifest for windows(10.0.{build})/amd64 in the manifest list entries: no match for "
                f"platform in manifest: not found"
            )
        return f"no matching manifest for windows/amd64 10.0.{build} in the manifest list entries"


def _document(data: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(data)
    except ValueError as error:
        raise DockerError(f"error parsing HTTP response: {error}") from error
    return found


def _failure(error: PullError, reference: oci.ImageReference) -> DockerError:
    """Return dockerd's error for a failed pull or push."""
    message = str(error).removeprefix(f'failed to resolve reference "{reference}": ')
    name = familiar(f"{reference.host}/{reference.path}")
    if f"{reference}: not found" in message or message.startswith("content at "):
        return DockerError(f"manifest for {familiar(str(reference))} not found: manifest unknown: manifest unknown")
    if "There is not enough space on the disk" in message:
        return DockerError("failed to register layer: write: There is not enough space on the disk.")
    if any(f"{status} {http.client.responses[status]}" in message for status in (401, 403)):
        return DockerError(
            f"pull access denied for {name}, repository does not exist or may require 'docker login': denied: "
            f"requested access to the resource is denied"
        )
    if "429 " in message:
        return DockerError("toomanyrequests: You have reached your pull rate limit.")
    # containerd's messages have this prefix; dockerd's do not.
    return DockerError(message.replace("failed to do request: ", ""))
