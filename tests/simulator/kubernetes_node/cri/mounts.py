# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files of a machine as a HostProcess container sees them: volumes shadow what lies at their mount paths.

hcsshim `internal/jobcontainers/mounts.go`: since Windows' bind filter is used (containerd 1.7), a volume is at its
mount path and below the container's own root as well; before that only below its root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.machine.files import Files
from simulator.machine.windows_paths import normalise


@dataclass(frozen=True)
class Mount:
    """A folder or file of the host (`source`) at another path (`target`); both are Windows paths."""

    source: str
    target: str


class MountedFiles(Files):
    """A machine's files with mounts over them.

    Args:
        host: the machine's files.
        mounts: what is mounted; the deepest target wins.
    """

    def __init__(self, host: Files, mounts: Sequence[Mount]) -> None:
        # Everything else is the host's: one disk, one set of access lists.
        self.__dict__.update(host.__dict__)
        self._host = host
        pairs = [(normalise(mount.target), normalise(mount.source)) for mount in mounts]
        self._mounts = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)
        self.guard = host.guard.following(self.followed)

    def _key(self, path: str) -> str:
        return super()._key(self.host_path(path))

    def real(self, path: str) -> Path:
        """Return where a path of the container lies."""
        return self._host.real(self.host_path(path))

    def host_path(self, path: str) -> str:
        """Return the host's path of a path of the container."""
        normal = normalise(path)
        for target, source in self._mounts:
            if normal.casefold() == target.casefold():
                return source
            if normal.casefold().startswith(target.casefold().rstrip("\\") + "\\"):
                return source.rstrip("\\") + normal[len(target.rstrip("\\")) :]
        return normal
