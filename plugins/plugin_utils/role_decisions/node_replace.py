# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_replace role which nodes are replaced, by which machines, and what is recorded on the nodes."""

from __future__ import annotations

import contextlib
import types
import typing as t

from ...module_utils.node_labels import GENERATION_LABEL
from ...module_utils.replacement_record import ANNOTATION, GENERATION, ReplacementRecord
from ..lifecycle import maintenance, new_machine, replacement
from ..lifecycle.maintenance import Stage
from ..lifecycle.rings import RING_FIELDS
from ..node_resources.variables import Variables
from ..values.errors import refusal

_TEMPORARY = ("node_maintenance_", "node_replace_")
"""Prefixes of the names of inventory groups that exist only during the run."""


def variable_problem(values: t.Mapping[str, t.Any], limit: str) -> str:
    """Return why the variables of a replacement cannot be used, or an empty string if they can be used.

    Args:
        values: the variables of the role.
        limit: value of --limit; empty if it is not used.
    """
    generation, surge = str(values["node_replace_generation"]), str(values["node_replace_surge"])
    if limit:
        hint = "Machines that join during the run would be left out. Use -e winkube_hosts=PATTERN instead"
        return refusal("--limit", limit, "expected no limit", hint)
    if not GENERATION.fullmatch(generation):
        hint = "Nodes with another generation, or with none, are replaced"
        form = "at most 30 lower-case letters, digits, - and ., with a letter or digit at both ends"
        expected = f"expected the name of a generation, such as 2026-11 ({form})"
        return refusal("node_replace_generation", generation or None, expected, hint)
    if problem := new_machine.hooks_problem(values, "node_replace"):
        return problem
    if not replacement.is_surge(surge):
        expected = "expected a number of machines, 1 or more, or a percentage such as 25%"
        return refusal("node_replace_surge", surge, expected)
    if values["node_replace_old"] == "none" and not _deletes(values):
        hint = "The kubelet of a machine that keeps running would register its node again"
        hooks = "node_replace_delete_command and node_replace_delete_tasks"
        expected = f"expected reset or shutdown, because {hooks} are empty"
        return refusal("node_replace_old", "none", expected, hint)
    return ""


def _deletes(values: t.Mapping[str, t.Any]) -> bool:
    """Return whether a hook of the user deletes old machines."""
    return bool(values["node_replace_delete_command"] or values["node_replace_delete_tasks"])


_CHECKED = (
    *("node_replace_generation", "node_replace_surge", "node_replace_old"),
    *("node_replace_create_command", "node_replace_create_tasks"),
    *("node_replace_delete_command", "node_replace_delete_tasks"),
)


def _problem(host: Variables) -> str:
    values = {name: host.value(name) for name in _CHECKED}
    problem = variable_problem(values, str(host.optional("ansible_limit") or ""))
    return f"{host.value('inventory_hostname')}: {problem}. No machine was contacted." if problem else ""


def _old_action(host: Variables) -> str:
    """Return the action for the old machine: `reset`, `shutdown` or `none`."""
    chosen = str(host.value("node_replace_old"))
    if chosen != "auto":
        return chosen
    deletes = host.value("node_replace_delete_command") or host.value("node_replace_delete_tasks")
    return "none" if deletes else "reset"


def _plan(host: Variables) -> dict[str, t.Any]:
    plan = replacement.plan(
        str(host.value("inventory_hostname")),
        str(host.value("node_replace_node_name")),
        host.part("node_reset_cluster", "nodes", default={}),
        str(host.value("node_replace_generation")),
        str(host.value("node_replace_name")),
    )
    return {**plan.to_result(), "action": _old_action(host)}


def _is_contacted(host: Variables) -> bool:
    """Return whether the run contacts the old machine to list the items that a reset must remove."""
    plan = host.value("node_replace_plan")
    is_left = plan["status"] == "replace" and not plan["problem"] and not plan["old"]
    return bool(is_left and host.value("node_replace_old_action") == "reset")


def _plan_problem(host: Variables) -> str:
    """Return why the node cannot be replaced, or an empty string if it can be.

    If the run contacts the machine, the node_reset role compares its addresses with the node's. This function does not.
    """
    plan = host.value("node_replace_plan")
    if plan["status"] != "replace" or plan["problem"]:
        return str(plan["problem"])
    shared = replacement.shared_names(_plans(host)).get(str(plan["new"]))
    if shared:
        return (
            f"name of the new machine: expected a different name for each node, got {plan['new']} for "
            f"{', '.join(shared)}. Set node_replace_name to a template such as '{{{{ inventory_hostname }}}}-b'"
        )
    if plan["new"] in host.part("groups", "all", default=()) and not plan["begun"]:
        return f"name of the new machine: expected one that no host of the inventory has, got {plan['new']}"
    return "" if host.value("node_replace_is_contacted") else str(host.value("node_reset_node_problem"))


def _is_resumed(host: Variables) -> bool:
    """Return whether an earlier run has begun to replace the node, or has cordoned it."""
    plan, seen = host.value("node_replace_planned"), host.value("node_maintenance_seen")
    return plan["status"] == "replace" and bool(plan["begun"] or seen.get("ours"))


def _plans(host: Variables) -> list[dict[str, t.Any]]:
    """Return the replacement plan of each host of the play, or an empty mapping for a host without a plan."""
    return [host.of_host(name, "node_replace_planned", default={}) for name in host.value("ansible_play_hosts")]


def _turns(host: Variables) -> dict[str, t.Any]:
    """Return the new `machines`, what each replaces, and the order of the rollout (`hosts`, and `sizes` of batches)."""
    chosen = host.value("node_maintenance_selection")["chosen"]
    plans = [host.of_host(name, "node_replace_planned") for name in chosen]
    records = {one["host"]: one for one in host.value("node_maintenance_records")}
    turns = replacement.turns(plans, records, str(host.value("node_replace_surge")))
    machines = [
        {
            "name": plan["new"],
            "host": plan["host"],
            "node": plan["node"],
            "groups": [
                *(one for one in host.of_host(plan["host"], "group_names") if not str(one).startswith(_TEMPORARY)),
                "node_replace_new",
            ],
        }
        for plan in plans
    ]
    return {"machines": machines, "hosts": turns.hosts, "sizes": turns.sizes}


def _new_record(host: Variables) -> dict[str, t.Any]:
    """Return the maintenance record that a new machine has at the beginning of the rollout."""
    own, node = str(host.value("inventory_hostname")), str(host.value("node_replace_node_name"))
    record = maintenance.begin(own, node, {}, str(host.value("node_maintenance_owner")))
    old = host.of_host(str(host.value("winkube_replaces_host")), "node_maintenance_state", default={})
    shared = {name: old[name] for name in ("ours", *RING_FIELDS) if name in old}
    return {**record, "work": True, "cordoned": False, **shared}


def _machine(host: Variables) -> dict[str, t.Any]:
    """Return the new machine's connection `variables` and the `problem` with the create hook's result; one is empty."""
    own = str(host.value("inventory_hostname"))
    names = [name for name in host.part("groups", "all", default=()) if name != own]
    others = {name: str(host.of_host(name, "ansible_host") or name) for name in names}
    try:
        document = _document(host, own)
        variables = new_machine.connection_variables(document, own, {**others, **_new_addresses(host, own)})
        return {"variables": variables, "problem": ""}
    except new_machine.BadMachine as error:
        return {"variables": {}, "problem": str(error)}


def _document(host: Variables, name: str) -> t.Any:
    """Return the result of the create hook for a new machine of this batch."""
    if host.value("node_replace_hook_create_command"):
        result = host.of_host(name, "node_replace_command_result", default={})
        return new_machine.of_command(result, f"{host.value('node_replace_hook_prefix')}_create_command")
    return host.of_host(name, "node_replace_created", default=None)


def _new_addresses(host: Variables, own: str) -> dict[str, str]:
    """Return the addresses that the create hook returned for all new machines of this batch other than this host.

    The addresses are compared before any host gets its `ansible_host`.
    """
    addresses = {}
    for name in host.value("ansible_play_batch"):
        with contextlib.suppress(new_machine.BadMachine):
            document = _document(host, name) if name != own else None
            if isinstance(document, t.Mapping):
                addresses[str(name)] = str(document.get("address"))
    return addresses


def _records(host: Variables) -> dict[str, t.Any]:
    """Return the annotations that record which of this batch's new machines replaces which old node, by old node."""
    records = {}
    for name in host.value("ansible_play_batch"):
        plan = host.of_host(str(host.of_host(name, "winkube_replaces_host")), "node_replace_planned", default={})
        if plan:
            records[str(plan["node"])] = _annotation(host, str(name), str(plan["old"]))
    return records


def _annotation(host: Variables, new: str, old: str) -> dict[str, t.Any]:
    record = ReplacementRecord(new, str(host.value("node_replace_generation")), old)
    return {"annotations": {ANNOTATION: record.to_text()}}


def _old_records(host: Variables) -> dict[str, t.Any]:
    """Return the annotations to set on old nodes whose machines were reset or will now shut down, by node name."""
    records = {}
    for name in host.value("ansible_play_batch"):
        plan, done = host.of_host(name, "node_replace_planned"), host.of_host(name, "node_replace_old_done")
        if done:
            records[str(plan["node"])] = _annotation(host, str(plan["new"]), str(done))
    return records


def _labels(host: Variables) -> dict[str, t.Any]:
    """Return the generation label to set on each new node of this batch that has joined, by node name."""
    joined = [name for name in host.value("ansible_play_batch") if host.of_host(name, "node_replace_joined")]
    label = {GENERATION_LABEL: str(host.value("node_replace_generation"))}
    return {host.of_host(name, "node_join_info", "node_name"): {"labels": label} for name in joined}


def _nodes_to_delete(host: Variables) -> dict[str, list[str]]:
    """Return the addresses of each old node of this batch that has not been deleted yet, by node name."""
    left = [name for name in host.value("ansible_play_batch") if host.of_host(name, "node_replace_left")]
    return {
        str(host.of_host(name, "node_replace_planned")["node"]): host.of_host(name, "node_replace_addresses")
        for name in left
    }


def _new_is_ready(host: Variables) -> bool:
    new = str(host.part("node_replace_planned", "new", default=""))
    return bool(host.of_host(new, "node_maintenance_state", "stage") == Stage.DONE.value)


def _command_problem(command: str, result: str) -> t.Callable[[Variables], str]:
    """Return a function that returns why a hook's command failed, or an empty string if the command succeeded.

    Args:
        command: name of the hook's variable, without its prefix.
        result: name of the variable with the command's registered result.
    """

    def decide(host: Variables) -> str:
        problem = new_machine.command_problem(host.optional(result, {}))
        return f"{host.value('node_replace_hook_prefix')}_{command} {problem}" if problem else ""

    return decide


def _shutdown_problem(host: Variables) -> str:
    """Return why the old machine was not shut down, or an empty string if this run or an earlier run has shut it down.

    A run records the shutdown before it tells the machine to shut down. So if an earlier run recorded the shutdown, the
    machine is considered off only if its node is no longer Ready.
    """
    result = host.optional("node_replace_shut_down", {})
    if not result.get("unreachable"):
        return ""
    problem = str(result.get("msg", "the machine is unreachable"))
    plan = host.value("node_replace_planned")
    if plan["old"] != "shutdown":
        hint = "If the machine no longer exists, set node_replace_old: none, with a hook that deletes machines"
        return f"{problem}. {hint}"
    if host.part("node_reset_cluster", "nodes", str(plan["node"]), "ready", default=False):
        hint = "If the machine has just been shut down, run the playbook again in a minute"
        return f"{problem}. Its node was still Ready when this run began, so the machine may be running. {hint}"
    return ""


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_replace_problem": _problem,
        "node_replace_old_action": _old_action,
        "node_replace_plan": _plan,
        "node_replace_is_contacted": _is_contacted,
        "node_replace_plan_problem": _plan_problem,
        "node_replace_is_resumed": _is_resumed,
        "node_replace_turns": _turns,
        "node_replace_is_new": lambda host: bool(host.optional("winkube_replaces_host")),
        "node_replace_new_record": _new_record,
        "node_replace_machine": _machine,
        "node_replace_records": _records,
        "node_replace_old_records": _old_records,
        "node_replace_labels": _labels,
        "node_replace_nodes_to_delete": _nodes_to_delete,
        "node_replace_new_is_ready": _new_is_ready,
        "node_replace_verify_problem": _command_problem("verify_command", "node_replace_verify_result"),
        "node_replace_delete_problem": _command_problem("delete_command", "node_replace_delete_result"),
        "node_replace_shutdown_problem": _shutdown_problem,
    }
)
