#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Use short-lived pods to check the pod network of a cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_check
short_description: Use short-lived pods to check the pod network of a cluster
version_added: "0.1.0"
description:
  - Opens TCP connections between pods on Windows and Linux nodes, to services by IP address and by DNS name, to
    NodePorts through nodes of both operating systems, and to a URL outside the cluster. By default, if a program in
    the cluster enforces network policies, the module also checks that a policy blocks connections.
  - The nodes form a ring, in which each node connects to the next one. So the number of connections grows with the
    number of nodes, not with its square.
  - All objects are in a separate namespace with a random name. The module always deletes this namespace, and waits
    until it is gone. If a run is killed, a later run deletes its namespace.
  - Runs on the controller or a control plane host, never on a Windows node. No command is executed in a running
    container. The pods report their results in their status.
  - The task does not fail if a check fails. M(winkube.node.network_report) prints the results, and returns whether all
    checks passed.
  - The account of O(kubeconfig) needs the ClusterRole C(winkube:verify-network) in C(docs/rbac.yaml) of the collection.
options:
  nodes:
    description: Names of the Windows nodes to check. The default is all Windows nodes of the cluster.
    type: list
    elements: str
    default: []
  sample:
    description: >-
      Number of Windows nodes to check if O(nodes) is empty, evenly spread over all Windows nodes. V(0) means all.
    type: int
    default: 0
  linux_nodes:
    description: How many Linux nodes take part. V(0) means all of them. Workers are preferred.
    type: int
    default: 3
  windows_image:
    description: Container image of the pods on Windows nodes. Its entry point must be C(agnhost).
    type: str
    default: registry.k8s.io/e2e-test-images/agnhost:2.63.0
  linux_image:
    description: Container image of the pods on Linux nodes. Its entry point must be C(agnhost).
    type: str
    default: registry.k8s.io/e2e-test-images/agnhost:2.63.0
  tolerations:
    description: Tolerations of the pods. The default tolerates every taint, so cordoned nodes are checked, too.
    type: list
    elements: dict
    default: [{operator: Exists}]
  outbound_url:
    description: >-
      URL outside the cluster, to check outbound connections. The pods connect to the host and port of this URL without
      a proxy, and send no request. If it is empty, outbound connections are not checked.
    type: str
    default: https://registry.k8s.io
  network_policy:
    description:
      - V(auto) checks a network policy on the nodes of each operating system for which the cluster has a program that
        enforces policies. V(expected) checks it on all nodes, and V(skip) checks it on no node.
    type: str
    choices: [auto, expected, skip]
    default: auto
  node_port_from_controller:
    description: >-
      Whether the machine that runs the module connects to the NodePorts, too. Firewalls between this machine and the
      nodes must allow these connections.
    type: bool
    default: false
  dns_domain:
    description: >-
      The cluster's DNS domain. The default is the domain in kubeadm's configuration, or C(cluster.local) if the
      configuration sets no domain.
    type: str
  parallel:
    description: How many pods may be starting or connecting at the same time.
    type: int
    default: 50
  attempts:
    description: >-
      How many times to try a connection that fails. Windows needs a few seconds to program the rules of a new service.
    type: int
    default: 3
  connect_timeout:
    description: Seconds after which an attempt to connect counts as failed.
    type: int
    default: 5
  result_timeout:
    description: Time limit in seconds for a started pod to report its result, in addition to O(connect_timeout).
    type: int
    default: 60
  pod_timeout:
    description: Time limit in seconds for a pod to start and report its result, including the download of its image.
    type: int
    default: 600
  timeout:
    description: Seconds after which no further check begins in a pod. Checks that are still running in pods then end as
      V(not_run).
    type: int
    default: 3600
  cleanup_timeout:
    description: Seconds to wait until the namespace of the run is gone.
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Returns the checks that the run would perform, with the status V(not_run). Creates nothing.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Check the pod network of twenty Windows nodes
  winkube.node.network_check:
    kubeconfig: ~/.kube/config
    sample: 20
    outbound_url: https://mirror.example.com
  delegate_to: localhost
  run_once: true
  register: network

- name: Print the results
  winkube.node.network_report:
    result: "{{ network }}"
    path: build/network.json
    page: build/network.html
  run_once: true
"""

RETURN = r"""
results:
  description: One entry for each check.
  type: list
  elements: dict
  returned: always
  contains:
    check:
      description: V(pod_to_pod), V(service_ip), V(service_dns), V(node_port), V(outbound) or V(network_policy).
      type: str
    from:
      description: The node of the pod that connects, or V(controller).
      type: str
    from_os:
      description: The operating system of the node in C(from).
      type: str
    to:
      description: The node to which the connection goes, or the URL of an outbound connection.
      type: str
    to_os:
      description: The operating system of the node in C(to).
      type: str
    answered_by:
      description: For a NodePort, the node whose pod accepts the connection. Otherwise empty.
      type: str
    address:
      description: Host and port of the destination. Empty if it is unknown, or in check mode.
      type: str
    status:
      description:
        - V(passed); V(failed); V(not_run) if the check could not be performed, which says nothing about the network;
          or V(not_applicable) if the cluster has nothing to check.
      type: str
    detail:
      description: Why the check has this status.
      type: str
    attempts:
      description: How many times the connection was tried.
      type: int
namespace:
  description: The namespace of the run, or empty if none was created.
  type: str
  returned: always
removed:
  description: Whether the namespace in RV(namespace) is gone.
  type: bool
  returned: always
interrupted:
  description: Namespaces of interrupted runs, which this run deleted.
  type: list
  elements: str
  returned: always
windows_nodes:
  description: Number of Windows nodes that took part.
  type: int
  returned: always
windows_nodes_total:
  description: Number of Windows nodes in the cluster.
  type: int
  returned: always
linux_nodes:
  description: Number of Linux nodes that took part.
  type: int
  returned: always
"""

import os
import platform
import re
import secrets
import signal
import socket
import time
import typing as t
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.addresses import DEFAULT_DNS_DOMAIN
from ..module_utils.cluster_access import require_access
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cluster_state import config_map
from ..module_utils.network_check import run as network_run
from ..module_utils.network_check.api import NetworkCheckApi
from ..module_utils.network_check.connections import Settings, Tools
from ..module_utils.network_check.leftovers import RunMark
from ..module_utils.network_check.nodes import Participants, choose, describe
from ..module_utils.network_check.objects import Images
from ..module_utils.network_check.options import OPTIONS, problem

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def connect(host: str, port: int, seconds: float) -> str:
    """Open a TCP connection from this machine, and return why it failed, or an empty string if it succeeded."""
    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except TimeoutError:
        return f"no response within {seconds:g} seconds"
    except ConnectionRefusedError:
        return "the connection was refused"
    except OSError as error:
        return f"the connection failed: {error}"
    return ""


def this_machine() -> str:
    """Return a name that identifies this machine or container: the host name and the PID namespace."""
    try:
        return f"{platform.node()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return platform.node()


def runs(process: int) -> bool:
    """Return whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return True
    # In a container whose first process does not reap orphans, a process that has ended remains as a zombie.
    return state.split()[:1] != ["Z"]


def dns_domain(cluster: Cluster, given: str | None) -> str:
    """Return the DNS domain from the option, or from kubeadm's configuration, or else `cluster.local`."""
    if given:
        return given
    text = (config_map(cluster, "kube-system", "kubeadm-config") or {}).get("ClusterConfiguration") or ""
    match = re.search(r"^ +dnsDomain: *[\"']?([\w.-]+)", text, re.MULTILINE)
    return match[1] if match else DEFAULT_DNS_DOMAIN


def settings(params: t.Mapping[str, t.Any], domain: str) -> Settings:
    """Return the settings that the options describe."""
    names = ("parallel", "attempts", "connect_timeout", "result_timeout", "pod_timeout", "timeout", "cleanup_timeout")
    return Settings(
        images=Images(params["windows_image"], params["linux_image"], params["tolerations"]),
        outbound_url=params["outbound_url"],
        dns_domain=domain,
        policy=params["network_policy"],
        from_controller=params["node_port_from_controller"],
        **{name: params[name] for name in names},
    )


def remove_interrupted(module: AnsibleModule, api: NetworkCheckApi, tools: Tools) -> list[str]:
    """Delete the namespaces of interrupted runs, except in check mode, and return the names of those that are gone."""
    ended, others = network_run.interrupted(api, this_machine(), time.time(), runs)
    if others:
        module.warn(f"other network checks may still be running, so their namespaces are kept: {', '.join(others)}")
    if module.check_mode:
        return []
    left = network_run.remove_namespaces(api, ended, module.params["cleanup_timeout"], tools)
    if left:
        seconds = module.params["cleanup_timeout"]
        module.warn(f"namespaces of interrupted runs still exist after {seconds} seconds: {', '.join(left)}")
    return [name for name in ended if name not in left]


def check(module: AnsibleModule, cluster: Cluster, api: NetworkCheckApi, nodes: Participants) -> dict[str, t.Any]:
    """Perform the checks, and return the module's result."""
    params = module.params
    tools = Tools(time.monotonic, time.sleep, connect)
    given = settings(params, dns_domain(cluster, params["dns_domain"]))
    interrupted = remove_interrupted(module, api, tools)
    if module.check_mode:
        finished = network_run.RunResult(network_run.dry_run(nodes, given), "", True)
    else:
        end = time.time() + given.timeout + given.cleanup_timeout
        mark = RunMark(this_machine(), os.getpid(), end)
        finished = network_run.run(api, nodes, given, tools, token=secrets.token_hex(4), mark=mark)
    return {
        "results": [outcome.to_result() for outcome in finished.outcomes],
        "namespace": finished.namespace,
        "removed": finished.removed,
        "interrupted": interrupted,
        "windows_nodes": len(nodes.windows),
        "windows_nodes_total": nodes.windows_total,
        "linux_nodes": len(nodes.linux),
    }


def end_orderly(*dummy: t.Any) -> t.NoReturn:
    """Handle a signal: ignore later signals, and raise SystemExit, so that the module deletes its namespace."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit(1)


def main() -> None:
    module = AnsibleModule(argument_spec=cluster_arguments(**OPTIONS), supports_check_mode=True)
    if why := problem(module.params):
        module.fail_json(msg=why)
    for number in SIGNALS:
        signal.signal(number, end_orderly)
    cluster = Cluster(module)
    api = NetworkCheckApi(cluster)
    with cluster.needed():
        require_access(module, cluster, ["network_check"])
        params = module.params
        nodes = choose(map(describe, api.nodes()), params["nodes"], params["sample"], params["linux_nodes"])
        if not nodes.windows and not nodes.unusable:
            module.fail_json(msg=f"the cluster at {cluster.server}: expected at least one Windows node, got none")
        module.exit_json(changed=False, **check(module, cluster, api, nodes))


if __name__ == "__main__":
    main()
