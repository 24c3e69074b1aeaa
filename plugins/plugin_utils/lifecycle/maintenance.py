# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Track the stages of a node's maintenance, and choose the hosts that a rollout works on (no I/O).

The node_maintenance role keeps one record per host, as a fact. The record of a host that is not a node is empty.
"""

from __future__ import annotations

import enum
import typing as t

from ..values.errors import refusal
from .rings import ring_of

Record: t.TypeAlias = t.Mapping[str, t.Any]
"""A host's maintenance record, with `host`, `node`, `stage` and other keys (roles/node_maintenance/vars/main.yml)."""


class Stage(enum.Enum):
    """The stage that a node's maintenance has reached."""

    WAITING = "waiting"
    """It is not yet the node's turn."""
    BEGUN = "begun"
    """The node is being drained or worked on."""
    WORKED = "worked"
    """The work on the node is done, but the node might not be ready yet."""
    READY = "ready"
    """The node can be uncordoned."""
    DONE = "done"
    """The node is back in service."""
    FAILED = "failed"
    """A step failed. A node that was drained stays cordoned."""


_NEXT = {
    Stage.WAITING: {Stage.WAITING, Stage.BEGUN, Stage.FAILED},
    Stage.BEGUN: {Stage.WORKED, Stage.FAILED},
    Stage.WORKED: {Stage.READY, Stage.FAILED},
    Stage.READY: {Stage.DONE, Stage.FAILED},
    # A playbook may have tasks of its own after `restore`.
    Stage.DONE: {Stage.FAILED},
    Stage.FAILED: {Stage.FAILED},
}
"""The stages that may follow each stage. A host can fail twice: when it is selected, and in a rescue section."""


def begin(host: str, node: str, cluster_node: Record, owner: str, label: str = "") -> dict[str, t.Any]:
    """Return the maintenance record of a node at the beginning of a run.

    Args:
        host: name of the host in the inventory.
        node: name of the host's node.
        cluster_node: the node as cluster_info returned it; empty if the cluster has not been queried yet.
        owner: the owner that the node_maintenance role records when it cordons a node.
        label: the label that determines the node's ring; empty if there is none.
    """
    record = {"host": host, "node": node, "stage": Stage.WAITING.value}
    if not cluster_node:
        return record
    cordoned = bool(cluster_node["unschedulable"])
    seen = {"ours": cordoned and cluster_node["cordon_owner"] == owner, "cordoned_before": cordoned}
    labels = {name: value for name, value in cluster_node["labels"].items() if name == label} if label else None
    return {**record, "seen": seen if labels is None else {**seen, "labels": labels}}


def advance(record: Record, stage: str, now: float, **values: t.Any) -> dict[str, t.Any]:
    """Return a node's maintenance record, advanced to the given stage.

    Args:
        record: the record so far.
        stage: value of the Stage that the node has reached.
        now: the current time, in seconds since the epoch. It is recorded as `started` when the node reaches the stage
            BEGUN, and as `finished` at the end of the node's turn.
        values: other fields of the record to set.

    Raises:
        ValueError: the stage is unknown, or cannot follow the record's stage.
    """
    where = f"stage of {record.get('node') or 'a host that is not a node'}"
    before = Stage(record.get("stage", Stage.WAITING.value))
    after = next((one for one in Stage if one.value == stage), None)
    if after is None or after not in _NEXT[before]:
        following = " or ".join(one.value for one in Stage if one in _NEXT[before])
        raise ValueError(refusal(where, stage, f"expected {following} after {before.value}"))
    stamp = {}
    if after is Stage.BEGUN:
        stamp["started"] = now
    elif after in (Stage.DONE, Stage.FAILED) and "started" in record:
        stamp["finished"] = now
    return {**record, **values, **stamp, "stage": after.value}


class RolloutHosts(t.NamedTuple):
    """The hosts of a rollout. Each list contains names of hosts in the inventory."""

    chosen: list[str]
    """Hosts to work on, in the order of their turns."""
    failed: list[str]
    """Hosts whose record shows that they failed."""
    refused: list[str]
    """Hosts that cannot be worked on, because they have failed or are no longer in the play."""


def select(records: t.Sequence[Record], play_hosts: t.Container[str]) -> RolloutHosts:
    """Return the hosts that a rollout works on, and those that it cannot work on.

    Nodes on which an earlier run left its work unfinished come first: they might still be cordoned, and `serial` limits
    how many nodes are out of service at a time. The other nodes follow ring by ring.

    Args:
        records: records of all hosts of the play, in the play's order; empty for hosts that are not nodes.
        play_hosts: the hosts of the play that have not failed.
    """
    nodes = [record for record in records if record]
    waiting = [one for one in nodes if one["stage"] == Stage.WAITING.value and one["host"] in play_hosts]
    waiting.sort(key=ring_of)
    resumed = [one["host"] for one in waiting if one.get("ours")]
    fresh = [one["host"] for one in waiting if one.get("work") and not one.get("ours")]
    failed = [one["host"] for one in nodes if one["stage"] == Stage.FAILED.value]
    lost = [one["host"] for one in nodes if one["host"] not in play_hosts]
    return RolloutHosts(resumed + fresh, failed, list(dict.fromkeys(failed + lost)))


def of_rebooted(drained: t.Mapping[str, Record], records: t.Sequence[Record]) -> dict[str, Record]:
    """Return those entries of `drained` whose nodes have been rebooted.

    Args:
        drained: `nodes` from the result of nodes_drain: what the cluster reported about each node before the reboot.
        records: the maintenance records of the hosts in the current batch of the rollout.
    """
    rebooted = {record["node"] for record in records if record.get("rebooted")}
    return {name: report for name, report in drained.items() if name in rebooted}
