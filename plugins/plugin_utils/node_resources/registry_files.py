# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources for the registry settings of containerd, Docker and BuildKit. They also remove unneeded files."""

from __future__ import annotations

import typing as t

from ..node_config import registries
from .downloads import ResourceMapping


def of_containerd(given: t.Mapping[str, t.Any], folder: str) -> list[ResourceMapping]:
    """Return the resources that write the files with containerd's registry settings and remove unneeded files.

    Args:
        given: the user's registries.
        folder: containerd's `config_path`.

    Raises:
        ResourceError: an entry is invalid.
    """
    parsed = registries.read(given)
    return [
        *registries.unlisted(parsed, folder),
        *registries.containerd_files(parsed, folder),
        *registries.forgotten(parsed),
    ]


def of_docker(given: t.Mapping[str, t.Any], config_dir: str = registries.DOCKER_CONFIG) -> list[ResourceMapping]:
    """Return the resources that write the registry settings of dockerd and docker.exe and remove unneeded files.

    Args:
        given: the user's registries.
        config_dir: folder of docker.exe's config.json.

    Raises:
        ResourceError: an entry is invalid, or Docker does not support it.
    """
    parsed = registries.read(given)
    return [
        *registries.unlisted_for_docker(parsed),
        *registries.docker_files(parsed, config_dir),
        *registries.forgotten(parsed, config_dir),
    ]


def of_buildkit(given: t.Mapping[str, t.Any], folder: str) -> list[ResourceMapping]:
    """Return the resources that write the files with BuildKit's registry settings and remove unneeded credentials.

    Args:
        given: the user's registries.
        folder: containerd's `config_path`.

    Raises:
        ResourceError: an entry is invalid.
    """
    parsed = registries.read(given)
    return [*registries.buildkit_files(parsed, folder), *registries.forgotten(parsed)]
