# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The names of variables that turn off checks and belong to no role."""

from __future__ import annotations

ALLOW_VERSIONS = "allow_unsupported_versions"
"""Whether to continue with versions of Kubernetes and containerd that the collection does not support."""
