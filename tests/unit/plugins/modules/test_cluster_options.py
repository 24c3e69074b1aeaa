# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How modules for clusters authenticate, as the API server sees it, and what Ansible prints of it."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from unit.fake_cluster import FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.modules import (
    bootstrap_token,
    cluster_info,
    node_csr_approval,
    nodes_drain,
    nodes_ready,
    nodes_uncordon,
    service_account_tokens,
)

pytestmark = pytest.mark.waits

MODULES: tuple[tuple[t.Any, dict[str, t.Any]], ...] = (
    (bootstrap_token, {}),
    (cluster_info, {}),
    (node_csr_approval, {"token_ids": {}}),
    (nodes_drain, {"nodes": ["a"], "owner": "me"}),
    (nodes_ready, {"nodes": ["a"]}),
    (nodes_uncordon, {"nodes": ["a"], "owner": "me"}),
    (service_account_tokens, {"secrets": ["a/b"]}),
)
"""The modules, and the options that each of them needs."""


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith("K8S_AUTH_")]:
        monkeypatch.delenv(name)


def ready(cluster: FakeCluster, **options: t.Any) -> dict[str, t.Any]:
    """Run a module that only reads a node."""
    add_node(cluster, "a")
    return run_module(nodes_ready, cluster, nodes=["a"], timeout=0, **options)


def token_options(cluster: FakeCluster) -> dict[str, t.Any]:
    return {"kubeconfig": None, "host": cluster.url, "api_key": "0ther-token"}


def test_a_token_and_a_host_need_no_kubeconfig(cluster: FakeCluster) -> None:
    cluster.authorization = "Bearer 0ther-token"
    assert ready(cluster, **token_options(cluster))["waiting"] == []


def test_environment_variables_apply_if_options_are_missing(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.authorization = "Bearer 0ther-token"
    for name, value in token_options(cluster).items():
        if value:
            monkeypatch.setenv(f"K8S_AUTH_{name.upper()}", value)
    assert ready(cluster, kubeconfig=None)["waiting"] == []
    cluster.fail("GET", "api/v1/nodes", 403, {"message": "who sends 0ther-token may not"})
    assert ready(cluster, kubeconfig=None)["msg"] == "who sends ******** may not"


def test_impersonation_sends_every_group(cluster: FakeCluster) -> None:
    ready(cluster, impersonate_user="me", impersonate_groups=["admins", "system:authenticated"])
    found = [(name, value) for name, value in cluster.headers if name.startswith("Impersonate")]
    assert found == [
        ("Impersonate-User", "me"),
        ("Impersonate-Group", "admins"),
        ("Impersonate-Group", "system:authenticated"),
    ]
    ready(cluster)
    assert not [name for name, _value in cluster.headers if name.startswith("Impersonate")]


def test_a_kubeconfig_may_be_its_content(cluster: FakeCluster) -> None:
    content = json.loads(cluster.kubeconfig.read_text(encoding="utf-8"))
    found = ready(cluster, kubeconfig=content)
    # Ansible would hide every word of the kubeconfig, such as the version `v1` and the name `own`.
    assert found == ready(cluster)
    cluster.fail("GET", "api/v1/nodes", 403, {"message": "own v1 admin s3cret"})
    assert ready(cluster, kubeconfig=content)["msg"] == "own v1 admin ********"


def test_a_refused_request_names_the_account(cluster: FakeCluster) -> None:
    cluster.denied = lambda _spec: True
    message = (
        "the user of kubeconfig {} lacks permissions that this run needs in the cluster at {}. "
        "Grant these permissions:\n"
    )
    found = run_module(cluster_info, cluster, purposes=["read"], impersonate_user="me")
    assert found["msg"].startswith(message.format(f"{cluster.kubeconfig} as me", cluster.url))


@pytest.mark.parametrize(("module", "options"), MODULES)
def test_an_empty_kubeconfig_chooses_no_cluster(module: t.Any, options: dict[str, t.Any], cluster: FakeCluster) -> None:
    found = run_module(module, cluster, kubeconfig="", **options)
    message = "kubeconfig: expected the path of a kubeconfig or its content as a mapping, got nothing"
    assert found == {"failed": True, "msg": message}


@pytest.mark.parametrize("proxy", ["http://user:s3cret@{}", "http://{}"])
def test_a_proxy_that_refuses_is_named(proxy: str, cluster: FakeCluster) -> None:
    """Requests by plain HTTP: the fake cluster takes the place of the proxy."""
    cluster.fail("GET", "api/v1/nodes", 407, {"message": "who are you"})
    given = proxy.format(cluster.url.removeprefix("http://"))
    found = ready(cluster, host="http://192.0.2.1:6443", proxy=given)
    shown = given.replace("user:s3cret", "***")
    assert found["msg"] == (
        "the API server http://192.0.2.1:6443 cannot be reached: 407 Proxy Authentication Required "
        f"(through the proxy {shown})"
    )
    assert ready(cluster, proxy="http://127.0.0.1:1", no_proxy="127.0.0.1")["waiting"] == []
