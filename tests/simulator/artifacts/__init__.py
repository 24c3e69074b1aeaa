# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An artifact server: files with the names and contents of real releases, created on demand, with faults."""

from __future__ import annotations

from .faults import ArtifactFault
from .server import ArtifactServer

__all__ = ["ArtifactFault", "ArtifactServer"]
