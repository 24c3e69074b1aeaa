# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module returns a result for every batch, and its errors are ones that Windows also returns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulator_tests.batches import answer, observe

from simulator.machine.session import Session
from wire_provider.batch import VERBS

PATHS = st.sampled_from(
    ["C:\\k", "C:\\k\\a", "C:\\k\\a\\b", "Q:\\x", "", "\0", "con", "C:\\k\\" + "n" * 300, "HKLM:\\SOFTWARE\\k"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    PATHS,
)
NAMES = st.sampled_from([
    "path", "paths", "destination", "content", "encoding", "limit", "offset", "hash", "acl", "sha256", "algorithm",
    "manifest", "values", "name", "value", "kind", "files", "tail", "sddl", "existing", "checksum_path",
])  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=5,
)
CALL = st.fixed_dictionaries(
    {"command": st.sampled_from([verb for verb in VERBS if verb != "@wait-port"])},
    optional={
        "parameters": st.dictionaries(NAMES, VALUES, max_size=4),
        "select": st.lists(st.text(max_size=4), max_size=2),
        "until": st.dictionaries(st.text(max_size=4), VALUES, max_size=2),
        "output_limit": st.integers(-1, 2**70),
        "delay": st.sampled_from([0, 1e300, -1, 2**70]),
        "timeout": st.sampled_from([0, 5, 1e300, -1, 2**70]),
        "retries": st.sampled_from([0, 2**70]),
        "on_error": st.just("continue"),
        "secret": st.booleans(),
    },
)
DOCUMENTS = st.one_of(
    st.text(max_size=20),
    st.builds(json.dumps, st.floats()),
    st.builds(
        json.dumps, st.dictionaries(st.sampled_from(["mode", "wait", "calls", "forget", "x"]), st.floats() | VALUES)
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(CALL, min_size=1, max_size=3))
def test_the_module_catches_all_exceptions(session: Session, calls: list[dict[str, Any]]) -> None:
    found = answer(session, {"calls": [{"id": f"{number}", **call} for number, call in enumerate(calls)]})
    assert "failed" in found or found["observation"]["state"] == "finished"
    json.dumps(found, allow_nan=False)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=DOCUMENTS)
def test_no_text_crashes_the_module(session: Session, text: str) -> None:
    found = answer(session, text)
    assert "failed" in found or "observation" in found


def failed(session: Session, command: str, **parameters: object) -> tuple[str, str]:
    call = {"id": "a", "command": command, "parameters": parameters, "on_error": "continue"}
    error = observe(session, call)["calls"]["a"]["error"]
    return error["category"], error["id"]


def test_invalid_casts_and_indexes_fail(session: Session) -> None:
    session.machine.files.write_text("C:\\a", "a")
    large = {"paths": ["C:\\a"], "content": True, "limit": 2**62}
    assert failed(session, "@read-file", **large) == ("InvalidArgument", "InvalidCastIConvertible")
    assert failed(session, "@read-file", **{**large, "limit": "x"}) == (
        "InvalidArgument",
        "InvalidCastFromStringToInteger",
    )
    committed = failed(session, "@commit-file", path="C:\\a", destination="C:\\b", manifest="text")
    assert committed == ("InvalidOperation", "CannotIndex")
    assert session.machine.files.read_text("C:\\b") == "a", "it was moved before the manifest was looked at"


@pytest.mark.parametrize("host", ["n" * 300, "n" * 70 + ".example", "127.0.0.1"])
def test_an_invalid_port_does_not_answer(session: Session, host: str) -> None:
    for port in (70_000, 2**40, "x"):
        call = {"id": "a", "command": "@wait-port", "parameters": {"host": host, "port": port, "timeout": 0}}
        assert observe(session, call)["calls"]["a"]["output"] == [{"open": False}]
