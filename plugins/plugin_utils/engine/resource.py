# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The base class of resource types: their common properties, and the methods that a type implements.

A new type is one file in `resources` with a dataclass that derives from Resource (docs/adding_a_resource_type.md). Its
properties are the fields of the dataclass: the annotation defines which values are accepted, and the `help` metadata is
shown to users.
"""

from __future__ import annotations

import abc
import dataclasses
import typing as t

from ..windows.windows_info import WindowsInfo
from ..wire.messages import Call, CallResult, Results

_COMMON = {"common": True}
"""Metadata of the optional properties that all types have. In lists of properties, these properties come last."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SizeProbe(abc.ABC):
    """A probe that asks how many bytes a change will write, before the first byte is written."""

    calls: tuple[Call, ...]
    """The calls that ask for the size, without changing the state of any resource. Their ids are local to the resource.
    They may contain secrets: Ansible does not show what these calls return. However, `size` cannot read the results of
    calls that are marked `secret`."""
    later: bool = False
    """Whether the size may be unknown until earlier changes of the plan are made. For example, a container runtime that
    is not installed yet cannot ask a registry. The size is then measured again just before the change is made."""

    @abc.abstractmethod
    def size(self, results: Results) -> int | t.Mapping[str, int] | None:
        """Return the size that the results of `calls` report.

        Args:
            results: the results of `calls`, by their ids.

        Returns:
            The number of bytes, or a mapping from a name that identifies each part's content to the part's number of
            bytes. A part that several changes write to the same volume, such as a layer of container images, is counted
            once. None or an exception means that the size is unknown, which counts as 0 bytes.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpaceRequirement:
    """The disk space that a change needs on a volume. A plan that needs more than the free space is rejected."""

    path: str
    """Any Windows path on the volume."""
    size: int | None = None
    """Maximum number of bytes written, including a download and its unpacked content. None if unknown (see `probe`)."""
    probe: SizeProbe | None = None
    """The probe that determines the size if `size` is None."""
    unpacks: str | None = None
    """The Windows path of the archive that the change unpacks. If `size` is None and an earlier change of the plan
    writes this archive, the change is expected to need UNPACKED times the archive's size."""

    UNPACKED: t.ClassVar[int] = 4
    """How many times larger than its archive an unpacked program may be. Go programs such as those of Kubernetes and
    containerd are 3.2 to 3.8 times as large as their gzip archives (measured on kubeadm 1.30 to 1.36)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceEffect:
    """What a change does to the Windows service that it defines."""

    service: str
    """The service's name."""
    effect: t.Literal["starts", "restarts", "stops"]
    """`starts`: the service runs afterwards. `restarts`: a running service restarts with its new definition. `stops`:
    the service does not run afterwards."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceInterruption:
    """A running Windows service that a change stops, restarts or deletes."""

    service: str
    """The service's name."""
    start: str | None = None
    """The id of the call that starts the service again with its current definition, or None if the change has no such
    call."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """One planned change of one resource."""

    why: str
    """What differs, in one short sentence for the user."""
    before: t.Mapping[str, t.Any]
    after: t.Mapping[str, t.Any]
    """`before` and `after` are the states that --diff shows. Both have the same keys: the properties that differ or, if
    the change creates or removes the resource, `state` and properties that describe the resource."""
    calls: tuple[Call, ...]
    """The calls that make the change. Their ids are local to the resource."""
    reboot: t.Literal["never", "if_reported", "always"] = "never"
    """Whether the node reboots before later changes are made: `never`, `if_reported` (only if a result reports
    RestartNeeded=Yes), or `always`. Consecutive changes that may need a reboot share one reboot."""
    reboot_codes: tuple[int, ...] = ()
    """Exit codes with which the change's programs report that a reboot is needed. The node then reboots at the end of
    the batch, after the batch's other changes."""
    observe_again: bool = False
    """Whether this change may make earlier observations of other resources invalid. If so, the engine observes the node
    and plans again after this change."""
    space: tuple[SpaceRequirement, ...] = ()
    """The disk space that the change needs; empty if it needs almost none."""
    downloads: str = ""
    """What the change downloads, such as the path of a cached file; empty if it downloads nothing. It is shown in
    messages (offline_plans.py)."""
    harmless: bool = False
    """Whether the change affects nothing that runs, for example because it only removes leftover files. If so, it
    disrupts no pods unless it may reboot the node, regardless of the resource's `disrupts`."""
    service: ServiceEffect | None = None
    """What the change does to a service. If it starts or restarts the service, the engine does not also restart this
    service because of earlier changes of the same batch."""
    interruptions: tuple[ServiceInterruption, ...] = ()
    """The services that the calls stop, restart or delete. The change disrupts pods if pods need any of these
    services."""
    changes_network: bool = False
    """Whether the change modifies the node's network, which disrupts pods."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user, shown whether the change is made or only planned."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resource(abc.ABC):
    """One thing that a node should have, such as a file, a service or a registry value."""

    type: t.ClassVar[str]
    independent: t.ClassVar[bool] = False
    """Whether later resources are applied even if this resource fails (the run still fails at the end)."""
    name: str = dataclasses.field(metadata={"help": "Identifies the resource among those of its type."})
    windows: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            **_COMMON,
            "help": "Versions of Windows Server that the resource is for (2019, 2022, 2025); empty: all.",
        },
    )
    restarts: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            **_COMMON,
            "help": "Services to restart if this resource changed. Each restarts once, at the end, if it is running.",
        },
    )
    disrupts: bool | None = dataclasses.field(
        default=None,
        metadata={
            **_COMMON,
            "help": "Whether a change of this resource disrupts the pods of a live node. By default, it does if it"
            " stops or restarts a service that pods need (containerd, docker, cri-dockerd, kubelet, kube-proxy,"
            " flanneld, hns, vmcompute), or if it changes the node's network. true: always; false: never. A change"
            " that may reboot the node always disrupts pods.",
        },
    )
    no_log: bool = dataclasses.field(
        default=False,
        metadata={
            **_COMMON,
            "help": "Whether to hide the resource's values in all output, including its calls, `before` and `after`.",
        },
    )

    @property
    def title(self) -> str:
        """The resource's type and name, as shown in messages."""
        return f"{self.type} {self.name}"

    @property
    def private(self) -> bool:
        """Whether the node's answers about the resource may contain secrets; if so, Ansible never shows them."""
        return self.no_log

    def _set(self, **values: t.Any) -> None:
        """Set properties to normalized values. Call this only in `__post_init__`, because resources are frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def joined(self, other: t.Self) -> t.Self | None:
        """Merge this resource with a later one, because two roles may list the same resource.

        Args:
            other: a later resource of the same type and name.

        Returns:
            The merged resource (this resource itself if both are equal), or None if the two contradict each other.
        """
        return self if self == other else None

    def builds_on(self, earlier: Resource) -> bool:  # noqa: ARG002  # for subclasses
        """Return whether this resource's change must wait for the change of an earlier resource; by default, it must.

        A change that must wait for no deferred change is made before the node is drained, unless it disrupts pods
        itself. If its resource is independent, it may also run in parallel with earlier changes of its type.
        """
        return True

    def explain(self, call_id: str, result: CallResult) -> str | None:  # noqa: ARG002  # for subclasses
        """Return what a failure means and how to fix it, if the error's own text does not explain it.

        Args:
            call_id: the call of the change that failed.
            result: the result of that call.

        Returns:
            A sentence to append to the error's text, or None if there is nothing to add.
        """
        return None

    def failure(self, results: Results) -> str | None:  # noqa: ARG002  # for subclasses
        """Return why a change failed, or None if the result of the failed call alone explains it well enough.

        Args:
            results: the results of the change's calls, by the ids that the resource gave them.
        """
        return None

    @property
    def brings(self) -> str | None:
        """The Windows path of the file that the resource provides to other resources, or None if there is none."""
        return None

    def lacks(self, call_id: str, result: CallResult) -> str | None:  # noqa: ARG002  # for subclasses
        """Return the Windows path of the file whose absence made a change fail, or None if the cause is different.

        Args:
            call_id: the call of the change that failed.
            result: the result of that call.
        """
        return None

    @abc.abstractmethod
    def observe(self) -> tuple[Call, ...]:
        """Return the calls that read the current state. If one of them fails, the batch must continue (`on_error`).

        In a run, the engine calls this method once for each resource.
        """

    def observe_offline(self) -> tuple[Call, ...]:
        """Return the calls that read the current state, except those that contact other machines."""
        return self.observe()

    def likely_space(self) -> SpaceRequirement | None:
        """Return the disk space that the resource needs if it is missing, or None if this is unknown before `plan`.

        If this method returns a requirement, the engine can ask for its size during the observation, which saves a
        remote command. The calls of the requirement's probe may refer to the calls of `observe`. The node must skip the
        probe's calls if the resource is not missing.
        """
        return None

    @abc.abstractmethod
    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        """Compare the desired state with the observed state, without any I/O.

        Args:
            seen: the results of the calls of `observe`, by the ids that the resource gave them.
            windows: the node's version of Windows.

        Returns:
            The change to make, or None if the node is in the desired state.

        Raises:
            ResourceError: the node cannot have this resource as described.
        """
