# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the role node_join refuses before a node joins."""

from __future__ import annotations

import typing as t

import pytest
from ansible.template import trust_as_template
from unit.roles.templates import task, templar, value


def refused(cluster: t.Mapping[str, str], variables: t.Mapping[str, str]) -> str:
    """Why the networks of an inventory are refused for a cluster; empty where they are not."""
    check = task("node_join", "check.yml", "Refuse networks that are not the cluster's")
    found = templar(["cni"], {"node_join_cluster": cluster, **variables})
    if not all(value(found, condition) for condition in check["when"]):
        return ""
    arguments = check["ansible.builtin.assert"]
    if all(value(found, condition) for condition in arguments["that"]):
        return ""
    return str(found.template(trust_as_template(arguments["fail_msg"])))


CLUSTER = {"pod_subnet": "10.233.64.0/18", "service_subnet": "10.233.0.0/18"}


@pytest.mark.parametrize(
    ("cluster", "variables"),
    [
        (CLUSTER, {"kube_pods_subnet": "10.233.64.0/18", "kube_service_addresses": "10.233.0.0/18"}),
        # Read from the cluster.
        (CLUSTER, {}),
        ({"pod_subnet": "10.233.64.0/18,fd00::/56", "service_subnet": "10.233.0.0/18,fd01::/112"}, {}),
        # A cluster that does not tell, and a network that is not ours.
        ({"pod_subnet": "", "service_subnet": "10.233.0.0/18"}, {"kube_pods_subnet": "10.1.0.0/16"}),
        (CLUSTER, {"kube_pods_subnet": "10.1.0.0/16", "kube_network_plugin": "cni"}),
    ],
)
def test_networks_of_the_cluster_are_accepted(cluster: dict[str, str], variables: dict[str, str]) -> None:
    assert not refused(cluster, variables)


@pytest.mark.parametrize(
    "variables", [{"kube_pods_subnet": "10.244.0.0/16"}, {"kube_service_addresses": "10.96.0.0/12"}]
)
def test_other_networks_are_refused(variables: dict[str, str]) -> None:
    message = refused(CLUSTER, variables)
    assert "kube_pods_subnet" in message
    assert "kube_service_addresses" in message
    for network in (*CLUSTER.values(), *variables.values()):
        assert network in message
