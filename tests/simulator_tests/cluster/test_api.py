# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The API as the official Python client and its dynamic client use it; the results are the same on both kinds."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as k8s
from kubernetes import config, dynamic, watch
from simulator_tests.cluster.node_client import MERGE, STRATEGIC, Client
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster

pytestmark = pytest.mark.waits

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"


@pytest.fixture(scope="session")
def api(cluster: SimulatedCluster) -> Iterator[k8s.ApiClient]:
    """Yield the official client with the administrator's credentials."""
    with config.new_client_from_config(config_file=str(cluster.kubeconfig)) as made:
        yield made


def pod(name: str, **labels: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example.invalid/main:1", "env": [{"name": "A", "value": "1"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}


def workload(name: str) -> dict[str, Any]:
    template = pod(name, app=name)
    template["metadata"].pop("name")
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_the_version_is_known(api: k8s.ApiClient, cluster: SimulatedCluster) -> None:
    version = k8s.VersionApi(api).get_code()
    assert version.git_version == f"v{cluster.version}"
    assert f"{version.major}.{version.minor}" == "1.37"


def test_the_kubernetes_service_points_to_the_api_server(admin: Client, cluster: SimulatedCluster) -> None:
    service = wait_for(lambda: admin.get("/api/v1/namespaces/default/services/kubernetes"), "the service")
    port = int(cluster.server.rpartition(":")[2])
    requested = {"name": "https", "port": port, "protocol": "TCP"}
    endpoints = admin.get("/api/v1/namespaces/default/endpoints/kubernetes")
    (subset,) = endpoints["subsets"]
    slice_ = admin.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    (address,) = [entry["ip"] for entry in subset["addresses"]]
    assert service["spec"]["ports"] == [{**requested, "port": 443, "targetPort": port}]
    assert subset["ports"] == slice_["ports"] == [requested]
    assert slice_["endpoints"] == [{"addresses": [address], "conditions": {"ready": True}}]
    assert slice_["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}


def test_the_dynamic_client_finds_resources(api: k8s.ApiClient, namespace: str, tmp_path: Path) -> None:
    found = dynamic.DynamicClient(api, cache_file=str(tmp_path / "cache.json"))
    deployments = found.resources.get(api_version="apps/v1", kind="Deployment")
    assert (deployments.namespaced, "status" in deployments.subresources) == (True, True)
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    created = maps.create(body=config_map("one", a="1"), namespace=namespace)
    assert created.metadata.uid
    items = maps.get(namespace=namespace).items
    assert {one.metadata.name for one in items} >= {"one"}


def test_create_read_replace_delete(api: k8s.ApiClient, namespace: str) -> None:
    core = k8s.CoreV1Api(api)
    made = core.create_namespaced_config_map(namespace, config_map("life", a="1"))
    assert made.metadata.creation_timestamp
    with pytest.raises(k8s.ApiException) as error:
        core.create_namespaced_config_map(namespace, config_map("life", a="1"))
    assert (error.value.status, '"reason":"AlreadyExists"' in str(error.value.body).replace(" ", "")) == (409, True)
    stale = core.read_namespaced_config_map("life", namespace)
    made.data["b"] = "2"
    assert core.replace_namespaced_config_map("life", namespace, made).data == {"a": "1", "b": "2"}
    with pytest.raises(k8s.ApiException) as error:
        core.replace_namespaced_config_map("life", namespace, stale)
    assert error.value.status == 409
    assert "the object has been modified" in str(error.value.body)
    same = core.read_namespaced_config_map("life", namespace)
    again = core.replace_namespaced_config_map("life", namespace, same)
    assert again.metadata.resource_version == same.metadata.resource_version, "nothing changed"
    core.delete_namespaced_config_map("life", namespace)
    with pytest.raises(k8s.ApiException) as error:
        core.read_namespaced_config_map("life", namespace)
    assert error.value.status == 404
    assert 'configmaps \\"life\\" not found' in str(error.value.body)


def test_a_dry_run_stores_nothing(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    assert admin.request("POST", f"{path}?dryRun=All", config_map("dry"))[0] == 201
    assert admin.request("GET", f"{path}/dry")[0] == 404
    admin.request("POST", path, config_map("dry", a="1"))
    code, body = admin.request("PATCH", f"{path}/dry?dryRun=All", {"data": {"a": "2"}}, MERGE)
    assert (code, body["data"]) == (200, {"a": "2"})
    assert admin.get(f"{path}/dry")["data"] == {"a": "1"}
    assert admin.request("DELETE", f"{path}/dry?dryRun=All")[0] == 200
    assert admin.request("GET", f"{path}/dry")[0] == 200


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("labelSelector=app%3Da", {"a1", "a2"}),
        ("labelSelector=app+in+(a,b),tier!%3Dback", {"a1", "b1"}),
        ("labelSelector=!tier", {"b1"}),
        ("labelSelector=tier", {"a1", "a2"}),
        ("fieldSelector=metadata.name%3Da1", {"a1"}),
        ("fieldSelector=status.phase%3DPending,metadata.name!%3Db1", {"a1", "a2"}),
        ("fieldSelector=spec.nodeName%3Dnowhere", set()),
    ],
)
def test_selectors(admin: Client, namespace: str, selector: str, expected: set[str]) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    for one in (pod("a1", app="a", tier="front"), pod("a2", app="a", tier="back"), pod("b1", app="b")):
        assert admin.request("POST", path, one)[0] == 201
    found = admin.get(f"{path}?{selector}")
    assert {one["metadata"]["name"] for one in found["items"]} == expected
    assert found["kind"] == "PodList"


def test_an_unknown_field_cannot_be_selected(admin: Client) -> None:
    code, body = admin.request("GET", "/api/v1/pods?fieldSelector=spec.color%3Dred")
    assert (code, body["reason"]) == (400, "BadRequest")
    assert "field label not supported: spec.color" in body["message"]


def test_secrets_are_selected_by_type(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    code, made = admin.request("POST", path, {"metadata": {"name": "s"}, "stringData": {"key": "value"}})
    assert (code, made["data"], made["type"]) == (201, {"key": "dmFsdWU="}, "Opaque")
    assert len(admin.get(f"{path}?fieldSelector=type%3DOpaque")["items"]) == 1
    assert admin.get(f"{path}?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken")["items"] == []


def test_a_strategic_merge_patch_merges_lists_by_key(admin: Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    admin.request("POST", path, workload("merge"))
    added = {"name": "main", "env": [{"name": "B", "value": "2"}]}
    spec: dict[str, Any] = {"containers": [added, {"name": "side", "image": "example.invalid/side:1"}]}
    spec["tolerations"] = [{"key": "os", "operator": "Exists"}]
    code, body = admin.request("PATCH", f"{path}/merge", {"spec": {"template": {"spec": spec}}}, STRATEGIC)
    assert code == 200, body
    containers = {one["name"]: one for one in body["spec"]["template"]["spec"]["containers"]}
    assert set(containers) == {"main", "side"}
    assert {one["name"]: one["value"] for one in containers["main"]["env"]} == {"A": "1", "B": "2"}
    assert containers["main"]["image"] == "example.invalid/main:1"
    assert body["metadata"]["generation"] == 2
    less = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}], "tolerations": []}}}}
    code, body = admin.request("PATCH", f"{path}/merge", less, STRATEGIC)
    assert [one["name"] for one in body["spec"]["template"]["spec"]["containers"]] == ["main"]
    assert not body["spec"]["template"]["spec"].get("tolerations")


def test_a_merge_patch_and_a_json_patch(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.request("POST", path, config_map("patch", a="1", b="2"))
    code, body = admin.request("PATCH", f"{path}/patch", {"data": {"a": None, "c": "3"}}, MERGE)
    assert (code, body["data"]) == (200, {"b": "2", "c": "3"})
    operations = [
        {"op": "test", "path": "/data/b", "value": "2"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "1"}},
        {"op": "move", "from": "/data/b", "path": "/data/d"},
    ]
    code, body = admin.request("PATCH", f"{path}/patch", operations, JSON_PATCH)
    assert (code, body.get("data"), body["metadata"].get("labels")) == (200, {"c": "3", "d": "2"}, {"x": "1"})
    failing = [{"op": "test", "path": "/data/c", "value": "9"}]
    code, body = admin.request("PATCH", f"{path}/patch", failing, JSON_PATCH)
    assert (code, body["message"]) == (422, "the server rejected our request due to an error in our request")
    assert admin.request("PATCH", f"{path}/patch", {}, "text/plain")[0] == 415


def test_server_side_apply(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/applied"
    code, _ = admin.request("PATCH", f"{path}?fieldManager=one", config_map("applied", a="1", b="2"), APPLY)
    assert code == 201
    code, body = admin.request("PATCH", f"{path}?fieldManager=one", config_map("applied", a="1"), APPLY)
    assert (code, body["data"]) == (200, {"a": "1"}), "what a manager no longer applies goes"
    code, body = admin.request("PATCH", f"{path}?fieldManager=two", config_map("applied", a="9", c="3"), APPLY)
    assert (code, body["reason"]) == (409, "Conflict")
    assert body["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert body["details"]["causes"][0]["reason"] == "FieldManagerConflict"
    code, body = admin.request("PATCH", f"{path}?fieldManager=two&force=true", config_map("applied", a="9", c="3"), APPLY)  # fmt: skip  # noqa: E501
    assert (code, body["data"]) == (200, {"a": "9", "c": "3"})
    version = body["metadata"]["resourceVersion"]
    code, body = admin.request("PATCH", f"{path}?fieldManager=two", config_map("applied", a="9", c="3"), APPLY)
    assert (code, body["metadata"]["resourceVersion"]) == (200, version), "nothing changed"


def test_a_watch_reports_every_change(api: k8s.ApiClient, namespace: str) -> None:
    core = k8s.CoreV1Api(api)
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    stream = watch.Watch()

    def work() -> None:
        core.create_namespaced_config_map(namespace, config_map("seen", a="1") | {"metadata": {"name": "seen", "labels": {"in": "1"}}})  # fmt: skip  # noqa: E501
        core.patch_namespaced_config_map("seen", namespace, {"data": {"a": "2"}})
        core.patch_namespaced_config_map("seen", namespace, {"metadata": {"labels": {"in": None}}})

    thread = threading.Thread(target=work)
    thread.start()
    events = []
    for event in stream.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=start,
        label_selector="in=1",
        timeout_seconds=20,
    ):
        events.append((event["type"], event["object"].data["a"]))
        if event["type"] == "DELETED":
            stream.stop()
    thread.join()
    assert events == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_watch_without_a_start_sends_existing_objects_and_ends_in_time(admin: Client, namespace: str) -> None:
    admin.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("there"))
    events = list(admin.watch(f"/api/v1/namespaces/{namespace}/configmaps?fieldSelector=metadata.name%3Dthere", 1))
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in events] == [("ADDED", "there")]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/v1/namespaces", {"metadata": {"name": "Upper"}}, "metadata.name"),
        ("/api/v1/namespaces/{}/pods", {"metadata": {"name": "p"}, "spec": {"containers": []}}, "spec.containers"),
        ("/apis/apps/v1/namespaces/{}/deployments", workload("a") | {"metadata": {"name": "-a"}}, "metadata.name"),
    ],
)
def test_invalid_objects_are_refused(
    admin: Client, namespace: str, path: str, body: dict[str, Any], field: str
) -> None:
    code, answer = admin.request("POST", path.format(namespace), body)
    assert (code, answer["reason"]) == (422, "Invalid")
    assert field in [one["field"] for one in answer["details"]["causes"]]
    assert answer["details"]["name"] == body["metadata"]["name"]


def test_selectors_of_workloads_must_match_and_never_change(admin: Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    wrong = workload("w")
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    code, body = admin.request("POST", path, wrong)
    assert (code, "`selector` does not match template `labels`" in body["message"]) == (422, True)
    admin.request("POST", path, workload("w"))
    change = {"spec": {"selector": {"matchLabels": {"app": "z"}}, "template": {"metadata": {"labels": {"app": "z"}}}}}
    code, body = admin.request("PATCH", f"{path}/w", change, MERGE)
    assert (code, "field is immutable" in body["message"]) == (422, True)


def test_a_pods_spec_does_not_change(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    admin.request("POST", path, pod("fixed"))
    code, body = admin.request("PATCH", f"{path}/fixed", {"spec": {"hostNetwork": True}}, MERGE)
    assert (code, "pod updates may not change fields other than" in body["message"]) == (422, True)
    code, body = admin.request("PATCH", f"{path}/fixed", {"status": {"phase": "Running"}}, MERGE)
    assert (code, body["status"]["phase"]) == (200, "Pending"), "the status has a subresource of its own"


def test_a_deployment_creates_and_deletes_pods(admin: Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    requested = workload("scaled")
    requested["spec"]["template"]["spec"]["nodeSelector"] = {"example.org/none": "such"}  # the pods get no node
    code, body = admin.request("POST", path, requested)
    assert (code, body["spec"]["replicas"], body["spec"]["strategy"]["type"]) == (201, 1, "RollingUpdate")
    pods = f"/api/v1/namespaces/{namespace}/pods?labelSelector=app%3Dscaled"
    wait_for(lambda: len(admin.get(pods)["items"]) == 1, "one pod")
    code, scale = admin.request("PATCH", f"{path}/scaled/scale", {"spec": {"replicas": 3}}, MERGE)
    assert (code, scale["spec"]["replicas"], scale["status"]["selector"]) == (200, 3, "app=scaled")
    wait_for(lambda: len(admin.get(pods)["items"]) == 3, "three pods")
    admin.request("DELETE", f"{path}/scaled")
    wait_for(lambda: not admin.get(pods)["items"], "the pods go with their owner")


def test_deleting_a_namespace_deletes_its_objects(admin: Client, namespace: str) -> None:
    admin.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("last"))
    assert admin.request("DELETE", f"/api/v1/namespaces/{namespace}")[0] == 200
    wait_for(lambda: admin.request("GET", f"/api/v1/namespaces/{namespace}")[0] == 404, "the namespace is gone")
    code, body = admin.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("late"))
    assert (code, body["message"]) == (404, f'namespaces "{namespace}" not found')


def test_delete_collection(admin: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name, label in (("a", "go"), ("b", "go"), ("c", "stay")):
        admin.request("POST", path, config_map(name) | {"metadata": {"name": name, "labels": {"do": label}}})
    assert admin.request("DELETE", f"{path}?labelSelector=do%3Dgo")[0] == 200
    left = {one["metadata"]["name"] for one in admin.get(path)["items"]}
    assert left - {"kube-root-ca.crt"} == {"c"}


def test_the_token_of_a_service_account_has_the_rights_of_its_roles(
    cluster: SimulatedCluster, admin: Client, namespace: str
) -> None:
    code, made = admin.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token", {})
    assert code == 201, made
    client = Client(cluster, token=made["status"]["token"])
    assert client.request("GET", "/api/v1/nodes")[0] == 403
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    admin.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": namespace}, "rules": [rule]})
    binding = {
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    code, body = admin.request("POST", f"{rbac}/clusterrolebindings", binding)
    assert code == 201, body
    wait_for(lambda: client.request("GET", "/api/v1/nodes")[0] == 200, "the role counts")
    assert client.request("DELETE", "/api/v1/nodes/any")[0] == 403
    review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}}}
    code, body = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (code, body["status"]["allowed"]) == (201, True)
    code, body = client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert body["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:default"


def test_the_token_in_a_secret_lasts_as_long_as_the_secret(
    cluster: SimulatedCluster, admin: Client, namespace: str
) -> None:
    used, unused = (secret_token(admin, namespace, name) for name in ("used", "unused"))
    _code, body = Client(cluster, token=used).request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert body["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:default"
    admin.request("DELETE", f"/api/v1/namespaces/{namespace}/secrets/unused")
    # A real API server caches successful authentications for ten seconds, so the other token would still be accepted.
    client = Client(cluster, token=unused)
    wait_for(lambda: client.request("GET", "/api/v1/nodes")[0] == 401, "the token is worth nothing", 30)


def secret_token(admin: Client, namespace: str, name: str) -> str:
    """Create a secret for the token of the default service account, and return the token."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    secret = {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": "default"}},
    }
    code, body = admin.request("POST", path, secret)
    assert code == 201, body
    data = wait_for(lambda: (d := admin.get(f"{path}/{name}").get("data") or {}).get("token") and d, "it has a token")
    assert set(data) == {"token", "ca.crt", "namespace"}
    return base64.b64decode(data["token"]).decode()


def test_an_anonymous_user_may_read_little(cluster: SimulatedCluster) -> None:
    nobody = Client(cluster)
    assert nobody.request("GET", "/healthz") == (200, {"text": "ok"})
    assert nobody.get("/version")["gitVersion"] == f"v{cluster.version}"
    code, body = nobody.request("GET", "/api/v1/nodes")
    assert (code, body["reason"]) == (403, "Forbidden")
    expected = (
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope'
    )
    assert body["message"] == expected
    assert nobody.request("GET", "/apis")[0] == 403
