# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The compiled templates of the roles' defaults have the same values as in Ansible."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleError
from ansible.template import Templar, trust_as_template
from unit.roles.templates import ROLES, templar

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.own_templates import OwnTemplates, compiled
from ansible_collections.winkube.node.plugins.plugin_utils.values.ansible_data import plain

PATH = "windows_settings_artifact_cache"
"""A variable whose default is compiled."""
HOST: dict[str, t.Any] = {"inventory_hostname": "win1", "groups": {"all": ["win1"]}, "hostvars": {"win1": {}}}
CLUSTER = {
    "api_server": "lb:6443",
    "pod_subnet": "10.1.0.0/16,fd00::/64",
    "service_subnet": "",
    "nodes": {"win1": {"ready": True, "os": "windows"}},
    "node_version": "1.36.3",
}
INVENTORIES: dict[str, dict[str, t.Any]] = {
    "nothing": {},
    "texts": {
        "artifact_cache": "D:\\new\\boxes",
        "artifact_upstream": "no",
        "kubernetes_node_hostname": "WIN1",
        "kube_version": "v1.36.3",
        "http_proxy": "http://proxy:3128",
        "no_proxy": ["a", "b"],
        "default_containerd_version": 2.3,
        "kube_network_plugin": None,
        "artifact_ignore_revocation": 1,
    },
    "templates": {
        "site": "http://site",
        "artifact_mirror": trust_as_template("{{ site }}/mirror"),
        "artifact_sites": [{"url": trust_as_template("{{ site | upper }}")}, None],
        "bundle_sites": [],
        "kubeconfig": "",
        "winkube_join": "false",
    },
    "cluster": {
        "node_join_cluster": CLUSTER,
        "node_join_facts": {"computer_name": "WIN1", "joined": True, "cni": {}, "self_named": False, "clock_skew": 0},
        "groups": {"all": ["win1"], "kube_control_plane": ["linux1"], "k8s_cluster": ["linux1"]},
        "hostvars": {"win1": {}, "linux1": {"kube_pods_subnet": "10.9.0.0/16", "https_proxy": "http://theirs"}},
    },
    "docker": {"container_runtime": "moby", "node_join_cluster": {"api_server": ""}},
}


def known(**variables: t.Any) -> Templar:
    return templar(sorted(path.parent.parent.name for path in ROLES.glob("*/vars/main.yml")), HOST | variables)


def result(read: t.Callable[[], t.Any]) -> t.Any:
    """Return the value as JSON, or None if it cannot be templated."""
    try:
        return plain([read()])
    except AnsibleError:
        return None


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_each_value_is_the_one_that_ansible_returns(inventory: str) -> None:
    found = known(**INVENTORIES[inventory])
    variables = found.available_variables
    own = OwnTemplates(variables, found.template)
    compared = 0
    for name, value in variables.items():
        expected = result(lambda value=value: found.template(value))
        assert result(lambda name=name: own.variable(name)) == expected, name
        compared += isinstance(value, str) and value in compiled() and expected is not None
    assert compared > 50, f"expected at least 50 templates with a value, got {compared}"


def test_compiled_templates_are_not_templated_by_ansible() -> None:
    asked: list[object] = []
    own = OwnTemplates(known().available_variables, asked.append)
    assert own.variable("cni_artifact_sources")["verify"] == "warn"
    assert own.variable(PATH) == "C:\\ProgramData\\winkube\\cache"
    assert asked == []


def test_untrusted_text_is_not_a_template() -> None:
    text = next(text for text in compiled() if "artifact_cache |" in text)
    found = known(**{PATH: str(text)})
    own = OwnTemplates(found.available_variables, found.template)
    assert own.variable(PATH) == text


def test_templates_that_fail_in_ansible_fail_with_the_same_error() -> None:
    found = known(artifact_cache=trust_as_template("{{ 1 / 0 }}"))
    own = OwnTemplates(found.available_variables, found.template)
    with pytest.raises(AnsibleError, match="division"):
        own.variable(PATH)
