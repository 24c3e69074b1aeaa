# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the services of several roles have in common."""

from __future__ import annotations

import typing as t

from ..resources.directory import closed

DOCKER_RUNTIMES = ("docker", "moby")
"""Values of `container_runtime` that mean Docker's engine: both publishers' builds are installed and run alike."""
CONTAINERD_PIPE = "npipe:////./pipe/containerd-containerd"
CRI_DOCKERD_PIPE = "npipe:////./pipe/cri-dockerd"
ADMINISTRATORS_ONLY = "O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
"""Access list of files with secrets: for SYSTEM, as which the services run, and Administrators."""


def recovery() -> dict[str, t.Any]:
    """Returns what Windows does when a service ends by itself: it starts it again after 5, 10 and 30 seconds."""
    delays = (5, 10, 30)
    return {
        "reset_seconds": 86400,
        "actions": [{"action": "restart", "delay_seconds": seconds} for seconds in delays],
    }


def log_folders(*folders: str, only_below: str = "") -> list[dict[str, t.Any]]:
    """Returns resources for folders of logs: all users read them, and what lies in them already stays.

    Args:
        folders: Windows paths.
        only_below: only folders below this one are closed; others may be shared with other programs.

    Returns:
        Resources of type Directory.
    """
    return closed(folders, users="read", content="nothing", only_below=only_below)
