# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What every resource type has in common: its properties, what it asks the node, how it plans.

To add a type: one file with a dataclass that derives from Resource, a line in `__init__.py`.
A property is a dataclass field; its annotation says what is accepted, its `help` metadata is shown to users.
"""

from __future__ import annotations

import abc
import dataclasses
import typing as t

from ..windows.windows_info import WindowsInfo
from ..wire.messages import Call, CallResult, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiskSpace:
    """What a change writes to a volume; the whole plan is refused before its first byte where that does not fit."""

    path: str
    """Any Windows path on the volume that fills."""
    size: int | None
    """Bytes written at most, download and unpacked; None: unknown, or to be asked."""
    ask: tuple[Call, ...] = ()
    """Calls that tell an unknown size, ids local to the resource. They change nothing that counts; their batch is kept
    out of all output, so that they need not be secret to carry secrets in (a secret call's output would be hidden from
    `read`, too)."""
    read: t.Callable[[Results], int | t.Mapping[str, int] | None] | None = None
    """The size by the results of `ask`; or the sizes of its parts, by a name that says what they are: what several
    changes bring to a volume is counted once. None, or an error: it stays unknown, and counts as nothing."""
    later: bool = False
    """Where nobody told the size: it can be told when what comes before it in the plan is done."""
    unpacks: str | None = None
    """The archive, a Windows path, that it unpacks: where an earlier change of the plan brings it (the `path` of its
    room), the size is that one's, times UNPACKED."""

    UNPACKED: t.ClassVar[int] = 4
    """How much larger what is unpacked may be: Go programs, as Kubernetes' and containerd's are, come to 3.2 to 3.8
    times their gzip (measured on kubeadm 1.30 to 1.36)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceEffect:
    """What a change does to the Windows service that it defines."""

    service: str
    """The service's name."""
    effect: t.Literal["starts", "restarts", "stops"]
    """`restarts`: it runs, and runs with its new definition afterwards. `stops`: it does not run afterwards."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """One planned change of one resource."""

    why: str
    """One short sentence for people: what differs."""
    before: t.Mapping[str, t.Any]
    after: t.Mapping[str, t.Any]
    """State before and after, with the same keys: only what differs or names the thing; shown by --diff."""
    calls: tuple[Call, ...]
    """The calls that make it so, ids local to the resource."""
    reboot: t.Literal["never", "if_reported", "always"] = "never"
    """Whether what follows needs a reboot first: never, when an output says RestartNeeded=Yes, or always."""
    look_again: bool = False
    """Afterwards, what was seen of other resources may no longer hold: the node is observed and planned anew."""
    room: DiskSpace | tuple[DiskSpace, ...] | None = None
    """What it takes of a volume, or of several; None: next to nothing."""
    harmless: bool = False
    """Whether it touches nothing that runs, whatever the resource's `disturbs` says: removing leftovers, say."""
    service: ServiceEffect | None = None
    """What it does to a service: the engine then does not restart that service once more for changes before it."""
    warnings: tuple[str, ...] = ()
    """What people should know of it; shown whether it is made or only planned."""

    @property
    def rooms(self) -> tuple[DiskSpace, ...]:
        """What it takes of volumes, as a tuple."""
        if self.room is None:
            return ()
        return (self.room,) if isinstance(self.room, DiskSpace) else self.room


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resource(abc.ABC):
    """One thing a node should have."""

    type: t.ClassVar[str]
    independent: t.ClassVar[bool] = False
    """Whether the resources after it are applied although this one failed (the run fails at its end)."""
    builds_on: t.ClassVar[frozenset[str] | None] = None
    """Types of resources whose changes have to be made before its own; None: any, all that stand before it."""
    name: str = dataclasses.field(metadata={"help": "Names the resource among its type."})
    windows: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={"help": "Only for these versions of Windows Server (2019, 2022, 2025); empty: all."},
    )
    restarts: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Services to restart, if they run, when this resource changed (once, after the last resource)."
        },
    )
    disturbs: bool | None = dataclasses.field(
        default=None,
        metadata={
            "help": "Whether its change disturbs the pods of a live node. Left out, it does so if it stops or restarts"
            " a service that pods need (containerd, docker, cri-dockerd, kubelet, kube-proxy, flanneld, hns,"
            " vmcompute); true: always, such as a change of the network; false: never. A change that may reboot the"
            " node always does."
        },
    )
    no_log: bool = dataclasses.field(
        default=False,
        metadata={"help": "Its values appear in no output: before and after are hidden, its calls are secret."},
    )

    @property
    def title(self) -> str:
        """Type and name, as messages show the resource."""
        return f"{self.type} {self.name}"

    @property
    def private(self) -> bool:
        """Whether what the node says of it may be secret: it is kept out of the output at any verbosity."""
        return self.no_log

    def _set(self, **values: t.Any) -> None:
        """Normalises properties, in `__post_init__` only: resources are frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def joined(self, other: t.Self) -> t.Self | None:
        """One resource that wants what both want, where two lists (of two roles, say) may name the same thing.

        Args:
            other: a later resource of the same type and name.

        Returns:
            Their union (equal ones are one); None where they contradict each other.
        """
        return self if self == other else None

    def explain(self, call_id: str, result: CallResult) -> str | None:  # noqa: ARG002  # for those who know more
        """What a failure means, and what helps, where the error's own text does not say it.

        Args:
            call_id: the call of the change that failed.
            result: what came of it.

        Returns:
            A sentence that is put behind the error's text.
        """
        return None

    def failure(self, results: Results) -> str | None:  # noqa: ARG002  # for those who know more
        """Why a change failed, instead of the failed call's own error, where several calls tell it together.

        Args:
            results: of the change's calls, by the ids that the resource gave them.
        """
        return None

    @property
    def brings(self) -> str | None:
        """The Windows path of the file that it brings to the node, if it is one that others need."""
        return None

    def lacks(self, call_id: str, result: CallResult) -> str | None:  # noqa: ARG002  # for those who know more
        """The Windows path of the file whose absence made a change fail; None if it failed for another reason.

        Args:
            call_id: the call of the change that failed.
            result: what came of it.
        """
        return None

    @abc.abstractmethod
    def observe(self) -> tuple[Call, ...]:
        """The calls that tell the state; each records its error and goes on (`on_error="continue"`)."""

    @abc.abstractmethod
    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        """Compares the wanted state with the seen one. Pure.

        Args:
            seen: the results of the calls of `observe`, by the ids that the resource gave them.
            windows: the node's version of Windows.

        Returns:
            What has to be done, or None where the node has what it should.

        Raises:
            ResourceError: the node cannot have this resource as described.
        """
