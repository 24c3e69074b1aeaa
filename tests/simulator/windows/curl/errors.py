# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl's exit codes and errors. Source: https://curl.se/libcurl/c/libcurl-errors.html"""

from __future__ import annotations

UNSUPPORTED_PROTOCOL = 1
URL_MALFORMAT = 3
COULDNT_RESOLVE_PROXY = 5
COULDNT_RESOLVE_HOST = 6
COULDNT_CONNECT = 7
PARTIAL_FILE = 18
HTTP_RETURNED_ERROR = 22
WRITE_ERROR = 23
READ_ERROR = 26
OPERATION_TIMEDOUT = 28
RANGE_ERROR = 33
SSL_CONNECT_ERROR = 35
FILE_COULDNT_READ_FILE = 37
TOO_MANY_REDIRECTS = 47
GOT_NOTHING = 52
RECV_ERROR = 56
PEER_FAILED_VERIFICATION = 60
FILESIZE_EXCEEDED = 63
SSL_CACERT_BADFILE = 77

Version = tuple[int, ...]


class CurlError(Exception):
    """A failed transfer.

    Args:
        code: curl's exit code.
        message: the text after `curl: (CODE) `.
        refused: whether the connection was refused. If so, the option --retry-connrefused allows a retry.
    """

    def __init__(self, code: int, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.refused = refused


class CurlUsageError(Exception):
    """An error other than a failed transfer, such as an invalid command line. curl prints the message after `curl: `.

    Args:
        code: curl's exit code.
        cause: a message that curl prints first; empty if there is none.
        hint: whether curl also prints how to get help.
    """

    def __init__(self, message: str, *, code: int = 2, cause: str = "", hint: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.cause = cause
        self.hint = hint


def parse_version(text: str) -> Version:
    """Convert a version such as `8.9.1` to a tuple of numbers."""
    return tuple(int(part) for part in text.split("."))
