# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rollouts over the nodes of a cluster: what they report, and what can be observed while they run."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from integration.fault_lives import Subject, host_failed
from integration.playbooks import PlayRun, Site, cluster_api
from kubernetes import client


def report(site: Site, name: str) -> dict[str, Any]:
    """Return the nodes in the report NAME.json of the site's last run; empty if there is no report."""
    path = site.folder / "build" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))["nodes"]) if path.exists() else {}


def statuses(site: Site, name: str) -> dict[str, str]:
    """Return the status of each node in the report of the site's last run."""
    return {host: entry["status"] for host, entry in report(site, name).items()}


def swept(playbook: str, name: str, done: str, state: Callable[[Site, str], Mapping[str, Any]]) -> Subject:
    """Return a playbook with a report about its nodes, for a sweep.

    Args:
        playbook: the name of the playbook.
        name: the name of the report.
        done: the status of a node whose work is done.
        state: returns the state of a server and its node.
    """

    def gave_up(site: Site, run: PlayRun) -> set[str]:
        found = statuses(site, name)
        return {host for host in site.hosts() if host_failed(run, host) or found.get(host) not in (done, "up_to_date")}

    def changed(site: Site, run: PlayRun, host: str) -> list[str]:
        status = statuses(site, name).get(host, "missing")
        return run.changes(host) or ([] if status == "up_to_date" else [f"its status is {status}"])

    return Subject(playbook, state, gave_up, changed)


@contextlib.contextmanager
def observed(
    site: Site, stopped: Callable[[], set[str]], observe: Callable[[set[str], list[Any]], None]
) -> Iterator[None]:
    """Observe the machines and then the cluster's nodes, again and again during a context.

    Args:
        site: the site.
        stopped: returns the hosts that cannot run pods at this moment.
        observe: takes the result of `stopped` and the nodes.
    """
    api, ended = client.CoreV1Api(cluster_api(site)), threading.Event()
    times = 0

    def observe_until_ended() -> None:
        nonlocal times
        while not ended.wait(0.05):
            hosts = stopped()
            observe(hosts, api.list_node().items)
            times += 1

    thread = threading.Thread(target=observe_until_ended)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert times > 20, "looked too rarely"


def cordoned_nodes(nodes: list[Any]) -> set[str]:
    """Return the names of the nodes that accept no pods."""
    return {node.metadata.name for node in nodes if node.spec.unschedulable}
