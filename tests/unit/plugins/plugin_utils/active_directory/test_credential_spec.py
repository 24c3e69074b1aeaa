# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Credential specs of gMSAs: what is accepted, the objects in the cluster, and the files for Docker."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from unit.gmsa_samples import SECRET, SPEC
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.active_directory import credential_spec
from ansible_collections.winkube.node.plugins.plugin_utils.active_directory.credential_spec import ClusterCredentialSpec
from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.gmsa import credential_specs
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import docker
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import domains
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.sddl import ADMINISTRATORS_ONLY_FILE


def changed(path: str, value: object) -> dict[str, t.Any]:
    """Return the spec with another value at a path of keys; a value of None removes the key."""
    spec = copy.deepcopy(SPEC)
    *parents, last = path.split(".")
    place: t.Any = spec
    for parent in parents:
        place = place[int(parent) if parent.isdigit() else parent]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return spec


def test_specs_with_and_without_a_plugin_are_accepted() -> None:
    credential_spec.check(SPEC, "x")
    credential_spec.check(changed("ActiveDirectoryConfig.HostAccountConfig", None), "x")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (changed("CmsPlugins", None), "x.CmsPlugins: expected a value, got nothing. Create the credential spec"),
        (changed("CmsPlugins", ["Other"]), "x.CmsPlugins: expected [ActiveDirectory], got another value"),
        (changed("CmsPlugins", 1), "x.CmsPlugins: expected [ActiveDirectory], got another value"),
        (SPEC | {"CmsPlugins": None}, "x.CmsPlugins: expected [ActiveDirectory], got another value"),
        (changed("cmsplugins", SECRET), "x: expected only CmsPlugins, DomainJoinConfig, ActiveDirectoryConfig, got"),
        (changed("DomainJoinConfig", SECRET), "x.DomainJoinConfig: expected a mapping with Sid, MachineAccountName,"),
        (changed("DomainJoinConfig.Sid", SECRET), "x.DomainJoinConfig.Sid: expected the SID of the domain, got"),
        (changed("DomainJoinConfig.Guid", "1"), "x.DomainJoinConfig.Guid: expected the GUID of the domain, got"),
        (changed("DomainJoinConfig.NetBiosName", ""), "x.DomainJoinConfig.NetBiosName: expected a string, got nothing"),
        (
            changed("DomainJoinConfig.DnsName", 7),
            "x.DomainJoinConfig.DnsName: expected a string, got another value",
        ),
        (
            SPEC | {"DomainJoinConfig": SPEC["DomainJoinConfig"] | {"DnsName": None}},
            "x.DomainJoinConfig.DnsName: expected a string, got nothing",
        ),
        (
            changed("ActiveDirectoryConfig.GroupManagedServiceAccounts", []),
            "x.ActiveDirectoryConfig.GroupManagedServiceAccounts: expected at least one account, got nothing",
        ),
        (
            changed("ActiveDirectoryConfig.GroupManagedServiceAccounts.0.Scope", None),
            "x.ActiveDirectoryConfig.GroupManagedServiceAccounts[0].Scope: expected a value, got nothing",
        ),
        (
            changed("ActiveDirectoryConfig.HostAccountConfig.PluginGUID", SECRET),
            "x.ActiveDirectoryConfig.HostAccountConfig.PluginGUID: expected the plugin's CLSID, got a string",
        ),
        (
            changed("ActiveDirectoryConfig.HostAccountConfig.Password", SECRET),
            "x.ActiveDirectoryConfig.HostAccountConfig: expected only PortableCcgVersion, PluginGUID, PluginInput, got",
        ),
    ],
)
def test_a_spec_that_windows_or_the_cluster_would_not_use(spec: dict[str, t.Any], text: str) -> None:
    with pytest.raises(ResourceError) as refused:
        credential_spec.check(spec, "x")
    assert str(refused.value).startswith(text)
    assert SECRET not in str(refused.value)
    (problem,) = domains.problems({"container_runtime_docker_credential_specs": {"web": spec}})
    assert str(problem).startswith(text.replace("x", "container_runtime_docker_credential_specs.web", 1))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"name": "Web App"}, "name: expected lower-case letters"),
        ({"service_accounts": ("web",)}, "service_accounts: expected NAMESPACE/NAME, such as default/web, got 'web'"),
        ({"credspec": {}}, "credspec.CmsPlugins: expected a value, got nothing"),
    ],
)
def test_an_object_that_the_cluster_would_refuse(more: dict[str, t.Any], text: str) -> None:
    with pytest.raises(ResourceError) as refused:
        ClusterCredentialSpec(**{"name": "web", "credspec": SPEC, **more})
    assert str(refused.value).startswith(text)


def test_only_the_listed_service_accounts_may_use_a_spec() -> None:
    accounts = ("shop/web", "shop/worker", "blog/web", "shop/web")
    spec, role, *bindings = credential_specs(
        [ClusterCredentialSpec(name="web", credspec=SPEC, service_accounts=accounts)]
    )
    assert spec == {
        "apiVersion": "windows.k8s.io/v1",
        "kind": "GMSACredentialSpec",
        "metadata": {"name": "web"},
        "credspec": SPEC,
    }
    assert role["rules"] == [
        {
            "apiGroups": ["windows.k8s.io"],
            "resources": ["gmsacredentialspecs"],
            "resourceNames": ["web"],
            "verbs": ["use"],
        }
    ]
    found = {
        one["metadata"]["namespace"]: [(subject["namespace"], subject["name"]) for subject in one["subjects"]]
        for one in bindings
    }
    assert found == {"shop": [("shop", "web"), ("shop", "worker")], "blog": [("blog", "web")]}
    assert {one["kind"] for one in bindings} == {"RoleBinding"}
    assert {one["roleRef"]["name"] for one in bindings} == {role["metadata"]["name"]}


def test_a_spec_without_service_accounts_has_no_role() -> None:
    assert [one["kind"] for one in credential_specs([ClusterCredentialSpec(name="web", credspec=SPEC)])] == [
        "GMSACredentialSpec"
    ]


def test_docker_gets_files_that_only_administrators_can_read() -> None:
    found = docker.resources(samples.docker(docker_credential_specs={"web": SPEC}))
    file = named(found, "C:\\docker-data\\CredentialSpecs\\web.json")
    assert json.loads(file["content"]) == SPEC
    assert (file["acl"], file["no_log"]) == (ADMINISTRATORS_ONLY_FILE, True)
    load(found)
    assert not [one for one in docker.resources(samples.docker()) if "CredentialSpecs" in one.get("name", "")]


@pytest.mark.parametrize("name", ["a/b", "web.json", "..", ""])
def test_the_name_of_a_file_is_checked(name: str) -> None:
    (problem,) = domains.problems({"container_runtime_docker_credential_specs": {name: SPEC}})
    assert str(problem).startswith("container_runtime_docker_credential_specs: expected letters, digits, periods")
