# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A golden image: built of a plain server, started as a new machine, joined. A cluster's node never becomes one."""

from __future__ import annotations

import time

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.states import state_at_rest, state_of

from simulator.machine.machine import COMPLETE, GENERALIZED, SETUP_STATE

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("image")]

BUILDER, NEW = "builder", "new"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """A plain server, and a cluster without nodes."""
    return start_site({"name": BUILDER, "windows": "2022"}, cluster={"kind": "memory"})


@pytest.fixture(scope="module")
def built(site: Site) -> PlayRun:
    """The run that makes the image; when it ends, the machine is going off."""
    run = site.run("build_image.yml", variables={"winkube_image_hosts": BUILDER}).expect()
    end = time.monotonic() + 30
    while site.machine(BUILDER).power.state != "off" and time.monotonic() < end:
        time.sleep(0.1)
    return run


@pytest.fixture(scope="module")
def joined(site: Site, built: PlayRun) -> PlayRun:
    """A machine is started from the image and joins."""
    address = f"{site.machine(BUILDER).address.rpartition('.')[0]}.99"
    site.world.fleet.deploy_image(BUILDER, NEW, address)
    return site.run("join_nodes.yml", "--limit", f"{NEW},localhost").expect()


def test_the_machine_is_sealed_and_off(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    assert machine.power.state == "off"
    assert machine.registry.data(SETUP_STATE, "ImageState") == GENERALIZED
    assert site.counters(BUILDER)["remote_commands"] <= 20


def test_the_image_is_prepared_and_knows_no_cluster(site: Site, built: PlayRun) -> None:
    files = site.machine(BUILDER).files
    assert files.is_file(r"C:\k\kubelet.exe")
    assert files.is_file(r"C:\Program Files\containerd\bin\containerd.exe")
    assert not files.exists(r"C:\etc\kubernetes\kubelet.conf")
    # An image has no name of its own.
    assert f"ComputerName {node_name(BUILDER)}" not in built.changes(BUILDER)
    assert not cluster_nodes(site)


def test_the_new_machine_joins_as_itself(site: Site, joined: PlayRun) -> None:
    machine = site.machine(NEW)
    assert machine.sid != site.machine(BUILDER).sid
    assert machine.registry.data(SETUP_STATE, "ImageState") == COMPLETE
    assert machine.host_name == node_name(NEW)
    nodes = cluster_nodes(site)
    assert list(nodes) == [node_name(NEW)]
    assert nodes[node_name(NEW)]["ready"]
    # What is in the image is not downloaded again.
    assert not [change for change in joined.changes(NEW) if change.startswith("Artifact ")]


def test_joining_again_changes_nothing(site: Site, joined: PlayRun) -> None:
    run = site.run("join_nodes.yml", "--limit", f"{NEW},localhost").expect()
    assert run.recap[NEW]["changed"] == 0
    assert site.counters(NEW)["remote_commands"] <= 8


def test_a_cluster_node_is_never_generalized(site: Site, joined: PlayRun) -> None:
    before = state_at_rest(site.machine(NEW))
    run = site.run("build_image.yml", variables={"winkube_image_hosts": NEW})
    assert run.exit_code == 2
    assert "cluster" in run.messages(NEW)
    assert state_at_rest(site.machine(NEW)) == before
    assert site.machine(NEW).power.state == "on"
    assert cluster_nodes(site)[node_name(NEW)]["ready"]


def test_a_machine_that_is_not_prepared_does_not_join(start_site: SiteFactory) -> None:
    site = start_site({"name": "plain"}, cluster={"kind": "memory"})
    before = state_of(site.machine("plain"))
    run = site.run("join_nodes.yml").expect(2)
    assert "prepared" in run.messages("plain")
    assert state_of(site.machine("plain")) == before
