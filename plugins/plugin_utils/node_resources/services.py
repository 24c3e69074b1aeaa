# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings that services of several roles share."""

from __future__ import annotations

import typing as t

from ..pod_networks.catalogue import catalogue
from ..resources.directory import closed
from .variables import Variables

DOCKER_RUNTIMES = ("docker", "moby")
"""Values of `container_runtime` that select Docker. Docker's own builds and the Moby builds are installed in the same
way."""
KUBE_PROXY = "kube-proxy"
"""Name of kube-proxy's service."""
DOCKER_NETWORK_SERVICES = (
    *(name for known in catalogue().values() if "docker" in known.supported.runtimes for name in known.services),
    KUBE_PROXY,
)
"""Names of kube-proxy's service and of the services of all pod networks that work with Docker."""


def network_services(variables: Variables) -> tuple[str, ...]:
    """Return the names of the pod network's services that a node may have, in the order in which they stop.

    These services depend on the kubelet, so they are stopped before it. On an overlay, kube-proxy also depends on
    flanneld, and stops together with flanneld. With Docker, the pod network always runs as services. With containerd,
    the variable `winkube_network_services`, which the cni role sets, names the services.

    Args:
        variables: the host's variables.
    """
    if variables.runtime in DOCKER_RUNTIMES:
        return DOCKER_NETWORK_SERVICES
    return tuple(variables.optional("winkube_network_services", ()))


def recovery() -> dict[str, t.Any]:
    """Return the failure actions of a service: restart after 5, 10 and 30 seconds."""
    delays = (5, 10, 30)
    return {
        "reset_seconds": 86400,
        "actions": [{"action": "restart", "delay_seconds": seconds} for seconds in delays],
    }


def log_folders(*folders: str, only_below: str = "") -> list[dict[str, t.Any]]:
    """Return the resources of log folders. Users can only read these folders, and existing content is kept.

    Args:
        folders: Windows paths.
        only_below: if set, access is restricted only for folders below this folder. Folders elsewhere may be shared
            with other programs.

    Returns:
        Directory resources.
    """
    return closed(folders, users="read", content="nothing", only_below=only_below)
