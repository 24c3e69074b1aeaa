# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""JSON patches that a real API server and the one in memory reject or apply alike, with the same messages."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.cluster.node_client import Client

JSON_PATCH = "application/json-patch+json"


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}}


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ({"op": "remove"}, "object into Go value of type []handlers.jsonPatchOp"),
        ("[]", "string into Go value of type []handlers.jsonPatchOp"),
        (True, "bool into Go value of type []handlers.jsonPatchOp"),
        ([1], "number into Go value of type handlers.jsonPatchOp"),
        ([[]], "array into Go value of type handlers.jsonPatchOp"),
        ([{"op": "add", "path": 1, "value": 1}], "number into Go struct field jsonPatchOp.path of type string"),
        ([{"op": True, "path": "/a"}], "bool into Go struct field jsonPatchOp.op of type string"),
        ([{"op": "copy", "from": {}, "path": "/a"}], "object into Go struct field jsonPatchOp.from of type string"),
    ],
)
def test_a_malformed_json_patch(admin: Client, namespace: str, operations: Any, message: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.request("POST", path, config_map("malformed"))
    code, body = admin.request("PATCH", f"{path}/malformed", operations, JSON_PATCH)
    assert (code, body["message"]) == (400, f"error decoding patch: json: cannot unmarshal {message}")


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([None], 422),
        ([{"op": "jump", "path": "/data/a"}], 422),
        ([{"path": "/data/a"}], 422),
        ([{"op": "remove", "path": ""}], 422),
        ([{"op": "remove", "path": "/data/missing"}], 422),
        ([{"op": "remove", "path": None}], 422),
        ([{"op": "add", "path": "data", "value": 1}], 422),
        ([{"op": "copy", "path": "/data/a"}], 422),
        ([{"op": "replace", "path": "/missing/a", "value": "1"}], 422),
        ([{"op": "replace", "path": "/metadata/finalizers/0", "value": "1"}], 422),
        ([{"op": "test", "path": "/data/a"}], 422),
        ([{"op": "test", "path": "/missing/a"}], 422),
        ([{"op": "test", "path": "/data/missing", "value": "1"}], 422),
        ([{"op": "move", "from": "/data/missing", "path": "/data/b"}], 422),
        ([{"op": "replace", "path": "/data/missing", "value": "1"}], 200),
        ([{"op": "add", "path": "/data/b"}], 200),
        ([{"op": "replace", "path": "/data/a"}], 200),
        ([{"op": "test", "path": "/data/missing"}], 200),
        ([], 200),
    ],
)
def test_a_json_patch_that_cannot_be_applied(admin: Client, namespace: str, operations: Any, code: int) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.request("POST", path, config_map("unfit"))
    found, body = admin.request("PATCH", f"{path}/unfit", operations, JSON_PATCH)
    assert found == code, body
    if code == 422:
        assert body["message"] == "the server rejected our request due to an error in our request"
