# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Custom resources on both kinds: served once defined, checked against the schema, deleted with the definition."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from simulator_tests.cluster.node_client import MERGE, STRATEGIC, Client
from simulator_tests.waiting import wait_for

pytestmark = pytest.mark.waits

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["cidr"],
            "properties": {
                "cidr": {"type": "string", "pattern": "^[0-9./]+$"},
                "mode": {"type": "string", "enum": ["Always", "Never"], "default": "Never"},
                "sizes": {"type": "array", "items": {"type": "integer", "nullable": True}},
            },
        }
    },
}


@pytest.fixture
def own_pools(admin: Client) -> str:
    """Define a resource that the test may change, and return the path of its objects."""
    return defined(admin)


@pytest.fixture(scope="module")
def pools(admin: Client) -> str:
    """Define a resource for the tests that do not change it, and return the path of its objects.

    A real API server answers the first request for a new resource after two seconds.
    """
    return defined(admin)


def defined(admin: Client) -> str:
    """Define a resource in a new API group, and return the path of its objects."""
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    names = {"kind": "Pool", "listKind": "PoolList", "plural": "pools", "singular": "pool"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    spec = {"group": group, "names": names, "scope": "Cluster", "versions": [version]}
    code, body = admin.request("POST", DEFINITIONS, {"metadata": {"name": f"pools.{group}"}, "spec": spec})
    assert code == 201, body
    path = f"/apis/{group}/v1/pools"
    wait_for(lambda: admin.request("GET", path)[0] == 200, "the resource is served")
    return path


def pool(path: str, name: str = "one", **spec: Any) -> dict[str, Any]:
    group = path.split("/")[2]
    return {"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": name}, "spec": spec}


def test_an_object_gets_defaults_and_loses_unknown_fields(admin: Client, pools: str) -> None:
    code, body = admin.request("POST", pools, pool(pools, cidr="10.0.0.0/8", sizes=[1, None], other=1))
    assert code == 201, body
    assert body["spec"] == {"cidr": "10.0.0.0/8", "mode": "Never", "sizes": [1, None]}
    assert body["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "spec.cidr: Required value"),
        ({"cidr": 1}, "spec.cidr: Invalid value"),
        ({"cidr": "ten"}, "spec.cidr in body should match"),
        ({"cidr": "1", "mode": "Sometimes"}, 'spec.mode: Unsupported value: "Sometimes"'),
        ({"cidr": "1", "sizes": ["a"]}, "spec.sizes[0]"),
    ],
)
def test_an_object_that_does_not_fit_its_schema_is_refused(
    admin: Client, pools: str, spec: dict[str, Any], text: str
) -> None:
    code, body = admin.request("POST", pools, pool(pools, "refused", **spec))
    assert code == 422
    assert text in body["message"]


def test_an_update_needs_the_version_of_the_object(admin: Client, pools: str) -> None:
    admin.request("POST", pools, pool(pools, "updated", cidr="10.0.0.0/8"))
    code, body = admin.request("PUT", f"{pools}/updated", pool(pools, "updated", cidr="10.1.0.0/16"))
    assert code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in body["message"].replace(
        "0x0", "0"
    )
    code, body = admin.request("PATCH", f"{pools}/updated", {"spec": {"cidr": "10.1.0.0/16"}}, content_type=MERGE)
    assert (code, body["metadata"]["generation"]) == (200, 2)
    assert admin.request("PATCH", f"{pools}/updated", {"spec": {}}, content_type=STRATEGIC)[0] == 415


def test_discovery_lists_the_resource(admin: Client, pools: str) -> None:
    group = pools.split("/")[2]
    code, body = admin.request("GET", f"/apis/{group}/v1")
    assert code == 200
    assert [item["kind"] for item in body["resources"]] == ["Pool"]
    groups = admin.request("GET", "/apis")[1]["groups"]
    assert group in [item["name"] for item in groups]


def test_objects_are_gone_with_their_definition(admin: Client, own_pools: str) -> None:
    admin.request("POST", own_pools, pool(own_pools, cidr="10.0.0.0/8"))
    admin.request("DELETE", f"{DEFINITIONS}/pools.{own_pools.split('/')[2]}")
    wait_for(lambda: admin.request("GET", own_pools)[0] == 404, "the resource is not served any more")


def test_objects_stay_when_their_definition_changes(admin: Client, own_pools: str) -> None:
    admin.request("POST", own_pools, pool(own_pools, cidr="10.0.0.0/8"))
    definition = f"{DEFINITIONS}/pools.{own_pools.split('/')[2]}"
    (version,) = admin.request("GET", definition)[1]["spec"]["versions"]
    old = version | {"name": "v0", "storage": False}
    for versions in ([version | {"subresources": {"status": {}}}, old], [version | {"subresources": {"status": {}}}]):
        code, body = admin.request("PATCH", definition, {"spec": {"versions": versions}}, content_type=MERGE)
        assert code == 200, body
        code = 200 if old in versions else 404
        wait_for(lambda code=code: admin.request("GET", own_pools.replace("/v1/", "/v0/"))[0] == code, "v0 is changed")
    assert admin.request("GET", f"{own_pools}/one/status")[1]["spec"]["cidr"] == "10.0.0.0/8"
