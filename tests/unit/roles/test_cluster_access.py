# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access that is checked beforehand matches what the roles do in the cluster."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles.rendered import node, resources
from unit.roles.templates import templar, value

from ansible_collections.winkube.node.plugins.module_utils.cluster_access import APPLY, NEEDS


@pytest.mark.parametrize(
    ("purpose", "variable", "run_as"),
    [("flannel", "cni_cluster_objects", "daemonset"), ("services", "cni_account_objects", "service")],
)
def test_the_right_to_apply_every_object_is_checked(purpose: str, variable: str, run_as: str) -> None:
    asked = {(need.resource, need.namespace, need.name) for need in NEEDS[purpose] if set(APPLY) <= set(need.verbs)}
    applied = resources(node(cni_run_as=run_as), variable)
    metadata = [(f"{one['kind'].lower()}s", one["metadata"]) for one in applied]
    assert asked == {(kind, about.get("namespace", ""), about["name"]) for kind, about in metadata}
    assert len(asked) == len(applied)


def purposes(runtimes: t.Mapping[str, str], **variables: t.Any) -> set[str]:
    """Return the access that a run on hosts with these runtimes checks."""
    hosts = {host: {"container_runtime": runtime} if runtime else {} for host, runtime in runtimes.items()}
    known = {"inventory_hostname": "a", "ansible_play_hosts": list(hosts), "hostvars": hosts, **hosts["a"], **variables}
    return set(value(templar(["container_runtime", "cni", "node_join"], known), "node_join_purposes"))


@pytest.mark.parametrize(
    ("runtimes", "variables", "expected"),
    [
        ({"a": "", "b": "containerd"}, {}, {"read", "join", "tokens", "approve", "flannel"}),
        ({"a": "moby"}, {}, {"read", "join", "tokens", "approve", "services", "services_read"}),
        ({"a": "docker", "b": ""}, {}, {"read", "join", "tokens", "approve", "flannel", "services", "services_read"}),
        ({"a": "docker", "b": ""}, {"cni_plugin": "none"}, {"read", "join", "tokens", "approve"}),
        ({"a": ""}, {"cni_run_as": "service"}, {"read", "join", "tokens", "approve", "services", "services_read"}),
        ({"a": ""}, {"node_join_approval": "cluster"}, {"read", "join", "tokens", "flannel"}),
        (
            {"a": ""},
            {"node_join_token_source": "control_plane"},
            {"read", "join", "delete_tokens", "approve", "flannel"},
        ),
        (
            {"a": ""},
            {"node_join_token_source": "control_plane", "node_join_approval": "cluster"},
            {"read", "join", "flannel"},
        ),
        # Playbooks that drain live nodes.
        ({"a": ""}, {"node_maintenance_drain": True}, {"read", "join", "tokens", "approve", "flannel", "drain"}),
        ({"a": ""}, {"node_maintenance_drain": True, "winkube_join": False}, {"read", "drain"}),
        # plan.yml, and site.yml without its join.
        ({"a": "", "b": "moby"}, {"node_join_read_only": True}, {"read", "services_read"}),
        ({"a": ""}, {"winkube_join": False}, {"read"}),
    ],
)
def test_a_run_checks_the_rights_that_it_uses(
    runtimes: dict[str, str], variables: dict[str, t.Any], expected: set[str]
) -> None:
    assert purposes(runtimes, **variables) == expected
