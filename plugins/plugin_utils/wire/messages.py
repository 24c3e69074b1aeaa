# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The wire format between the controller and a node: calls, batches, observations; and nothing else (docs/wire.md)."""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t

from ..values.printable import printable
from . import typed_values

MAX_BATCH_BYTES = 1_000_000
"""A batch's JSON stays below this: both connection plugins slice far larger input, but the node parses it whole."""

State = t.Literal["finished", "known", "running", "unknown", "lost"]
"""What became of a batch."""
Json: t.TypeAlias = "bool | int | float | str | t.Sequence[Json] | t.Mapping[str, Json] | None"
EXISTS: t.Mapping[str, Json] = {"exists": True}
"""The condition that a property is not null."""
MISSING: t.Mapping[str, Json] = {"exists": False}
"""The condition that a property is null or missing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input:
    """Objects that earlier calls of the batch returned, given to a later one."""

    calls: tuple[str, ...]
    """Ids of the calls whose output objects are taken, in order."""
    where: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    """Conditions on properties (docs/wire.md): a value, a list of which any may match, or `EXISTS` or `MISSING`."""
    parameter: str | None = None
    """The parameter to bind the objects to; None: pipeline input."""
    property: str | None = None
    """Bind this property of the objects instead of the objects."""

    def to_wire(self) -> dict[str, Json]:
        """Return the JSON document that docs/wire.md describes."""
        wire: dict[str, Json] = {"from": list(self.calls)}
        if self.where:
            wire["where"] = dict(self.where)
        if self.parameter is not None:
            wire["parameter"] = self.parameter
        if self.property is not None:
            wire["property"] = self.property
        return wire


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """One structured invocation on the node. Defaults are those of the wire format."""

    id: str
    command: str
    parameters: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    stdin: str | None = None
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    input: Input | None = None
    select: tuple[str, ...] | None = None
    success_codes: tuple[int, ...] = (0,)
    output_limit: int = 16384
    on_error: t.Literal["stop", "continue"] = "stop"
    retries: int = 0
    delay: float = 1.0
    final_codes: tuple[int, ...] = ()
    """Of a program: exit codes after which it is not tried again."""
    until: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    timeout: float = 600.0
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    always: bool = False
    secret: bool = False
    parallel: int | None = None
    """Of a program: it runs side by side with its neighbours that have it, at most so many at once."""
    watch: str | None = None
    """Of a program: the path of a file that grows while it runs, for progress."""
    private: bool = dataclasses.field(default=False, metadata={"wire": False})
    """What goes in is secret, what comes back is not: its batch is kept out of all output. Known to the controller
    only."""
    long: bool = dataclasses.field(default=False, metadata={"wire": False})
    """The call may outlive a WinRM session: its batch runs detached. Known to the controller only."""

    def to_wire(self) -> dict[str, Json]:
        """The call as the node reads it: only what differs from the wire format's defaults."""
        wire: dict[str, Json] = {}
        for field in dataclasses.fields(self):
            if field.metadata.get("wire") is False:
                continue
            value = getattr(self, field.name)
            default = field.default_factory() if callable(field.default_factory) else field.default
            if value == default and type(value) is type(default):
                continue
            wire[field.name] = _plain(value)
        return wire

    def prefixed(self, prefix: str) -> Call:
        """This call with every call id in it put behind a prefix, so that calls of many resources share a batch."""
        source = self.input
        if source is not None:
            source = dataclasses.replace(source, calls=tuple(prefix + call for call in source.calls))
        return dataclasses.replace(
            self,
            id=prefix + self.id,
            input=source,
            needs=tuple(prefix + call for call in self.needs),
            unless=tuple(prefix + call for call in self.unless),
        )


def _plain(value: t.Any) -> Json:
    if isinstance(value, Input):
        return value.to_wire()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, t.Mapping):
        return dict(value)
    return t.cast("Json", value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Batch:
    """What one remote execution is asked to do."""

    calls: tuple[Call, ...] = ()
    mode: t.Literal["run", "collect"] = "run"
    key: str | None = None
    wait: int = 0
    forget: tuple[str, ...] = ()

    @property
    def secret(self) -> bool:
        """Whether any call carries values that no log may show."""
        return any(call.secret or call.private for call in self.calls)

    @property
    def long(self) -> bool:
        """Whether any call may outlive a WinRM session."""
        return any(call.long for call in self.calls)

    @property
    def watched(self) -> bool:
        """Whether any call has a file that tells how far it is."""
        return any(call.watch is not None for call in self.calls)

    def to_wire(self) -> dict[str, Json]:
        """Return the JSON document that docs/wire.md describes."""
        wire: dict[str, Json] = {"mode": self.mode, "calls": [call.to_wire() for call in self.calls]}
        if self.key is not None:
            wire["key"] = self.key
        if self.mode == "collect":
            wire["wait"] = self.wait
        if self.forget:
            wire["forget"] = list(self.forget)
        return wire


@dataclasses.dataclass(frozen=True, kw_only=True)
class CallError:
    """Why a call failed, as PowerShell or the program said it."""

    category: str = ""
    id: str = ""
    """Fully qualified error id."""
    type: str = ""
    """.NET exception type."""
    message: str = ""

    def __str__(self) -> str:
        return self.message or self.id or self.category or "failed"

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "error") -> CallError:
        """Reads an error; its texts are for people, and safe to print.

        Raises:
            BadAnswer: it is not of the wire format.
        """
        wire = typed_values.mapping(wire, where)
        return cls(**{key: _shown(wire.get(key), f"{where}.{key}") for key in ("category", "id", "type", "message")})


def _shown(value: object, where: str) -> str:
    """A text that is for people only: safe to print, and no longer than anybody reads."""
    return printable(typed_values.text(value, where)[: typed_values.LONGEST_TEXT])


@dataclasses.dataclass(frozen=True, kw_only=True)
class CallResult:
    """The result of one call that the batch reached."""

    ok: bool
    output: tuple[t.Any, ...] = ()
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    attempts: int = 1
    warnings: tuple[str, ...] = ()
    skipped: str | None = None
    error: CallError | None = None

    @property
    def first(self) -> t.Any:
        """The first output object, or None."""
        return self.output[0] if self.output else None

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "result") -> CallResult:
        """Reads the result of one call; output, stdout and stderr stay as they are, since they are compared.

        Args:
            wire: as the module returned it.
            where: names it in an error.

        Raises:
            BadAnswer: it is not of the wire format.
        """
        wire = typed_values.mapping(wire, where)
        exit_code, skipped, error = wire.get("exit_code"), wire.get("skipped"), wire.get("error")
        warnings = typed_values.items(wire.get("warnings"), f"{where}.warnings")
        return cls(
            ok=typed_values.truth(wire.get("ok"), f"{where}.ok"),
            output=tuple(typed_values.items(wire.get("output"), f"{where}.output")),
            exit_code=None if exit_code is None else typed_values.whole(exit_code, f"{where}.exit_code"),
            stdout=typed_values.text(wire.get("stdout"), f"{where}.stdout"),
            stderr=typed_values.text(wire.get("stderr"), f"{where}.stderr"),
            seconds=typed_values.seconds(wire.get("seconds"), f"{where}.seconds"),
            attempts=typed_values.whole(wire.get("attempts") or 1, f"{where}.attempts"),
            warnings=tuple(_shown(each, f"{where}.warnings") for each in warnings),
            skipped=None if skipped is None else _shown(skipped, f"{where}.skipped"),
            error=CallError.from_wire(error, f"{where}.error") if error else None,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stopped:
    """Where a batch stopped before its end, and why."""

    id: str
    reason: t.Literal["error", "barrier"]

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "stopped") -> Stopped:
        """Reads it.

        Raises:
            BadAnswer: it is not of the wire format.
        """
        wire = typed_values.mapping(wire, where)
        if wire.get("reason") not in ("error", "barrier"):
            raise typed_values.BadAnswer(f"{where}.reason: expected error or barrier")
        return cls(id=typed_values.text(wire.get("id"), f"{where}.id"), reason=wire["reason"])


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunningCall:
    """A call at work."""

    id: str
    size: int | None = None
    """Bytes of the file that it watches; None: it watches none, or there is none yet."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a batch that runs (or was lost) has come."""

    id: str
    done: int
    total: int
    running: tuple[RunningCall, ...] = ()
    """The calls at work: several where they run side by side."""

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "progress") -> Progress:
        """Reads how far a batch has come.

        Raises:
            BadAnswer: it is not of the wire format.
        """
        wire = typed_values.mapping(wire, where)
        running = []
        for each in typed_values.items(wire.get("running"), f"{where}.running"):
            item, size = typed_values.mapping(each, f"{where}.running"), each.get("size")
            running.append(
                RunningCall(
                    id=_shown(item.get("id"), f"{where}.running.id"),
                    size=None if size is None else typed_values.whole(size, f"{where}.running.size"),
                )
            )
        return cls(
            id=_shown(wire.get("id"), f"{where}.id"),
            done=typed_values.whole(wire.get("done"), f"{where}.done"),
            total=typed_values.whole(wire.get("total"), f"{where}.total"),
            running=tuple(running),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Observation:
    """What a batch returned, by call id."""

    state: State = "finished"
    calls: t.Mapping[str, CallResult] = dataclasses.field(default_factory=dict)
    stopped: Stopped | None = None
    progress: Progress | None = None
    boot: str = ""
    time: str = ""
    version: str = ""

    def __getitem__(self, call_id: str) -> CallResult:
        return self.calls[call_id]

    def clock_skew(self, now: datetime.datetime) -> float | None:
        """Seconds by which the node's clock was ahead; None where its time cannot be read.

        Args:
            now: the controller's clock, in UTC, when the answer came.
        """
        # ISO 8601 in UTC, with up to seven decimals as .NET writes them.
        cut = re.sub(r"(\.\d{6})\d+", r"\1", self.time)
        try:
            return (datetime.datetime.fromisoformat(cut) - now).total_seconds()
        except (TypeError, ValueError):
            return None

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any]) -> Observation:
        """Reads the module's answer; whether it fits what was asked is for `answers.asked` to see.

        Raises:
            BadAnswer: the answer is not of the wire format.
        """
        wire = typed_values.mapping(wire, "observation")
        if wire.get("state") not in t.get_args(State):
            raise typed_values.BadAnswer(f"state: expected one of {', '.join(t.get_args(State))}")
        stopped, progress = wire.get("stopped"), wire.get("progress")
        calls = typed_values.mapping(wire.get("calls") or {}, "calls")
        return cls(
            state=wire["state"],
            calls={key: CallResult.from_wire(value, f"calls.{printable(key)}") for key, value in calls.items()},
            stopped=Stopped.from_wire(stopped) if stopped else None,
            progress=Progress.from_wire(progress) if progress else None,
            **{key: _shown(wire.get(key), key) for key in ("boot", "time", "version")},
        )


Results = t.Mapping[str, CallResult]
"""Results of a resource's own calls, by the ids it gave them."""
