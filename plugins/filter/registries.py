# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters for registries of container images."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.node_config import registries
from ..plugin_utils.node_resources import registry_files as runtimes
from ..plugin_utils.values.ansible_data import plain
from ..plugin_utils.values.errors import ResourceError


def hosts_toml(registry: t.Mapping[str, t.Any], host: str) -> str:
    """Return the content of containerd's hosts.toml for one registry host. Source: docs/hosts.md of containerd."""
    try:
        (parsed,) = registries.read({str(host): plain(registry)})
        return registries.hosts_toml(parsed)
    except ResourceError as error:
        raise AnsibleFilterError(str(error)) from None


def registry_files(
    given: t.Mapping[str, t.Any], config_dir: str = "", runtime: str = "containerd"
) -> list[dict[str, t.Any]]:
    """Return the resources that write a container runtime's registry configuration and remove obsolete files."""
    try:
        if runtime == "buildkit":
            return runtimes.of_buildkit(plain(given), str(config_dir))
        if runtime == "containerd":
            return runtimes.of_containerd(plain(given), str(config_dir))
        return runtimes.of_docker(plain(given), str(config_dir) or registries.DOCKER_CONFIG)
    except ResourceError as error:
        raise AnsibleFilterError(str(error)) from None


def docker_registries(given: t.Mapping[str, t.Any]) -> dict[str, list[str]]:
    """Return the settings in Docker's daemon.json that list the mirrors of docker.io and the insecure registries."""
    try:
        return registries.docker_settings(registries.read(plain(given)))
    except ResourceError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    """The filters for registries of container images."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hosts_toml": hosts_toml, "registry_files": registry_files, "docker_registries": docker_registries}
