# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A server of release files for tests. It creates the files on demand, and tests can add faults."""

from __future__ import annotations

from .faults import ArtifactFault
from .server import ArtifactServer

__all__ = ["ArtifactFault", "ArtifactServer"]
