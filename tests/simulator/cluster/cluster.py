# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start clusters for tests, either with a real control plane or with an API server in memory."""

from __future__ import annotations

import atexit
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .calico import CalicoInstallation, CalicoOptions, install_calico
from .control_plane import ControlPlane, assets_folder, assets_version
from .memory_api import MemoryCluster
from .options import ClusterOptions

Kind = Literal["auto", "real", "memory"]


class ClusterUnavailableError(RuntimeError):
    """The requested kind of cluster cannot run on this machine; the message says why."""


class SimulatedCluster:
    """A running cluster; as a context manager, it stops the cluster on exit."""

    def __init__(self, kind: str, version: str, server: str, kubeconfig: Path, ca_file: Path, stop: Callable[[], None]):
        self.kind = kind
        """The kind: "real" or "memory"."""
        self.version = version
        """The Kubernetes version of the control plane, such as "1.37.1"."""
        self.server = server
        """The URL of the API server, such as https://127.0.0.1:23456."""
        self.kubeconfig = kubeconfig
        """The administrator's kubeconfig file, with mode 0600."""
        self.ca_certificate = ca_file.read_text()
        """The cluster's CA certificate in PEM."""
        self.ca_hash = ca_hash(self.ca_certificate)
        """The hash that kubeadm calls discovery-token-ca-cert-hash."""
        self.set_clock: Callable[[float], None] | None = None
        """A function that sets how many seconds the clock for checking client certificates is ahead.

        The attribute is None for a real API server, which uses this machine's clock.
        """
        self.calico: CalicoInstallation | None = None
        """The installation of Calico, or None if Calico is not installed."""
        self._stop: Callable[[], None] | None = stop
        self._process = os.getpid()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Stop the cluster and remove its files; a second call, or a call in a forked process, does nothing."""
        if os.getpid() != self._process:
            return
        stop, self._stop = self._stop, None
        if stop:
            if self.calico:
                self.calico.stop()
            atexit.unregister(self.stop)
            stop()

    def __enter__(self) -> SimulatedCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def ca_hash(certificate: str) -> str:
    """Return the hash of a CA certificate's public key as kubeadm computes it (SHA-256 of the SubjectPublicKeyInfo).

    Args:
        certificate: the certificate in PEM.

    Returns:
        "sha256:" and 64 hexadecimal digits.
    """
    key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    return "sha256:" + hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def start_cluster(
    kind: Kind = "auto",
    version: str = "1.37.1",
    address: str = "127.0.0.1",
    extra_sans: Sequence[str] = (),
    pod_cidr: str = "10.244.0.0/16",
    service_cidr: str = "10.96.0.0/12",
    cluster_name: str = "kubernetes",
    port: int = 0,
    node_grace_period: float = 40.0,
    client_certificate_seconds: float = 365 * 86400,
    calico: Mapping[str, Any] | None = None,
) -> SimulatedCluster:
    """Start a cluster, which has no nodes except the Linux nodes that `calico` requests.

    Args:
        kind: "real", "memory" or "auto". "real" runs the programs in the folder that `KUBEBUILDER_ASSETS` names.
            "auto" selects "real" if that folder contains programs of the given version, otherwise "memory".
        version: the Kubernetes version of the control plane.
        address: this machine's IPv4 address on which the API server listens.
        extra_sans: additional names and addresses for the API server's certificate.
        pod_cidr: the network from which each node gets a /24.
        service_cidr: the network for the services' cluster IPs.
        cluster_name: the name in kubeadm's ClusterConfiguration.
        port: the port of the API server; 0 picks a free port.
        node_grace_period: the seconds after the last heartbeat until a node becomes Unknown.
        client_certificate_seconds: the validity period of kubelets' client certificates in seconds.
        calico: how Calico is installed (`CalicoOptions`). If it is None, Calico is not installed.

    Returns:
        The running cluster.

    Raises:
        ClusterUnavailableError: "real" was requested and is not available.
        ProcessError: a program of the real control plane failed or was not ready in time, or no port is free.
        subprocess.TimeoutExpired: kubeadm or kubectl exceeded its time limit.
        ValueError: a Calico option is unknown.
    """
    options = ClusterOptions(
        version=version.removeprefix("v"),
        address=address,
        port=port,
        extra_sans=tuple(extra_sans),
        pod_cidr=pod_cidr,
        service_cidr=service_cidr,
        cluster_name=cluster_name,
        node_grace_period=node_grace_period,
        client_certificate_seconds=client_certificate_seconds,
    )
    found = _start(kind, options)
    if calico is not None:
        try:
            networks = {"pod_cidr": options.pod_cidr, "service_cidr": options.service_cidr}
            found.calico = install_calico(found.kubeconfig, found.server, CalicoOptions.read(calico, **networks))
        except BaseException:
            found.stop()
            raise
    return found


def _start(kind: Kind, options: ClusterOptions) -> SimulatedCluster:
    reason = real_unavailable(options.version)
    if kind == "real" and reason:
        raise ClusterUnavailableError(reason)
    if kind == "memory" or reason:
        return _start_memory(options)
    assets = assets_folder()
    assert assets is not None
    plane = ControlPlane(assets, options)
    return SimulatedCluster("real", options.version, plane.server, plane.kubeconfig, plane.ca_file, plane.stop)


def real_unavailable(version: str = "1.37.1") -> str:
    """Return why a real control plane of `version` cannot run here, or an empty string if it can."""
    assets = assets_folder()
    if assets is None:
        return "KUBEBUILDER_ASSETS is not the path of a folder with the programs of a control plane"
    found = assets_version(assets)
    return "" if found == version else f"KUBEBUILDER_ASSETS contains Kubernetes {found}, not {version}"


def _start_memory(options: ClusterOptions) -> SimulatedCluster:
    memory = MemoryCluster(options)
    found = SimulatedCluster("memory", options.version, memory.server, memory.kubeconfig, memory.ca_file, memory.stop)
    found.set_clock = memory.set_clock
    return found
