# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the bootstrap token of a run allows; docs/rbac.yaml is sufficient to create and use it."""

from __future__ import annotations

import base64
import datetime
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from integration.limited_account import limited_kubeconfig
from integration.playbooks import ROOT
from simulator_tests.cluster.node_client import MERGE, Client, signing_request
from simulator_tests.cluster.node_client import bootstrap_token as kubeadm_token
from simulator_tests.waiting import wait_for
from unit.fake_cluster import run_module

from ansible_collections.winkube.node.plugins.modules import bootstrap_token, cluster_info, node_csr_approval
from simulator.cluster import SimulatedCluster

pytestmark = [pytest.mark.waits, pytest.mark.integration]

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
Run = Callable[..., tuple[bool, dict[str, Any]]]


@pytest.fixture(scope="module")
def kubeconfig(cluster: SimulatedCluster, folder: Path) -> Path:
    """Return the kubeconfig of an account that only has the rights in docs/rbac.yaml."""
    return limited_kubeconfig(cluster, folder)


@pytest.fixture
def run(cluster: SimulatedCluster, kubeconfig: Path) -> Run:
    """Return a function that runs a module in this process with the limited account, and returns its result."""
    shim: Any = cluster

    def run_limited(module: ModuleType, **arguments: Any) -> tuple[bool, dict[str, Any]]:
        result = run_module(module, shim, **{"kubeconfig": str(kubeconfig), **arguments})
        return bool(result.get("failed")), result

    return run_limited


def ask(cluster: SimulatedCluster, token: str, name: str) -> str:
    """Request a node's certificate, and return the path of the request."""
    client = Client(cluster, token=token)

    def accepted() -> str | None:
        # A real API server looks up tokens in its own copy, which may be outdated.
        code, answer = client.request("POST", CSRS, signing_request(name)[1])
        assert code in (201, 401), answer
        return f"{CSRS}/{answer['metadata']['name']}" if code == 201 else None

    return wait_for(accepted, "the token is known")


def conditions(admin: Client, path: str) -> list[str]:
    return [one["reason"] for one in admin.get(path).get("status", {}).get("conditions", [])]


def test_a_token_is_good_for_its_own_node_only(cluster: SimulatedCluster, admin: Client, run: Run) -> None:
    failed, made = run(bootstrap_token, nodes=["win1", "win2"])
    assert not failed, made
    assert not made.get("warnings")
    token = made["tokens"]["win1"]
    stolen, own = ask(cluster, token, "ubuntu01"), ask(cluster, token, "win1")
    # The cluster approves the last one. After that, the others have been checked, too.
    control = ask(cluster, kubeadm_token(admin), "anybody")
    wait_for(lambda: conditions(admin, control) == ["AutoApproved"], "kubeadm's own group is approved")
    assert conditions(admin, stolen) == []
    assert conditions(admin, own) == []

    failed, result = run(node_csr_approval, token_ids=made["token_ids"], timeout=1)
    assert not failed, result
    assert list(result["approved"]) == ["win1"]
    assert "expected 'system:node:win1'" in result["refused"]["win1"]
    assert conditions(admin, own) == ["ApprovedByWinkube"]
    wait_for(lambda: admin.get(own)["status"].get("certificate"), "it is signed")
    assert conditions(admin, stolen) == []

    # The objects that kubeadm join reads.
    client = Client(cluster, token=token)
    for name in ("kubeadm-config", "kubelet-config", "kube-proxy"):
        client.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")
    assert client.request("GET", "/api/v1/nodes/nobody")[0] == 404

    failed, gone = run(bootstrap_token, state="absent", token_ids=list(made["token_ids"].values()))
    assert not failed, gone
    assert sorted(gone["deleted"]) == sorted(made["token_ids"].values())
    # A real API server accepts a token for ten seconds after its last lookup, so this one was not used before.
    other = Client(cluster, token=made["tokens"]["win2"])
    wait_for(lambda: other.request("GET", "/api/v1/nodes/nobody")[0] == 401, "the token is worth nothing any more")


def test_waiting_for_no_nodes_ends_at_once(run: Run) -> None:
    failed, result = run(node_csr_approval, token_ids={"win1": "aaaaaa"}, timeout=600)
    assert not failed
    assert result["approved"] == {}


def test_an_account_that_may_not_approve_makes_no_token(cluster: SimulatedCluster, admin: Client, run: Run) -> None:
    binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/winkube:run"
    kept = admin.get(binding)
    admin.request("DELETE", binding)
    try:
        wait_for(lambda: run(bootstrap_token, nodes=["win3"])[0], "the account has lost its rights")
        failed, result = run(bootstrap_token, nodes=["win3"])
        assert failed
        assert "kubeconfig: expected an account that may approve certificates of kubelets" in result["msg"]
        assert "node_join_approval: cluster" in result["msg"]
    finally:
        del kept["metadata"]["resourceVersion"]
        del kept["metadata"]["uid"]
        admin.request("POST", binding.rpartition("/")[0], kept)


def test_a_cluster_that_approves_every_request_causes_a_warning(
    cluster: SimulatedCluster, admin: Client, run: Run
) -> None:
    role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
    subject = {"kind": "Group", "name": "system:bootstrappers", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    code, body = admin.request("POST", path, {"metadata": {"name": "all"}, "roleRef": reference, "subjects": [subject]})
    assert code == 201, body
    try:
        failed, made = run(bootstrap_token, nodes=["win4"])
        assert not failed
        assert any("the cluster approves every certificate" in one for one in made["warnings"])
    finally:
        admin.request("DELETE", f"{path}/all")


def test_a_ca_that_the_kubeconfig_does_not_trust_is_refused(cluster: SimulatedCluster, admin: Client, run: Run) -> None:
    failed, found = run(cluster_info)
    assert not failed, found
    path = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
    kept = admin.get(path)["data"]["kubeconfig"]
    own = base64.b64encode(cluster.ca_certificate.encode()).decode()
    assert own in kept
    false = kept.replace(own, base64.b64encode((cluster.ca_certificate + another_ca()).encode()).decode())
    assert admin.request("PATCH", path, {"data": {"kubeconfig": false}}, MERGE)[0] == 200
    try:
        failed, found = run(cluster_info)
        assert failed
        assert "kube-public/cluster-info: expected the CA of the kubeconfig, got a different one" in found["msg"]
        assert not run(cluster_info, verify_ca=False)[0]
    finally:
        admin.request("PATCH", path, {"data": {"kubeconfig": kept}}, MERGE)


def another_ca() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def test_a_token_for_machines_without_a_controller(
    cluster: SimulatedCluster, admin: Client, kubeconfig: Path, tmp_path: Path
) -> None:
    """The playbook join_token writes a token for its owner, whose nodes need no approval."""
    file = tmp_path / "token.json"
    variables = {"kubeconfig": str(kubeconfig), "winkube_token_file": str(file), "winkube_token_ttl": 60}
    playbook = str(ROOT / "playbooks" / "join_token.yml")
    command = [str(Path(sys.executable).with_name("ansible-playbook")), playbook, "-v", "-e", json.dumps(variables)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(tmp_path / "ansible")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    made = json.loads(file.read_text(encoding="utf-8"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made["token"].partition(".")[2] not in output
    assert made["ca_cert_hashes"] == [cluster.ca_hash]
    request = ask(cluster, made["token"], "autoscaled")
    wait_for(lambda: conditions(admin, request) == ["AutoApproved"], "nobody has to approve it")
