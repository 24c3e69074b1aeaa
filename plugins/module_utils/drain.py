# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Drain several nodes at the same time: cordon them, evict their pods, and wait until the pods have stopped.

The caller passes the objects that do I/O.

The kubernetes.core.k8s_drain module is not used, for four reasons. It gives up if a PodDisruptionBudget prevents an
eviction, and does not name the budget (ansible-collections/kubernetes.core#797). It evicts pods of DaemonSets that have
an emptyDir volume (#622). It only warns if pods are left after its timeout. It does not record who cordoned the node.
"""

from __future__ import annotations

import typing as t

from .api_error import ApiError
from .cordon import Cordon, CordonMark, cordon_patch, read_cordon
from .pods import Pod, SortedPods, container_ids, covering, host_process_sets, is_being_deleted, pod_name, sort_pods

CONFLICTS = 5
"""Maximum number of attempts to patch a node. An attempt fails if the node has changed since it was read."""


class Api(t.Protocol):
    """The API requests that are needed to drain nodes. Every method raises ApiError if its request fails."""

    def node(self, name: str) -> t.Mapping[str, t.Any] | None:
        """Return a node as the API returns it, or None if it does not exist."""

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        """Change a node with a strategic merge patch."""

    def pods(self, node: str) -> list[Pod]:
        """Return the pods that are bound to a node."""

    def evict(self, pod: Pod, grace_period: int | None) -> None:
        """Ask the API server to evict a pod. A PodDisruptionBudget may prevent the eviction."""

    def budgets(self, namespace: str) -> list[t.Mapping[str, t.Any]]:
        """Return the PodDisruptionBudgets of a namespace."""


class DrainOptions(t.NamedTuple):
    """Options for draining nodes."""

    mark: CordonMark
    """The content of the annotation to write on each node that is cordoned."""
    timeout: float
    """Time limit in seconds for draining all nodes; 0 means no limit."""
    force: bool = False
    delete_emptydir_data: bool = False
    grace_period: int | None = None
    """Seconds that each pod is given to stop, or None for the pod's own grace period."""
    dry: bool = False
    """Whether to report what would be done without changing anything."""
    retry: float = 2.0
    """Seconds until a rejected eviction is tried again, unless the API server asks for a longer time."""


class NodeDrain:
    """Drains one node.

    Args:
        api: sends the API requests.
        name: name of the node.
        options: options of the drain.
    """

    def __init__(self, api: Api, name: str, options: DrainOptions) -> None:
        self._api, self.name, self._options = api, name, options
        self._begun = False
        self._ready = True
        self._blocked: dict[str, str] = {}
        self._due: dict[str, float] = {}
        self._left: list[Pod] = []
        self._last_error = ""
        self.result: dict[str, t.Any] = {
            "status": "",
            "msg": "",
            "changed": False,
            "cordoned_before": False,
            "cordoned_by": "",
            "ours": False,
            "evicted": [],
            "ignored": {},
            "labels": {},
            "boot_id": "",
            "host_process": {},
        }

    @property
    def done(self) -> bool:
        """Whether the drain has ended."""
        return bool(self.result["status"])

    def step(self, now: float) -> None:
        """Take one step of the drain.

        The first step cordons the node, and later steps evict the pods that can be evicted.

        Args:
            now: time of a monotonic clock, in seconds.
        """
        try:
            if self._begun:
                self._evict(now)
            else:
                self._begin()
            self._last_error = ""
        except ApiError as error:
            if not error.is_temporary:
                self._end("failed", str(error))
            self._last_error = str(error)

    def give_up(self, seconds: float) -> None:
        """End the drain because its time limit has been reached, and report which pods remain.

        Args:
            seconds: the time limit.
        """
        reasons = [f"pod {name}: {why}" for name, why in self._blocked.items()]
        stopping = sorted(pod_name(pod) for pod in self._left if is_being_deleted(pod))
        reasons += [f"pod {name}: it is still stopping" for name in stopping]
        reasons += [self._last_error] if self._last_error else []
        self._end("timeout", f"not drained after {seconds:.0f} seconds: {'; '.join(reasons) or 'pods remain'}")

    def _end(self, status: str, message: str = "") -> None:
        self.result.update(status=status, msg=f"{self.name}: {message}" if message else "")

    def _begin(self) -> None:
        """Read the node, and cordon it unless it has pods that must not be evicted."""
        node = self._api.node(self.name)
        if node is None:
            self._end("failed", "the cluster has no node of this name")
            return
        cordon = read_cordon(node)
        self._ready = _is_ready(node)
        pods = self._api.pods(self.name)
        sets = host_process_sets(pods)
        self.result.update(
            cordoned_before=cordon.unschedulable,
            cordoned_by=_cordoned_by(cordon),
            ours=cordon.is_of(self._options.mark.by),
            labels=dict(node["metadata"].get("labels") or {}),
            boot_id=((node.get("status") or {}).get("nodeInfo") or {}).get("bootID") or "",
            host_process={name: container_ids(members) for name, members in sets.items()},
        )
        # Check this before the cordon, so that a node that cannot be drained stays unchanged.
        if self._sort(pods).refused:
            return
        if self._options.dry:
            self.result["changed"] = not cordon.unschedulable
            self._end("checked")
            return
        self._cordon(node)
        self._begun = True

    def _cordon(self, node: t.Mapping[str, t.Any]) -> None:
        for attempt in range(CONFLICTS):
            patch = cordon_patch(node, self._options.mark)
            if patch is None:
                # The node is already cordoned. Whoever cordoned it will uncordon it.
                return
            try:
                self._api.patch_node(self.name, patch)
            except ApiError as error:
                if error.status != 409 or attempt == CONFLICTS - 1:
                    raise
                node = self._api.node(self.name) or node
            else:
                self.result.update(changed=True, ours=True, cordoned_by=str(self._options.mark))
                return

    def _sort(self, pods: list[Pod]) -> SortedPods:
        options = self._options
        sorted_pods = sort_pods(pods, force=options.force, delete_emptydir_data=options.delete_emptydir_data)
        self.result["ignored"] = sorted_pods.ignored
        if sorted_pods.refused:
            text = "; ".join(f"pod {name}: {why}" for name, why in sorted_pods.refused.items())
            self._end("refused", f"nothing was evicted: {text}" if not self.result["evicted"] else text)
        return sorted_pods

    def _evict(self, now: float) -> None:
        sorted_pods = self._sort(self._api.pods(self.name))
        if self.done:
            return
        self._left = sorted_pods.evict
        names = {pod_name(pod) for pod in sorted_pods.evict}
        self._blocked = {name: why for name, why in self._blocked.items() if name in names}
        if not sorted_pods.evict:
            self._end("drained")
            return
        if not self._ready and all(is_being_deleted(pod) for pod in sorted_pods.evict):
            # Only the kubelet could stop these pods, and it does not respond. The run may be meant to repair the node.
            abandoned = {
                pod_name(pod): "its deletion was requested, but the node is not Ready" for pod in sorted_pods.evict
            }
            self.result["ignored"] = {**sorted_pods.ignored, **abandoned}
            self._end("drained")
            return
        for pod in sorted_pods.evict:
            name = pod_name(pod)
            if not is_being_deleted(pod) and now >= self._due.get(name, 0.0):
                self._evict_one(pod, name, now)
                if self.done:
                    return

    def _evict_one(self, pod: Pod, name: str, now: float) -> None:
        try:
            self._api.evict(pod, self._options.grace_period)
        except ApiError as error:
            budgets = self._budgets(pod) if error.status in (429, 500) else []
            if len(budgets) > 1:
                # A pod with several budgets can never be evicted (kubernetes.io: Safely Drain a Node): do not retry.
                why = f"PodDisruptionBudgets {', '.join(budgets)} select it, but the Eviction API supports only one"
                self._end("failed", f"pod {name}: {why}")
                return
            if not error.is_temporary:
                self._end("failed", f"pod {name} cannot be evicted: {error}")
                return
            self._blocked[name] = _reason(error, budgets)
            self._due[name] = now + max(self._options.retry, error.retry_after)
        else:
            self._blocked.pop(name, None)
            self.result["changed"] = True
            self.result["evicted"].append(name)

    def _budgets(self, pod: Pod) -> list[str]:
        """Return the names of the PodDisruptionBudgets that select a pod, or an empty list if they cannot be read."""
        try:
            return covering(self._api.budgets(pod["metadata"]["namespace"]), pod)
        except ApiError:
            return []


def drain(
    api: Api,
    names: t.Sequence[str],
    options: DrainOptions,
    *,
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
    poll: float = 1.0,
) -> dict[str, dict[str, t.Any]]:
    """Drain several nodes at the same time.

    Args:
        api: sends the API requests.
        names: names of the nodes.
        options: options for draining nodes.
        clock: returns the time of a monotonic clock, in seconds.
        sleep: waits for a number of seconds.
        poll: seconds between two polls.

    Returns:
        A mapping from each node's name to its result. The result contains the `status` (drained, checked, refused,
        timeout or failed), the message `msg`, the `evicted` and `ignored` pods, and the other keys of
        `NodeDrain.result`.
    """
    nodes = [NodeDrain(api, name, options) for name in dict.fromkeys(names)]
    begin = clock()
    # The first steps cordon the nodes before any eviction, so that no pod moves to a node that is drained next.
    for node in nodes:
        node.step(begin)
    while waiting := [node for node in nodes if not node.done]:
        for node in waiting:
            node.step(clock())
        if all(node.done for node in waiting):
            break
        if options.timeout and clock() - begin >= options.timeout:
            for node in waiting:
                if not node.done:
                    node.give_up(options.timeout)
            break
        sleep(poll)
    return {node.name: node.result for node in nodes}


def _is_ready(node: t.Mapping[str, t.Any]) -> bool:
    """Return whether a node counts as Ready. A node without a Ready condition does, because it runs no pods."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return all(one.get("status") == "True" for one in conditions if one.get("type") == "Ready")


def _cordoned_by(cordon: Cordon) -> str:
    if not cordon.unschedulable:
        return ""
    return str(cordon.mark) if cordon.mark else "another client"


def _reason(error: ApiError, budgets: t.Sequence[str]) -> str:
    """Return why an eviction was rejected, with the name of the PodDisruptionBudget if it is known."""
    message = error.causes.get("DisruptionBudget")
    if message is None:
        return str(error)
    budget = f"PodDisruptionBudget {budgets[0]}" if budgets else "its PodDisruptionBudget"
    return f"{budget} allows no eviction ({message})"
