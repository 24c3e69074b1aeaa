# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs of replace_nodes.yml that are killed at several moments: the next ones finish, with one new machine per node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun
from integration.replacing import GENERATION, LABEL, RECORD, SiteWithSpares
from integration.rollouts import statuses

# Three more runs of what test_replace_nodes.py runs once.
pytestmark = [pytest.mark.variant, pytest.mark.integration, pytest.mark.xdist_group("replace_interrupted")]

OLD = ("n1", "n2")
SPARES = ["spare1", "spare2"]
NEW = {f"{host}-g2" for host in OLD}


def kill(site: SiteWithSpares, condition: Callable[[], object]) -> bool:
    """Run the playbook, and kill it as soon as a condition is true.

    Returns:
        Whether it was killed; otherwise it had ended.
    """
    with subprocess.Popen(
        site.command("replace_nodes.yml"),
        cwd=site.folder,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as run:
        end = time.monotonic() + 240
        while run.poll() is None and time.monotonic() < end:
            if condition():
                os.killpg(run.pid, signal.SIGKILL)
                return True
            time.sleep(0.05)
        assert run.poll() is not None, "neither ended nor reached the condition"
        return False


@dataclass
class Story:
    """The site, and what was true after each run."""

    site: SiteWithSpares
    killed: dict[str, bool] = field(default_factory=dict)
    records: dict[str, str] = field(default_factory=dict)
    """The record of the first node after each killed run."""
    last: PlayRun = field(default_factory=lambda: PlayRun(0, "", {}, {}))
    reported: dict[str, str] = field(default_factory=dict)
    again: PlayRun = field(default_factory=lambda: PlayRun(0, "", {}, {}))

    def cut(self, name: str, condition: Callable[[], object]) -> None:
        self.killed[name] = kill(self.site, condition)
        self.records[name] = recorded(self.site, "n1")


@pytest.fixture(scope="module")
def story(start_site: SiteFactory) -> Story:
    """Join two nodes, kill two runs, finish their work, and run once more with the new inventory."""
    servers = [joined_nodes.server(name) for name in (*OLD, *SPARES)]
    site = SiteWithSpares.of(start_site(*servers, cluster={"kind": "memory"}), OLD, SPARES)
    story, first = Story(site), "n1"
    story.cut("created", site.machines)
    story.cut("reset", lambda: '"old":"reset"' in recorded(site, first))
    story.last = site.run("replace_nodes.yml")
    story.reported = statuses(site, "replace")
    site.removed = OLD
    site.added = {
        name: {"ansible_host": address, "kubernetes_node_hostname": name} for name, address in site.machines().items()
    }
    story.again = site.run("replace_nodes.yml")
    return story


def recorded(site: SiteWithSpares, node: str) -> str:
    """Return the record of a node."""
    found = site.nodes().get(node)
    return "" if found is None else str((found.metadata.annotations or {}).get(RECORD, ""))


def test_the_runs_were_killed_while_they_worked(story: Story) -> None:
    assert story.killed == {"created": True, "reset": True}
    assert json.loads(story.records["created"])["name"] == "n1-g2"


def test_the_last_run_finishes_what_the_others_began(story: Story) -> None:
    story.last.expect()
    # The worker of a killed run may still delete the first node.
    assert story.reported["n1"] in ("replaced", "not_a_node")
    assert story.reported["n2"] == "replaced"
    nodes = story.site.nodes()
    assert set(nodes) == NEW
    assert {node.metadata.labels[LABEL] for node in nodes.values()} == {GENERATION}
    assert not any(node.spec.unschedulable for node in nodes.values())


def test_each_node_gets_one_new_machine(story: Story) -> None:
    machines = story.site.machines()
    assert set(machines) == NEW
    assert len(set(machines.values())) == len(OLD)
    # The hook was called again with the same name.
    assert story.site.calls().count("create n1-g2") > 1
    assert {call.split()[1] for call in story.site.calls()} == NEW


def test_nothing_is_left_to_do_with_the_new_inventory(story: Story) -> None:
    story.again.expect()
    assert "nothing is replaced" in story.again.output
    assert statuses(story.site, "replace") == dict.fromkeys(sorted(NEW), "up_to_date")
