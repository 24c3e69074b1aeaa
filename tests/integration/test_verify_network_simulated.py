# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""verify_network.yml on simulated servers, whose containers run no programs: nothing passes, and nothing is left."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.joined_nodes import join, server
from integration.playbooks import Site, cluster_api
from kubernetes import client

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("verify_network_simulated")]

HOSTS = ("win22", "win25")
QUICK = {"verify_network_attempts": 1, "verify_network_result_timeout": 1, "verify_network_connect_timeout": 1,
         "verify_network_pod_timeout": 60, "verify_network_policy": "expected"}  # fmt: skip


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    nodes = (server("win22", windows="2022"), server("win25", windows="2025"))
    site = start_site(*nodes, cluster={"kind": "memory", "node_grace_period": 900.0})
    join(site, HOSTS)
    assert site.world.cluster is not None
    site.variables["kubeconfig"] = str(site.world.cluster.kubeconfig)
    return site


def test_checks_that_cannot_run_are_never_green(site: Site) -> None:
    before = {host: site.counters(host)["connections"] for host in HOSTS}
    run = site.run("verify_network.yml", variables=QUICK).expect(2)
    report: dict[str, Any] = json.loads((site.folder / "build" / "network.json").read_text(encoding="utf-8"))
    assert report["counts"]["passed"] == report["counts"]["failed"] == 0
    assert report["counts"]["not_run"] > 10
    rows = {(one["check"], one["from"], one["to"]): one for one in report["results"]}
    row = rows["pod_to_pod", "win22", "win25"]
    # The server pods got their addresses from the simulated network plugin.
    assert row["address"].startswith("10.244.")
    assert row["detail"] == "the probe started, but reported no result within 2 seconds"
    assert "checks did not run" in report["problem"]
    assert report["problem"] in run.output
    # No host was contacted, and the cluster is as before.
    assert {host: site.counters(host)["connections"] for host in HOSTS} == before
    names = [one.metadata.name for one in client.CoreV1Api(cluster_api(site)).list_namespace().items]
    assert [name for name in names if "network-check" in name] == []
