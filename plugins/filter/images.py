# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters for lists of container images."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils import container_images
from ..plugin_utils._link import plain


def image_resources(
    images: list[t.Any], pinned: bool = False, bundle: t.Mapping[str, t.Any] | None = None, **defaults: t.Any
) -> list[dict[str, t.Any]]:
    """Resources of type ContainerImage for a list of container images."""
    try:
        return container_images.resources(plain(images), plain(defaults), pinned=pinned, bundle=plain(bundle or {}))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def windows_base_images(names: list[str]) -> list[dict[str, t.Any]]:
    """Microsoft's base images, each for its version of Windows Server."""
    try:
        return container_images.base_images(plain(names))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def core_dns_images(versions: list[t.Any], repository: str) -> list[str]:
    """References of CoreDNS."""
    try:
        return container_images.core_dns(plain(versions), str(repository))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters for container images."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "image_resources": image_resources,
            "windows_base_images": windows_base_images,
            "core_dns_images": core_dns_images,
        }
