# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The image_cache role's resources for artifacts in the node's cache and container images in the runtime's store."""

from __future__ import annotations

import dataclasses
import typing as t

from ..artifacts import cache
from ..container_images import listing
from ..role_variables.image_cache import CachedArtifactVariables, CachedImageVariables, ImageStoreVariables
from . import registry_files
from .downloads import Downloads, ResourceMapping, unpacked
from .variables import Variables

ROLE = "image_cache"
PAUSE = "registry.k8s.io/pause:3.10.2"
"""The default of `container_runtime_sandbox_image`, for plays without the container_runtime role."""
PAUSE_DOCKERFILE = """\
ARG BASE
ARG PAUSE
FROM ${PAUSE} AS upstream
FROM ${BASE}
USER ContainerAdministrator
COPY --from=upstream /pause.exe /pause.exe
USER ContainerUser
ENTRYPOINT ["/pause.exe"]
"""
"""The Dockerfile of the pause image. It copies pause.exe from the image that Kubernetes publishes. pause.exe runs on
every build of Windows, but the Nano Server in that image does not. ContainerAdministrator copies the file, because only
an administrator may write to C:\\ in Nano Server (moby/buildkit#4731). Source: kubernetes/kubernetes,
build/pause/Dockerfile_windows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactCacheSettings(CachedArtifactVariables):
    """The variables `image_cache_*` that describe artifacts."""

    downloads: Downloads

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> ArtifactCacheSettings:
        """Return the role's settings, which are read from the host's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        return variables.fields(cls, prefix, downloads=Downloads.of_downloading_role(variables, prefix))


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreSettings(ImageStoreVariables):
    """The variables `image_cache_*` that all container image resources share."""

    @property
    def properties(self) -> dict[str, t.Any]:
        """The properties that all container image resources share."""
        return {
            "runtime": self.runtime,
            "ctr": self.ctr,
            "crictl": self.crictl,
            "docker": self.docker,
            "hosts_dir": self.registry_config_dir,
            "docker_config": self.docker_config or None,
            "store_dir": self.store_dir,
            "environment": dict(self.environment),
            "parallel": self.parallel_pulls,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageSettings(CachedImageVariables):
    """The variables `image_cache_*` that describe container images."""

    store: StoreSettings
    pause: str
    registries: t.Mapping[str, t.Any]

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> ImageSettings:
        """Return the settings from the role's variables and two optional variables of the container_runtime role.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        pause = str(variables.optional("container_runtime_sandbox_image", PAUSE))
        hosts = variables.optional("container_runtime_registries", {})
        return variables.fields(cls, prefix, pause=pause, registries=hosts)


def artifacts(settings: ArtifactCacheSettings, installed: t.Sequence[str]) -> list[ResourceMapping]:
    """Return the resources for the artifacts in the node's cache.

    Args:
        settings: the role's variables.
        installed: files in the cache that roles other than image_cache install. These files are never pruned.

    Returns:
        Artifact resources, and, if the role prunes the cache, an ArtifactCache resource that removes other versions.

    Raises:
        ArtifactError: a version is invalid.
    """
    by_kind: dict[str, list[t.Any]] = {
        "kubernetes": [*settings.kube_node_versions],
        "containerd": [*settings.containerd_versions],
        "moby": [*settings.moby_versions],
        "docker": [*settings.docker_versions],
        "sdn-plugins": [*settings.sdn_plugin_versions],
        "azure-vnet": [*settings.azure_vnet_versions],
    }
    lists: dict[str, t.Any] = {**by_kind}
    for kind, versions in settings.artifacts.items():
        lists[kind] = [*by_kind.get(kind, []), *versions] if isinstance(versions, list) else versions
    downloads = settings.downloads
    return cache.resources_for_versions(
        lists,
        "image_cache_artifacts",
        cache_dir=downloads.artifact_cache,
        mirror=downloads.artifact_mirror,
        proxy=downloads.proxy.https_proxy,
        no_proxy=downloads.proxy.no_proxy,
        prune=settings.prune_artifacts,
        keep=list(installed) if settings.prune_artifacts else [],
        urls=settings.urls,
        **downloads.artifact_sources,
    )


def images(settings: ImageSettings, downloads: Downloads) -> list[ResourceMapping]:
    """Return the resources that pull and build container images.

    If unused images are to be pruned, the first resource removes them.

    Args:
        settings: the role's variables.
        downloads: the role's download settings, used for BuildKit's archive.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ValueError: an image or a registry is invalid.
    """
    pulled, built = _pulled(settings), _built(settings)
    # containerd cannot build images. BuildKit builds them, in the kubelet's namespace.
    needs_buildkit = settings.store.runtime == "containerd" and bool(built)
    return [
        *([_unused(settings, pulled, built)] if settings.prune_images else []),
        *pulled,
        *(_buildkit(settings, downloads) if needs_buildkit else []),
        *built,
    ]


def _pulled(settings: ImageSettings) -> list[ResourceMapping]:
    properties, bundle = settings.store.properties, settings.bundle
    without = [settings.pause] if settings.nano_server_name else []
    base = [image for image in settings.base_images if image not in without]
    listed = [
        *settings.container_tags,
        *listing.core_dns(list(settings.core_dns_versions), settings.core_dns_repository),
        *listing.base_images(list(settings.windows_base_images)),
        *settings.images,
    ]
    return [
        *listing.resources(base, properties, pinned=settings.pin, bundle=bundle),
        *listing.resources(listed, properties, pinned=False, bundle=bundle),
    ]


def _built(settings: ImageSettings) -> list[ResourceMapping]:
    """Return resources for images that the node builds: the pause image of a Windows Insider build, and test images."""
    pause = {
        "name": settings.pause,
        "build_args": {"BASE": settings.nano_server_name, "PAUSE": settings.pause_source},
        "pinned": settings.pin and settings.store.runtime == "containerd",
        "dockerfile": PAUSE_DOCKERFILE,
    }
    common = {
        **settings.store.properties,
        "type": "BuiltContainerImage",
        "buildctl": f"{settings.buildkit_dir}\\buildctl.exe",
    }
    return [{**image, **common} for image in (*([pause] if settings.nano_server_name else []), *settings.test_images)]


def _buildkit(settings: ImageSettings, downloads: Downloads) -> list[ResourceMapping]:
    artifact = downloads.artifact(
        "buildkit", settings.buildkit_version, url=settings.buildkit_url, sha256=settings.buildkit_sha256
    )
    environment = dict(settings.store.environment)
    return [
        *registry_files.of_buildkit(settings.registries, settings.store.registry_config_dir),
        artifact,
        unpacked(
            artifact,
            settings.buildkit_dir,
            members=["bin/buildctl.exe", "bin/buildkitd.exe"],
            strip_components=1,
            check=["buildctl.exe", "buildkitd.exe"],
            stops=["buildkitd"],
        ),
        {
            "type": "Service",
            "name": "buildkitd",
            "display_name": "Buildkitd",
            "description": "Container image build engine",
            "path": f"{settings.buildkit_dir}\\buildkitd.exe",
            # `buildkitd --register-service` creates the same service (moby/buildkit
            # cmd/buildkitd/service_windows.go).
            "arguments": ["--run-service"],
            "dependencies": ["containerd"],
            "start_mode": "demand",
            "environment": environment,
            "no_log": any("@" in str(value) for value in environment.values()),
            "state": "running",
        },
    ]


def unused_images(settings: ImageSettings) -> ResourceMapping:
    """Return the resource that removes all container images that the role does not list and no container uses.

    Args:
        settings: the role's variables.
    """
    return _unused(settings, _pulled(settings), _built(settings))


def _unused(
    settings: ImageSettings, pulled: t.Sequence[ResourceMapping], built: t.Sequence[ResourceMapping]
) -> ResourceMapping:
    aliases = [alias for image in pulled for alias in image.get("aliases", [])]
    keep = [*(image["name"] for image in (*pulled, *built)), *aliases, settings.pause]
    return {**settings.store.properties, "type": "UnusedContainerImages", "name": settings.store.runtime, "keep": keep}
