# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Azure CNI on Windows nodes: azure-vnet gives pods secondary addresses of the virtual machine's network interface."""

from __future__ import annotations

import typing as t

from ..windows.azure_platform import platform
from .policies import EndpointPolicy, access_list, broadest, flat
from .rules import NetworkRules

_TIMEOUT = 120
"""Seconds that azure-vnet waits for HNS. Source: Azure/azure-container-networking cni/azure-windows-swift.conflist."""


class AzureCni(NetworkRules):
    """Azure CNI, which consists of the azure-vnet and azure-vnet-ipam plugins and needs neither a service nor a pod."""

    configured_on_node: t.ClassVar[bool] = True

    def cni_configuration(self, internal_ip: str = "") -> dict[str, t.Any]:  # noqa: ARG002  # for subclasses
        """Return the configuration of azure-vnet.

        It has the form of Azure/azure-container-networking cni/azure-windows.conflist, with the values that
        Azure/AgentBaker sets (staging/cse/windows/azurecnifunc.ps1, Set-AzureCNIConfig). azure-vnet before 1.6 needs
        `mode`; later versions ignore it. With direct server return, azure-vnet adds a policy that lets a pod reach
        itself through its service (enableLoopbackDSR), and the route to the services is not needed.

        Args:
            internal_ip: not used.
        """
        dsr = self.settings.known_mode.kube_proxy is not None and self.settings.known_mode.kube_proxy.dsr
        plugin: dict[str, t.Any] = {
            "type": "azure-vnet",
            "mode": "bridge",
            "capabilities": {"portMappings": True, "dns": True},
            "ipam": {"type": "azure-vnet-ipam"},
            **({"dns": self._dns()} if self.settings.cluster_dns else {}),
            "AdditionalArgs": self._policies(dsr=dsr),
            "windowsSettings": {
                **({"enableLoopbackDSR": True} if dsr else {}),
                "hnsTimeoutDurationInSeconds": _TIMEOUT,
            },
        }
        return {"cniVersion": "0.3.0", "name": self.settings.known_mode.hns_network, "plugins": [plugin]}

    def _dns(self) -> dict[str, t.Any]:
        """Return the DNS settings. azure-vnet rejects DNS servers without a search list."""
        servers = [*self.settings.cluster_dns, platform().wire_server.address]
        return {"Nameservers": servers, "Search": [f"svc.{self.settings.dns_domain}"]}

    def _policies(self, *, dsr: bool) -> list[EndpointPolicy]:
        """Return the endpoint policies in the form that azure-vnet expects, which is the same for each HNS API.

        Traffic to services is not exempt from outbound NAT. With direct server return, the load balancer handles this
        traffic; otherwise, the ROUTE policy handles it.
        """
        settings = self.settings
        exceptions = broadest([settings.pods_subnet, *settings.vnet_subnets])
        service = {"DestinationPrefix": settings.services_subnet, "NeedEncap": True}
        return [
            flat("OutBoundNAT", {"ExceptionList": exceptions}),
            *([] if dsr else [flat("ROUTE", service)]),
            *(flat("ACL", one) for one in access_list(settings)),
        ]
