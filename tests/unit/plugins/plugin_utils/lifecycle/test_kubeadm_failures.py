# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Why kubeadm failed: what it prints, and the causes that messages name."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import kubeadm_failures

DISCOVERY = "error execution phase preflight: couldn't validate the identity of the API Server: "
HEALTH = (
    "error execution phase kubelet-start: The HTTP call equal to 'curl -sSL http://127.0.0.1:10248/healthz' returned "
    'error: Get "http://127.0.0.1:10248/healthz": '
)
INFO = 'failed to request the cluster-info ConfigMap: Get "https://cp:6443/api/v1/…": '


@pytest.mark.parametrize(
    ("output", "cause", "remedy"),
    [
        (
            f'{DISCOVERY}could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"',
            "the cluster does not know the bootstrap token",
            "node_join_token_ttl",
        ),
        (
            f'{DISCOVERY}token id "abcdef" is invalid for this cluster or it has expired. Use "kubeadm token create"',
            "the cluster does not know the bootstrap token",
            "Run the playbook again",
        ),
        (
            f"{DISCOVERY}failed to verify JWS signature of received cluster info object, can't trust this API Server",
            "cluster-info is not signed with the bootstrap token",
            "proxy",
        ),
        (
            f'{DISCOVERY}cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "a" are pinned',
            "is not the CA of the cluster",
            "proxy",
        ),
        (
            f"{DISCOVERY}{INFO}tls: failed to verify certificate: x509: certificate has expired or is not yet valid: …",
            "expired or not yet valid",
            "clocks",
        ),
        (f"{DISCOVERY}{INFO}x509: certificate signed by unknown authority", "is not from the CA", "proxy"),
        (
            "error execution phase kubelet-start: timed out waiting for the condition",
            "the kubelet did not get its certificate in time",
            "kubectl get csr",
        ),
        (
            "error execution phase kubelet-wait-bootstrap: context deadline exceeded",
            "the kubelet did not get its certificate in time",
            "node_doctor",
        ),
        ("[kubelet-check] The kubelet is not healthy after 4m0s", "the kubelet does not start", "node_doctor"),
        (
            f"{HEALTH}dial tcp 127.0.0.1:10248: connectex: … the target machine actively refused it.",
            "the kubelet does not start",
            "node_doctor",
        ),
        (f"{HEALTH}context deadline exceeded", "the kubelet does not start", "node_doctor"),
        (
            "unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized",
            "rejects the node's credentials",
            "new token",
        ),
        (f"{INFO}dial tcp: lookup cp: no such host", "cannot resolve the name", "windows_settings_hosts"),
        (
            f"{INFO}connectex: No connection could be made because the target machine actively refused it.",
            "the node cannot reach the API server",
            "firewalls",
        ),
        (f"{INFO}dial tcp 192.0.2.1:6443: i/o timeout", "the node cannot reach the API server", "firewalls"),
        (f"{INFO}net/http: Client.Timeout exceeded while awaiting", "cannot reach the API server", "firewalls"),
    ],
)
def test_causes_are_named(output: str, cause: str, remedy: str) -> None:
    text = kubeadm_failures.message(output, 1)
    named, _, reported = text.partition(" kubeadm reports: ")
    assert cause in named
    assert remedy in named
    assert reported == f"exit code 1: {output}"


def test_other_failures_are_reported_as_they_are() -> None:
    assert kubeadm_failures.message("no space left on device", 1) == "exit code 1: no space left on device"
    assert kubeadm_failures.message("ended after 300 s", None) == "ended after 300 s"
