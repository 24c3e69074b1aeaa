# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A virtual machine of Azure joins with `cloud_provider: azure`: cloud-node-manager has to initialize its node."""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import Site, cluster_api, node_name
from kubernetes import client

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("cloud_provider")]

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"


def node(site: Site) -> Any:
    return client.CoreV1Api(cluster_api(site)).read_node(node_name("vm1"))


def taints(site: Site) -> list[str]:
    return [one.key for one in node(site).spec.taints or ()]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    azure = {"subnet": "127.0.0.0/8", "primary": ""}
    site = start_site(
        {"name": "vm1", "windows": "2022", "azure": azure}, cluster={"kind": "memory"}, cloud_provider="azure"
    )
    azure["primary"] = site.machine("vm1").address
    return site


def test_without_the_programs_of_the_cloud_provider_the_join_names_the_taint(site: Site) -> None:
    run = site.run("site.yml", variables={"node_join_ready_timeout": 5}).expect(2)
    assert f"the cloud provider has not initialized the node (taint {UNINITIALIZED})" in " ".join(run.output.split())
    assert UNINITIALIZED in taints(site)


def test_the_next_run_waits_until_the_node_is_initialized(site: Site) -> None:
    assert site.world.cluster is not None
    given = {"kubeconfig": str(site.world.cluster.kubeconfig), "cloud_provider": "azure"}
    site.run("cluster.yml", variables=given).expect(0)
    # The first run has prepared the machine.
    site.run("site.yml", "--tags", "join").expect(0)
    found = node(site)
    assert UNINITIALIZED not in taints(site)
    assert found.spec.provider_id.endswith(f"/virtualMachines/{node_name('vm1')}")
    assert found.metadata.labels["node.kubernetes.io/instance-type"] == "Standard_D4s_v5"
    assert site.machine("vm1").address in [one.address for one in found.status.addresses]


# test_site.py runs site.yml twice.
@pytest.mark.variant
def test_a_second_run_changes_nothing(site: Site) -> None:
    run = site.run("site.yml").expect(0)
    assert run.recap["vm1"]["changed"] == 0
