# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Kubernetes cluster for tests: a real control plane, or an API server in memory."""

from __future__ import annotations

from .cluster import ClusterUnavailableError, SimulatedCluster, ca_hash, real_unavailable, start_cluster

__all__ = ["ClusterUnavailableError", "SimulatedCluster", "ca_hash", "real_unavailable", "start_cluster"]
