# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define the facts about a node that the checks of node_doctor.yml read (no I/O)."""

from __future__ import annotations

import dataclasses
import functools
import ntpath

from ..pod_networks.catalogue import Mode, catalogue
from .cluster_view import ClusterView, NodeInCluster
from .observation import FirstFacts, ObservationOptions, SecondFacts, active_configurations, networks_in
from .runtime_facts import RUNTIME_SERVICES


@dataclasses.dataclass(frozen=True, kw_only=True)
class Examination:
    """The observed state of a node, with data about the node from the cluster and from the inventory."""

    first: FirstFacts
    second: SecondFacts
    cluster: ClusterView
    options: ObservationOptions
    expected_name: str = ""
    """Name of the node according to the host's variables, or an empty string if they set none."""
    clock_skew_limit: float = 240.0
    """Maximum accepted difference between the clocks of the node and the controller, in seconds."""

    @property
    def is_prepared(self) -> bool:
        """Whether the kubelet's service exists."""
        return "kubelet" in self.first.machine.services

    @property
    def kubelet_name(self) -> str:
        """The node name that the kubelet uses, which is --hostname-override or the host name in lower case.

        Sources: kubernetes, cmd/kubelet/app/server.go (getNodeName) and pkg/util/node (GetHostname).
        """
        override = self.first.kubelet.command.flag("hostname-override")
        computer = self.first.windows.active_computer_name or self.first.windows.computer_name
        return (override or self.first.machine.host_name or computer).strip().lower()

    @property
    def knows_kubelet_name(self) -> bool:
        """Whether `kubelet_name` is reliable. A script that starts the kubelet may set any name."""
        command = self.first.kubelet.command
        return ntpath.basename(command.program).lower() == "kubelet.exe" and not command.by_launcher

    @property
    def node_name(self) -> str:
        """Node name of the machine, from the kubelet's certificate, else from the inventory, else from the kubelet."""
        certificate = self.first.kubelet.certificate
        return (certificate.node if certificate else "") or self.expected_name or self.kubelet_name

    @functools.cached_property
    def node(self) -> NodeInCluster | None:
        """The node as the cluster knows it, or None if the cluster does not know it or could not be queried."""
        return self.cluster.node(self.node_name)

    @property
    def runtime_services(self) -> tuple[str, ...]:
        """Names of the services of the kubelet's container runtime. Empty if the runtime's endpoint is unknown."""
        return RUNTIME_SERVICES.get(self.endpoint, ())

    @property
    def endpoint(self) -> str:
        """The key of `RUNTIME_SERVICES` that matches the runtime's endpoint, or an empty string if no key matches."""
        pipe = self.first.kubelet.endpoint.replace("\\", "/").lower()
        return next((known for known in RUNTIME_SERVICES if pipe.rstrip("/").endswith(_pipe_name(known))), "")

    @property
    def runtime_runs(self) -> bool:
        """Whether all `runtime_services` are running. True if no services are known."""
        services = self.first.machine.services
        return all(name in services and services[name].running for name in self.runtime_services)

    @functools.cached_property
    def network_mode(self) -> Mode | None:
        """The network mode that the cni role recorded on the node, or None if no managed network is recorded."""
        record = self.first.network_record
        known = catalogue().get(str(record.get("plugin")))
        return known.modes.get(str(record.get("mode"))) if known is not None and known.is_managed else None

    @functools.cached_property
    def expected_networks(self) -> dict[str, str]:
        """The types of the HNS networks that the node needs, by name of the network."""
        mode = self.network_mode
        if mode is not None:
            return {mode.hns_network: mode.hns_type} if mode.hns_network else {}
        networks: dict[str, str] = {}
        for text in active_configurations(self.first, self.options).values():
            networks |= networks_in(text)
        return networks

    @property
    def network_runs_as_service(self) -> bool | None:
        """Whether kube-proxy runs as a Windows service, or None if there is no record of a managed network."""
        return bool(self.first.network_record.get("services")) if self.network_mode is not None else None


def _pipe_name(endpoint: str) -> str:
    return endpoint.rpartition("/")[2]
