# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Both kinds of cluster: each starts once per session, and all tests share it, with object names of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from simulator_tests.cluster.node_client import Client, admin_client
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, real_unavailable, start_cluster

REAL = pytest.param("real", marks=[pytest.mark.control_plane, pytest.mark.xdist_group("simulator-control-plane")])
"""One worker runs these tests, because each worker would start a control plane."""


@pytest.fixture(scope="session", params=["memory", REAL])
def cluster(request: pytest.FixtureRequest) -> Iterator[SimulatedCluster]:
    """Start a cluster of each kind."""
    if request.param == "real" and (reason := real_unavailable()):
        pytest.skip(reason)
    with start_cluster(request.param) as running:
        yield running


@pytest.fixture(scope="session")
def admin(cluster: SimulatedCluster, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """Return a client with the administrator's certificate."""
    return admin_client(cluster, tmp_path_factory.mktemp("admin"))


@pytest.fixture
def namespace(admin: Client) -> str:
    """Create a namespace for one test, wait until pods can be created in it, and return its name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    code, body = admin.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert code == 201, body
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_for(lambda: admin.request("GET", account)[0] == 200, "the default service account exists")
    return name
