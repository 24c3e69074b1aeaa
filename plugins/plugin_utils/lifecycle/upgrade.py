# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plans the steps of a node's upgrade from one version of Kubernetes to another, and runs kubeadm for each step.

`kubeadm upgrade node` upgrades the kubelet's configuration to the version of kubeadm itself. It cannot skip a minor
version. Source: kubernetes.io (Upgrading Windows nodes, Version Skew Policy).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..remote.errors import BatchLost, NodeError
from ..remote.protocol import RemoteNode
from ..values.versions import Version
from ..windows import node_paths
from ..wire.calls import action, query
from ..wire.messages import Batch, Call, Input, Json, Observation
from . import kubeadm_failures

STEP = "kubeadm upgrade node"
FOLDER = f"{node_paths.TRUSTED_FOLDER}\\upgrade"
"""The folder that contains one folder for each step, with the kubeadm.exe of the step's version."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpgradePlan:
    """The steps of a node's upgrade from one version of Kubernetes to another."""

    before: str
    """Version of the node's kubelet; empty if unknown."""
    after: str
    steps: tuple[str, ...] = ()
    """The versions of kubeadm to run, in this order; empty if the node already has the version `after`, or cannot be
    upgraded."""
    problem: str = ""
    """Why the node cannot be upgraded; empty if it can be."""

    def to_result(self) -> dict[str, t.Any]:
        """Return the plan as the value of an Ansible variable."""
        return {**dataclasses.asdict(self), "steps": list(self.steps)}


def plan(before: str, after: str, known: t.Iterable[str]) -> UpgradePlan:
    """Return the steps of a node's upgrade, or the problem that prevents the upgrade.

    Args:
        before: version of the node's kubelet, as the cluster reports it.
        after: the version to which the node is upgraded.
        known: releases of Kubernetes that may be used as steps between the two versions.
    """
    before = before.removeprefix("v")
    if not before:
        problem = "the cluster does not show the version of the node's kubelet; expected a kubelet that has reported it"
        return UpgradePlan(before=before, after=after, problem=problem)
    try:
        old, new = Version.parse(before), Version.parse(after)
    except ValueError as error:
        return UpgradePlan(before=before, after=after, problem=f"version of Kubernetes: {error}")
    if old == new:
        return UpgradePlan(before=before, after=after)
    if (new.major, new.minor) < (old.major, old.minor) or new.major != old.major:
        problem = (
            f"kubernetes_node_version (from kube_version): expected a release of {old.minor_version} or a later minor "
            f"version, got {after}. The kubelet is {before}, and Kubernetes supports no downgrade to an older minor "
            "version. Reset the node, and join it again"
        )
        return UpgradePlan(before=before, after=after, problem=problem)
    between = [f"{new.major}.{minor}" for minor in range(old.minor + 1, new.minor)]
    newest = _newest(known)
    if missing := [minor for minor in between if minor not in newest]:
        problem = (
            f"node_upgrade_versions: expected a release of {' and of '.join(missing)}, got "
            f"{', '.join(map(str, newest.values())) or 'none'}. An upgrade from {before} to {after} passes through "
            "every minor version between them. Add the releases to node_upgrade_versions, or to kube_node_versions if "
            "the nodes should keep them in their cache"
        )
        return UpgradePlan(before=before, after=after, problem=problem)
    return UpgradePlan(before=before, after=after, steps=(*(str(newest[minor]) for minor in between), str(new)))


def _newest(known: t.Iterable[str]) -> dict[str, Version]:
    """Return the newest release of each minor version, without prereleases. All versions must be well-formed."""
    newest: dict[str, Version] = {}
    for version in sorted(map(Version.parse, known)):
        if not version.suffix:
            newest[version.minor_version] = version
    return newest


def program(version: str) -> str:
    """Return the path of the kubeadm.exe of a version."""
    return f"{FOLDER}\\{version}\\kubeadm.exe"


def upgrade_node(node: RemoteNode, steps: t.Sequence[str], timeout: float, ends: t.Sequence[str] = ()) -> None:
    """Run `kubeadm upgrade node` with each version of kubeadm, and end the processes whose programs will be replaced.

    kubeadm writes the same files each time it runs, so the batch can be repeated.

    Args:
        node: the node to upgrade.
        steps: the versions of kubeadm to run, in this order.
        timeout: time limit of each run of kubeadm in seconds.
        ends: names of the processes to end. See `calls`.

    Raises:
        NodeError: kubeadm failed, or the kubelet did not stop.
        AnsibleConnectionFailure: the node cannot be reached.
    """
    batch = Batch(calls=calls(steps, timeout, ends))
    try:
        seen = node.run(batch, step=STEP)
    except BatchLost:
        seen = node.run(batch, step=STEP)
    if (why := problem(seen)) is not None:
        raise NodeError(f"{node.name}: {why}")


def calls(steps: t.Sequence[str], timeout: float, ends: t.Sequence[str] = ()) -> tuple[Call, ...]:
    """Return the calls that run `kubeadm upgrade node` with each version of kubeadm.

    Since 1.35, kubeadm names its backup folder after the time in seconds, and fails if the folder exists. If two steps
    run in the same second, the second one fails, so each call has retries.

    Args:
        steps: the versions of kubeadm to run, in this order.
        timeout: time limit of each run of kubeadm in seconds.
        ends: names of the processes to end, such as `kube-proxy`. They run in pods, and their programs are going to be
            replaced: Windows cannot delete the program of a running process. The kubelet stops first, because it would
            start these processes again.
    """
    upgrades = (
        action(
            _call_id(version), program(version), arguments=("upgrade", "node"), timeout=timeout, retries=2, delay=1.5
        )
        for version in steps
    )
    return (*upgrades, *(_end(ends) if ends else ()))


def _end(names: t.Sequence[str]) -> tuple[Call, ...]:
    processes: dict[str, Json] = {"Name": list(names), "ErrorAction": "SilentlyContinue"}
    running = Input(calls=("processes",), parameter="Id", property="Id")
    return (
        action("stop-kubelet", "Stop-Service", {"Name": ["kubelet"], "Force": True}),
        query("processes", "Get-Process", processes, select=("Id",)),
        action("end-processes", "Stop-Process", {"Force": True}, input=running, on_error="continue"),
    )


def _call_id(version: str) -> str:
    return f"upgrade-{version.replace('+', '-')}"


def problem(seen: Observation) -> str | None:
    """Return why a step failed, with kubeadm's output, or None if all steps succeeded."""
    if seen.stopped is None:
        return None
    call_id = seen.stopped.id
    of_kubeadm = call_id.startswith("upgrade-")
    step = f"{STEP} of {call_id.removeprefix('upgrade-')}" if of_kubeadm else call_id
    result = seen.calls.get(call_id)
    if result is None or result.error is None:
        return f"{step}: stopped"
    output = (result.stderr.strip() or result.stdout.strip() or str(result.error))[-2000:]
    return f"{step}: {kubeadm_failures.message(output, result.exit_code) if of_kubeadm else output}"
