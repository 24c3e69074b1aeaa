# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""upgrade_nodes.yml: three nodes are upgraded by one minor version, then by two."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.test_patch_nodes import cordons
from kubernetes import client

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("upgrade_nodes")]

WINDOWS = {"n1": "2019", "n2": "2022", "n3": "2025"}
FIRST, SECOND, BETWEEN, LAST = "1.34.4", "1.35.4", "1.36.3", "1.37.1"


def report(site: Site) -> dict[str, Any]:
    """Return the nodes in the run's report."""
    text = (site.folder / "build" / "upgrade.json").read_text(encoding="utf-8")
    return dict(json.loads(text)["nodes"])


def versions(site: Site) -> dict[str, str]:
    """Return the version of each host's kubelet."""
    nodes = cluster_nodes(site)
    return {host: nodes[node_name(host)]["version"].removeprefix("v") for host in WINDOWS}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    found = start_site(
        *({"name": host, "windows": windows} for host, windows in WINDOWS.items()),
        cluster={"kind": "memory", "version": LAST},
        kube_version=FIRST,
    )
    found.run("site.yml").expect()
    return found


def test_x(site: Site) -> None:
    assert versions(site) == dict.fromkeys(WINDOWS, FIRST)
    run = site.run("upgrade_nodes.yml", "--check", variables={"kube_version": SECOND})
    print(run.output[-6000:])
    run = site.run("upgrade_nodes.yml", variables={"kube_version": SECOND})
    print(run.output[-8000:])
    print(report(site), {h: site.counters(h)["remote_commands"] for h in WINDOWS})
    run.expect()
    assert versions(site) == dict.fromkeys(WINDOWS, SECOND)
    run = site.run("upgrade_nodes.yml", variables={"kube_version": SECOND})
    print(run.output[-4000:])
    run = site.run("upgrade_nodes.yml", variables={"kube_version": LAST})
    print(run.output[-4000:])
    run = site.run("upgrade_nodes.yml", variables={"kube_version": LAST, "node_upgrade_versions": [BETWEEN]})
    print(run.output[-8000:])
    print(report(site), {h: site.counters(h)["remote_commands"] for h in WINDOWS})
    assert False
