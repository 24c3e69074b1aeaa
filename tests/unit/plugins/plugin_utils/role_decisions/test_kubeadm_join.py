# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How kubeadm joins a machine."""

from __future__ import annotations

import base64
import json

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import kubeadm_join


def test_nodes_with_docker_register_with_their_label() -> None:
    given = {"node-labels": "site=a", "v": 2}
    assert kubeadm_join.kubelet_arguments(given, {"node-labels": "zone=b"}, "") == given
    labelled = kubeadm_join.kubelet_arguments(given, {"node-labels": "zone=b"}, "runtime=docker")
    assert labelled == {"node-labels": "zone=b,site=a,runtime=docker", "v": 2}
    assert kubeadm_join.kubelet_arguments({}, {}, "runtime=docker") == {"node-labels": "runtime=docker"}
    assert given["node-labels"] == "site=a"


def test_kubeadm_finds_the_cluster_by_a_kubeconfig_without_a_user() -> None:
    document = json.loads(kubeadm_join.discovery("10.3.0.1:6443", ca_certificate="PEM"))
    (entry,) = document.pop("clusters")
    assert document == {"apiVersion": "v1", "kind": "Config"}
    authority = base64.b64encode(b"PEM").decode()
    server = {"server": "https://10.3.0.1:6443", "certificate-authority-data": authority}
    assert entry == {"name": "", "cluster": server}
