# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Authenticate clients: with Basic for each request, or with NTLM (raw or in SPNEGO) for each connection.

Without TLS, NTLM encrypts each message, which is sent as multipart/encrypted with one part ([MS-WSMV] 2.2.9.1).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spnego
from spnego._ntlm_raw.crypto import ntowfv1
from spnego.exceptions import SpnegoError

from simulator.transport.host import LogonAccount, WinrmSettings
from simulator.transport.http_wire import HttpRequest, HttpResponse

NEGOTIATE, BASIC = "Negotiate", 'Basic realm="WSMAN"'
SPNEGO_ENCRYPTED = "application/HTTP-SPNEGO-session-encrypted"
BOUNDARY = b"--Encrypted Boundary"
ENCRYPTED_TYPE = f'multipart/encrypted;protocol="{SPNEGO_ENCRYPTED}";boundary="Encrypted Boundary"'
_LENGTH = re.compile(rb"Length=(\d+)")
# pyspnego's acceptor reads accounts from a file that an environment variable names; nodes have different accounts.
_USER_FILE_LOCK = threading.Lock()


class DecryptionError(Exception):
    """Raised if an encrypted message is invalid, or was encrypted for another connection."""


@dataclass(frozen=True)
class Logon:
    """The result of authenticating a request: a user, or a response that asks for credentials."""

    user: str | None = None
    response: HttpResponse | None = None
    headers: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    """Whether the credentials were complete but wrong. Windows counts this towards the account's lockout threshold."""


class ConnectionLogon:
    """The authentication state of one connection.

    Args:
        accounts: a function that returns the accounts of the node. It is called for each logon.
        computer_name: the computer name, which clients may put before the account name as its domain.
        settings: a function that returns the WinRM settings of the node. It is called for each request.
        secure: whether the connection uses TLS.
    """

    def __init__(
        self,
        accounts: Callable[[], Mapping[str, LogonAccount]],
        computer_name: str,
        settings: Callable[[], WinrmSettings] = WinrmSettings,
        *,
        secure: bool = True,
    ) -> None:
        self._accounts = accounts
        self._settings = settings
        self._secure = secure
        # A client may send back the name in the challenge as its domain, as Go's go-ntlmssp does (Packer). Windows' own
        # challenge contains the machine's name. pyspnego's contains the name of the host that runs the simulator.
        self._domains = ("", ".", computer_name, socket.gethostname().upper())
        self._context: Any = None
        self._user: str | None = None

    @property
    def takes_plain(self) -> bool:
        """Whether unencrypted messages are allowed: the connection uses TLS, or AllowUnencrypted is set."""
        return self._secure or self._settings().allow_unencrypted

    @property
    def _takes_basic(self) -> bool:
        # Basic authentication cannot encrypt messages: masterzen/winrm#75, diyan/pywinrm#93.
        return self._settings().basic and self.takes_plain

    def check(self, request: HttpRequest) -> Logon:
        """Check the Authorization header of a request, and return the result."""
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            user = self._check_basic(credentials) if self._takes_basic else None
            return Logon(user) if user else self._refused(failed=self._takes_basic)
        if scheme.lower() in ("negotiate", "ntlm"):
            return self._step(scheme, credentials.strip()) if self._settings().negotiate else self._refused()
        return Logon(self._user) if self._user else self._refused()

    def _refused(self, *, failed: bool = False) -> Logon:
        """Return the response to wrong or missing credentials, which lists the accepted authentication schemes."""
        schemes = [NEGOTIATE] * self._settings().negotiate + [BASIC] * self._takes_basic
        headers = tuple(("WWW-Authenticate", scheme) for scheme in schemes)
        return Logon(response=HttpResponse(401, headers=headers), failed=failed)

    def decrypt(self, body: bytes) -> bytes:
        """Decrypt a message, and return the envelope that it contains.

        Raises:
            DecryptionError: the message is invalid, was encrypted for another connection, or was modified.
        """
        head, mark, sealed = body.partition(b"\tContent-Type: application/octet-stream\r\n")
        length = _LENGTH.search(head)
        if self._user is None or self._context is None or not mark or length is None or len(sealed) < 4:
            raise DecryptionError("expected an encrypted message from a user who is logged on")
        sealed = sealed.removesuffix(BOUNDARY + b"--\r\n")
        signature_end = 4 + struct.unpack("<i", sealed[:4])[0]
        try:
            message: bytes = self._context.unwrap_winrm(sealed[4:signature_end], sealed[signature_end:])
        except SpnegoError as error:
            raise DecryptionError(str(error)) from error
        if len(message) != int(length[1]):
            raise DecryptionError(f"expected a message of {int(length[1])} bytes, got {len(message)} bytes")
        return message

    def encrypt(self, message: bytes) -> bytes:
        """Encrypt a message, and return the body of the response."""
        header, data, padding = self._context.wrap_winrm(message)
        length = len(message) + padding
        head = (
            f"\r\n\tContent-Type: {SPNEGO_ENCRYPTED}\r\n"
            f"\tOriginalContent: type=application/soap+xml;charset=UTF-8;Length={length}\r\n"
        ).encode()
        sealed: bytes = struct.pack("<i", len(header)) + header + data
        part = b"\r\n\tContent-Type: application/octet-stream\r\n"
        return BOUNDARY + head + BOUNDARY + part + sealed + BOUNDARY + b"--\r\n"

    def _check_basic(self, credentials: str) -> str | None:
        try:
            data = base64.b64decode(credentials, validate=True)
        except binascii.Error:
            return None
        try:
            name, _, password = data.decode().partition(":")
        except UnicodeDecodeError:
            # The library requests encodes str as Latin-1.
            name, _, password = data.decode("latin-1").partition(":")
        found = self._account(name)
        if found is None or found[1].password != password:
            return None
        return found[0]

    def _account(self, name: str) -> tuple[str, LogonAccount] | None:
        domain, _, user = name.rpartition("\\")
        found = next(((key, item) for key, item in self._accounts().items() if key.lower() == user.lower()), None)
        if found is None or domain.lower() not in [item.lower() for item in self._domains]:
            return None
        return None if found[1].password_expired or found[1].disabled else found

    def _step(self, scheme: str, credentials: str) -> Logon:
        asked = self._context is not None
        try:
            token = base64.b64decode(credentials, validate=True)
            answer = self._accept(token)
        except (binascii.Error, SpnegoError, ValueError, struct.error):
            self._context = None
            return self._refused(failed=asked)
        headers = (("WWW-Authenticate", f"{scheme} {base64.b64encode(answer).decode()}"),) if answer else ()
        if not self._context.complete:
            return Logon(response=HttpResponse(401, headers=headers))
        found = self._account(str(self._context.client_principal))
        if found is None:
            return self._refused(failed=True)
        self._user = found[0]
        return Logon(self._user, headers=headers)

    def _accept(self, token: bytes) -> bytes:
        raw = token.startswith(b"NTLMSSP\0")
        first = raw and token[8:12] == b"\1\0\0\0"
        with _USER_FILE_LOCK, tempfile.TemporaryDirectory(prefix="simulator-ntlm-") as folder:
            path = Path(folder, "users")
            path.touch(mode=0o600)
            path.write_text(self._user_file())
            before = os.environ.get("NTLM_USER_FILE")
            os.environ["NTLM_USER_FILE"] = str(path)
            try:
                if self._context is None or first or self._context.complete:
                    self._user = None
                    self._context = spnego.server(protocol="ntlm" if raw else "negotiate")
                return bytes(self._context.step(token) or b"")
            finally:
                if before is None:
                    del os.environ["NTLM_USER_FILE"]
                else:
                    os.environ["NTLM_USER_FILE"] = before

    def _user_file(self) -> str:
        """Return the accounts in smbpasswd format. Passwords are hashed, because they may contain any character."""
        lines = []
        for name, account in self._accounts().items():
            if account.password_expired or account.disabled:
                continue
            digest = ntowfv1(account.password).hex().upper()
            for domain in self._domains:
                user = f"{domain}\\{name}" if domain else name
                lines.append(f"{user}:1000:{'0' * 32}:{digest}:[U]:LCT-0")
        return "\n".join(lines)
