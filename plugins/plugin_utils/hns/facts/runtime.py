# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""List a node's containers and pod sandboxes, which can own HNS objects: the calls and their results (no I/O).

Sources: kubernetes-sigs/cri-tools docs/crictl.md; containerd internal/cri/server/
sandbox_run.go (RunPodSandbox takes a lease under the sandbox's id before it creates the namespace and calls the CNI
plugin, but crictl lists the sandbox only at the very end); docs.docker.com reference of `docker container ls`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from ...image_stores.containerd import SIZES
from ...windows.node_paths import CONTAINERD_PIPE
from ...wire.calls import query
from ...wire.messages import Call, CallResult
from ...wire.scopes import Scope

_IDS = re.compile(r"^[0-9a-f]{12,64}$", re.MULTILINE)
_NAMES = re.compile(r"^\S+$", re.MULTILINE)
"""Matches namespace names and container ids. Tools other than the kubelet may choose ids that are not hexadecimal."""
K8S = "k8s.io"
OTHERS = ("default", "moby", "buildkit")
"""The containerd namespaces of ctr and nerdctl, of dockerd, and of buildkitd. Their containers also use HNS."""
_TIMEOUT = 60.0
_OTHER = Scope("ctr-of:")
_OUTPUT = 16_000_000
"""Maximum length of a listing in characters; large enough that no listing is truncated."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Programs:
    """The command-line clients of the container runtimes, each given as a name on the PATH or as a path."""

    crictl: str = "crictl.exe"
    ctr: str = "ctr.exe"
    docker: str = "docker.exe"
    namespaces: tuple[str, ...] = OTHERS
    """Containerd namespaces to query in addition to k8s.io."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Owner:
    """A container or a pod sandbox, perhaps one that is being created."""

    id: str
    """Id in lower case."""
    kind: t.Literal["pod", "container", "creating"]
    """`creating`: a container or sandbox that is being created. HNS may already list its endpoint without yet
    reporting the endpoint's owner."""
    name: str = ""
    """For a pod or a pod's container in Docker: `namespace/pod`. For other containers: the name in Docker, or the
    containerd namespace and the id. Empty if unknown."""
    running: bool = True
    runtime: str = "containerd"
    """The container runtime: containerd or docker."""
    namespace: str = K8S
    """The containerd namespace."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtime:
    """The containers and pod sandboxes in one observation of a node's container runtimes."""

    owners: t.Mapping[str, Owner] = dataclasses.field(default_factory=dict)
    """Maps ids to containers and pod sandboxes. Complete only if `problem` is empty."""
    names: tuple[str, ...] = ()
    """The container runtimes that were observed: containerd, docker or both."""
    problem: str = ""
    """Why `owners` is incomplete, in which case no HNS object counts as stale; empty if `owners` is complete."""
    has_leases: bool = False
    """Whether the node's containerd has a lease for each sandbox. Leases show which sandboxes are being created."""

    def find(self, claimed: str) -> Owner | None:
        """Return the container or sandbox with the given id, or None if there is none.

        The id may be shortened: HNS shortens ids to 12 characters, and azure-cni to 8.
        """
        claimed = claimed.lower()
        if claimed in self.owners or len(claimed) < 8:
            return self.owners.get(claimed)
        alike = self._beginnings.get(claimed[:8], ())
        return next((owner for owner in alike if owner.id.startswith(claimed) or claimed.startswith(owner.id)), None)

    @functools.cached_property
    def _beginnings(self) -> t.Mapping[str, t.Sequence[Owner]]:
        """Maps the first eight characters of ids to the containers and sandboxes with such ids."""
        known: dict[str, list[Owner]] = {}
        for identity, owner in self.owners.items():
            known.setdefault(identity[:8], []).append(owner)
        return known


def calls(programs: Programs) -> tuple[Call, ...]:
    """Return the calls that list pods and containers. A call fails if the client program that it runs is missing."""
    cri = ("--runtime-endpoint", CONTAINERD_PIPE)
    asked = {
        "pods": (programs.crictl, (*cri, "pods", "--output", "json")),
        "containers": (programs.crictl, (*cri, "ps", "--all", "--quiet", "--no-trunc")),
        "ctr": (programs.ctr, ("--namespace", K8S, "containers", "list", "--quiet")),
        "leases": (programs.ctr, ("--namespace", K8S, "leases", "list", "--quiet")),
        "ctr-namespaces": (programs.ctr, ("namespaces", "list", "--quiet")),
        **{
            _OTHER.id(name): (programs.ctr, ("--namespace", name, "containers", "list", "--quiet"))
            for name in programs.namespaces
            if name != K8S
        },
        "docker": (programs.docker, ("ps", "--all", "--no-trunc", "--format", "{{json .}}")),
    }
    return tuple(
        query(
            name,
            command,
            arguments=arguments,
            timeout=_TIMEOUT,
            output_limit=_OUTPUT,
            # If containerd hangs, wait only once, not for each namespace.
            needs=("ctr-namespaces",) if name in _OTHER else (),
        )
        for name, (command, arguments) in asked.items()
    )


def read(answers: t.Mapping[str, CallResult], installed: t.Collection[str]) -> Runtime:
    """Return the containers and pod sandboxes, as read from the results of `calls`.

    Args:
        answers: the results of `calls`, by call id.
        installed: the container runtimes (containerd, docker) whose service is running or not disabled.
    """
    if not installed:
        return Runtime(problem="neither the containerd service nor the docker service can run")
    owners: dict[str, Owner] = {}
    problems: list[str] = []
    has_leases = True
    if "containerd" in installed:
        has_leases = _read_containerd(answers, owners, problems)
    if "docker" in installed:
        _read_docker(answers.get("docker"), owners, problems)
    return Runtime(
        owners=owners,
        names=tuple(sorted(installed)),
        problem="; ".join(problems),
        has_leases=has_leases,
    )


def _missing(result: CallResult | None) -> bool:
    """Return whether a program is missing on the node. A program that runs and fails is not missing."""
    return result is None or (result.error is not None and result.error.id.startswith("CommandNotFound"))


def _why(name: str, result: CallResult) -> str:
    last_line = (result.stderr or result.stdout).strip().splitlines()[-1:]
    return f"{name}: {last_line[0] if last_line else result.error}"


def _read_containerd(answers: t.Mapping[str, CallResult], owners: dict[str, Owner], problems: list[str]) -> bool:
    """Add to `owners` the containers and sandboxes that crictl and ctr list.

    One of the two programs is enough. If both are missing or one of them fails, the reason is added to `problems`.

    Returns:
        Whether containerd's leases show which sandboxes are being created.
    """
    named = {"pods": "crictl pods", "containers": "crictl ps", "ctr": "ctr containers list"}
    answered = {name: answers[name] for name in named if not _missing(answers.get(name))}
    problems += [_why(named[name], result) for name, result in answered.items() if not result.ok]
    if not answered:
        problems.append("neither crictl nor ctr was found on the node")
    for name, result in answered.items():
        if not result.ok or name == "pods":
            continue
        for identity in _IDS.findall(result.stdout):
            owners[identity] = Owner(id=identity, kind="container")
    _read_others(answers, owners, problems)
    pods: list[Owner] = []
    if "pods" in answered and answered["pods"].ok:
        try:
            pods = [_sandbox(item) for item in json.loads(answered["pods"].stdout or "{}").get("items") or ()]
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            problems.append(f"crictl pods: its output cannot be read: {error!r}")
    owners.update((pod.id, pod) for pod in pods)
    leases = answers.get("leases")
    leased = set(_IDS.findall(leases.stdout)) if leases is not None and leases.ok else set()
    for identity in leased - owners.keys():
        owners[identity] = Owner(id=identity, kind="creating")
    return bool(leased & {owner.id for owner in owners.values() if owner.kind != "creating"})


def _read_others(answers: t.Mapping[str, CallResult], owners: dict[str, Owner], problems: list[str]) -> None:
    """Add containers in containerd namespaces other than k8s.io to `owners`, so that their endpoints are not stale."""
    asked = _OTHER.results(answers)
    for namespace, answer in asked.items():
        if _missing(answer) or answer.skipped:
            # The listing of namespaces, which comes first, reports the reason.
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
    # The collection's own namespace never has containers.
    unknown = sorted(set(_NAMES.findall(listed.stdout)) - {K8S, SIZES, *asked})
    if unknown:
        problems.append(
            f"containerd has namespaces that were not queried: {', '.join(unknown)} (set containerd_namespaces)"
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
        problems.append("docker was not queried" if result is None else _why("docker ps", result))
        return
    for line in filter(None, map(str.strip, result.stdout.splitlines())):
        try:
            item = json.loads(line)
            identity, name = str(item["ID"]).lower(), str(item.get("Names") or "")
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"docker ps: its output cannot be read: {error!r}")
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
