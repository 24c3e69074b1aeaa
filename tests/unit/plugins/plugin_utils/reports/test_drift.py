# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The document and table of the drift check."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.reports import drift, drift_table

ROOT = preflight.ROLES.parent
SCHEMA = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
OVERRIDES = r"HKLM:\SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides"
CHANGE = {"type": "File", "name": "C:\\a", "action": "update", "why": "content differs", "seconds": 0}


def change(name: str, why: str = "does not exist", kind: str = "Registry", **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, "action": "create", "why": why, **more}


def entry(*changes: dict[str, Any]) -> dict[str, Any]:
    return drift.node_entry({"changed": True, "changes": list(changes)})


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ([{"failed": True, "msg": "kube_version: expected 1.37, got '1.38.0'"}, None], "kube_version: expected 1.37"),
        ([{"failed": False}, {"failed": True, "msg": "no cluster answers"}], "no cluster answers"),
        ([{"problems": ["kube_version: wrong", "cni_plugin: wrong"]}], "2 problems in the node's variables"),
        ([{"problems": []}, {"unreachable": True, "msg": "away"}], "away"),
        ([{"failed": False}, None], "an earlier step failed"),
        ([], "an earlier step failed"),
    ],
)
def test_a_node_that_was_not_compared_has_a_reason(before: list[dict[str, object] | None], message: str) -> None:
    found = drift.node_entry(None, before)
    assert found["status"] == "error"
    assert message in found["message"]
    assert message in drift_table.table({"a": found})[1]


def test_the_drift_check_names_steps_that_register() -> None:
    plays = yaml.safe_load((ROOT / "playbooks" / "plan.yml").read_text(encoding="utf-8"))
    (report,) = next(task["always"] for task in plays[0]["tasks"] if "always" in task)
    before = report["winkube.node.drift_report"]["earlier_vars"]
    assert before
    assert set(before) <= {name for role in preflight.roles() for name in role.own}


def nodes() -> dict[str, dict[str, Any]]:
    return {
        "a": drift.node_entry({"changed": False, "changes": []}),
        "b": drift.node_entry({"changed": True, "changes": [CHANGE]}),
        "c": drift.node_entry({"unreachable": True, "msg": "no route\nto host"}),
        "d": drift.node_entry(None),
        "e": drift.node_entry(None, [{"problems": ["kube_version: wrong"]}]),
        "f": entry(change("x", disrupts=True, disruption="restarts kubelet")),
    }


def test_a_node_is_in_sync_differs_or_could_not_be_compared() -> None:
    found = nodes()
    assert [one["status"] for one in found.values()] == ["in_sync", "drift", "error", "error", "error", "drift"]
    assert found["b"]["drift"] == [{key: CHANGE[key] for key in ("type", "name", "action", "why")}]
    assert drift.counts(found) == {"in_sync": 1, "drift": 2, "error": 3}
    lines = drift_table.table(found)
    assert lines[0].split() == ["NODE", "STATUS", "RESOURCE", "DISRUPTS", "WHAT", "DIFFERS"]
    assert any("File C:\\a" in line and "content differs" in line for line in lines)
    assert any("no route to host" in line for line in lines)
    assert any("restarts kubelet" in line for line in lines)
    assert lines[-1] == drift_table.NORMAL


def test_the_document_matches_its_schema() -> None:
    document = drift.document(nodes(), time="2026-11-22T11:00:00Z", join_compared=False)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    validator.validate(document)
    assert SCHEMA["properties"]["schema_version"]["const"] == drift.SCHEMA_VERSION


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema_version": 2},
        {"join_compared": None},
        {"time": "yesterday"},
        {"nodes": {"a": {}}},
        {"nodes": {"a": {"status": "fine"}}},
        {"nodes": {"a": {"status": "drift"}}},
        {"nodes": {"a": {"status": "error"}}},
        {"nodes": {"a": {"status": "in_sync", "drift": []}}},
        {"nodes": {"a": {"status": "drift", "drift": [{"type": "File", "name": "x"}]}}},
    ],
)
def test_the_schema_refuses_another_document(wrong: dict[str, Any]) -> None:
    document = drift.document({}, time="2026-11-22T11:00:00Z", join_compared=True)
    jsonschema.validate(document, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, **wrong}, SCHEMA)


def test_the_table_states_that_the_join_was_not_compared() -> None:
    found = {"a": drift.node_entry({"changed": False})}
    assert drift_table.table(found) == drift_table.table(found, join_compared=True)
    assert drift_table.table(found, join_compared=False)[-1] == drift_table.NOT_JOINED
    assert "kubeconfig" in drift_table.NOT_JOINED


def test_alike_differences_share_a_row() -> None:
    values = [change(f"{OVERRIDES}\\{number}") for number in range(40)]
    other = change(f"{OVERRIDES}\\99", "value is 0, expected 1")
    lines = drift_table.table({"windows01": entry(change("C:\\k", kind="Directory"), *values, other)}, width=200)
    assert len(lines) == 6, lines
    assert "Directory C:\\k" in lines[1]
    assert "40 × Registry HKLM:" in lines[2]
    assert lines[2].split("  ")[2].endswith("FeatureManagement\\Overrides\\*")
    assert "value is 0, expected 1" in lines[3]
    assert "99" in lines[3]


def test_two_alike_differences_are_shown_one_by_one() -> None:
    lines = drift_table.table({"a": entry(change(f"{OVERRIDES}\\1"), change(f"{OVERRIDES}\\2"))})
    assert [line.partition("does not exist")[0].rstrip()[-2:] for line in lines[1:3]] == ["\\1", "\\2"]


@given(st.lists(st.text("ab\\ ", min_size=1, max_size=120), unique=True, max_size=6), st.sampled_from([40, 150]))
def test_rows_with_differences_are_highlighted(names: list[str], width: int) -> None:
    names = [name for name in names if name == name.rstrip()]
    whys = [f"reason {number}" for number in range(len(names))]
    changes = [change(name, why) for name, why in zip(names, whys, strict=True)]
    lines = drift_table.table({"a": entry(*changes)}, width)[1 : len(names) + 1] if names else []
    resources = [line.rpartition("reason")[0].rstrip() for line in lines]
    assert len(set(resources)) == len(names)


def test_three_alike_differences_share_a_row() -> None:
    values = [change(f"{OVERRIDES}\\{number}") for number in range(3)]
    lines = drift_table.table({"a": entry(*values)}, width=200)
    assert "3 × Registry HKLM:" in lines[1]
    assert len(lines) == 4, lines


def test_the_last_column_keeps_sixty_characters_however_long_the_names_are() -> None:
    lines = drift_table.table({"n" * 100: entry(change("C:\\a", "w" * 300, "File"))}, width=80)
    assert len(lines[1].split("  ")[-1]) == 60
