# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing a cluster's ConfigMaps, including broken ones, and a node's cordon."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.cluster_state import describe_node
from ansible_collections.winkube.node.plugins.modules import cluster_info


class Fake:
    """A cluster with the same text in all of its ConfigMaps, which is also the module."""

    server = "https://k8s.example.com:6443"
    configuration = types.SimpleNamespace(verify_ssl=False, ssl_ca_cert=None)

    def __init__(self, key: str, text: str) -> None:
        self.params = {"purposes": [], "networks": [], "nodes": None, "verify_ca": True}
        self.data = {key: text}

    def lookup(self, *_path: str, form: object) -> dict[str, t.Any]:
        return {"metadata": {"name": "n"}, "data": self.data}

    def fail_json(self, msg: str) -> t.NoReturn:
        raise AssertionError(msg)


CLUSTER = "clusters: [{cluster: {server: 'https://k8s.example.com:6443', certificate-authority-data: %s}}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no ConfigMap kube-public/cluster-info that names a cluster"),
        ("clusters: []", "has no ConfigMap kube-public/cluster-info that names a cluster"),
        ("{", "kubeconfig: expected YAML"),
        ("text", "kubeconfig: expected an object, got a string"),
        ("clusters: {}", "kubeconfig: clusters: expected a list, got an object"),
        ("clusters: [{cluster: {server: x}}]", "certificate-authority-data: expected a string, got nothing"),
        (CLUSTER % "x", "kube-public/cluster-info of the cluster at https://k8s.example.com:6443: "),
        (CLUSTER % "bm8gUEVN", "kube-public/cluster-info of the cluster at https://k8s.example.com:6443: "),
    ],
)
def test_a_broken_config_map_is_one_clear_message(text: str, message: str) -> None:
    fake = t.cast("t.Any", Fake("kubeconfig", text))
    with pytest.raises(AssertionError) as failed:
        cluster_info.read(fake, fake)
    assert message in str(failed.value)
    assert "kube-public/cluster-info" in str(failed.value)


MARK = '{"by":"patch_nodes","on":"controller","since":"2026-11-21T12:00:00Z"}'


@pytest.mark.parametrize(
    ("unschedulable", "mark", "owner"),
    [
        (True, MARK, "patch_nodes"),
        (True, None, ""),
        # A mark that cannot be parsed belongs to another client.
        (True, "[]", "unknown"),
        # A user has lifted the cordon since then.
        (False, MARK, ""),
        (None, None, ""),
    ],
)
def test_the_owner_of_a_cordon_is_read(unschedulable: bool | None, mark: str | None, owner: str) -> None:
    annotations = {} if mark is None else {"winkube.node/cordoned": mark}
    node = {"metadata": {"name": "n", "annotations": annotations}, "spec": {"unschedulable": unschedulable}}
    found = describe_node(node, {})
    assert (found["unschedulable"], found["cordon_owner"]) == (bool(unschedulable), owner)
