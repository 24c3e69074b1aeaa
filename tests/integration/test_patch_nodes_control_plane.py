# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""patch_nodes.yml with a real API server, scheduler and controller manager: their evictions, budgets and cordons."""

from __future__ import annotations

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import cluster_api
from integration.rollouts import statuses
from integration.test_patch_nodes import (
    BEFORE,
    NEW_BUILD,
    PATCH,
    REPLICAS,
    build,
    cordons,
    deploy,
    server,
    serving,
)
from simulator_tests.waiting import wait_for

from simulator.cluster.cluster import real_unavailable

pytestmark = [
    pytest.mark.integration,
    pytest.mark.control_plane,
    pytest.mark.variant,
    pytest.mark.skipif(bool(real_unavailable()), reason=real_unavailable()),
    pytest.mark.xdist_group("patch_nodes_control_plane"),
]

NODES = ["n1", "n2"]


def test_nodes_of_a_real_control_plane_are_patched_one_after_the_other(start_site: SiteFactory) -> None:
    site = start_site(
        *(server(name, BEFORE) for name in NODES),
        cluster={"kind": "real"},
        windows_patches_public=[PATCH],
        windows_patches_settle_timeout=20,
    )
    joined_nodes.join(site, NODES)
    deploy(site)
    site.run("patch_nodes.yml").expect()
    assert statuses(site, "patch") == dict.fromkeys(NODES, "patched")
    assert {host: build(site, host) for host in NODES} == dict.fromkeys(NODES, NEW_BUILD)
    assert cordons(site) == {}
    wait_for(lambda: len(serving(cluster_api(site))) == REPLICAS, "all pods serve again")
    again = site.run("patch_nodes.yml").expect()
    assert {host: again.changes(host) for host in NODES} == {host: [] for host in NODES}
