# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico in a cluster for tests: the objects that kubespray or the Tigera operator creates, and the operator itself.

`start_cluster(…, calico={"install": "kubespray", "strict_affinity": True})` works with a real control plane and with an
API server in memory. A fleet file contains the same options:
`cluster: {…, calico: {install: kubespray, strict_affinity: true}}`. Linux nodes are only Node objects, on which no
programs run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import kubespray, operator
from .client import AdminClient, RepeatingThread
from .options import CalicoOptions

__all__ = ["AdminClient", "CalicoInstallation", "CalicoOptions", "install_calico"]

_CRD = "/apis/crd.projectcalico.org/v1"


class CalicoInstallation:
    """Calico in a running cluster.

    Args:
        client: an administrator's connection.
        loop: the thread that runs the Tigera operator, or None if there is no operator.
    """

    def __init__(self, client: AdminClient, loop: RepeatingThread | None) -> None:
        self.client, self._loop = client, loop

    def stop(self) -> None:
        """Stop the operator, and close the connection."""
        if self._loop:
            self._loop.stop()
        self.client.close()

    def set_strict_affinity(self, value: bool) -> None:
        """Set strictAffinity in the default IPAMConfig, as `calicoctl ipam configure` and kubespray do."""
        path, spec = f"{_CRD}/ipamconfigs/default", {"strictAffinity": value}
        if self.client.find(path):
            self.client.merge(path, {"spec": spec})
            return
        complete = {"autoAllocateBlocks": True, "maxBlocksPerHost": 0, **spec}
        document = {"apiVersion": "crd.projectcalico.org/v1", "kind": "IPAMConfig", "metadata": {"name": "default"}}
        self.client.apply({**document, "spec": complete})

    def patch_installation(self, spec: dict[str, Any]) -> None:
        """Apply a merge patch to the spec of the Tigera operator's Installation object."""
        self.client.merge("/apis/operator.tigera.io/v1/installations/default", {"spec": spec})

    def status(self, name: str = "calico-windows") -> tuple[str, str]:
        """Return the type and message of the first true condition of a TigeraStatus, or two empty strings."""
        found = self.client.find(f"/apis/operator.tigera.io/v1/tigerastatuses/{name}") or {}
        for one in (found.get("status") or {}).get("conditions") or []:
            if one["status"] == "True":
                return str(one["type"]), str(one["message"])
        return "", ""


def install_calico(kubeconfig: Path, server: str, options: CalicoOptions) -> CalicoInstallation:
    """Install Calico in a cluster.

    Args:
        kubeconfig: an administrator's kubeconfig (`SimulatedCluster.kubeconfig`).
        server: the API server's URL (`SimulatedCluster.server`).
        options: how to install Calico.
    """
    client = AdminClient(kubeconfig)
    if options.install == "kubespray":
        kubespray.install(client, options)
        return CalicoInstallation(client, None)
    loop = operator.install(client, options)
    if options.services_endpoint:
        parts = urlsplit(server)
        data = {"KUBERNETES_SERVICE_HOST": parts.hostname, "KUBERNETES_SERVICE_PORT": str(parts.port)}
        path = "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint"
        client.merge(path, {"data": data})
    return CalicoInstallation(client, loop)
