# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record the outcome of a cleanup, and turn it into the module's result."""

from __future__ import annotations

import dataclasses
import typing as t

from ..facts.node_facts import HnsFacts
from .batch_result import BatchResult
from .plan import CleanupPlan, KeptObject, Removal

_COUNTS = {
    "HnsPolicyList": "policy_lists",
    "HnsEndpoint": "endpoints",
    "HnsNamespace": "namespaces",
    "HnsNetwork": "networks",
    "Container": "containers",
    "File": "files",
    "Route": "routes",
}
_COUNT_NAMES = {name: count.replace("_", " ") for name, count in _COUNTS.items()}


def silent(dummy: str) -> None:
    """Discard a progress message."""


@dataclasses.dataclass(kw_only=True)
class CleanupOutcome:
    """What a cleanup planned, removed, kept and repaired, over all of its rounds."""

    scope: str
    planned: tuple[Removal, ...] = ()
    """The removals of the last plan."""
    plan: CleanupPlan = dataclasses.field(default_factory=CleanupPlan)
    removed: list[Removal] = dataclasses.field(default_factory=list)
    changes: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    """Repairs that were made in addition to the removals."""
    kept: tuple[KeptObject, ...] = ()
    steps: list[dict[str, str]] = dataclasses.field(default_factory=list)
    failures: tuple[str, ...] = ()
    warnings: list[str] = dataclasses.field(default_factory=list)
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    """Maps each object's id to its details in the diff: the address and network of an endpoint, or the type and subnets
    of a network."""
    static_adapters: tuple[str, ...] = ()
    """Names of the physical adapters that had static addresses before the cleanup."""
    rebooted: bool = False
    restarted: bool = False
    notify: t.Callable[[str], object] = silent
    """The function to call at each step to show progress, because some steps take minutes."""

    def step(self, name: str, result: str) -> None:
        """Record one step and show it as progress."""
        self.steps.append({"step": name, "result": result})
        self.notify(f"{name}: {result}")

    def plan_made(self, plan: CleanupPlan, facts: HnsFacts) -> None:
        """Record what a plan removes and keeps."""
        self.plan, self.planned, self.kept, self.failures = plan, plan.items, plan.kept, ()
        # A later round may find an adapter that has lost its address in the meantime.
        names = (uplink.alias for uplink in (*plan.uplinks, *facts.adapters.uplinks))
        self.static_adapters = tuple(dict.fromkeys((*self.static_adapters, *names)))
        for endpoint in plan.endpoints:
            self.details[endpoint.id] = f"{endpoint.address} on {endpoint.network_name or endpoint.network}"
        for network in plan.networks:
            self.details[network.id] = f"{network.type} {', '.join(network.subnets)}".strip()
        step = {"step": "observe", "result": f"{self._counted(plan.items) or 'nothing'} to remove"}
        if step not in self.steps:
            self.steps.append(step)
            if not plan.empty:
                self.notify(f"observe: {step['result']}")
        if facts.last.runtime.problem and self.scope == "stale":
            self.warnings.append(f"nothing counts as stale: {facts.last.runtime.problem}")

    def batch_done(self, plan: CleanupPlan, done: BatchResult) -> None:
        """Record the objects that a batch removed, the settings that it restored, and its failures."""
        known = {item.id for item in self.removed}
        self.removed += [item for item in done.items if item.id not in known]
        self.failures = done.failures
        self.warnings += [text for text in done.warnings if text not in self.warnings]
        for name, seconds in done.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if plan.stop:
            self.step("stop services", ", ".join(plan.stop))
        self.step("remove", self._counted(done.items) or "nothing")
        for text in done.restored:
            self.step("restore static address", text)
        if done.started:
            self.step("start services", ", ".join(done.started))
        for text in plan.repair:
            name = text.removeprefix("service ").split(" ", 1)[0]
            kind = "Service" if text.startswith("service ") else "Uplink"
            self.changes.append({"type": kind, "name": name, "why": text, "action": "update", "seconds": 0.0})
        for text in done.restored if not plan.repair else ():
            name, dummy, what = text.partition(": ")
            why = f"was reset to DHCP by the removal: {what}"
            self.changes.append({"type": "Uplink", "name": name, "why": why, "action": "update", "seconds": 0.0})

    def intent(self, removes: bool) -> str:
        """Return the running batch's task, such as `remove 2 networks, start kubelet`, for messages.

        Args:
            removes: whether the batch removes objects. Otherwise it restarts HNS.
        """
        if not removes:
            return "restart HNS"
        parts = [f"stop {', '.join(self.plan.stop)}" if self.plan.stop else "", self._counted(self.planned, "remove ")]
        parts.append(f"start {', '.join(self.plan.start)}" if self.plan.start else "")
        return ", ".join(part for part in parts if part) or "repair what an earlier cleanup left"

    def last_known_progress(self, removes: bool) -> str:
        """Return what is known about a batch that reported no progress before the connection was lost."""
        text = "it has not reported any progress"
        if not removes or not any(network.external for network in self.plan.networks):
            return text
        before = [item for item in self.planned if item.type not in ("HnsNetwork", "File", "Route")]
        parts = [f"stopped {', '.join(self.plan.stop)}" if self.plan.stop else "", self._counted(before, "removed ")]
        done = ", ".join(part for part in parts if part) or "done nothing"
        return f"{text}; if the removal of a network broke the connection, the batch had by then {done}"

    @staticmethod
    def _counted(items: t.Iterable[Removal], before: str = "") -> str:
        counts: dict[str, int] = {}
        for item in items:
            counts[item.type] = counts.get(item.type, 0) + 1
        parts = (
            f"{count} {_COUNT_NAMES[name] if count > 1 else _COUNT_NAMES[name][:-1]}" for name, count in counts.items()
        )
        return before * bool(counts) + ", ".join(parts)

    def to_result(self, *, name: str, diff: bool, check_mode: bool, remote_commands: int) -> dict[str, t.Any]:
        """Return the module's result.

        Args:
            name: the node's name.
            diff: whether the result contains a diff with all objects.
            check_mode: whether the run was in check mode.
            remote_commands: number of commands that were sent to the node.
        """
        items = list(self.planned) if check_mode else self.removed
        repairs = [
            {"type": "Node", "name": name, "why": text, "action": "update", "seconds": 0.0} for text in self.plan.repair
        ]
        counts = dict.fromkeys(_COUNTS.values(), 0)
        for item in items:
            counts[_COUNTS[item.type]] += 1
        changes = [self._change(item, items) for item in items] + (repairs if check_mode else self.changes)
        result: dict[str, t.Any] = {
            "scope": self.scope,
            "changed": bool(changes) or self.rebooted or self.restarted,
            "changes": changes,
            "counts": counts,
            "kept": [dataclasses.asdict(kept) for kept in self.kept],
            "steps": self.steps,
            "static_adapters": list(self.static_adapters),
            "rebooted": self.rebooted,
            "remote_commands": remote_commands,
        }
        if diff:
            result["diff"] = self._diff(items)
        if self.warnings:
            result["warnings"] = [text if text.startswith(name) else f"{name}: {text}" for text in self.warnings]
        if self.failures and not check_mode:
            result["failed"] = True
            result["msg"] = "\n".join(f"{name}: hns_cleanup {self.scope}: {text}" for text in self.failures)
        return result

    def _change(self, item: Removal, items: t.Sequence[Removal]) -> dict[str, t.Any]:
        alike = sum(1 for other in items if other.type == item.type)
        return {
            "type": item.type,
            "name": item.name,
            "id": item.id,
            "why": item.why,
            "action": "remove",
            # Objects of a type are removed together, so each gets an equal share of the duration.
            "seconds": round(self.seconds.get(item.type, 0.0) / alike, 3),
        }

    def _diff(self, items: t.Sequence[Removal]) -> list[dict[str, str]]:
        """Return the diff: a block for each object type with a line for each object, including kept objects."""
        blocks: dict[str, tuple[list[str], list[str]]] = {}
        for item in items:
            about = " ".join(filter(None, (self.details.get(item.id, ""), f"({item.why})")))
            identity = f"{item.id} " if item.id != item.name else ""
            blocks.setdefault(item.type, ([], []))[0].append(f"{identity}{item.name} {about}\n")
        for kept in self.kept:
            line = f"{kept.name} kept: {kept.why}\n"
            for side in blocks.setdefault(kept.type, ([], [])):
                side.append(line)
        if self.plan.stop:
            again = [f"{name} running, stopped during the cleanup\n" for name in self.plan.start]
            blocks["Service"] = ([f"{name} running\n" for name in self.plan.start], again)
        if self.plan.repair:
            blocks["Left by an earlier cleanup"] = ([f"{text}\n" for text in self.plan.repair], [])
        return [
            {"before_header": name, "after_header": name, "before": "".join(before), "after": "".join(after)}
            for name, (before, after) in blocks.items()
        ]
