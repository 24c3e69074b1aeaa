# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""replace_nodes.yml: a hook creates a machine, which joins before the old node leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PASSWORD, PlayRun
from integration.replacing import GENERATION, LABEL, SiteWithSpares
from integration.rollouts import cordoned_nodes, observed, report

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("replace_nodes")]

OLD, SPARE, NEW = "n1", "spare", "n1-g2"


@dataclass
class Story:
    """The site, the run, and what was observed during the run."""

    site: SiteWithSpares
    run: PlayRun
    ready: list[set[str]] = field(default_factory=list)
    """The nodes that accepted pods, at each observation."""
    commands: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def story(start_site: SiteFactory) -> Story:
    """Join a node, and replace it."""
    servers = [joined_nodes.server(OLD, windows="2022"), joined_nodes.server(SPARE, windows="2025")]
    site = SiteWithSpares.of(start_site(*servers, cluster={"kind": "memory"}), [OLD], [SPARE])
    story = Story(site, PlayRun(0, "", {}, {}))

    def observe(_stopped: set[str], nodes: list[Any]) -> None:
        cordoned = cordoned_nodes(nodes)
        story.ready.append(
            {
                node.metadata.name
                for node in nodes
                if any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or ())
                and node.metadata.name not in cordoned
            }
        )

    with observed(site, set, observe):
        story.run = site.run("replace_nodes.yml")
    story.commands = {name: site.counters(name)["remote_commands"] for name in (OLD, SPARE)}
    return story


def test_the_new_machine_is_a_node_of_the_generation_and_the_old_one_is_none(story: Story) -> None:
    story.run.expect()
    nodes = story.site.nodes()
    assert list(nodes) == [NEW]
    assert nodes[NEW].metadata.labels[LABEL] == GENERATION
    assert story.site.machine(SPARE).address in [one.address for one in nodes[NEW].status.addresses]
    assert story.site.calls() == [f"create {NEW}"]


def test_the_old_node_accepts_pods_until_the_new_one_is_ready(story: Story) -> None:
    story.run.expect()
    linux = set.intersection(*story.ready)
    windows = [ready - linux for ready in story.ready]
    assert windows[0] == {OLD}
    assert windows[-1] == {NEW}
    assert all(windows)


def test_the_old_machine_is_reset(story: Story) -> None:
    machine = story.site.machine(OLD)
    kubelet = machine.services.get("kubelet")
    assert kubelet is not None
    assert kubelet.state == "Stopped"
    # test_reset_nodes.py compares everything that a join makes.
    assert not machine.files.exists(r"C:\etc\kubernetes\kubelet.conf")
    assert [entry.path for entry in machine.files.walk(r"C:\var\lib\kubelet\pki") if not entry.is_directory] == []
    assert report(story.site, "replace")[OLD]["cordoned"] is False


def test_the_report_shows_what_to_change_in_the_inventory(story: Story) -> None:
    entry = report(story.site, "replace")[OLD]
    assert (entry["status"], entry["new"], entry["old"]) == ("replaced", NEW, "reset")
    address = story.site.machine(SPARE).address
    assert entry["address"] == address
    assert f"  {NEW} ansible_host={address} kubernetes_node_hostname={NEW}" in story.run.output
    assert f"Remove these hosts from your inventory: {OLD}" in story.run.output


def test_the_password_from_the_hook_is_not_shown(story: Story) -> None:
    assert PASSWORD not in story.run.output


def test_a_replacement_stays_within_its_remote_commands(story: Story) -> None:
    # What there is to reset, the reset, and its result, which may take more than one poll.
    assert story.commands[OLD] <= 6
    # The first logon, join_info, the changes of a prepared machine, the join, the final command line of the kubelet.
    assert story.commands[SPARE] <= 12
