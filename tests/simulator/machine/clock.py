# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's clock, which may be wrong, and the validity of certificates according to that clock.

The time is the host's time plus an offset, which the node's option `clock_offset` or the `clock` fault sets. Most of
the node's programs read the time of day from this clock. Delays, time limits and some timestamps, such as those of
containers and of the kubelet's log lines, do not depend on the clock.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509

_NO_CHECK_TIME = 0x200000
"""OpenSSL's flag X509_V_FLAG_NO_CHECK_TIME, for which Python's ssl.VerifyFlags has no name."""


@dataclass
class WallClock:
    """A machine's clock, which tells the time of day.

    Args:
        offset: the number of seconds by which the machine's time is ahead of the host's time.
    """

    offset: float = 0.0

    def now(self) -> datetime:
        """Return the machine's current time in UTC."""
        return datetime.now(UTC) + timedelta(seconds=self.offset)


def leave_time_to_us(context: ssl.SSLContext) -> None:
    """Stop OpenSSL from checking validity periods with the host's clock. Callers check them with `is_valid` instead."""
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _NO_CHECK_TIME)


def of_peer(connection: ssl.SSLSocket) -> x509.Certificate | None:
    """Return the certificate that the server presented, or None if it presented none."""
    der = connection.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(der) if der else None


def is_valid(certificate: x509.Certificate, moment: datetime) -> bool:
    """Return whether a certificate is valid at a given time."""
    return certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc


def go_text(certificate: x509.Certificate, moment: datetime) -> str:
    """Return the error of Go's crypto/tls for a server certificate that is not valid at a given time.

    The part after `tls:` is the error of crypto/x509 (Certificate.isValid). The simulator gives the current
    time in UTC, whereas Go gives it in the machine's time zone.
    """
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    word, limit = ("before", start) if moment < start else ("after", end)
    message = f"current time {moment:%Y-%m-%dT%H:%M:%SZ} is {word} {limit:%Y-%m-%dT%H:%M:%SZ}"
    return f"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: {message}"
