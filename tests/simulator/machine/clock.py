# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's clock, which may be wrong, and what certificates are worth by it.

The clock is the host's plus an offset: the node's option `clock_offset`, or the fault `clock`. Whatever a program of
the node reads as the time of day comes from here; waiting and time limits do not.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509

_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which Python's ssl.VerifyFlags has no name for."""


@dataclass
class WallClock:
    """The time of day on one machine.

    Args:
        offset: seconds by which it is ahead of the right time.
    """

    offset: float = 0.0

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC) + timedelta(seconds=self.offset)


def leave_time_to_us(context: ssl.SSLContext) -> None:
    """Keep OpenSSL from judging certificates by the host's clock; `of_peer` says what the machine's clock says."""
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _NO_CHECK_TIME)


def of_peer(connection: ssl.SSLSocket) -> x509.Certificate | None:
    """Return the certificate that a server has shown."""
    der = connection.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(der) if der else None


def is_valid(certificate: x509.Certificate, moment: datetime) -> bool:
    """Return whether a certificate is valid at a moment."""
    return certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc


def go_text(certificate: x509.Certificate, moment: datetime) -> str:
    """Return what Go's crypto/x509 says of a certificate that is not valid at a moment (Certificate.isValid).

    The time is in UTC; Go writes it in the machine's zone.
    """
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    word, limit = ("before", start) if moment < start else ("after", end)
    said = f"current time {moment:%Y-%m-%dT%H:%M:%SZ} is {word} {limit:%Y-%m-%dT%H:%M:%SZ}"
    return f"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: {said}"
