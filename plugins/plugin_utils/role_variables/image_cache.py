# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the image_cache role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET
from .shared import DownloadVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class CachedArtifactVariables:
    """The variables of artifacts in a node's cache."""

    kube_node_versions: tuple[t.Any, ...]
    containerd_versions: tuple[t.Any, ...]
    moby_versions: tuple[t.Any, ...]
    docker_versions: tuple[t.Any, ...]
    sdn_plugin_versions: tuple[t.Any, ...]
    azure_vnet_versions: tuple[t.Any, ...]
    artifacts: t.Mapping[str, t.Any]
    urls: t.Mapping[str, str]
    prune_artifacts: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageStoreVariables:
    """The variables that describe the store of container images and the programs that use it."""

    runtime: t.Literal["containerd", "docker"]
    ctr: str
    crictl: str
    docker: str
    docker_config: str
    store_dir: str
    registry_config_dir: str
    environment: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)
    parallel_pulls: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class CachedImageVariables:
    """The variables of container images in a node's store."""

    base_images: tuple[t.Any, ...]
    images: tuple[t.Any, ...]
    container_tags: tuple[t.Any, ...]
    core_dns_versions: tuple[t.Any, ...]
    core_dns_repository: str
    windows_base_images: tuple[str, ...]
    nano_server_name: str
    pause_source: str
    test_images: tuple[t.Mapping[str, t.Any], ...]
    bundle: t.Mapping[str, t.Any]
    pin: bool
    prune_images: bool
    buildkit_version: str
    buildkit_url: str = dataclasses.field(metadata=SECRET)
    buildkit_sha256: str
    buildkit_dir: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageCacheVariables(CachedArtifactVariables, ImageStoreVariables, CachedImageVariables, DownloadVariables):
    """The variables `image_cache_*`."""

    proxy: str = dataclasses.field(metadata=SECRET)
    no_proxy: str
