# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""reset_nodes.yml: joined machines become like prepared ones that never joined, and join another cluster."""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.reset_machines import differences, machine_state

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("reset_nodes")]

HOSTS = {"pods": "2019", "services": "2022"}
CONFIRMED = {"reset_confirmation": True}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    nodes = [{"name": name, "windows": windows, "link_drop_seconds": 0.2} for name, windows in HOSTS.items()]
    site = start_site(*nodes, cluster={"kind": "memory"})
    site.host_variables = {"services": {"cni_run_as": "service"}}
    return site


@pytest.fixture(scope="module")
def prepared(site: Site) -> dict[str, dict[str, Any]]:
    """Return the states of the machines that were prepared and have not joined."""
    site.run("site.yml", "--tags", "install").expect()
    return {host: machine_state(site.machine(host)) for host in HOSTS}


@pytest.fixture(scope="module")
def joined(site: Site, prepared: dict[str, dict[str, Any]]) -> Site:
    site.run("site.yml").expect()
    assert set(cluster_nodes(site)) == {node_name(host) for host in HOSTS}
    return site


@pytest.fixture(scope="module")
def reset(joined: Site) -> PlayRun:
    run = joined.run("reset_nodes.yml", variables=CONFIRMED)
    print(run.output)
    return run.expect()


@pytest.mark.parametrize("host", HOSTS)
def test_the_machine_is_like_one_that_never_joined(
    joined: Site, prepared: dict[str, dict[str, Any]], reset: PlayRun, host: str
) -> None:
    different = differences(prepared[host], machine_state(joined.machine(host)))
    assert not different, "\n".join(different)


def test_the_nodes_are_gone(joined: Site, reset: PlayRun) -> None:
    assert cluster_nodes(joined) == {}
