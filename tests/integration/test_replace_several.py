# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""replace_nodes.yml with several nodes at a time, files of tasks as hooks, shutdowns, and an account with few rights.

This is a variant of test_replace_nodes.py, which replaces one node by a command, and resets its machine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.limited_account import limited_kubeconfig
from integration.playbooks import PASSWORD, PlayRun, bootstrap_tokens
from integration.replacing import GENERATION, LABEL, SiteWithSpares
from integration.rollouts import cordoned_nodes, observed, report, statuses

from simulator.cluster.cluster import real_unavailable

pytestmark = [
    pytest.mark.integration,
    # Only a real API server refuses what an account is not allowed to do.
    pytest.mark.control_plane,
    pytest.mark.variant,
    pytest.mark.skipif(bool(real_unavailable()), reason=real_unavailable()),
    pytest.mark.xdist_group("replace_several"),
    pytest.mark.timeout(900),
]

OLD = ("n1", "n2", "n3")
SPARES = ("spare1", "spare2", "spare3")
NEW = tuple(f"{name}-g2" for name in OLD)
SURGE = 2
PORT = 5985
DISABLED = 4
"""The value of a disabled service in the registry (Start)."""


def create_tasks(site: SiteWithSpares) -> Path:
    """Write a file of tasks that create a machine, and return its path."""
    return _write(
        site.hooks / "create.yml",
        {
            "name": "Create the machine",
            "ansible.builtin.command": {"argv": [str(site.hooks / "hook"), "create", "{{ inventory_hostname }}"]},
            "changed_when": True,
            "no_log": True,
            "register": "site_machine",
        },
        {
            "name": "Return the machine",
            "ansible.builtin.set_fact": {"node_replace_created": "{{ site_machine.stdout | from_json }}"},
            "no_log": True,
        },
    )


def delete_tasks(site: SiteWithSpares) -> Path:
    """Write a file of tasks that delete a machine when it is off, and return its path."""
    return _write(
        site.hooks / "delete.yml",
        {
            "name": "Wait until the machine is off",
            "ansible.builtin.wait_for": {
                "host": "{{ ansible_host }}",
                "port": PORT,
                "state": "stopped",
                "timeout": 60,
                "sleep": 1,
            },
        },
        {
            "name": "Delete the machine",
            "ansible.builtin.command": {"argv": [str(site.hooks / "hook"), "delete", "{{ inventory_hostname }}"]},
            "changed_when": True,
        },
    )


def _write(path: Path, *tasks: dict[str, Any]) -> Path:
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


@dataclass
class Story:
    """The site, its runs, and what was observed during the replacement."""

    site: SiteWithSpares
    checked: PlayRun
    run: PlayRun = field(default_factory=lambda: PlayRun(0, "", {}, {}))
    nodes: list[set[str]] = field(default_factory=list)
    """The Windows nodes, at each observation."""
    serving: list[set[str]] = field(default_factory=list)
    """Those that accepted pods."""
    tokens: dict[str, set[str]] = field(default_factory=dict)
    """The ids of the bootstrap tokens, before and after the run."""


@pytest.fixture(scope="module")
def story(start_site: SiteFactory) -> Story:
    """Join three nodes, check what a run would do, and replace them."""
    servers = [joined_nodes.server(name) for name in (*OLD, *SPARES)]
    site = SiteWithSpares.of(start_site(*servers, cluster={"kind": "real"}), OLD, SPARES)
    assert site.world.cluster is not None
    del site.variables["node_replace_create_command"]
    site.variables |= {
        "kubeconfig": str(limited_kubeconfig(site.world.cluster, site.folder)),
        "node_replace_surge": SURGE,
        "node_replace_create_tasks": str(create_tasks(site)),
        "node_replace_delete_tasks": str(delete_tasks(site)),
        "node_replace_old": "shutdown",
    }
    story = Story(site, site.run("replace_nodes.yml", "--check"))
    assert site.calls() == []
    story.tokens["before"] = set(bootstrap_tokens(site))

    def observe(_stopped: set[str], nodes: list[Any]) -> None:
        windows = [node for node in nodes if (node.metadata.labels or {}).get("kubernetes.io/os") == "windows"]
        story.nodes.append({node.metadata.name for node in windows})
        story.serving.append(
            {
                node.metadata.name
                for node in windows
                if any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or ())
            }
            - cordoned_nodes(nodes)
        )

    with observed(site, set, observe):
        story.run = site.run("replace_nodes.yml", timeout=600)
    story.tokens["after"] = set(bootstrap_tokens(site))
    return story


def test_a_dry_run_shows_the_plan_with_these_rights(story: Story) -> None:
    story.checked.expect()
    assert all(new in story.checked.output for new in NEW)


def test_all_nodes_are_replaced(story: Story) -> None:
    story.run.expect()
    nodes = story.site.nodes()
    assert sorted(nodes) == sorted(NEW)
    assert {node.metadata.labels[LABEL] for node in nodes.values()} == {GENERATION}
    assert statuses(story.site, "replace") == dict.fromkeys(OLD, "replaced")


def test_as_many_machines_as_the_surge_are_added_at_a_time(story: Story) -> None:
    story.run.expect()
    assert max(map(len, story.nodes)) == len(OLD) + SURGE
    # The first two new nodes and the third one took turns with the old nodes.
    assert not any(NEW[2] in nodes and {*OLD[:2]} & nodes for nodes in story.nodes)


def test_as_many_nodes_as_before_accept_pods_at_any_time(story: Story) -> None:
    story.run.expect()
    assert min(map(len, story.serving)) >= len(OLD)


def test_the_hooks_of_tasks_ran_for_each_machine_once(story: Story) -> None:
    story.run.expect()
    assert sorted(story.site.calls()) == sorted([f"create {name}" for name in NEW] + [f"delete {name}" for name in OLD])
    assert set(story.site.machines()) == set(NEW)
    assert len(set(story.site.machines().values())) == len(NEW)


def test_the_old_machines_are_off_and_do_not_come_back_as_nodes(story: Story) -> None:
    story.run.expect()
    for name in OLD:
        machine = story.site.machine(name)
        assert machine.power.state == "off"
        kubelet = machine.services.get("kubelet")
        assert kubelet is not None
        assert kubelet.start == DISABLED
        entry = report(story.site, "replace")[name]
        assert (entry["old"], entry["cordoned"]) == ("shutdown", False)


def test_no_token_and_no_password_is_left_or_shown(story: Story) -> None:
    assert story.tokens["after"] == story.tokens["before"]
    assert PASSWORD not in story.run.output
