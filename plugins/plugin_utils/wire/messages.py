# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The messages between the controller and a node: calls, batches and observations. docs/wire.md describes them."""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t

from ..values.printable import printable
from . import typed_values

MAX_BATCH_BYTES = 1_000_000
"""Maximum size of a batch's JSON. The connection plugins could send more, but the node parses a batch as a whole."""

State = t.Literal["finished", "known", "running", "unknown", "lost"]
"""The states that a batch can have. docs/wire.md describes them."""
Json: t.TypeAlias = "bool | int | float | str | t.Sequence[Json] | t.Mapping[str, Json] | None"
EXISTS: t.Mapping[str, Json] = {"exists": True}
"""The condition that a property is not null."""
MISSING: t.Mapping[str, Json] = {"exists": False}
"""The condition that a property is null or missing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input:
    """Objects that earlier calls of the batch return, and that a later call receives."""

    calls: tuple[str, ...]
    """Ids of the calls whose output objects become the input, in this order."""
    where: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    """Conditions on properties: a value, a list of accepted values, EXISTS or MISSING."""
    parameter: str | None = None
    """The parameter to which the objects are bound, or None if they are pipeline input."""
    property: str | None = None
    """The property whose value is used, or None if the whole object is used."""

    def to_wire(self) -> dict[str, Json]:
        """Return this input as the `input` JSON object that docs/wire.md describes."""
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
    """One command to run on the node. docs/wire.md describes all fields that are sent, and their defaults."""

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
    """Exit codes of a program after which the program is not retried."""
    until: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    timeout: float = 600.0
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    always: bool = False
    secret: bool = False
    parallel: int | None = None
    """How many programs of neighboring calls that set this field may run at the same time."""
    watch: str | None = None
    """Path of a file that grows while the program runs. Its size is reported as the progress of the call."""
    private: bool = dataclasses.field(default=False, metadata={"wire": False})
    """Whether the input or result may contain secrets. `Node.run` then keeps the batch out of all output. Unlike for a
    `secret` call, the node returns the result. This field is not sent to the node."""
    long: bool = dataclasses.field(default=False, metadata={"wire": False})
    """Whether the call may take a long time, or may break the connection. `Node.run` then runs the call's batch in a
    process that does not depend on the connection. This field is not sent to the node."""

    def to_wire(self) -> dict[str, Json]:
        """Return the call's JSON document, without the fields that have their default values."""
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
        """Return this call with a prefix before every call id, so that calls of many resources can share a batch."""
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
    """The calls that one remote command runs on a node, and the options of this command."""

    calls: tuple[Call, ...] = ()
    mode: t.Literal["run", "collect"] = "run"
    key: str | None = None
    wait: int = 0
    forget: tuple[str, ...] = ()

    @property
    def secret(self) -> bool:
        """Whether the input or result of any call may contain values that logs must not show."""
        return any(call.secret or call.private for call in self.calls)

    @property
    def long(self) -> bool:
        """Whether any call may take a long time, or may break the connection."""
        return any(call.long for call in self.calls)

    @property
    def watched(self) -> bool:
        """Whether any call has a file whose size shows its progress."""
        return any(call.watch is not None for call in self.calls)

    def to_wire(self) -> dict[str, Json]:
        """Return this batch as the JSON document that docs/wire.md describes."""
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
    """Why a call failed, as the node reports it."""

    category: str = ""
    id: str = ""
    """PowerShell's fully qualified error id."""
    type: str = ""
    """Type of the .NET exception."""
    message: str = ""

    def __str__(self) -> str:
        return self.message or self.id or self.category or "failed"

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "error") -> CallError:
        """Read an error from JSON. Its strings are made safe to print, and long ones are truncated.

        Raises:
            BadAnswer: the error does not follow docs/wire.md.
        """
        wire = typed_values.mapping(wire, where)
        return cls(**{key: _shown(wire.get(key), f"{where}.{key}") for key in ("category", "id", "type", "message")})


def _shown(value: object, where: str) -> str:
    """Return a string that is safe to print. A long string is truncated."""
    return printable(typed_values.text(value, where)[: typed_values.LONGEST_TEXT])


@dataclasses.dataclass(frozen=True, kw_only=True)
class CallResult:
    """The result of one call. A batch that stops early has no results for the calls that it did not reach."""

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
        """The first output object, or None if there is none."""
        return self.output[0] if self.output else None

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "result") -> CallResult:
        """Read the result of one call. Output, stdout and stderr are not changed, because later code compares them.

        Args:
            wire: the result as the module returned it.
            where: name of the result in error messages.

        Raises:
            BadAnswer: the result does not follow docs/wire.md.
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
    """The call at which a batch stopped before its end, and why."""

    id: str
    reason: t.Literal["error", "barrier"]

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "stopped") -> Stopped:
        """Read where and why a batch stopped.

        Raises:
            BadAnswer: the value does not follow docs/wire.md.
        """
        wire = typed_values.mapping(wire, where)
        if wire.get("reason") not in ("error", "barrier"):
            raise typed_values.BadAnswer(f"{where}.reason: expected error or barrier")
        return cls(id=typed_values.text(wire.get("id"), f"{where}.id"), reason=wire["reason"])


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunningCall:
    """A call that is running."""

    id: str
    size: int | None = None
    """Size in bytes of the file that the call watches, or None if it watches no file or the file does not exist yet."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a batch that is running or was lost."""

    id: str
    done: int
    total: int
    running: tuple[RunningCall, ...] = ()
    """The calls that are running. There are several if calls run in parallel."""

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any], where: str = "progress") -> Progress:
        """Read the progress of a batch.

        Raises:
            BadAnswer: the progress does not follow docs/wire.md.
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
    """What a node reports about a batch: its state, and the results of its calls by id."""

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
        """Return how many seconds the node's clock was ahead of the controller's, or None if the time is unreadable.

        Args:
            now: the controller's time in UTC when the answer arrived.
        """
        # ISO 8601 in UTC, with up to seven decimals as .NET writes them.
        cut = re.sub(r"(\.\d{6})\d+", r"\1", self.time)
        try:
            return (datetime.datetime.fromisoformat(cut) - now).total_seconds()
        except (TypeError, ValueError):
            return None

    @classmethod
    def from_wire(cls, wire: t.Mapping[str, t.Any]) -> Observation:
        """Read the module's answer to a batch. `asked_answers.only_asked` checks whether it fits the batch.

        Raises:
            BadAnswer: the answer does not follow docs/wire.md.
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
"""The results of one resource's calls, by call id."""
