# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An artifact server: files named and laid out like upstream's, made on demand, with faults."""

from __future__ import annotations

from .faults import Fault
from .server import ArtifactServer

__all__ = ["ArtifactServer", "Fault"]
