# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The recorded cases: reading them, running them on a back end, comparing its answers with PowerShell's."""

from __future__ import annotations

import base64
import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from wire_cases import translation

DATA = Path(__file__).parent / "data"
POWERSHELL = "7.6.5"
"""The version of PowerShell with which the answers were recorded."""
UNRECORDED = frozenset({"seconds", "time", "boot", "version", "modified", "free", "total", "message"})
"""Keys of an observation that differ from run to run."""
LATER = frozenset({"link"})
"""Keys of an answer that the module did not have yet when the cases were recorded."""

_VERBATIM = ("{F}", "{F/}", "\\\\?\\{F}")
"""The beginnings of texts that name the folder and keep their own slashes after it."""

Tree = dict[str, "bytes | None"]
"""The contents of files by their path below the folder; None for a folder."""
Hold = Callable[[str, str, str], AbstractContextManager[object]]
"""Keeps a file of a node open, as another process does: its path, letters of `rwd` for access, and for sharing."""


class BackEnd(Protocol):
    """A node that runs batches."""

    program: str
    """The path that `{P}` stands for."""

    def path(self, below: str) -> str:
        """Return the node's form of a path below the folder that `{R}` stands for; `below` is empty, or `/NAME…`."""

    def prepare(self, before: Tree) -> None:
        """Remove the files, the registry key, the variables and the keys of earlier cases, and write the files."""

    def run(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's answer to a batch."""

    def kill(self, batch: Mapping[str, Any], sign: str) -> None:
        """Run a batch in a process that is killed as soon as the file `sign` exists."""

    def files(self) -> Tree:
        """Return the files and folders below the folder of the cases."""


@dataclass(frozen=True)
class Holder:
    """A process that keeps a file open.

    Letters of `rwd` (read, write, delete) state what it may do, and what it allows other processes to do.
    """

    path: str
    access: str
    share: str


@dataclass(frozen=True)
class Case:
    """One recorded case.

    Args:
        name: its id.
        before: the files at the start.
        batches: the batches, which run one after the other.
        observations: PowerShell's answer to each batch; None if the process of the batch is killed.
        after: the files at the end; None if they were not recorded.
        holder: the process that keeps a file open during the case, if there is one.
        sign: the file whose existence shows that the process can be killed.
    """

    name: str
    before: Tree
    batches: list[dict[str, Any]]
    observations: list[dict[str, Any] | None]
    after: dict[str, Any] | None
    holder: Holder | None = None
    sign: str = ""


def run(case: Case, node: BackEnd, hold: Hold | None = None) -> list[str]:
    """Run a case as `differences` does, and return an exception as a difference, so that the next cases still run.

    Args:
        case: the case.
        node: the node on which the case runs.
        hold: keeps a file open; necessary for cases with a holder.
    """
    try:
        return differences(case, node, hold)
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]


def read(name: str) -> Iterator[Case]:
    """Yield the cases of a file.

    Args:
        name: `own`, `cases`, `registry`, `file-cmdlets`, `names` or `open-files`.
    """
    if name == "own":
        yield from _own()
        return
    if name == "names":
        yield from _names()
        return
    if name == "open-files":
        yield from _open_files()
        return
    with lzma.open(DATA / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            # The state of the registry cases was not recorded, because all of them ran.
            observations: list[dict[str, Any] | None] = [
                {"state": "finished", **each} for each in entry["observations"]
            ]
            yield Case(entry["id"], _before(entry), entry["batches"], observations, entry.get("after"))


def _before(entry: Mapping[str, Any]) -> Tree:
    files = entry.get("before", {}).items()
    return {path: None if data is None else base64.b64decode(data) for path, data in files}


def _own() -> Iterator[Case]:
    """Yield the cases that were written from docs/wire.md."""
    for entry in json.loads((DATA / "own.json").read_text(encoding="utf-8"))["cases"]:
        after, sign = entry.get("after"), entry.get("sign", "")
        yield Case(entry["id"], _before(entry), entry["batches"], entry["observations"], after, sign=sign)


def _names() -> Iterator[Case]:
    """Yield the cases of unusual paths, which have one batch each."""
    for entry in json.loads((DATA / "names.json").read_text(encoding="utf-8")):
        observation = {"state": "finished", "stopped": None, "calls": entry["observation"]}
        yield Case(entry["name"], {"k": b"k"}, [{"calls": entry["calls"]}], [observation], None)


def _open_files() -> Iterator[Case]:
    """Yield the cases of a file that another process keeps open, which have one call each."""
    document = json.loads((DATA / "open-files.json").read_text(encoding="utf-8"))
    before: Tree = {path: text.encode() for path, text in document["before"].items()}
    for recorded in document["rows"]:
        row = translation.open_file(recorded, document["rows"])
        holder = row["holder"]
        result = {key: row[key] for key in ("ok", "output", "error") if row[key] is not None}
        call = {"id": "call", "on_error": "continue", **row["call"]}
        after = {path: base64.b64encode(text.encode()).decode() for path, text in row["after"].items()}
        # Wine's ReplaceFile leaves its own temporary file behind.
        after = {path: text for path, text in after.items() if not re.fullmatch(r"rf[0-9a-f]{4}\.tmp", path)}
        yield Case(
            f"{holder['who']}: {row['what']}",
            before,
            [{"calls": [call]}],
            [{"state": "finished", "stopped": None, "calls": {"call": {"attempts": 1, **result}}}],
            after,
            Holder("{R}/f.txt", holder["access"], holder["share"].replace("-", "")),
        )


def differences(case: Case, node: BackEnd, hold: Hold | None = None) -> list[str]:
    """Run a case, and return where the answers differ from PowerShell's answers; empty if they agree.

    Args:
        case: the case.
        node: the node on which the case runs.
        hold: keeps a file open; necessary for cases with a holder.
    """
    node.prepare(case.before)
    if case.holder is None or hold is None:
        assert case.holder is None, "this case needs somebody who holds a file"
        return _differences(case, node)
    with hold(_native(case.holder.path, node), case.holder.access, case.holder.share):
        return _differences(case, node)


def _differences(case: Case, node: BackEnd) -> list[str]:
    found: list[str] = []
    native = partial(_native, node=node)
    for number, (batch, expected) in enumerate(zip(case.batches, case.observations, strict=True)):
        if expected is None:
            node.kill(native(batch), native(case.sign))
            continue
        answer = node.run(native(batch))
        if "observation" not in answer:
            return [*found, f"batch {number}: no observation, but {answer}"]
        commands = {call["id"]: call["command"] for call in batch.get("calls", ())}
        now = {
            name: translation.translated(commands.get(name, ""), result, in_use=case.holder is not None, case=case.name)
            for name, result in expected["calls"].items()
        }
        found += _compare(native({**expected, "calls": now}), answer["observation"], f"batch {number}")
    if case.after is not None:
        found += _compare(case.after, _recorded_files(node.files()), "files")
    return found


def _native(value: Any, node: BackEnd) -> Any:
    """Return a recorded value with the paths of the node."""
    if isinstance(value, str):
        if value.startswith("{R}"):
            return node.path(value.removeprefix("{R}"))
        if value.startswith(_VERBATIM):
            folder = node.path("")
            return value.replace("{F}", folder, 1).replace("{F/}", folder.replace("\\", "/"), 1)
        return node.program if value == "{P}" else value
    if isinstance(value, list):
        return [_native(item, node) for item in value]
    if isinstance(value, dict):
        return {key: _native(item, node) for key, item in value.items()}
    return value


def _recorded_files(tree: Tree) -> dict[str, Any]:
    """Return files in the format of the recording."""
    return {path: _recorded_content(path, content) for path, content in tree.items()}


def _recorded_content(path: str, content: bytes | None) -> Any:
    if content is None:
        return None
    if path.endswith(".manifest.json"):
        try:
            document = json.loads(content)
        except ValueError:
            document = None
        if isinstance(document, dict):
            return {key: value for key, value in document.items() if key != "time"}
    return base64.b64encode(content).decode()


def _compare(expected: Any, found: Any, where: str) -> list[str]:
    """Return the places at which a value differs from the recorded value."""
    if isinstance(expected, dict) and isinstance(found, dict):
        places: list[str] = []
        for key in {**expected, **found}:
            if key in UNRECORDED or (key in LATER and key not in expected):
                continue
            if key == "error" and expected.get("error") == "any" and _is_failure(found.get("error")):
                continue
            if (key in expected) != (key in found):
                there = f"missing, expected {expected[key]!r}" if key in expected else f"not expected: {found[key]!r}"
                places.append(f"{where}.{key}: {there}")
                continue
            places += _compare(expected[key], found[key], f"{where}.{key}")
        return places
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [place for at, pair in pairs for place in _compare(*pair, f"{where}[{at}]")]
    if _same(expected, found):
        return []
    return [f"{where}: expected {expected!r}, got {found!r}"]


def _is_failure(error: Any) -> bool:
    """Return whether there is an error that a node can have, and not an error because the simulator lacks a feature."""
    return bool(error) and not (isinstance(error, dict) and error.get("id") == "SimulatorDoesNotModel")


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return expected == found
    return type(expected) is type(found) and bool(expected == found)
