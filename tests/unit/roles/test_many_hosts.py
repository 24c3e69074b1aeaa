# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hundreds of hosts: the number of variables that each host reads from others does not grow."""

from __future__ import annotations

import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible.vars.hostvars import HostVars
from unit.roles.templates import task, templar, value

HOSTS = [f"win{number}" for number in range(1, 101)]


class Inventory:
    """Replaces Ansible's inventory and variable manager, and counts the requests for a host's variables."""

    def __init__(self, variables: t.Mapping[str, t.Mapping[str, t.Any]]) -> None:
        self.hosts = variables
        self.asked = 0
        self.hostvars = HostVars(self, self, DataLoader())

    def get_host(self, name: str) -> str:
        return name

    def get_vars(self, host: str, include_hostvars: bool) -> dict[str, t.Any]:
        self.asked += 1
        return dict(self.hosts[host])


def seen(host: str, inventory: Inventory, *roles: str, **more: t.Any) -> Templar:
    """Return what templates of some roles see on a host, in a play with all hosts."""
    magic = {"inventory_hostname": host, "ansible_play_hosts": HOSTS, "ansible_play_hosts_all": HOSTS}
    groups = {"node_windows": HOSTS, "all": HOSTS}
    own = {name: value for name, value in inventory.hosts[host].items() if name != "ansible_host"}
    return templar(roles, {**own, **magic, "groups": groups, "hostvars": inventory.hostvars, **more})


def runs(found: Templar, tasks: str) -> bool:
    """Return whether a host runs the first task in a file of the role cni."""
    return bool(value(found, task("cni", tasks)["when"]))


@pytest.mark.parametrize(
    ("runtime", "tasks"), [("containerd", ["cluster.yml"]), ("moby", ["accounts.yml", "services.yml"])]
)
def test_one_host_queries_the_cluster_for_all(runtime: str, tasks: list[str]) -> None:
    inventory = Inventory({host: {"container_runtime": runtime} for host in HOSTS})
    for name in ("accounts.yml", "services.yml", "cluster.yml"):
        chosen = [host for host in ("win1", "win2", "win100") if runs(seen(host, inventory, "cni"), name)]
        assert chosen == (["win1"] if name in tasks else []), name
    assert inventory.asked <= 3 * 3


def test_the_first_host_of_each_runtime_suffices() -> None:
    docker = {"win1", "win2", "win4"}
    inventory = Inventory({host: {"container_runtime": "moby"} if host in docker else {} for host in HOSTS})
    hosts = HOSTS[:6]
    for name, first in {"accounts.yml": "win1", "services.yml": "win1", "cluster.yml": "win3"}.items():
        assert [host for host in hosts if runs(seen(host, inventory, "cni"), name)] == [first], name


def test_addresses_for_no_proxy_are_gathered_once() -> None:
    inventory = Inventory({host: {"ansible_host": f"10.0.0.{number}"} for number, host in enumerate(HOSTS, start=1)})
    gather = task("windows_settings", "resources.yml")
    assert gather["run_once"]
    ((name, text),) = ((key, given) for key, given in gather["ansible.builtin.set_fact"].items() if key != "cacheable")
    assert "when" not in gather
    proxy = {"http_proxy": "http://proxy:3128"}
    found = seen("win1", inventory, "windows_settings", **proxy).template(trust_as_template(text))
    assert inventory.asked == len(HOSTS)

    known = seen("win7", inventory, "windows_settings", **proxy, **{name: found})
    exceptions = value(known, "winkube_no_proxy").split(",")
    assert {"win1", "10.0.0.1", "win100", "10.0.0.100"} <= set(exceptions)
    assert inventory.asked == len(HOSTS)
    # A role that is used alone has not collected them, but knows them anyway.
    alone = seen("win7", inventory, "windows_settings", **proxy)
    assert value(alone, "winkube_no_proxy").split(",") == exceptions


def test_without_a_proxy_its_exceptions_are_not_queried() -> None:
    inventory = Inventory({host: {"ansible_host": f"10.0.0.{number}"} for number, host in enumerate(HOSTS, start=1)})
    alone = seen("win7", inventory, "windows_settings")
    assert value(alone, "winkube_no_proxy") == ""
    assert inventory.asked == 0


@pytest.mark.parametrize(
    ("hosts", "forks", "seconds"), [(3, 5, 1800), (30, 5, 1800), (31, 5, 2100), (300, 5, 18000), (300, 50, 1800)]
)
def test_the_bootstrap_token_outlives_the_run(hosts: int, forks: int, seconds: int) -> None:
    batch = {"ansible_play_batch": [f"win{number}" for number in range(hosts)], "ansible_forks": forks}
    found = seen("win1", Inventory({"win1": {}}), "node_join", **batch)
    assert value(found, "node_join_token_ttl") == seconds
