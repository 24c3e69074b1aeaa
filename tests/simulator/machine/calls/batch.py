# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A batch as it comes over the wire, checked against docs/wire.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

LIMIT = 1_000_000
DEFAULT_TIMEOUT = 600.0
KEY = re.compile(r"[a-z0-9-]{8,64}")
VERBS = (
    "@read-file",
    "@write-file",
    "@commit-file",
    "@read-registry",
    "@set-environment",
    "@wait-port",
    "@stop-if",
    "@move-path",
    "@copy-file",
    "@set-acl",
    "@make-directory",
    "@free-space",
    "@port-pools",
)


class BatchError(ValueError):
    """A batch that docs/wire.md does not allow; the text says why."""


@dataclass(frozen=True)
class Input:
    """Objects of earlier calls: whose, which of them, and what they are bound to."""

    sources: list[str]
    where: Mapping[str, object] = field(default_factory=dict)
    parameter: str | None = None
    property: str | None = None


@dataclass(frozen=True)
class Call:
    """One call; the fields are those of docs/wire.md."""

    id: str
    command: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    stdin: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    input: Input | None = None
    select: list[str] | None = None
    success_codes: list[int] = field(default_factory=lambda: [0])
    output_limit: int = 16384
    on_error: Literal["stop", "continue"] = "stop"
    retries: int = 0
    delay: float = 1.0
    until: Mapping[str, object] | None = None
    timeout: float | None = None
    needs: list[str] = field(default_factory=list)
    unless: list[str] = field(default_factory=list)
    always: bool = False
    secret: bool = False
    parallel: int | None = None
    watch: str | None = None

    @property
    def is_verb(self) -> bool:
        """Whether the command is a built-in verb."""
        return self.command.startswith("@")

    @property
    def limit(self) -> float:
        """Seconds that a program or a waiting verb may take; a cmdlet has a limit only where the call sets one."""
        return DEFAULT_TIMEOUT if self.timeout is None else self.timeout

    @property
    def is_program(self) -> bool:
        """Whether the command is a program."""
        return self.command.casefold().endswith(".exe")


@dataclass(frozen=True)
class Batch:
    """A batch; the fields are those of docs/wire.md."""

    mode: Literal["run", "collect"] = "run"
    key: str | None = None
    wait: float = 0.0
    forget: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


_CALL_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "command": (str,),
    "parameters": (dict,),
    "arguments": (list,),
    "stdin": (str, type(None)),
    "environment": (dict,),
    "input": (dict, type(None)),
    "select": (list, type(None)),
    "success_codes": (list,),
    "output_limit": (int,),
    "on_error": (str,),
    "retries": (int,),
    "delay": (int, float),
    "until": (dict, type(None)),
    "timeout": (int, float),
    "needs": (list,),
    "unless": (list,),
    "always": (bool,),
    "secret": (bool,),
    "parallel": (int, type(None)),
    "watch": (str, type(None)),
}
_BATCH_TYPES: dict[str, tuple[type, ...]] = {
    "mode": (str,),
    "key": (str, type(None)),
    "wait": (int, float),
    "forget": (list,),
    "calls": (list,),
}
_INPUT_TYPES: dict[str, tuple[type, ...]] = {
    "from": (str, list),
    "where": (dict, type(None)),
    "parameter": (str, type(None)),
    "property": (str, type(None)),
}


def parse(text: str) -> Batch:
    """Return the batch of a JSON document. Raises BatchError."""
    if len(text.encode()) > LIMIT:
        raise BatchError(f"a batch has to be below 1 MB, this one has {len(text.encode())} bytes")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BatchError(f"the batch is no JSON: {error}") from None
    _check(document, _BATCH_TYPES, "batch")
    mode = document.get("mode", "run")
    if mode not in ("run", "collect"):
        raise BatchError(f"unknown mode: {mode!r}")
    for key in [document.get("key"), *document.get("forget", [])]:
        if key is not None and not (isinstance(key, str) and KEY.fullmatch(key)):
            raise BatchError(f"not a key: {key!r}")
    if mode == "collect" and not document.get("key"):
        raise BatchError("collect needs a key")
    if not 0 <= document.get("wait", 0) <= 900:
        raise BatchError("wait has to be between 0 and 900 seconds")
    calls: list[Call] = []
    for entry in document.get("calls", []):
        calls.append(_call(entry, [call.id for call in calls]))
    return Batch(mode, document.get("key"), float(document.get("wait", 0)), list(document.get("forget", [])), calls)


def _call(entry: object, earlier: list[str]) -> Call:
    _check(entry, _CALL_TYPES, "call")
    assert isinstance(entry, dict)
    if not entry.get("id") or not entry.get("command"):
        raise BatchError("a call needs an id and a command")
    name = entry["id"]
    if name in earlier:
        raise BatchError(f"two calls have the id {name!r}")
    if entry["command"].startswith("@") and entry["command"] not in VERBS:
        raise BatchError(f"unknown verb: {entry['command']}")
    if entry.get("on_error", "stop") not in get_args(Literal["stop", "continue"]):
        raise BatchError(f"on_error of {name!r} is neither stop nor continue")
    for key in ("needs", "unless"):
        if unknown := [other for other in entry.get(key, []) if other not in earlier]:
            raise BatchError(f"{name!r} {key} {unknown[0]!r}, which is no earlier call")
    fields = {key: value for key, value in entry.items() if value is not None and key != "input"}
    given = entry.get("input")
    call = Call(**fields, input=_input(given, name, earlier) if given else None)
    for key in ("parallel", "watch"):
        if key in fields and not call.is_program:
            raise BatchError(f"{name!r} has {key}, but is no program")
    if call.parallel is not None and call.parallel < 1:
        raise BatchError(f"parallel of {name!r} has to be 1 or more")
    return call


def _input(entry: object, name: str, earlier: list[str]) -> Input:
    _check(entry, _INPUT_TYPES, f"input of {name!r}")
    assert isinstance(entry, dict)
    origin = entry.get("from")
    sources = [origin] if isinstance(origin, str) else list(origin or [])
    if not sources or any(source not in earlier for source in sources):
        raise BatchError(f"the input of {name!r} is from no earlier call: {sources}")
    return Input(sources, entry.get("where") or {}, entry.get("parameter"), entry.get("property"))


def _check(entry: object, types: Mapping[str, tuple[type, ...]], what: str) -> None:
    if not isinstance(entry, dict):
        raise BatchError(f"a {what} has to be an object")
    for key, value in entry.items():
        allowed = types.get(key)
        if allowed is None:
            raise BatchError(f"unknown key in {what}: {key!r}")
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise BatchError(f"wrong type of {key!r} in {what}: {type(value).__name__}")
