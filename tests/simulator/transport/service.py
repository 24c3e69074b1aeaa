# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The WinRM service of one node, which passes requests to its shells."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from typing import ClassVar
from xml.sax.saxutils import escape

from simulator.transport import wsman
from simulator.transport.counters import Counters
from simulator.transport.host import Host
from simulator.transport.psrp import PsrpPool
from simulator.transport.shells import IDLE_TIMEOUT, ShellContext
from simulator.transport.winrs import WinrsShell
from simulator.transport.wsman import WsmanFaultError, WsmanRequest

log = logging.getLogger(__name__)

POWERSHELL_CONFIGURATIONS = ("microsoft.powershell", "microsoft.powershell32", "powershell.5.1")


class WinrmService:
    """The handler of a node's WSMan envelopes.

    Args:
        host: the machine.
        counters: the counters of the node.
        max_envelope_size: the size limit of an envelope in bytes; MaxEnvelopeSizekb in winrm/config defaults to 500.
        max_shells_per_user: the maximum number of open shells and runspace pools per user (winrm/config/winrs).
    """

    def __init__(
        self, host: Host, counters: Counters, *, max_envelope_size: int = 500 * 1024, max_shells_per_user: int = 30
    ) -> None:
        self._host = host
        self._counters = counters
        self.max_envelope_size = max_envelope_size
        self.max_shells_per_user = max_shells_per_user
        self._lock = threading.Lock()
        self._shells: dict[str, WinrsShell | PsrpPool] = {}

    def parse(self, envelope: bytes) -> WsmanRequest:
        """Parse an envelope.

        Raises:
            ValueError: the data is not a valid envelope.
        """
        return wsman.parse_request(envelope, self.max_envelope_size)

    def handle(self, request: WsmanRequest, size: int, user: str, client_address: str) -> tuple[int, bytes]:
        """Handle a request.

        Args:
            request: the parsed request.
            size: the size of the request's envelope in bytes.
            user: the user who is logged on.
            client_address: the IP address of the client.

        Returns:
            The HTTP status and the envelope of the response.
        """
        try:
            if size > self.max_envelope_size:
                raise wsman.envelope_too_large()
            answer = self._ACTIONS.get(request.verb)
            if answer is None:
                raise wsman.invalid_action(request.action)
            return 200, answer(self, request, user, client_address)
        except WsmanFaultError as error:
            fault = error
        except Exception as error:
            log.exception("%s of %s", request.action, user)
            fault = wsman.internal_error(f"{type(error).__name__}: {error}")
        return 500, wsman.fault_envelope(fault, self._host.name, request.message_id)

    def forget_shells(self) -> None:
        """End all shells, as a restart of the service does."""
        with self._lock:
            shells = list(self._shells.values())
            self._shells.clear()
        for shell in shells:
            shell.close()

    def describe(self) -> list[dict[str, object]]:
        """Return the open shells, for GET /simulator/status."""
        with self._lock:
            return [shell.describe() for shell in self._shells.values()]

    def _shell(self, request: WsmanRequest, user: str) -> WinrsShell | PsrpPool:
        shell_id = (request.shell_id or "").upper()
        with self._lock:
            shell = self._shells.get(shell_id)
        if shell is None or shell.closed or shell.user != user:
            raise wsman.shell_not_found(shell_id)
        shell.touch()
        return shell

    def _create(self, request: WsmanRequest, user: str, client_address: str) -> bytes:
        self._close_idle()
        with self._lock:
            if sum(shell.user == user for shell in self._shells.values()) >= self.max_shells_per_user:
                raise wsman.shell_quota_exceeded(self.max_shells_per_user)
        context = ShellContext(self._host, self._counters, user, client_address)
        body = request.find("Shell")
        shell_id = ((body.get("ShellId") if body is not None else None) or str(uuid.uuid4())).upper()
        shell: WinrsShell | PsrpPool
        if request.resource_uri == wsman.CMD_RESOURCE:
            shell = WinrsShell(shell_id, request, context)
            self._counters.add(shells=1)
        elif request.resource_uri.startswith(wsman.POWERSHELL_RESOURCE):
            name = request.resource_uri.removeprefix(wsman.POWERSHELL_RESOURCE).lower()
            if name not in POWERSHELL_CONFIGURATIONS:
                raise wsman.resource_not_found(request.resource_uri)
            shell = PsrpPool(shell_id, request, context)
            self._counters.add(pools=1)
        else:
            raise wsman.resource_not_found(request.resource_uri)
        with self._lock:
            self._shells[shell_id] = shell
        return wsman.answer(request, _created_xml(shell, request))

    def _delete(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        shell = self._shell(request, user)
        with self._lock:
            self._shells.pop(shell.id, None)
        shell.close()
        return wsman.answer(request)

    def _command(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        return wsman.answer(request, self._shell(request, user).command(request))

    def _send(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        self._shell(request, user).send(request)
        return wsman.answer(request, "<rsp:SendResponse/>")

    def _signal(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        self._shell(request, user).signal(request)
        return wsman.answer(request, "<rsp:SignalResponse/>")

    def _receive(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        return self._shell(request, user).receive(request)

    def _get(self, request: WsmanRequest, user: str, _client_address: str) -> bytes:
        """Handle Get requests, which pypsrp sends to read the service's limits and to check whether a shell exists."""
        if request.resource_uri == wsman.CONFIG:
            size = self.max_envelope_size // 1024
            body = (
                f'<cfg:Config xmlns:cfg="{wsman.CONFIG}"><cfg:MaxEnvelopeSizekb>{size}</cfg:MaxEnvelopeSizekb>'
                f"<cfg:MaxTimeoutms>{int(wsman.MAX_TIMEOUT * 1000)}</cfg:MaxTimeoutms>"
                f"<cfg:Winrs><cfg:MaxShellsPerUser>{self.max_shells_per_user}</cfg:MaxShellsPerUser></cfg:Winrs></cfg:Config>"
            )
            return wsman.answer(request, body)
        if request.resource_uri in (wsman.SHELL, wsman.CMD_RESOURCE):
            return wsman.answer(request, _shell_xml(self._shell(request, user)))
        raise wsman.resource_not_found(request.resource_uri)

    def _identify(self, request: WsmanRequest, _user: str, _client_address: str) -> bytes:
        body = (
            f'<wsmid:IdentifyResponse xmlns:wsmid="{wsman.IDENTITY}">'
            "<wsmid:ProtocolVersion>http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd</wsmid:ProtocolVersion>"
            "<wsmid:ProductVendor>Microsoft Corporation</wsmid:ProductVendor>"
            f"<wsmid:ProductVersion>OS: 10.0.{self._host.build} SP: 0.0 Stack: 3.0</wsmid:ProductVersion>"
            "</wsmid:IdentifyResponse>"
        )
        return wsman.answer(request, body)

    def _close_idle(self) -> None:
        with self._lock:
            idle = [shell for shell in self._shells.values() if shell.is_idle()]
            for shell in idle:
                del self._shells[shell.id]
        for shell in idle:
            shell.close()

    _ACTIONS: ClassVar[dict[str, Callable[[WinrmService, WsmanRequest, str, str], bytes]]] = {
        "Create": _create,
        "Delete": _delete,
        "Command": _command,
        "Send": _send,
        "Signal": _signal,
        "Receive": _receive,
        "Get": _get,
        "Identify": _identify,
    }


def _created_xml(shell: WinrsShell | PsrpPool, request: WsmanRequest) -> str:
    return (
        f"<x:ResourceCreated><a:Address>{wsman.ANONYMOUS}</a:Address><a:ReferenceParameters>"
        f"<w:ResourceURI>{escape(request.resource_uri)}</w:ResourceURI>"
        f'<w:SelectorSet><w:Selector Name="ShellId">{shell.id}</w:Selector></w:SelectorSet>'
        f"</a:ReferenceParameters></x:ResourceCreated>{_shell_xml(shell)}"
    )


def _shell_xml(shell: WinrsShell | PsrpPool) -> str:
    streams = "stdin" if shell.resource_uri == wsman.CMD_RESOURCE else "stdin pr"
    output = "stdout stderr" if shell.resource_uri == wsman.CMD_RESOURCE else "stdout"
    return (
        f"<rsp:Shell><rsp:ShellId>{shell.id}</rsp:ShellId><rsp:ResourceUri>{escape(shell.resource_uri)}</rsp:ResourceUri>"
        f"<rsp:Owner>{escape(shell.user)}</rsp:Owner><rsp:ClientIP>{escape(shell.context.client_address)}</rsp:ClientIP>"
        f"<rsp:IdleTimeOut>PT{IDLE_TIMEOUT:.3f}S</rsp:IdleTimeOut><rsp:InputStreams>{streams}</rsp:InputStreams>"
        f"<rsp:OutputStreams>{output}</rsp:OutputStreams><rsp:State>Connected</rsp:State></rsp:Shell>"
    )
