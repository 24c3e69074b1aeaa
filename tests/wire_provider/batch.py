# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A batch from the wire, validated against docs/wire.md."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from wire_provider import batch_json

LIMIT = 1_000_000
DEFAULT_TIMEOUT = 600.0
MOST: Mapping[str, int] = {"retries": 10_000, "delay": 86_400, "timeout": 86_400}
"""The upper limits of a call's numbers. .NET's waits count milliseconds in 31 bits."""
KEY = re.compile(r"[a-z0-9-]{8,64}")
VERBS = (
    "@read-file",
    "@write-file",
    "@commit-file",
    "@read-registry",
    "@set-environment",
    "@wait-port",
    "@stop-if",
    "@barrier",
    "@fail",
    "@move-path",
    "@copy-file",
    "@set-acl",
    "@make-directory",
    "@free-space",
    "@port-pools",
)


class BatchError(ValueError):
    """A batch that docs/wire.md does not allow. The text is the reason."""


@dataclass(frozen=True)
class Input:
    """Input objects from earlier calls: the calls, a filter, and the parameter to which the objects are bound.

    If `property` is set, this property of each object is the input.
    """

    sources: list[str]
    where: Mapping[str, object] = field(default_factory=dict)
    parameter: str | None = None
    property: str | None = None


@dataclass(frozen=True)
class Call:
    """One call, with the fields of docs/wire.md."""

    id: str
    command: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    stdin: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    input: Input | None = None
    select: list[str] | None = None
    success_codes: list[int] = field(default_factory=lambda: [0])
    final_codes: list[int] = field(default_factory=list)
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
        """The time limit of a program or a waiting verb in seconds. A cmdlet has one only if the call sets it."""
        return DEFAULT_TIMEOUT if self.timeout is None else self.timeout

    @property
    def is_program(self) -> bool:
        """Whether the command is a program."""
        return self.command.casefold().endswith(".exe")


@dataclass(frozen=True)
class Batch:
    """A batch, with the fields of docs/wire.md."""

    mode: Literal["run", "collect"] = "run"
    key: str | None = None
    wait: float = 0.0
    forget: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


_CALL_TYPES: Mapping[str, tuple[str, ...]] = {
    "id": ("string",),
    "command": ("string",),
    "parameters": ("object",),
    "arguments": ("list of string",),
    "stdin": ("string", "null"),
    "environment": ("object of string",),
    "input": ("object", "null"),
    "select": ("list of string", "null"),
    "success_codes": ("list of integer",),
    "final_codes": ("list of integer",),
    "output_limit": ("integer",),
    "on_error": ("string",),
    "retries": ("integer",),
    "delay": ("number",),
    "until": ("object", "null"),
    "timeout": ("number",),
    "needs": ("list of string",),
    "unless": ("list of string",),
    "always": ("boolean",),
    "secret": ("boolean",),
    "parallel": ("integer", "null"),
    "watch": ("string", "null"),
}
_BATCH_TYPES: Mapping[str, tuple[str, ...]] = {
    "mode": ("string",),
    "key": ("string", "null"),
    "wait": ("number",),
    "forget": ("list of string",),
    "calls": ("list",),
}
_INPUT_TYPES: Mapping[str, tuple[str, ...]] = {
    "from": ("string", "list of string"),
    "where": ("object", "null"),
    "parameter": ("string", "null"),
    "property": ("string", "null"),
}


def _expanded(text: str) -> str:
    """Return the JSON of a batch, which may be compressed with gzip and encoded in base64.

    Raises:
        BatchError: the text begins like compressed data, but cannot be decompressed.
    """
    if not text.startswith("H4sI"):
        return text
    try:
        return gzip.decompress(base64.b64decode(text, validate=True)).decode("utf-8")
    except (ValueError, EOFError, OSError, zlib.error):
        raise BatchError("the batch is not gzip data") from None


def parse(text: str) -> Batch:
    """Parse a batch from a JSON document.

    Raises:
        BatchError: the document violates docs/wire.md.
    """
    text = _expanded(text)
    if (size := len(text.encode(errors="surrogatepass"))) > LIMIT:
        raise BatchError(f"a batch has to be below 1 MB, this one has {size} bytes")
    try:
        document = batch_json.read(text, _unique)
    except (ValueError, RecursionError):
        raise BatchError("the batch is not JSON") from None
    _check(document, _BATCH_TYPES, "batch")
    mode = document.get("mode", "run")
    if mode not in ("run", "collect"):
        raise BatchError(f"unknown mode: {_quoted(mode)}")
    for key in [document.get("key"), *document.get("forget", [])]:
        if key is not None and not KEY.fullmatch(key):
            raise BatchError(f"not a key: {_quoted(key)}")
    if mode == "collect" and document.get("key") is None:
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
    call_id, name = entry["id"], _quoted(entry["id"])
    if call_id in earlier:
        raise BatchError(f"two calls have the id {name}")
    if entry["command"].startswith("@") and entry["command"] not in VERBS:
        raise BatchError(f"unknown verb: {entry['command']}")
    if entry.get("on_error", "stop") not in get_args(Literal["stop", "continue"]):
        raise BatchError(f"on_error of {name} is neither stop nor continue")
    for key in ("needs", "unless"):
        if unknown := [other for other in entry.get(key, []) if other not in earlier]:
            raise BatchError(f"{name} {key} {_quoted(unknown[0])}, which is not an earlier call")
    fields = {key: value for key, value in entry.items() if value is not None and key != "input"}
    given = entry.get("input")
    call = Call(**fields, input=_input(given, name, earlier) if given is not None else None)
    for key in ("parallel", "watch"):
        if key in fields and not call.is_program:
            raise BatchError(f"{name} has {key}, but is not a program")
    if call.parallel is not None and call.parallel < 1:
        raise BatchError(f"parallel of {name} has to be 1 or more")
    for key in ("retries", "delay", "timeout", "output_limit"):
        if fields.get(key, 0) < 0:
            raise BatchError(f"{key} of {name} has to be 0 or more")
    for key, most in MOST.items():
        if fields.get(key, 0) > most:
            raise BatchError(f"{key} of {name} has to be {most} or less")
    return call


def _input(entry: object, name: str, earlier: list[str]) -> Input:
    _check(entry, _INPUT_TYPES, f"input of {name}")
    assert isinstance(entry, dict)
    origin = entry.get("from")
    sources = [origin] if isinstance(origin, str) else list(origin or [])
    if not sources or any(source not in earlier for source in sources):
        raise BatchError(f"the input of {name} is not from an earlier call: {_quoted(sources)}")
    return Input(sources, entry.get("where") or {}, entry.get("parameter"), entry.get("property"))


def _check(entry: object, types: Mapping[str, tuple[str, ...]], what: str) -> None:
    if not isinstance(entry, dict):
        raise BatchError(f"a {what} has to be an object")
    for key, value in entry.items():
        allowed = types.get(key)
        if allowed is None:
            raise BatchError(f"unknown key in {what}: {_quoted(key)}")
        if wrong := _wrong_kind(value, allowed):
            raise BatchError(f"wrong type of {_quoted(key)} in {what}: {wrong}")


def _wrong_kind(value: object, allowed: tuple[str, ...]) -> str | None:
    """Return the JSON type of a value if this type is not allowed; otherwise None."""
    kind = _kind(value)
    if kind in allowed or (kind == "integer" and "number" in allowed):
        return None
    if not any(one.startswith(f"{kind} of ") for one in allowed):
        return kind
    members = value.values() if isinstance(value, dict) else value
    assert isinstance(members, Iterable)
    found = (f"{kind} of {_kind(member)}" for member in members)
    return next((one for one in found if one not in allowed), None)


def _kind(value: object) -> str:
    """Return the name of a value's JSON type. Integers have a type of their own."""
    if value is None:
        return "null"
    names = {str: "string", bool: "boolean", dict: "object", list: "list", float: "number", int: "integer"}
    return names[type(value)]


def _quoted(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found
