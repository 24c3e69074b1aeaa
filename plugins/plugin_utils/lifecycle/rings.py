# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determines the rollout ring of each node, and the order of the rings (no I/O)."""

from __future__ import annotations

import re
import typing as t

RING_FIELDS = ("ring", "ring_place")
"""The fields of a host's maintenance record that describe the host's ring."""
RingOrder: t.TypeAlias = tuple[int, tuple[tuple[int, int | str], ...]]
"""The sort key of a ring. Two names with the same key denote the same ring."""


def name_order(ring: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key for a ring's name that compares numbers by value, so that ring2 comes before ring10."""
    parts = re.findall(r"\d+|\D+", ring)
    return tuple((0, int(part)) if part.isdecimal() else (1, part.lower()) for part in parts)


def ring_of(record: t.Mapping[str, t.Any]) -> RingOrder:
    """Return the sort key of a host's ring.

    Args:
        record: the host's record (`maintenance.Record`).
    """
    return int(record.get("ring_place", 0)), name_order(str(record.get("ring", "")))


def ring_name(own: str, label: str, labels: t.Mapping[str, str]) -> str:
    """Return the name of a host's ring, or an empty string if the host has none.

    Args:
        own: the ring that the host's variables set; empty if the variables set no ring.
        label: the node label whose value is the ring; empty if there is none.
        labels: the labels of the host's node.
    """
    return own or (str(labels.get(label, "")) if label else "")


def ring_place(ring: str, order: t.Sequence[str], *, by_label: bool) -> int:
    """Return the place of a ring among all rings. Rings with the same place are ordered by name.

    The rings in `order` come first. If a node label determines the ring, nodes without the label come last, because a
    forgotten label must not put a node into the first ring.

    Args:
        ring: the ring's name, as `ring_name` returns it.
        order: names of rings in the order of the rollout. It need not contain all rings.
        by_label: whether a label of the nodes determines their ring.
    """
    listed = [name_order(one) for one in order]
    if name_order(ring) in listed:
        return listed.index(name_order(ring))
    return len(listed) + (1 if by_label and not ring else 0)


def overview(chosen: t.Sequence[t.Mapping[str, t.Any]]) -> list[str]:
    """Return a line for each ring with the names of its hosts, in the order of the rollout.

    The first line lists the hosts that an earlier run left unfinished, if there are any. No lines are returned if the
    other hosts belong to fewer than two rings.

    Args:
        chosen: the records of the hosts to work on, in the order of the rollout. Hosts that an earlier run left
            unfinished come first, regardless of their ring.
    """
    hosts: dict[RingOrder, list[str]] = {}
    names: dict[RingOrder, str] = {}
    for record in (one for one in chosen if not one.get("ours")):
        hosts.setdefault(ring_of(record), []).append(str(record["host"]))
        names.setdefault(ring_of(record), str(record.get("ring") or "no ring"))
    resumed = [str(one["host"]) for one in chosen if one.get("ours")]
    lines = [f"left unfinished by an earlier run: {', '.join(resumed)}"] if resumed else []
    lines += [f"{names[ring]}: {', '.join(members)}" for ring, members in hosts.items()]
    return lines if len(hosts) > 1 else []


def label_problem(label: str, nodes: t.Sequence[t.Mapping[str, str]]) -> str:
    """Return why a label cannot determine the rings, or an empty string if it can.

    Args:
        label: the name of the label; empty if no label determines the rings.
        nodes: the labels of each node.
    """
    if not label or not nodes or any(label in labels for labels in nodes):
        return ""
    return (
        f"node_maintenance_ring_label: expected a label of at least one node of this run, got {label!r}. None of the "
        f"{len(nodes)} nodes has it, so all of them would be in one ring. `kubectl get nodes -L {label}` shows the "
        "values. No node was changed."
    )
