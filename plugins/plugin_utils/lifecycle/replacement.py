# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which nodes a run replaces, in which order, and how the new machines are named (no I/O).

The rollout alternates between two kinds of batches. In the first kind, new machines join. In the second kind, the old
nodes that they replace leave the cluster. So there are never more than `surge` extra machines.
"""

from __future__ import annotations

import dataclasses
import math
import re
import typing as t

from ...module_utils.replacement_record import NODE_NAME, UNREADABLE
from . import rollout_times
from .rings import ring_of

_SURGE = re.compile(r"[1-9]\d*|(?:[1-9]\d?|100)%")
_SHORT = 15
"""Maximum length of a NetBIOS name. Windows truncates longer computer names to this length."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Replacement:
    """The decision whether a run replaces a node, with the new machine's name and the progress of an earlier run."""

    status: t.Literal["replace", "up_to_date", "not_a_node"]
    host: str
    """Name of the old machine in the inventory."""
    node: str
    """Name of the old machine's node."""
    new: str = ""
    """Name of the new machine and its node; empty if the node is not replaced."""
    begun: bool = False
    """Whether an earlier run has begun to replace the node."""
    old: str = ""
    """What an earlier run did to the old machine: `reset`, `shutdown`, or empty."""
    problem: str = ""
    """Why the node cannot be replaced; empty if it can be."""

    def to_result(self) -> dict[str, t.Any]:
        """Return the fields as a dictionary for an Ansible variable."""
        return dataclasses.asdict(self)


def default_name(node: str, generation: str, former: str) -> str:
    """Return the name of the machine that replaces a node: the node's name with the generation at the end.

    >>> default_name("win1-2026-10", "2026-11", "2026-10")
    'win1-2026-11'

    Args:
        node: name of the old node.
        generation: the new generation.
        former: generation of the old node, with which the node's name may end; empty if the node has no generation.
    """
    base = node.removesuffix(f"-{_in_name(former)}") if former else node
    return f"{base}-{_in_name(generation)}"


def _in_name(generation: str) -> str:
    # Windows does not allow dots in computer names.
    return generation.replace(".", "-")


def plan(
    host: str, node: str, nodes: t.Mapping[str, t.Mapping[str, t.Any]], generation: str, name: str = ""
) -> Replacement:
    """Decide whether to replace the node of a host, and return the decision with the name of the new machine.

    Args:
        host: name of the host in the inventory.
        node: name of the host's node.
        nodes: the cluster's nodes, as cluster_info returns them.
        generation: the generation that all nodes should have.
        name: the name that the user chose for the new machine; empty for the default.
    """
    own = nodes.get(node)
    if own is None:
        return Replacement(status="not_a_node", host=host, node=node)
    record = own.get("replacement") or {}
    if own.get("generation") == generation or (
        not own.get("generation") and _replaces_another(node, nodes, generation)
    ):
        return Replacement(status="up_to_date", host=host, node=node)
    new = name or default_name(node, generation, str(own.get("generation") or ""))
    replaced = Replacement(
        status="replace", host=host, node=node, new=new, begun=bool(record), old=str(record.get("old") or "")
    )
    problem = _record_problem(replaced, record, generation) if record else _name_problem(replaced, nodes)
    if own.get("os") not in ("windows", "", None):
        problem = f"the cluster's node {node} has the operating system {own['os']}, expected windows"
    return dataclasses.replace(replaced, problem=problem)


def _replaces_another(node: str, nodes: t.Mapping[str, t.Mapping[str, t.Any]], generation: str) -> bool:
    """Return whether a node is recorded as the replacement of another node in the given generation."""
    records = [one.get("replacement") or {} for one in nodes.values()]
    return any(one.get("name") == node and one.get("generation") == generation for one in records)


def _record_problem(planned: Replacement, record: t.Mapping[str, t.Any], generation: str) -> str:
    """Return why an unfinished replacement cannot be continued, or an empty string if it can be."""
    name, former = str(record.get("name")), str(record.get("generation"))
    if (name, former) == (planned.new, generation):
        return ""
    where = f"{planned.node}: the annotation winkube.node/replaced-by"
    if UNREADABLE in (name, former):
        return f"{where} cannot be read. Remove it if the node has no new machine yet"
    return (
        f"{where} names the unfinished new machine {name} of generation {former}, expected {planned.new} of generation "
        f"{generation}. To finish that replacement, run the playbook with node_replace_generation={former} (and "
        f"node_replace_name, if you have set it). If {name} no longer exists, remove the annotation"
    )


def _name_problem(planned: Replacement, nodes: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return why the planned name of a new machine cannot be used, or an empty string if it can be."""
    hint = "Set node_replace_name to a template with a different name for each node"
    where = f"{planned.node}: name of the new machine"
    if not NODE_NAME.fullmatch(planned.new):
        return f"{where}: expected at most 63 lower-case letters, digits and hyphens, got {planned.new[:80]!r}. {hint}"
    if planned.new in nodes:
        return (
            f"{where}: the cluster already has a node {planned.new}, which is not recorded as the replacement of "
            f"{planned.node}. {hint}, or remove that node"
        )
    if planned.new[:_SHORT] == planned.node[:_SHORT].lower():
        return (
            f"{where}: expected a name whose first {_SHORT} characters differ from those of {planned.node}, got "
            f"{planned.new}. Windows compares only these characters. {hint}"
        )
    return ""


def shared_names(plans: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """Return each name that is planned for several new machines, with the hosts that these machines would replace.

    Args:
        plans: replacements as `Replacement.to_result` returns them.
    """
    hosts: dict[str, list[str]] = {}
    for one in plans:
        if one.get("new"):
            hosts.setdefault(str(one["new"]), []).append(str(one["host"]))
    return {name: owners for name, owners in hosts.items() if len(owners) > 1}


def is_surge(text: str) -> bool:
    """Return whether a string is a valid surge: an integer of 1 or more, or a percentage from 1% to 100%."""
    return bool(_SURGE.fullmatch(text.strip()))


def surge_size(surge: str, nodes: int) -> int:
    """Return how many new machines may exist in addition to the nodes.

    A percentage is rounded up, like `maxSurge` in a MachineDeployment of Cluster API. Source:
    kubernetes-sigs/cluster-api, api/v1beta1/machinedeployment_types.go.

    Args:
        surge: a number, or a percentage of the nodes that are replaced.
        nodes: number of nodes that are replaced.
    """
    text = surge.strip()
    if text.endswith("%"):
        return max(1, math.ceil(nodes * int(text[:-1]) / 100))
    return max(1, int(text))


class Turns(t.NamedTuple):
    """The order in which a rollout adds new machines and removes old ones."""

    hosts: list[str]
    """Names of all machines, batch by batch. Each batch of new machines is followed by the batch of the old machines
    that they replace."""
    sizes: list[int]
    """Number of machines in each batch."""


def turns(
    plans: t.Sequence[t.Mapping[str, t.Any]], records: t.Mapping[str, t.Mapping[str, t.Any]], surge: str
) -> Turns:
    """Return the order in which a rollout adds new machines and removes old ones.

    Args:
        plans: replacements as `Replacement.to_result` returns them, in the order in which to replace the hosts.
        records: the record of each host (`maintenance.Record`), which contains the host's rollout ring.
        surge: value of node_replace_surge.
    """
    most = surge_size(surge, len(plans))
    hosts: list[str] = []
    sizes: list[int] = []
    first = 0
    for size in rollout_times.batch_sizes([ring_of(records.get(one["host"], {})) for one in plans], str(most)):
        batch = plans[first : first + size]
        if batch:
            hosts += [one["new"] for one in batch] + [one["host"] for one in batch]
            sizes += [len(batch)] * 2
        first += size
    return Turns(hosts, sizes)
