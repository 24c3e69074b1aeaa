# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Handle the HTTP requests with which tests and the demo control a simulated node.

They are `GET /simulator/status`, and `POST` requests for other paths below `/simulator/`. All use the ports of WinRM.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

from simulator.transport.counters import Counters
from simulator.transport.faults import KINDS, FaultPlan, TransportFault
from simulator.transport.host import Host, NodePorts
from simulator.transport.http_wire import HttpRequest, HttpResponse
from simulator.transport.service import WinrmService

PREFIX = "/simulator/"


class Control:
    """The handler of one node's control requests, which need no credentials and do not change the counters."""

    def __init__(
        self, host: Host, ports: NodePorts, counters: Counters, faults: FaultPlan, service: WinrmService
    ) -> None:
        self._host = host
        self._ports = ports
        self._counters = counters
        self._faults = faults
        self._service = service

    def handle(self, request: HttpRequest, respond: Callable[[HttpResponse], None]) -> None:
        """Handle a request whose path begins with PREFIX.

        Args:
            request: the request of a client.
            respond: a function that sends the response. It is called before anything that breaks the connection.
        """
        path = request.path.partition("?")[0].removeprefix(PREFIX)
        if request.method == "GET":
            respond(_answer(200, self.status()) if path == "status" else _answer(404, _unknown(path)))
        elif request.method != "POST":
            respond(_answer(405, {"error": f"expected the method GET or POST, got {request.method}"}))
        else:
            self._post(path, request.body, respond)

    def status(self) -> dict[str, object]:
        """Return the status of the host, with counters, open shells and pending faults."""
        return {
            **self._host.status(),
            "counters": self._counters.snapshot(),
            "open_shells": self._service.describe(),
            "pending_faults": self._faults.pending(),
        }

    def set_fault(self, fault: TransportFault) -> Callable[[], None] | None:
        """Set a fault. If its `request` is 0, return a function that causes the fault immediately, otherwise None."""
        if fault.request > 0:
            self._faults.add(fault)
            return None
        if fault.kind == "shell_gone":
            return self._ports.forget_shells
        return partial(self._ports.drop_link, fault.seconds)

    def _post(self, path: str, body: bytes, respond: Callable[[HttpResponse], None]) -> None:
        if path == "counters/reset":
            before = self._counters.snapshot()
            self._counters.reset()
            respond(_answer(200, {"counters": before}))
        elif path == "faults/clear":
            self._faults.clear()
            respond(_answer(200, {}))
        elif path == "faults":
            try:
                actions = self._post_faults(json.loads(body or b"null"))
            except ValueError as error:
                respond(_answer(400, {"error": str(error)}))
                return
            respond(_answer(200, {"pending_faults": self._faults.pending()}))
            for action in actions:
                action()
        else:
            respond(_answer(404, _unknown(path)))

    def _post_faults(self, data: object) -> list[Callable[[], None]]:
        actions: list[Callable[[], None] | None] = []
        for item in data if isinstance(data, list) else [data]:
            if not isinstance(item, Mapping) or not isinstance(item.get("kind"), str):
                raise ValueError(f"expected each fault to be an object whose kind is a string, got {item!r}")
            ours = item["kind"] in KINDS
            actions.append(self.set_fault(TransportFault.from_json(item)) if ours else self._host.set_fault(item))
        return [action for action in actions if action is not None]


def _unknown(path: str) -> dict[str, object]:
    return {"error": f"unknown control request: {PREFIX}{path}"}


def _answer(status: int, body: dict[str, object]) -> HttpResponse:
    return HttpResponse(status, json.dumps(body, default=str).encode(), "application/json")
