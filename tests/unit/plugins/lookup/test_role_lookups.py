# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookups of resources and of the pod network, as templates use them."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleError
from unit.plugins.plugin_utils.node_resources import samples
from unit.roles import resource_cases
from unit.roles.templates import templar, value

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import cni
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role

FEATURES = "lookup('winkube.node.node_resources', 'windows_features')"


def test_resources_of_a_role() -> None:
    found = templar(["windows_features"], {"windows_features_names": ["Containers"]})
    assert value(found, FEATURES) == [{"type": "WindowsFeature", "name": "Containers"}]
    both = "lookup('winkube.node.node_resources', 'windows_features', 'windows_features', wantlist=True)"
    assert value(found, both) == 2 * [[{"type": "WindowsFeature", "name": "Containers"}]]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (FEATURES, "windows_features_names: expected a variable of this name, got none"),
        ("lookup('winkube.node.node_resources', 'x')", "role: expected one of windows_settings, .*, got 'x'"),
        ("lookup('winkube.node.artifact_sources', 'x')", "artifact_sources: expected no terms, got x"),
        ("lookup('winkube.node.pod_network', 'x')", "pod_network: expected no terms, got x"),
        ("lookup('winkube.node.pod_network')", "cni_plugin: expected a variable of this name, got none"),
    ],
)
def test_lookups_refuse_invalid_terms(expression: str, message: str) -> None:
    with pytest.raises(AnsibleError, match=message):
        value(templar([], {}), expression)


def test_a_value_that_cannot_be_is_refused() -> None:
    with pytest.raises(AnsibleError, match=r"windows_features_hyper_v: expected true or false, got 'perhaps'"):
        value(templar(["windows_features"], {"windows_features_hyper_v": "perhaps"}), FEATURES)


@pytest.mark.parametrize("runtime", ["containerd", "moby"])
def test_the_pod_network(runtime: str) -> None:
    variables = {**resource_cases.HOST, "container_runtime": runtime, "cni_flannel_backend": "vxlan"}
    found = value(templar(["cni"], variables), "lookup('winkube.node.pod_network')")
    services = runtime == "moby"
    network = samples.network(is_docker=services)
    assert found == {
        "name": "flannel.4096",
        "is_managed": True,
        "is_overlay": True,
        "needs_pod_cidr": True,
        "needs_overlay_address": False,
        "runs_as_services": services,
        "runs_as_pods": not services,
        "conf_file": "10-flannel.conf",
        "cni_conf": network.rules.cni_configuration(),
        "accounts": ["kube-flannel/flannel-windows", "kube-system/kube-proxy-windows"] if services else [],
        "identity": {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"},
        "note": cni.noted(network),
    }


def test_roles_that_have_resources() -> None:
    host = resource_cases.variables({})
    with pytest.raises(ValueError, match="role: expected one of") as refused:
        of_role("sysprep", host)
    assert str(refused.value) == (
        "role: expected one of windows_settings, windows_features, container_runtime, cni, kubernetes_node, "
        "image_cache, cloudbase_init, node_join, node_reset, got 'sysprep'"
    )


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, {}),
        ({"artifact_sites": ["http://a"]}, {"sites": ["http://a"]}),
        ({"bundle_sites": ["http://b"]}, {"sites": ["http://b"], "upstream": False}),
        (
            {"bundle_sites": ["http://b"], "artifact_sites": ["http://a"], "artifact_upstream": "yes"},
            {"sites": ["http://b", "http://a"]},
        ),
        ({"artifact_sites": "http://a"}, {"sites": ["http://a"]}),
        (
            {
                "artifact_kinds": {"x": {}},
                "artifact_limit_rate": "2M",
                "artifact_ignore_revocation": "true",
                "artifact_verify": "strict",
                "artifact_allowed_signers": ["Me"],
            },
            {
                "kinds": {"x": {}},
                "limit_rate": "2M",
                "ignore_revocation": True,
                "verify": "strict",
                "allowed_signers": ["Me"],
            },
        ),
    ],
)
def test_where_artifacts_are_downloaded_from(variables: dict[str, object], expected: dict[str, object]) -> None:
    usual = {
        "sites": [],
        "upstream": True,
        "kinds": {},
        "limit_rate": "",
        "ignore_revocation": False,
        "verify": "warn",
        "allowed_signers": [],
    }
    assert value(templar([], variables), "lookup('winkube.node.artifact_sources')") == usual | expected
    # Like a role's default, which is evaluated without Ansible's templates.
    assert value(templar(["cni"], variables), "cni_artifact_sources") == usual | expected
