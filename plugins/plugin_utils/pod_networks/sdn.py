# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Microsoft's sdnbridge and sdnoverlay CNI plugins, which flannel's CNI plugin calls for each pod."""

from __future__ import annotations

import typing as t

from .flannel import Flannel
from .policies import EndpointPolicy, access_list, nested

_CNI_VERSION = "0.3.0"
"""Version of the CNI specification. The plugins accept 0.3.0 since their version 0.2.2, but no version accepts 0.3.1 or
1.1.0. Source: microsoft/windows-container-networking cni/cni.go, VersionsSupported."""


class SdnBridge(Flannel):
    """The sdnbridge plugin. As with win-bridge, flanneld creates the HNS network, its host endpoint and the routes."""

    configured_on_node: t.ClassVar[bool] = True

    def cni_configuration(self, internal_ip: str = "") -> dict[str, t.Any]:
        """Return the configuration of flannel's CNI plugin, with Microsoft's plugin as its delegate.

        flannel's plugin adds two keys to the delegate's configuration: `name`, and `ipam` with the type host-local and
        the node's subnet. Microsoft's plugins pass no other fields of `ipam` on to host-local
        (microsoft/windows-container-networking#64).

        Args:
            internal_ip: address of the node in the cluster; empty if unknown.
        """
        delegate = {"type": self.settings.known_mode.delegate, **self._flags()}
        return self._configuration({**delegate, "AdditionalArgs": self._policies(internal_ip)}, _CNI_VERSION)

    def _flags(self) -> dict[str, t.Any]:
        """Return the optional flags of the CNI plugin.

        Packets to other nodes leave through the endpoint of the host, which has the second address of the subnet.
        forceBridgeGateway makes this address the gateway (microsoft/windows-container-networking#40).
        """
        return {"optionalFlags": {"forceBridgeGateway": True}}

    def _policies(self, internal_ip: str) -> list[EndpointPolicy]:  # noqa: ARG002  # for subclasses
        settings = self.settings
        local = [settings.pods_subnet, settings.services_subnet]
        service = {"DestinationPrefix": settings.services_subnet, "NeedEncap": True}
        rules = [nested("ACL", one) for one in access_list(settings)]
        return [nested("OutBoundNAT", {"Exceptions": local}), nested("SDNRoute", service), *rules]


class SdnOverlay(SdnBridge):
    """The sdnoverlay plugin. flanneld creates the HNS network and its remote subnets, as it does for win-overlay."""

    def _flags(self) -> dict[str, t.Any]:
        """Return an empty mapping: on an overlay, the gateway is the subnet's first address, the plugin's default."""
        return {}

    def _policies(self, internal_ip: str) -> list[EndpointPolicy]:
        """Return the endpoint policies, with an additional one for the node's address if the address is known."""
        provider = [nested("ProviderAddress", {"ProviderAddress": internal_ip})] if internal_ip else []
        return [*super()._policies(internal_ip), *provider]
