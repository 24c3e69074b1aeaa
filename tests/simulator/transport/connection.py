# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Serve one client's connection to a node: requests, responses and simulated faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from simulator.transport.authentication import ENCRYPTED_TYPE, ConnectionLogon, DecryptionError
from simulator.transport.control import PREFIX, Control
from simulator.transport.counters import Counters
from simulator.transport.faults import FaultPlan, TransportFault
from simulator.transport.host import NodePorts
from simulator.transport.http_wire import BadRequestError, HttpConnection, HttpRequest, HttpResponse
from simulator.transport.service import WinrmService
from simulator.transport.wsman import WsmanRequest

PATH = "/wsman"
BEFORE = ("before", "silence", "link_down")
AFTER = ("after", "during", "silence_after")


class DropConnectionError(Exception):
    """Raised if the connection must be closed without a complete response."""


@dataclass(frozen=True)
class NodeParts:
    """The objects that all connections of a node share."""

    service: WinrmService
    control: Control
    counters: Counters
    faults: FaultPlan
    ports: NodePorts
    new_logon: Callable[[bool], ConnectionLogon]


class NodeConnection:
    """A connection, which is served until the client disconnects or a simulated fault ends the connection.

    Args:
        parts: the shared parts of the node.
        http: the HTTP connection to the client.
        client_address: the IP address of the client.
        secure: whether the connection uses TLS.
    """

    def __init__(self, parts: NodeParts, http: HttpConnection, client_address: str, *, secure: bool) -> None:
        self._parts = parts
        self._http = http
        self._client_address = client_address
        self._logon = parts.new_logon(secure)
        self._is_new = True

    def serve(self) -> None:
        """Respond to requests until the connection ends."""
        try:
            while (request := self._http.read_request()) is not None:
                if request.path.startswith(PREFIX):
                    self._parts.control.handle(request, partial(self._http.send, counted=False))
                else:
                    self._parts.counters.add(connections=int(self._is_new), http_requests=1, bytes_in=request.size)
                    self._is_new = False
                    self._serve_winrm(request)
                if request.headers.get("connection", "").lower() == "close":
                    break
        except BadRequestError:
            self._http.send(HttpResponse(400))
        except DropConnectionError:
            pass
        finally:
            self._http.close()

    def _serve_winrm(self, request: HttpRequest) -> None:
        if request.path.partition("?")[0].rstrip("/").lower() != PATH:
            self._http.send(HttpResponse(404))
            return
        if request.method != "POST":
            self._http.send(HttpResponse(405))
            return
        logon = self._logon.check(request)
        self._parts.counters.add(failed_logons=int(logon.failed))
        if logon.user is None:
            self._http.send(logon.response or HttpResponse(401))
            return
        if not request.body:
            # Clients log on with an empty request before they encrypt the first message.
            self._http.send(HttpResponse(200, headers=logon.headers))
            return
        sealed = request.headers.get("content-type", "").lower().startswith("multipart/encrypted")
        if not sealed and not self._logon.takes_plain:
            # diyan/pywinrm#129 and #208: Windows returns no more than this even with valid credentials.
            self._http.send(HttpResponse(500))
            return
        try:
            body = self._logon.decrypt(request.body) if sealed else request.body
            parsed = self._parts.service.parse(body)
        except (DecryptionError, ValueError):
            self._http.send(HttpResponse(400))
            return
        self._answer(parsed, len(body), logon.user, sealed, logon.headers)

    def _answer(
        self, request: WsmanRequest, size: int, user: str, sealed: bool, headers: tuple[tuple[str, str], ...]
    ) -> None:
        self._parts.counters.add(wsman_requests=1)
        # Take the current event now, because a fault that is set later has another event.
        released = self._parts.faults.released
        fault = self._parts.faults.next(request.verb)
        if fault is not None:
            self._suffer_before(fault, released.wait)
        status, body = self._parts.service.handle(request, size, user, self._client_address)
        if sealed:
            response = HttpResponse(status, self._logon.encrypt(body), ENCRYPTED_TYPE, headers)
        else:
            response = HttpResponse(status, body, headers=headers)
        if fault is not None and fault.kind in AFTER:
            if fault.kind == "during":
                self._http.send_half(response)
            elif fault.kind == "silence_after":
                released.wait(fault.seconds)
            raise DropConnectionError
        self._http.send(response)

    def _suffer_before(self, fault: TransportFault, wait: Callable[[float], bool]) -> None:
        if fault.kind == "slow":
            wait(fault.seconds)
        elif fault.kind == "shell_gone":
            self._parts.ports.forget_shells()
        elif fault.kind == "link_down":
            self._parts.ports.drop_link(fault.seconds)
        elif fault.kind == "silence":
            wait(fault.seconds)
        if fault.kind in BEFORE:
            raise DropConnectionError
