# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files of a machine as a HostProcess container sees them: volumes hide files of the host at their mount paths.

See hcsshim `internal/jobcontainers/mounts.go`. With Windows' bind filter (since containerd 1.7), a volume is visible at
its mount path and below the container's own root. Before 1.7, it is visible only below this root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.machine.files import FileSystem
from simulator.machine.windows_paths import normalise


@dataclass(frozen=True)
class Mount:
    """A folder or file of the host (`source`) that a container sees at another Windows path (`target`)."""

    source: str
    target: str


class MountedFiles(FileSystem):
    """A machine's files as a container with mounts sees them.

    Args:
        host: the machine's files.
        mounts: the mounted folders and files. If a path is below the targets of several mounts, the longest target
            applies.
    """

    def __init__(self, host: FileSystem, mounts: Sequence[Mount]) -> None:
        # Everything else is shared with the host: the disk and the access lists.
        self.__dict__.update(host.__dict__)
        self._host = host
        pairs = [(normalise(mount.target), normalise(mount.source)) for mount in mounts]
        self._mounts = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)
        self.guard = host.guard.following(self.followed)

    def _key(self, path: str) -> str:
        return super()._key(self.host_path(path))

    def real(self, path: str) -> Path:
        """Return the path at which the simulator stores the file or folder that has this path in the container."""
        return self._host.real(self.host_path(path))

    def host_path(self, path: str) -> str:
        """Return the Windows path on the container's host that corresponds to a path in the container."""
        normal = normalise(path)
        for target, source in self._mounts:
            if normal.casefold() == target.casefold():
                return source
            if normal.casefold().startswith(target.casefold().rstrip("\\") + "\\"):
                return source.rstrip("\\") + normal[len(target.rstrip("\\")) :]
        return normal
