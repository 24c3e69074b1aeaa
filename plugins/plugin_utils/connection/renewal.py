# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renew the certificate of a node's HTTPS listener so that the controller trusts the node at all times.

The steps are: create the new certificate, pin it (add it to the controller's file of trusted certificates) in addition
to the old one, assign it to the listener, check that the controller trusts it, delete the old one on the node, and
unpin the old one. Between the second and the last step, both certificates are pinned. After an interruption, the next
run continues with the new certificate, if there is one.
"""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import typing as t
import uuid

from ..remote.protocol import RemoteNode
from ..wire.messages import Batch
from . import certificates, tls
from .certificates import Certificate, CertificateError, HttpsListener
from .pins import update_pins
from .settings import ConnectionSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class RenewalPolicy:
    """When to renew the certificate, and with which properties."""

    days: int
    """The certificate is renewed if it expires within this many days."""
    valid_days: int
    """Validity of a new certificate in days."""
    names: tuple[str, ...] = ()
    """Additional names and addresses for a new certificate."""
    force: bool = False
    """Whether to renew the certificate even if it does not expire soon."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Renewal:
    """The outcome of a renewal."""

    certificate: Certificate
    """The certificate that the listener uses after the renewal."""
    renewed: bool = False
    pinned: bool = False
    """Whether the controller's file of trusted certificates changed."""
    removed: tuple[str, ...] = ()
    """Thumbprints of the certificates that were deleted on the node."""
    warnings: tuple[str, ...] = ()


class Renewer:
    """An object that renews the certificate of a node's HTTPS listener.

    Args:
        node: the node.
        settings: settings of the connection to the node.
        pins: path of the controller's file of trusted certificates.
        now: current time of the controller's clock (UTC).
    """

    def __init__(
        self, node: RemoteNode, settings: ConnectionSettings, pins: pathlib.Path, now: datetime.datetime
    ) -> None:
        self._node = node
        self._settings = settings
        self._pins = pins
        self._now = now

    def read_listener(self) -> HttpsListener:
        """Return the node's HTTPS listener and its certificate.

        Raises:
            CertificateError: there is no HTTPS listener, it could not be read, or its certificate was issued by a CA.
        """
        seen = self._node.observe(certificates.inspection_calls(), step="read the listener's certificate")
        listener = certificates.read_listener(seen.calls)
        if not listener.certificate.is_self_signed:
            issuer = listener.certificate.x509.issuer.rfc4514_string()
            raise CertificateError(
                f"expected a self-signed certificate, got one issued by {issuer!r}: renew it through that CA"
            )
        return listener

    def is_due(self, listener: HttpsListener, policy: RenewalPolicy) -> bool:
        """Return whether the certificate must be renewed."""
        return policy.force or certificates.is_due(listener.certificate, self._now, policy.days)

    def keep(self, listener: HttpsListener) -> Renewal:
        """Pin the listener's certificate on the controller. Delete certificates of interrupted runs from the node."""
        pinned = update_pins(self._pins, add=[listener.certificate.x509])
        removed = self._remove(listener.others)
        return Renewal(certificate=listener.certificate, pinned=pinned, removed=removed)

    def renew(self, listener: HttpsListener, policy: RenewalPolicy) -> Renewal:
        """Renew the certificate.

        Raises:
            CertificateError: the new certificate cannot be created or used. The listener then uses the old one.
            ValueError: the file of trusted certificates is not PEM.
            OSError: the file of trusted certificates cannot be read or written.
        """
        old, new = (
            listener.certificate,
            certificates.successor(listener, self._now, policy.days) or self._make(listener, policy),
        )
        update_pins(self._pins, add=[old.x509, new.x509])
        self._bind(listener, new)
        warnings = self._check(listener, new)
        leftovers = [each for each in listener.others if each.thumbprint != new.thumbprint]
        removed = self._remove([old, *leftovers])
        update_pins(self._pins, add=[new.x509], remove=[old.x509, *(each.x509 for each in leftovers)])
        return Renewal(certificate=new, renewed=True, pinned=True, removed=removed, warnings=warnings)

    def _make(self, listener: HttpsListener, policy: RenewalPolicy) -> Certificate:
        names = certificates.renewed_names(listener.certificate.x509, [self._settings.host, *policy.names])
        if not names:
            raise CertificateError("expected a DNS name or an address for the new certificate in `names`, got none")
        expires = self._now + datetime.timedelta(days=policy.valid_days)
        call = certificates.creation(names, expires, uuid.uuid4().hex[:12])
        answer = self._node.run(Batch(calls=(call,)), step="create a certificate")
        result = answer.calls[call.id]
        if result.error is not None:
            raise CertificateError(f"New-SelfSignedCertificate failed: {result.error}")
        return certificates.created(result)

    def _bind(self, listener: HttpsListener, certificate: Certificate) -> None:
        call = certificates.binding(listener, certificate.thumbprint)
        answer = self._node.run(Batch(calls=(call,)), step="change the listener's certificate")
        if (error := answer.calls[call.id].error) is not None:
            raise CertificateError(f"the listener did not accept the certificate: {error}")

    def _check(self, listener: HttpsListener, new: Certificate) -> tuple[str, ...]:
        """Check that the controller trusts the new certificate.

        Returns:
            A tuple with a warning if the controller cannot connect to the listener, or an empty tuple if the
            controller trusts the certificate.

        Raises:
            CertificateError: the controller does not trust the certificate. The listener uses the old one again.
        """
        host, port = self._settings.host, self._settings.port
        try:
            reason = tls.verify(host, port, str(self._pins))
        except OSError as error:
            return (f"{host}:{port} could not be checked from the controller: {error}",)
        if reason is None:
            return ()
        self._bind(listener, listener.certificate)
        update_pins(self._pins, remove=[new.x509])
        self._remove([new])
        raise CertificateError(
            f"the controller would not trust the new certificate at {host}:{port}: {reason}; the listener uses "
            "its former certificate again"
        )

    def _remove(self, unneeded: t.Sequence[Certificate]) -> tuple[str, ...]:
        """Delete certificates on the node, and return the thumbprints of the deleted certificates."""
        if not unneeded:
            return ()
        calls = certificates.removal(each.thumbprint for each in unneeded)
        answer = self._node.run(Batch(calls=calls), step="delete former certificates")
        done = [answer.calls[call.id].error is None for call in calls]
        return tuple(each.thumbprint for each, gone in zip(unneeded, done, strict=True) if gone)
