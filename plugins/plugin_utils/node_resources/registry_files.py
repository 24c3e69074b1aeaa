# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""All that a container runtime reads of a site's registries, and what goes because the site no longer lists it."""

from __future__ import annotations

import typing as t

from ..node_config import registries
from .downloads import Resource


def of_containerd(given: t.Mapping[str, t.Any], folder: str) -> list[Resource]:
    """Returns what containerd reads of a site's registries, and removes what it read of those no longer listed.

    Args:
        given: registries as users write them.
        folder: containerd's `config_path`.

    Raises:
        RegistryError: one of them cannot be.
    """
    found = registries.read(given)
    return [
        *registries.unlisted(found, folder),
        *registries.containerd_files(found, folder),
        *registries.forgotten(found),
    ]


def of_docker(given: t.Mapping[str, t.Any], config_dir: str = registries.DOCKER_CONFIG) -> list[Resource]:
    """Returns what dockerd and docker.exe read of a site's registries, and removes what is no longer listed.

    Args:
        given: registries as users write them.
        config_dir: folder of docker.exe's config.json.

    Raises:
        RegistryError: one of them cannot be.
    """
    found = registries.read(given)
    return [
        *registries.unlisted_for_docker(found),
        *registries.docker_files(found, config_dir),
        *registries.forgotten(found, config_dir),
    ]


def of_buildkit(given: t.Mapping[str, t.Any], folder: str) -> list[Resource]:
    """Returns what BuildKit reads of a site's registries, and removes credentials that are no longer listed.

    Args:
        given: registries as users write them.
        folder: containerd's `config_path`.

    Raises:
        RegistryError: one of them cannot be.
    """
    found = registries.read(given)
    return [*registries.buildkit_files(found, folder), *registries.forgotten(found)]
