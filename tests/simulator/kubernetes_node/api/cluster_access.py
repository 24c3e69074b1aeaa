# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out whether a program on a node accesses the API server with a kubeconfig or as its pod's service account."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api.client import KubeconfigError, ServerAccess, read_kubeconfig
from simulator.machine.objects import Invocation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ACCOUNT = r"C:\var\run\secrets\kubernetes.io\serviceaccount"
_KUBELET = r"C:\etc\kubernetes\kubelet.conf"


def reach(machine: Machine, access: ServerAccess) -> ServerAccess:
    """Return `access` with an API server address that can be reached from the node.

    If the server's address is the cluster IP address of a service, it works only after kube-proxy has created the
    service's load balancer in HNS. The load balancer leads to the API server's advertised address, which is not routed
    in the simulator. Therefore, the result has the address that the kubelet uses instead.

    Raises:
        OSError: the API server is not reachable.
    """
    host = access.server.split("://")[-1].split("/")[0].rpartition(":")[0] or access.server.split("://")[-1]
    if host.startswith("127.") or not _is_service(host):
        return access
    if not any(policy.vip == host for policy in hns.store(machine).policies()):
        raise OSError(
            f"dial tcp {host}:443: connectex: A connection attempt failed because the connected party did not "
            f"properly respond "
            "after a period of time, or established connection failed because connected host has failed to respond."
        )
    try:
        return dataclasses.replace(access, server=read_kubeconfig(machine, _KUBELET).server)
    except KubeconfigError as error:
        raise OSError(str(error)) from error


def _is_service(host: str) -> bool:
    """Return whether a host outside 127.0.0.0/8 is a service's cluster IP address.

    The nodes' own addresses are in 127.0.0.0/8, so any other IPv4 address is a service's.
    """
    return host.replace(".", "").isdigit()


def access_of(machine: Machine, run: Invocation, kubeconfig: str, server: str) -> ServerAccess:
    """Return how a program accesses the API server.

    Args:
        machine: the node.
        run: the invocation of the program.
        kubeconfig: the path of a kubeconfig, or an empty string.
        server: the URL to use instead of the kubeconfig's, or an empty string. If both are empty, the pod's service
            account is used.

    Raises:
        KubeconfigError: the kubeconfig cannot be used.
        OSError: the API server is not reachable.
    """
    if kubeconfig:
        found = read_kubeconfig(machine, kubeconfig)
        return reach(machine, dataclasses.replace(found, server=server.rstrip("/")) if server else found)
    if server:
        return reach(machine, ServerAccess(server.rstrip("/"), insecure=True))
    host, port = run.variable("KUBERNETES_SERVICE_HOST"), run.variable("KUBERNETES_SERVICE_PORT")
    token, authority = f"{_ACCOUNT}\\token", f"{_ACCOUNT}\\ca.crt"
    if not host or not port:
        raise KubeconfigError(
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be "
            "defined"
        )
    if not machine.files.is_file(token):
        raise KubeconfigError(
            "open /var/run/secrets/kubernetes.io/serviceaccount/token: The system cannot find the path specified."
        )
    ca = machine.files.read_text(authority) if machine.files.is_file(authority) else None
    return reach(machine, ServerAccess(f"https://{host}:{port}", ca=ca, token_file=token))
