# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Describe the exit codes of curl.exe.

Source: https://curl.se/libcurl/c/libcurl-errors.html
"""

from __future__ import annotations

import typing as t

_CURL: t.Mapping[int, str] = {
    1: "the server redirects from HTTPS to a protocol without encryption, or to one that is not allowed",
    5: "the proxy's name cannot be resolved",
    6: "the server's name cannot be resolved",
    7: "the server does not accept connections",
    18: "the connection broke during the transfer",
    22: "the server rejected the URL (HTTP 4xx or 5xx): does it still exist, has its signature expired?",
    23: "the file could not be written: is the disk full?",
    28: "the server did not answer in time",
    33: "the transfer was interrupted, and the server cannot resume it",
    35: "no TLS connection: the certificate is not trusted, has expired, or cannot be checked for revocation",
    47: "the server redirects too many times",
    51: "the server's certificate is not trusted",
    56: "the connection broke",
    60: "the server's certificate is not trusted, or has expired",
    77: "the file of CA certificates cannot be read",
}


def describe_curl_error(code: int) -> str:
    """Return what an exit code of curl means."""
    known = _CURL.get(code)
    return f"{known} (curl {code})" if known else f"curl ended with {code}"
