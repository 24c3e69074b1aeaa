# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests with which a node joins, and how the cluster then handles it; the same on both kinds."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from simulator_tests.cluster.node_client import (
    MERGE,
    STRATEGIC,
    Client,
    bootstrap_token,
    node_client,
    node_object,
    run_pod,
    set_ready,
    signing_request,
    token_client,
)
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster

pytestmark = pytest.mark.waits

CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
NOT_READY = "node.kubernetes.io/not-ready"
NewNode = Callable[..., tuple[str, Client]]


@pytest.fixture
def new_node(cluster: SimulatedCluster, admin: Client, tmp_path: Path) -> Iterator[NewNode]:
    """Yield a function that joins a node over the API; delete the nodes afterwards."""
    names = []

    def join(ready: bool = True, labels: dict[str, str] | None = None) -> tuple[str, Client]:
        name = f"win-{uuid.uuid4().hex[:8]}"
        names.append(name)
        client = node_client(cluster, bootstrap_token(admin), name, tmp_path)
        code, body = client.request("POST", "/api/v1/nodes", node_object(name))
        assert code == 201, body
        if labels:  # by the administrator, because a kubelet may not set these labels
            admin.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}}, MERGE)
        if ready:
            set_ready(client, name)
        return name, client

    yield join
    for name in names:
        admin.request("DELETE", f"/api/v1/nodes/{name}")


def taints(node: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["key"], one["effect"]) for one in node["spec"].get("taints", [])}


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_cluster_info_is_signed_for_each_token_and_public(cluster: SimulatedCluster, admin: Client) -> None:
    token_id, token_secret = (token := bootstrap_token(admin)).split(".")
    key = f"jws-kubeconfig-{token_id}"

    def signed() -> dict[str, str] | None:
        data: dict[str, str] = Client(cluster).get(CLUSTER_INFO)["data"]
        return data if key in data else None

    data = wait_for(signed, "the token's signature")
    header, payload, signature = data[key].split(".")
    assert payload == ""
    assert yaml.safe_load(decode(header)) == {"alg": "HS256", "kid": token_id}
    text = base64.urlsafe_b64encode(data["kubeconfig"].encode()).rstrip(b"=").decode()
    expected = hmac.new(token_secret.encode(), f"{header}.{text}".encode(), hashlib.sha256).digest()
    assert decode(signature) == expected

    found = yaml.safe_load(data["kubeconfig"])["clusters"][0]["cluster"]
    assert found["server"] == cluster.server
    ca = base64.b64decode(found["certificate-authority-data"])
    public = x509.load_pem_x509_certificate(ca).public_key()
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert cluster.ca_hash == f"sha256:{hashlib.sha256(der).hexdigest()}"

    admin.request("DELETE", f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token_id}")
    wait_for(lambda: key not in Client(cluster).get(CLUSTER_INFO)["data"], "the signature goes with the token")
    assert Client(cluster, token=token).request("GET", CLUSTER_INFO)[0] == 401


@pytest.mark.parametrize("name", ["kubeadm-config", "kubelet-config", "kube-proxy"])
def test_a_bootstrap_token_reads_what_joining_needs(cluster: SimulatedCluster, admin: Client, name: str) -> None:
    client = token_client(cluster, bootstrap_token(admin))
    data = client.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")["data"]
    text = {"kubeadm-config": "ClusterConfiguration", "kubelet-config": "kubelet", "kube-proxy": "config.conf"}[name]
    parsed = yaml.safe_load(data[text])
    if name == "kubeadm-config":
        assert parsed["apiVersion"] == "kubeadm.k8s.io/v1beta4"
        assert parsed["kubernetesVersion"] == f"v{cluster.version}"
        assert parsed["controlPlaneEndpoint"] == cluster.server.removeprefix("https://")
        assert parsed["networking"]["podSubnet"] == "10.244.0.0/16"
    if name == "kubelet-config":
        assert parsed["authentication"]["x509"]["clientCAFile"] == "/etc/kubernetes/pki/ca.crt"
        assert parsed["clusterDNS"] == ["10.96.0.10"]
    assert Client(cluster).request("GET", f"/api/v1/namespaces/kube-system/configmaps/{name}")[0] == 403


def test_a_bootstrap_token_may_not_do_more(cluster: SimulatedCluster, admin: Client) -> None:
    client = token_client(cluster, bootstrap_token(admin))
    assert client.request("GET", "/api/v1/nodes/nobody")[0] == 404
    code, body = client.request("GET", "/api/v1/namespaces/kube-system/secrets")
    assert (code, body["reason"]) == (403, "Forbidden")
    assert body["message"].startswith('secrets is forbidden: User "system:bootstrap:')
    assert body["message"].endswith('cannot list resource "secrets" in API group "" in the namespace "kube-system"')
    assert client.request("POST", "/api/v1/nodes", node_object("not-this-way"))[0] == 403


@pytest.mark.parametrize(
    ("seconds", "changes"),
    [(-60, {}), (600, {"usage-bootstrap-authentication": "false"})],
    ids=["expired", "not for authentication"],
)
def test_a_token_that_may_not_authenticate_is_unauthorized(
    cluster: SimulatedCluster, admin: Client, seconds: float, changes: dict[str, str]
) -> None:
    client = Client(cluster, token=bootstrap_token(admin, seconds, **changes))
    code, body = client.request("GET", CLUSTER_INFO)
    assert (code, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")


def test_a_wrong_token_is_unauthorized_and_an_expired_one_is_deleted(cluster: SimulatedCluster, admin: Client) -> None:
    right = bootstrap_token(admin)
    for wrong in (f"{right[:7]}{'0' * 16}", "abcdef.0123456789abcdef", "nonsense"):
        assert Client(cluster, token=wrong).request("POST", CSRS, {})[0] == 401
    token_id = bootstrap_token(admin, seconds=2)[:6]
    path = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token_id}"
    assert admin.request("GET", path)[0] == 200
    wait_for(lambda: admin.request("GET", path)[0] == 404, "the token cleaner deletes it")


def test_a_node_joins_and_becomes_ready(cluster: SimulatedCluster, admin: Client, new_node: NewNode) -> None:
    name, client = new_node(ready=False)
    path = f"/api/v1/nodes/{name}"
    assert (NOT_READY, "NoSchedule") in taints(client.get(path))
    cidr = wait_for(lambda: client.get(path)["spec"].get("podCIDR"), "a pod CIDR")
    assert cidr.startswith("10.244.")
    assert cidr.endswith(".0/24")
    assert client.get(path)["spec"]["podCIDRs"] == [cidr]
    set_ready(client, name)
    wait_for(lambda: not taints(client.get(path)), "the taints are gone")
    lease = {"metadata": {"name": name}, "spec": {"holderIdentity": name, "leaseDurationSeconds": 40}}
    lease["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    code, created = client.request("POST", leases, lease)
    assert code == 201, created
    created["spec"]["renewTime"] = "2026-01-01T00:00:10.000000Z"
    code, updated = client.request("PUT", f"{leases}/{name}", created)
    assert code == 200, updated
    assert client.request("PUT", f"{leases}/{name}", created)[0] == 409, "an old resourceVersion"
    code, body = client.request("POST", "/api/v1/nodes", node_object(name))
    assert (code, body["reason"]) == (409, "AlreadyExists")
    assert body["message"] == f'nodes "{name}" already exists'


def test_a_node_may_touch_its_own_things_only(admin: Client, new_node: NewNode) -> None:
    (one, client), (other, _) = new_node(), new_node()
    code, body = client.request("GET", f"/api/v1/nodes/{other}")
    assert code == 403
    assert "only its own Node object" in body["message"]
    assert client.request("PATCH", f"/api/v1/nodes/{other}/status", {"status": {}}, MERGE)[0] == 403
    assert client.request("GET", "/api/v1/pods")[0] == 403
    assert client.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{one}")[0] == 200
    assert client.request("GET", "/api/v1/namespaces/kube-system/secrets/any")[0] == 403
    lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{other}"
    assert client.request("GET", lease)[0] == 403
    labels = {"metadata": {"labels": {"node-restriction.kubernetes.io/team": "mine"}}}
    code, body = client.request("PATCH", f"/api/v1/nodes/{one}", labels, MERGE)
    assert (code, "is not allowed to modify labels" in body["message"]) == (403, True)
    code, body = client.request("POST", "/api/v1/nodes", node_object(one, labels=labels["metadata"]["labels"]))
    assert (code, "is not allowed to set the following labels" in body["message"]) == (403, True)
    code, body = client.request("PATCH", f"/api/v1/nodes/{one}", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, MERGE)  # fmt: skip  # noqa: E501
    assert (code, "is not allowed to modify taints" in body["message"]) == (403, True)
    assert client.request("DELETE", f"/api/v1/nodes/{one}")[0] == 403
    assert admin.request("DELETE", f"/api/v1/nodes/{other}")[0] == 200


def test_a_signing_request_of_another_user_waits_for_approval(cluster: SimulatedCluster, admin: Client) -> None:
    client = token_client(cluster, bootstrap_token(admin))
    _, csr = signing_request("some-node")
    csr["spec"]["usages"] = ["digital signature", "server auth"]
    code, created = client.request("POST", CSRS, csr)
    assert code == 201, created
    assert created["spec"]["username"].startswith("system:bootstrap:")
    _, wrong = signing_request("some-node")
    wrong["spec"]["request"] = base64.b64encode(b"no request").decode()
    code, body = client.request("POST", CSRS, wrong)
    assert (code, body["reason"]) == (422, "Invalid")
    later = Client(cluster, token=client.token).get(f"{CSRS}/{created['metadata']['name']}")
    assert "certificate" not in later.get("status", {})


def daemon_set(name: str, selector: dict[str, str], tolerations: list[dict[str, Any]]) -> dict[str, Any]:
    container = {"name": "agent", "image": "example.invalid/agent:1", "command": ["agent.exe"]}
    windows = {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}
    spec = {
        "nodeSelector": selector,
        "hostNetwork": True,
        "securityContext": {"windowsOptions": windows},
        "tolerations": tolerations,
        "containers": [container],
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def test_a_daemon_set_runs_on_the_nodes_it_selects(admin: Client, new_node: NewNode, namespace: str) -> None:
    mark = {"example.org/test": namespace}
    name, client = new_node(ready=False, labels=mark)
    new_node()  # a node that the selector does not match
    sets = f"/apis/apps/v1/namespaces/{namespace}/daemonsets"
    anywhere = [{"operator": "Exists", "effect": "NoSchedule"}]
    for one, tolerations in (("eager", anywhere), ("patient", [])):
        code, body = admin.request("POST", sets, daemon_set(one, mark, tolerations))
        assert code == 201, body
    mine = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"

    def bound(app: str) -> list[dict[str, Any]]:
        pods: list[dict[str, Any]] = client.get(mine)["items"]
        return [pod for pod in pods if pod["metadata"]["labels"].get("app") == app]

    pod = wait_for(lambda: bound("eager"), "the pod is bound before the node is Ready")[0]
    assert pod["spec"]["hostNetwork"] is True
    assert pod["spec"]["securityContext"]["windowsOptions"]["hostProcess"] is True
    assert pod["status"]["phase"] == "Pending"
    assert bound("patient") == []
    keys = {(one.get("key"), one.get("effect")) for one in pod["spec"]["tolerations"]}
    assert ("node.kubernetes.io/network-unavailable", "NoSchedule") in keys

    set_ready(client, name)
    wait_for(lambda: bound("patient"), "the other one follows when the node is Ready")
    run_pod(client, pod)
    wait_for(lambda: admin.get(f"{sets}/eager")["status"]["numberReady"] == 1, "the set counts it")
    status = admin.get(f"{sets}/eager")["status"]
    assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (1, 1)
    assert status["updatedNumberScheduled"] == 1

    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}"
    code, going = admin.request("DELETE", path)
    assert code == 200
    assert going["metadata"]["deletionTimestamp"]
    assert client.request("GET", path)[0] == 200, "it waits for the kubelet"
    code, _ = client.request("DELETE", path, {"gracePeriodSeconds": 0})
    assert code == 200
    assert admin.request("GET", path)[0] == 404
    again = wait_for(lambda: bound("eager"), "a new pod")[0]
    assert again["metadata"]["uid"] != metadata["uid"]

    assert admin.request("DELETE", f"/apis/apps/v1/namespaces/{namespace}/daemonsets/eager")[0] == 200
    wait_for(lambda: admin.request("GET", f"{sets}/eager")[0] == 404, "the set is gone")
    wait_for(lambda: bound("eager")[0]["metadata"].get("deletionTimestamp"), "its pod goes with it")


def test_a_host_process_pod_needs_the_hosts_network(admin: Client, namespace: str) -> None:
    daemon = daemon_set("wrong", {}, [])
    del daemon["spec"]["template"]["spec"]["hostNetwork"]
    code, body = admin.request("POST", f"/apis/apps/v1/namespaces/{namespace}/daemonsets", daemon)
    assert (code, body["reason"]) == (422, "Invalid")
    assert "hostNetwork must be true if pod contains any hostProcess containers" in body["message"]


def test_a_cordoned_node_gets_no_new_pods(admin: Client, new_node: NewNode, namespace: str) -> None:
    mark = {"example.org/test": namespace}
    name, client = new_node(labels=mark)
    path = f"/api/v1/nodes/{name}"
    wait_for(lambda: not taints(client.get(path)), "the node takes pods")
    assert admin.request("PATCH", path, {"spec": {"unschedulable": True}}, STRATEGIC)[0] == 200
    cordoned = ("node.kubernetes.io/unschedulable", "NoSchedule")
    wait_for(lambda: cordoned in taints(client.get(path)), "the taint of a cordoned node")
    spec = {"nodeSelector": mark, "containers": [{"name": "a", "image": "example.invalid/a:1"}]}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    code, pod = admin.request("POST", pods, {"metadata": {"name": "waiting"}, "spec": spec})
    assert code == 201, pod
    assert pod["spec"]["serviceAccountName"] == "default"

    def refused() -> bool:
        conditions = admin.get(f"{pods}/waiting")["status"].get("conditions", [])
        return any(one["type"] == "PodScheduled" and one["reason"] == "Unschedulable" for one in conditions)

    wait_for(refused, "the scheduler says why the pod waits")
    admin.request("PATCH", path, {"spec": {"unschedulable": None}}, STRATEGIC)
    wait_for(lambda: admin.get(f"{pods}/waiting")["spec"].get("nodeName") == name, "it is bound after uncordon")


def test_a_budget_blocks_evictions(admin: Client, new_node: NewNode, namespace: str) -> None:
    mark = {"example.org/test": namespace}
    _, client = new_node(labels=mark)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"nodeSelector": mark, "containers": [{"name": "a", "image": "example.invalid/a:1"}]}
    for one in ("a", "b"):
        admin.request("POST", pods, {"metadata": {"name": one, "labels": {"app": "guarded"}}, "spec": spec})
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    guard = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    code, body = admin.request("POST", budgets, {"metadata": {"name": "guard"}, "spec": guard})
    assert code == 201, body
    for one in ("a", "b"):
        pod = wait_for(lambda one=one: (found := admin.get(f"{pods}/{one}"))["spec"].get("nodeName") and found, "bound")
        run_pod(client, pod)
    wait_for(lambda: admin.get(f"{budgets}/guard").get("status", {}).get("disruptionsAllowed") == 1, "one may go")

    def evict(pod: str) -> tuple[int, dict[str, Any]]:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        return admin.request("POST", f"{pods}/{pod}/eviction", eviction)

    code, body = evict("a")
    assert (code, body["status"]) == (201, "Success")
    wait_for(lambda: admin.get(f"{pods}/a")["metadata"].get("deletionTimestamp"), "the first one goes")

    def second() -> dict[str, Any] | None:
        code, body = evict("b")
        assert code == 429, body
        return body if "has 1 currently" in body["details"]["causes"][0]["message"] else None

    refusal = wait_for(second, "the second one is refused")
    assert refusal["reason"] == "TooManyRequests"
    assert refusal["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = refusal["details"]["causes"][0]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget guard needs 1 healthy pods and has 1 currently"
    assert not admin.get(f"{pods}/b")["metadata"].get("deletionTimestamp")


def test_the_add_ons_of_linux_stay_off_windows_nodes(admin: Client, new_node: NewNode) -> None:
    name, client = new_node()
    daemon = admin.get("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy")
    assert daemon["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    dns = admin.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns")
    assert dns["spec"]["replicas"] == 2
    wait_for(lambda: not taints(client.get(f"/api/v1/nodes/{name}")), "the node takes pods")
    pods = client.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")["items"]
    # Pods of other tests may run on the node.
    assert [pod for pod in pods if pod["metadata"]["namespace"] == "kube-system"] == []


def test_approval_needs_the_right_to_approve_the_signer(cluster: SimulatedCluster, admin: Client) -> None:
    """The right to update `approval` alone is not enough."""
    client = Client(cluster, token=bootstrap_token(admin, **{"auth-extra-groups": "system:bootstrappers:kept:apart"}))
    rbac, group = "/apis/rbac.authorization.k8s.io/v1", "system:bootstrappers:kept:apart"
    name = f"kept-apart-{uuid.uuid4().hex[:6]}"
    certificates = {"apiGroups": ["certificates.k8s.io"]}
    rules = [
        certificates | {"resources": ["certificatesigningrequests"], "verbs": ["create", "get"]},
        certificates | {"resources": ["certificatesigningrequests/approval"], "verbs": ["update"]},
    ]
    reference = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    subjects = [{"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}]
    admin.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    admin.request("POST", f"{rbac}/clusterrolebindings",
                  {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects})  # fmt: skip

    def created() -> dict[str, Any] | None:
        code, answer = client.request("POST", CSRS, signing_request("some-node")[1])
        return answer if code == 201 else None

    request = wait_for(created, "the token's group has its rights")
    path = f"{CSRS}/{request['metadata']['name']}/approval"
    request["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "Me", "message": "me"}]}
    code, answer = client.request("PUT", path, request)
    assert code == 403, answer
    assert 'user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver' in answer["message"]
    signers = certificates | {
        "resources": ["signers"],
        "verbs": ["approve"],
        "resourceNames": [request["spec"]["signerName"]],
    }
    admin.request("PATCH", f"{rbac}/clusterroles/{name}", {"rules": [*rules, signers]}, MERGE)
    wait_for(lambda: client.request("PUT", path, request)[0] == 200, "now it may")
    admin.request("DELETE", f"{rbac}/clusterrolebindings/{name}")
    admin.request("DELETE", f"{rbac}/clusterroles/{name}")
