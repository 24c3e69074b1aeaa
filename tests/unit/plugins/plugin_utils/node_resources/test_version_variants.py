# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which components of a host may have other versions, and the resources with these versions."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.cached_versions import installable
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.version_variants import components, variants

CACHED = {"kube_node_versions": ["1.30.4", "1.36.3"], "containerd_versions": ["1.5.0", "2.2.9"]}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, ["containerd", "cni-plugins", "flannel", "flannel-cni-plugin", "kubernetes"]),
        ({"container_runtime": "moby", "cni_plugin": "none"}, ["moby", "cni-plugins", "kubernetes"]),
        ({"cni_plugin": "calico"}, ["containerd", "kubernetes"]),
        ({"cni_plugin": "azure"}, ["containerd", "azure-vnet", "kubernetes"]),
    ],
)
def test_the_components_are_what_the_host_installs(given: dict[str, t.Any], kinds: list[str]) -> None:
    host = resource_cases.variables(given)
    assert [one.component.kind for one in components(host)] == kinds
    found = variants(host, lambda _changed: host)
    for component in found.components:
        version = installable(component, component.installed, found.installed)
        assert component.installed in version.archive
        assert version.record.endswith("\\archive.json")


@pytest.mark.parametrize(
    ("roles", "kinds"),
    [
        (["windows_settings"], []),
        (["kubernetes_node", "image_cache"], ["kubernetes"]),
        (["container_runtime", "cni"], ["containerd", "cni-plugins", "flannel", "flannel-cni-plugin"]),
    ],
)
def test_a_host_without_some_roles_has_other_components(roles: list[str], kinds: list[str]) -> None:
    given = {**CACHED, "node_prepare_roles": roles}
    found = variants(resource_cases.variables(given), lambda changed: resource_cases.variables({**given, **changed}))
    assert [one.kind for one in found.components] == kinds
    assert {one.component.kind for one in found.variants} <= set(kinds)


def test_a_version_that_the_variables_do_not_install_is_refused() -> None:
    none = {**CACHED, "node_prepare_roles": ["cni"]}
    found = variants(resource_cases.variables(CACHED), lambda changed: resource_cases.variables({**none, **changed}))
    assert found.variants == []
    reason = "cannot be installed at first boot: the node's variables do not install it"
    assert f"Kubernetes 1.30.4 {reason}" in found.refused


def test_each_cached_version_has_its_resources() -> None:
    found = variants(resource_cases.variables(CACHED), lambda changed: resource_cases.variables({**CACHED, **changed}))
    assert [(one.component.kind, one.version) for one in found.variants] == [
        ("containerd", "2.2.9"),
        ("kubernetes", "1.30.4"),
    ]
    # Kubernetes 1.30 rejects a flag for rotation, which later versions have.
    services = [{one.name: one for one in listed if one.type == "Service"} for listed in (
        found.installed, found.variants[0].resources, found.variants[1].resources
    )]  # fmt: skip
    lines = [str(one["kubelet"].arguments) for one in services]
    assert lines[0] == lines[1]
    assert ["-log-file-size" in line for line in lines] == [True, True, False]
    (refused,) = found.refused
    assert refused.startswith("containerd 1.5.0 cannot be installed at first boot: ")


def test_a_version_replaces_users_variables_too() -> None:
    asked: list[t.Mapping[str, str]] = []
    host = resource_cases.variables(CACHED)
    variants(host, lambda changed: asked.append(changed) or host)  # type: ignore[func-returns-value]
    assert asked == [
        {"container_runtime_containerd_version": "1.5.0", "default_containerd_version": "1.5.0"},
        {"container_runtime_containerd_version": "2.2.9", "default_containerd_version": "2.2.9"},
        {"kubernetes_node_version": "1.30.4", "kube_version": "1.30.4"},
    ]
