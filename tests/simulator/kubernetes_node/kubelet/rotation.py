# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renew the kubelet's client certificate after 70% to 90% of its lifetime. The kubelet ends if the certificate expires.

See k8s.io/client-go/util/certificate/certificate_manager.go (nextRotationDeadline, jitteryDuration, updateServerError)
and kubernetes pkg/kubelet/certificate/transport.go (a kubelet with an expired certificate ends when the API server
responds), and https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#certificate-rotation
"""

from __future__ import annotations

import random
import time
from datetime import datetime
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from simulator.certificates import new_key
from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.kubelet import bootstrap
from simulator.kubernetes_node.kubelet.bootstrap import BootstrapError
from simulator.kubernetes_node.kubelet.settings import KubeletError, KubeletSettings
from simulator.kubernetes_node.programs.log_file import Stderr, klog

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_PAUSE = 2.0  # seconds after a failed attempt; client-go uses an increasing delay


class Rotation:
    """The renewal of one kubelet's client certificate, if `rotateCertificates` is set.

    Args:
        node: the name of the node.
        stderr: a function that is called with each line of the kubelet's log.
    """

    def __init__(self, machine: Machine, settings: KubeletSettings, node: str, stderr: Stderr) -> None:
        self._machine, self._settings, self._node, self._stderr = machine, settings, node, stderr
        self._certificate: x509.Certificate | None = None
        self._deadline: datetime | None = None
        self._again = 0.0
        self._asked: tuple[str, ec.EllipticCurvePrivateKey] | None = None

    def check(self, client: Client) -> None:
        """Renew the certificate when the renewal is due, and let the client use the new certificate.

        Raises:
            KubeletError: the certificate has expired and the API server rejects the request for a new one, or the
                kubeconfig cannot be read after the renewal.
            OSError: the API server is not reachable.
        """
        if not self._settings.rotates or not client.access.certificate or time.monotonic() < self._again:
            return
        if self._certificate is None:
            self._read(client)
        assert self._certificate is not None
        assert self._deadline is not None
        moment = self._machine.clock.now()
        if moment < self._deadline:
            return
        try:
            self._renew(client)
        except ApiError as error:
            self._again = time.monotonic() + _PAUSE
            message = f"cannot create certificate signing request: {error}"
            text = '"Failed while requesting a signed certificate from the control plane"'
            self._stderr(klog("E", f'{text} err="{message}"'))
            answers = error.status in (401, 403, 404)
            if answers and moment > self._certificate.not_valid_after_utc:
                text = "The currently active client certificate has expired and the server is responsive, exiting."
                raise KubeletError(text) from error

    def _read(self, client: Client) -> None:
        certificate = x509.load_pem_x509_certificate(client.access.certificate.encode())
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        self._certificate = certificate
        self._deadline = start + (end - start) * random.uniform(0.7, 0.9)

    def _renew(self, client: Client) -> None:
        """Request a new certificate unless a request is pending. Once it is issued, store it and use it from then on.

        Raises:
            KubeletError: the kubeconfig cannot be read after the certificate was issued.
        """
        if self._asked is None:
            key = new_key()
            self._stderr(klog("I", '"Rotating certificates"'))
            self._asked = (bootstrap.ask(client, key, self._node), key)
        name, key = self._asked
        try:
            pem = bootstrap.signed(client, name)
        except BootstrapError:
            self._asked = None  # denied: the next request uses a new key
            return
        if pem is None:
            return
        bootstrap.keep(self._machine, self._settings, pem, key)
        self._asked = None
        try:
            client.renew(read_kubeconfig(self._machine, self._settings.kubeconfig))
        except KubeconfigError as error:
            raise KubeletError(str(error)) from error
        self._read(client)
