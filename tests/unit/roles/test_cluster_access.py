# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access that is checked beforehand matches what the roles do in the cluster."""

from __future__ import annotations

import re
import typing as t

import pytest
from unit.roles.templates import ROLES, templar, value

from ansible_collections.winkube.node.plugins.module_utils.cluster_access import APPLY, NEEDS

_OBJECT = re.compile(
    r"^kind: (\w+)\n(?:type: .*\n)?metadata:\s*(?:\{name: ([\w-]+)(?:, namespace: ([\w-]+))?"
    r"|\n\s+name: ([\w-]+)(?:\n\s+namespace: ([\w-]+))?)",
    re.MULTILINE,
)


def objects(*templates: str) -> set[tuple[str, str, str]]:
    """Return resource, namespace and name of each object in some templates of the role cni."""
    texts = [(ROLES / "cni" / "templates" / name).read_text(encoding="utf-8") for name in templates]
    found = [match for text in texts for match in _OBJECT.findall(text)]
    assert len(found) == sum(len(re.findall(r"^kind: (?!Config$)", text, re.MULTILINE)) for text in texts)
    return {(f"{kind.lower()}s", space or space2, name or name2) for kind, name, space, name2, space2 in found}


@pytest.mark.parametrize(
    ("purpose", "templates"),
    [
        ("flannel", ("_flannel_account.j2", "flannel.yml.j2", "kube-proxy.yml.j2")),
        ("services", ("_flannel_account.j2", "services.yml.j2")),
    ],
)
def test_the_right_to_apply_every_object_is_checked(purpose: str, templates: tuple[str, ...]) -> None:
    asked = {(need.resource, need.namespace, need.name) for need in NEEDS[purpose] if set(APPLY) <= set(need.verbs)}
    assert asked == objects(*templates)


def purposes(runtimes: t.Mapping[str, str], **variables: t.Any) -> set[str]:
    """Return the access that a run on hosts with these runtimes checks."""
    hosts = {host: {"container_runtime": runtime} if runtime else {} for host, runtime in runtimes.items()}
    known = {"ansible_play_hosts": list(hosts), "hostvars": hosts, **variables}
    return set(value(templar(["container_runtime", "cni", "node_join"], known), "node_join_purposes"))


@pytest.mark.parametrize(
    ("runtimes", "variables", "expected"),
    [
        ({"a": "", "b": "containerd"}, {}, {"read", "join", "approve", "flannel"}),
        ({"a": "moby"}, {}, {"read", "join", "approve", "services", "services_read"}),
        ({"a": "docker", "b": ""}, {}, {"read", "join", "approve", "flannel", "services", "services_read"}),
        ({"a": "docker", "b": ""}, {"cni_plugin": "cni"}, {"read", "join", "approve"}),
        ({"a": ""}, {"node_join_approval": "cluster"}, {"read", "join", "flannel"}),
        # Playbooks that drain live nodes.
        ({"a": ""}, {"node_maintenance_drain": True}, {"read", "join", "approve", "flannel", "drain"}),
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
