# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The doctor names every cause that the simulator can produce, with its evidence, and none on a healthy node.

The faults are in doctor_faults.py and doctor_network_faults.py. Each breaks one of three nodes with different versions
of Windows, and the same node is healthy before and after it. test_node_doctor.py runs the playbook.
"""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from integration import doctor_faults, doctor_network_faults, joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import Site
from kubernetes import client
from simulator_tests.waiting import wait_for
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.modules import nodes_info
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import causes
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.diagnose import Diagnosis, diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.examination import Examination
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import ObservationOptions
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observe import observe
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import FactsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from simulator.kubernetes_node.hns.objects import HnsState
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.waits, pytest.mark.xdist_group("node_doctor_faults")]

NODES = {"n19": "2019", "n22": "2022", "n25": "2025"}
OPTIONS = ObservationOptions(hns=FactsOptions(hns_timeout=2.0, grace=0.05))
OTHERS = {"unexplained", "not_prepared", "launcher_failed", "join_command_failed"}
"""Causes that have their own tests, below or in test_kubelet_launcher.py."""
assert doctor_network_faults.PAUSE, "its faults are registered"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    servers = [joined_nodes.server(name, windows=windows) for name, windows in NODES.items()]
    site = start_site(*servers, {"name": "plain", "windows": "2022"}, cluster={"kind": "memory"})
    joined_nodes.join(site, list(NODES))
    return site


def cluster_view(site: Site) -> ClusterView:
    """Return what nodes_info reads of the site's cluster."""
    core = client.CoreV1Api(site.api())
    nodes = client.ApiClient().sanitize_for_serialization(core.list_node().items)
    assert site.world.cluster is not None
    described = {one["metadata"]["name"]: nodes_info.describe(one, (), ()) for one in nodes}
    return ClusterView.of({"authorities": [site.world.cluster.ca_certificate], "nodes": described})


def examine(site: Site, machine: Machine, cluster: ClusterView | None = None) -> tuple[Diagnosis, int]:
    """Return the diagnosis of a machine, and the number of remote commands."""
    node = DirectNode(machine)
    first, second = observe(NodeSession(node), OPTIONS)
    view = cluster_view(site) if cluster is None else cluster
    examination = Examination(first=first, second=second, cluster=view, options=OPTIONS)
    return diagnose(examination, datetime.datetime.now(datetime.UTC)), node.remote_commands


def names(diagnosis: Diagnosis) -> list[str]:
    return [one.finding.cause for one in diagnosis.findings]


def expect_healthy(site: Site, machine: Machine) -> None:
    """Wait until the node is Ready, and check that the doctor finds nothing."""
    name = machine.host_name.lower()
    wait_for(lambda: name in joined_nodes.ready_nodes(site), f"{name} is Ready", 60)
    diagnosis, commands = examine(site, machine)
    assert (diagnosis.status, diagnosis.findings) == ("Ready", ())
    assert commands <= 2


@pytest.mark.parametrize("node", NODES)
def test_nothing_is_found_on_a_healthy_node(site: Site, node: str) -> None:
    expect_healthy(site, site.machine(node))


@pytest.mark.parametrize(
    ("name", "node"), [(name, list(NODES)[number % len(NODES)]) for number, name in enumerate(doctor_faults.FAULTS)]
)
def test_a_fault_is_named_first(site: Site, name: str, node: str) -> None:
    fault, machine = doctor_faults.FAULTS[name], site.machine(node)
    with fault.breaks(site, machine):
        diagnosis, commands = examine(site, machine)
        # What only the node itself shows is also found without the cluster.
        alone, _commands = examine(site, machine, ClusterView.of(None))
    assert names(diagnosis)[0] == fault.cause, diagnosis
    first = diagnosis.findings[0]
    assert first.consequence_of == ""
    assert fault.evidence in "\n".join(first.finding.evidence)
    # All other causes follow from this one.
    others = [one for one in diagnosis.findings[1:] if not one.consequence_of]
    assert others == []
    assert commands <= 2
    assert "s3cret" not in str(diagnosis)
    if fault.cause not in ("ca_changed", "node_missing"):
        assert names(alone)[0] == fault.cause
    assert alone.status == "not asked"
    expect_healthy(site, machine)


def test_hns_that_is_only_stopped_is_no_cause(site: Site) -> None:
    """Windows starts it on demand. A boot leaves it stopped until then."""
    machine = site.machine("n19")
    state = machine.part(HnsState)
    kept = {name: dict(one) if isinstance(one, dict) else one for name, one in vars(state).items()}
    machine.services.stop("hns", force=True)
    vars(state).update(kept)
    diagnosis, _commands = examine(site, machine)
    assert "hns_stopped" not in names(diagnosis)


def test_every_cause_has_a_fault() -> None:
    assert {fault.cause for fault in doctor_faults.FAULTS.values()} == causes.known().keys() - OTHERS


def test_a_plain_server_is_not_prepared(site: Site) -> None:
    diagnosis, commands = examine(site, site.machine("plain"))
    assert names(diagnosis)[0] == "not_prepared"
    assert (diagnosis.status, commands) == ("not in the cluster", 1)


def test_a_node_that_the_cluster_reports_without_a_known_cause(site: Site) -> None:
    view: Any = cluster_view(site)
    view.nodes["n22"].update(ready="False", reason="KubeletNotReady: who knows", since="2026-11-25T12:00:00Z")
    diagnosis, _commands = examine(site, site.machine("n22"), view)
    assert names(diagnosis) == ["unexplained"]
    assert diagnosis.status == "NotReady"
    assert diagnosis.findings[0].finding.evidence == ("KubeletNotReady: who knows (since 2026-11-25T12:00:00Z)",)
