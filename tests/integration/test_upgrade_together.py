# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""upgrade_nodes.yml with containerd and Windows patches in the same drain, and the way back to a patch release."""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.rollouts import report
from integration.test_patch_nodes import BEFORE, NEW_BUILD, PATCH, build, cordons

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("upgrade_together")]

OLD, NEW = {"kubernetes": "1.36.3", "containerd": "1.7.35"}, {"kubernetes": "1.37.1", "containerd": "2.4.2"}
EARLIER = "1.37.0"
"""A patch release that the node keeps in its cache."""
TOGETHER: dict[str, Any] = {
    "kube_version": NEW["kubernetes"],
    "container_runtime_containerd_version": NEW["containerd"],
    "node_upgrade_roles": ["container_runtime", "kubernetes_node"],
    "node_upgrade_patches": True,
    "windows_patches_public": [PATCH],
    "windows_patches_settle_timeout": 20,
}


def versions(site: Site) -> dict[str, str]:
    node = cluster_nodes(site)[node_name("one")]
    return {
        "kubernetes": node["version"].removeprefix("v"),
        "containerd": node["runtime"].removeprefix("containerd://"),
    }


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    server = {"updates": [BEFORE], "windows_update": {"offers": [PATCH]}, "update_seconds": 10}
    found = start_site(
        {"name": "one", "windows": "2022", "update_settle_seconds": 5, **server},
        cluster={"kind": "memory", "version": NEW["kubernetes"]},
        kube_version=OLD["kubernetes"],
        kube_node_versions=[EARLIER],
        container_runtime_containerd_version=OLD["containerd"],
    )
    found.run("site.yml").expect()
    assert versions(found) == OLD
    return found


@pytest.fixture(scope="module")
def planned(site: Site) -> PlayRun:
    return site.run("upgrade_nodes.yml", "--check", variables=TOGETHER).expect()


def test_a_dry_run_shows_that_patches_may_reboot_the_node(site: Site, planned: PlayRun) -> None:
    entry = report(site, "upgrade")["one"]
    assert (entry["status"], entry["reboot"]) == ("to_upgrade", "maybe")
    assert {"Archive C:\\k", "Service containerd"} & {f"{one['type']} {one['name']}" for one in entry["changes"]}
    assert versions(site) == OLD


@pytest.fixture(scope="module")
def upgraded(site: Site, planned: PlayRun) -> PlayRun:
    return site.run("upgrade_nodes.yml", variables=TOGETHER)


def test_all_is_upgraded_while_the_node_is_drained_once(site: Site, upgraded: PlayRun) -> None:
    upgraded.expect()
    assert versions(site) == NEW
    assert build(site, "one") == NEW_BUILD
    assert cordons(site) == {}
    assert upgraded.output.count("TASK [winkube.node.node_maintenance : Cordon and drain]") == 1
    entry = report(site, "upgrade")["one"]
    assert (entry["status"], entry["reboot"]) == ("upgraded", "yes")


@pytest.fixture(scope="module")
def back(site: Site, upgraded: PlayRun) -> PlayRun:
    """Return a run to an earlier patch release of the same minor version."""
    assert site.world.artifacts is not None
    site.world.artifacts.reset()
    return site.run("upgrade_nodes.yml", variables={"kube_version": EARLIER, "windows_patches_public": []})


def test_there_is_a_way_back_to_an_earlier_patch_release_in_the_cache(site: Site, back: PlayRun) -> None:
    back.expect()
    assert versions(site) == {**NEW, "kubernetes": EARLIER}
    assert report(site, "upgrade")["one"]["steps"] == [EARLIER]
    assert site.world.artifacts is not None
    assert site.world.artifacts.status()["total"] == 0
    assert site.counters("one")["remote_commands"] <= 10
