# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which containers and pod sandboxes a node's runtime knows: who may own something in HNS. Pure.

Sources: kubernetes-sigs/cri-tools docs/crictl.md; containerd internal/cri/server/
sandbox_run.go (RunPodSandbox takes a lease under the sandbox's id before it makes the namespace and calls CNI, and adds
the sandbox to what crictl lists at its very end); docs.docker.com reference of `docker container ls`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from ...image_stores.containerd import SIZES
from ...wire.messages import Call, CallResult

CRI_ENDPOINT = "npipe:////./pipe/containerd-containerd"
_IDS = re.compile(r"^[0-9a-f]{12,64}$", re.MULTILINE)
_NAMES = re.compile(r"^\S+$", re.MULTILINE)
"""Of containers that the kubelet did not make: whoever made them chose their ids."""
K8S = "k8s.io"
OTHERS = ("default", "moby", "buildkit")
"""Namespaces of containerd that other tools use: ctr and nerdctl, dockerd, buildkitd. Their containers use HNS, too."""
_TIMEOUT = 60.0
_OTHER = "ctr-of:"
_OUTPUT = 16_000_000
"""Characters: a listing that is cut is no listing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Programs:
    """The runtimes' clients on the node: names on the PATH, or paths."""

    crictl: str = "crictl.exe"
    ctr: str = "ctr.exe"
    docker: str = "docker.exe"
    namespaces: tuple[str, ...] = OTHERS
    """Namespaces of containerd beside k8s.io whose containers are asked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Owner:
    """A container, a pod's sandbox, or a sandbox that is being made."""

    id: str
    """In lower case."""
    kind: t.Literal["pod", "container", "creating"]
    """`creating`: it has, or may have, an endpoint that does not name it yet."""
    name: str = ""
    """`namespace/pod` of a pod, the name of a container."""
    running: bool = True
    runtime: str = "containerd"
    """Whose: containerd or docker."""
    namespace: str = K8S
    """Of containerd."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtime:
    """What the runtime said in one look."""

    owners: t.Mapping[str, Owner] = dataclasses.field(default_factory=dict)
    """By id. Complete only if `problem` is empty."""
    names: tuple[str, ...] = ()
    """Runtimes that were asked: containerd, docker."""
    problem: str = ""
    """Why it is not known who lives: then nothing is stale."""
    leases_tell: bool = False
    """Whether this containerd keeps a lease for each sandbox, so that one that is being made is known."""

    def find(self, claimed: str) -> Owner | None:
        """The owner with an id, or whose id begins so (HNS and azure-cni keep 12 and 8 characters)."""
        claimed = claimed.lower()
        if claimed in self.owners or len(claimed) < 8:
            return self.owners.get(claimed)
        alike = self._beginnings.get(claimed[:8], ())
        return next((owner for owner in alike if owner.id.startswith(claimed) or claimed.startswith(owner.id)), None)

    @functools.cached_property
    def _beginnings(self) -> t.Mapping[str, t.Sequence[Owner]]:
        """Owners by the first eight characters of their ids."""
        known: dict[str, list[Owner]] = {}
        for identity, owner in self.owners.items():
            known.setdefault(identity[:8], []).append(owner)
        return known


def calls(prefix: str, programs: Programs) -> tuple[Call, ...]:
    """One listing of each kind; a runtime that is not there answers with an error."""
    cri = ("--runtime-endpoint", CRI_ENDPOINT)
    asked = {
        "pods": (programs.crictl, (*cri, "pods", "--output", "json")),
        "containers": (programs.crictl, (*cri, "ps", "--all", "--quiet", "--no-trunc")),
        "ctr": (programs.ctr, ("--namespace", K8S, "containers", "list", "--quiet")),
        "leases": (programs.ctr, ("--namespace", K8S, "leases", "list", "--quiet")),
        "ctr-namespaces": (programs.ctr, ("namespaces", "list", "--quiet")),
        **{
            f"{_OTHER}{name}": (programs.ctr, ("--namespace", name, "containers", "list", "--quiet"))
            for name in programs.namespaces
            if name != K8S
        },
        "docker": (programs.docker, ("ps", "--all", "--no-trunc", "--format", "{{json .}}")),
    }
    return tuple(
        Call(
            id=prefix + name,
            command=command,
            arguments=arguments,
            timeout=_TIMEOUT,
            output_limit=_OUTPUT,
            on_error="continue",
            # A containerd that hangs costs its time once, not once more for each namespace.
            needs=(f"{prefix}ctr-namespaces",) if name.startswith(_OTHER) else (),
        )
        for name, (command, arguments) in asked.items()
    )


def read(seen: t.Mapping[str, CallResult], prefix: str, installed: t.Collection[str]) -> Runtime:
    """Reads the answers to `calls`.

    Args:
        seen: results by call id.
        prefix: as given to `calls`.
        installed: which of containerd and docker have a service that may run on this node.
    """
    answers = {name.removeprefix(prefix): result for name, result in seen.items() if name.startswith(prefix)}
    if not installed:
        return Runtime(problem="there is no service containerd or docker to ask")
    owners: dict[str, Owner] = {}
    problems: list[str] = []
    leases_tell = True
    if "containerd" in installed:
        leases_tell = _read_containerd(answers, owners, problems)
    if "docker" in installed:
        _read_docker(answers.get("docker"), owners, problems)
    return Runtime(
        owners=owners,
        names=tuple(sorted(installed)),
        problem="; ".join(problems),
        leases_tell=leases_tell,
    )


def _missing(result: CallResult | None) -> bool:
    """Whether a program is not there, which is different from one that fails."""
    return result is None or (result.error is not None and result.error.id.startswith("CommandNotFound"))


def _why(name: str, result: CallResult) -> str:
    said = (result.stderr or result.stdout).strip().splitlines()[-1:]
    return f"{name}: {said[0] if said else result.error}"


def _read_containerd(answers: t.Mapping[str, CallResult], owners: dict[str, Owner], problems: list[str]) -> bool:
    """Adds what crictl and ctr list; each alone is enough, but one that fails is a problem.

    Returns:
        Whether leases tell of sandboxes that are being made.
    """
    named = {"pods": "crictl pods", "containers": "crictl ps", "ctr": "ctr containers list"}
    there = {name: answers[name] for name in named if not _missing(answers.get(name))}
    problems += [_why(named[name], result) for name, result in there.items() if not result.ok]
    if not there:
        problems.append("neither crictl nor ctr is on the node's PATH")
    for name, result in there.items():
        if not result.ok or name == "pods":
            continue
        for identity in _IDS.findall(result.stdout):
            owners[identity] = Owner(id=identity, kind="container")
    _read_others(answers, owners, problems)
    pods: list[Owner] = []
    if "pods" in there and there["pods"].ok:
        try:
            pods = [_sandbox(item) for item in json.loads(there["pods"].stdout or "{}").get("items") or ()]
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            problems.append(f"crictl pods: its answer cannot be read: {error!r}")
    owners.update((pod.id, pod) for pod in pods)
    leases = answers.get("leases")
    held = set(_IDS.findall(leases.stdout)) if leases is not None and leases.ok else set()
    for identity in held - owners.keys():
        owners[identity] = Owner(id=identity, kind="creating")
    return bool(held & {owner.id for owner in owners.values() if owner.kind != "creating"})


def _read_others(answers: t.Mapping[str, CallResult], owners: dict[str, Owner], problems: list[str]) -> None:
    """Adds the containers of containerd's other namespaces: nobody's endpoint is stale for not being the kubelet's."""
    asked = {name.removeprefix(_OTHER): answer for name, answer in answers.items() if name.startswith(_OTHER)}
    for namespace, answer in asked.items():
        if _missing(answer) or answer.skipped:
            # Why is told of the list of namespaces, which comes first.
            continue
        if not answer.ok:
            problems.append(_why(f"ctr --namespace {namespace} containers list", answer))
        for identity in _NAMES.findall(answer.stdout) if answer.ok else ():
            name = f"{namespace}/{identity[:12]}"
            owners[identity.lower()] = Owner(id=identity.lower(), kind="container", name=name, namespace=namespace)
    listed = answers.get("ctr-namespaces")
    if listed is None or _missing(listed):
        return
    if not listed.ok:
        problems.append(_why("ctr namespaces list", listed))
        return
    # The collection's own namespace has no containers to ask for.
    unknown = sorted(set(_NAMES.findall(listed.stdout)) - {K8S, SIZES, *asked})
    if unknown:
        problems.append(
            f"containerd has namespaces that were not asked for: {', '.join(unknown)} (containerd_namespaces)"
        )


def _sandbox(item: t.Mapping[str, t.Any]) -> Owner:
    about = item.get("metadata") or {}
    return Owner(
        id=str(item["id"]).lower(),
        kind="pod",
        name=f"{about.get('namespace', '')}/{about.get('name', '')}",
        running=item.get("state") == "SANDBOX_READY",
    )


def _read_docker(result: CallResult | None, owners: dict[str, Owner], problems: list[str]) -> None:
    if result is None or not result.ok:
        problems.append("docker was not asked" if result is None else _why("docker ps", result))
        return
    for line in filter(None, map(str.strip, result.stdout.splitlines())):
        try:
            item = json.loads(line)
            identity, name = str(item["ID"]).lower(), str(item.get("Names") or "")
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"docker ps: its answer cannot be read: {error!r}")
            return
        # The kubelet named its containers k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT (kubernetes pkg/kubelet/dockershim).
        parts = name.split("_")
        pod = parts[0] == "k8s" and len(parts) >= 4
        state = str(item.get("State") or "running").lower()
        owners[identity] = Owner(
            id=identity,
            kind="creating" if state in ("created", "restarting") else "container",
            name=f"{parts[3]}/{parts[2]}" if pod else name,
            running=state not in ("exited", "dead"),
            runtime="docker",
        )
