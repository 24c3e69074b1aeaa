# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Control a fleet of simulated servers over HTTP: read the status, press power buttons, and deploy machines.

GET  /simulator/status             the status of all nodes, by name
POST /simulator/power   {"node": NAME, "action": "start" | "off" | "reset"}
POST /simulator/deploy  {"from": NAME, "name": NAME, "address": ADDRESS, …settings}
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from simulator.fleet import Fleet
from simulator.http_base import HttpServer


def power(fleet: Fleet, request: Mapping[str, object]) -> dict[str, object]:
    """Press a node's power button, wait until the action is complete, and return the node's names and power state.

    Raises:
        ValueError: the action is unknown.
        KeyError: the node does not exist.
    """
    machine = fleet.machine(str(request.get("node")))
    actions: dict[str, Callable[[], None]] = {
        "start": machine.power_on,
        "off": machine.power.power_off,
        "reset": machine.power.reset,
    }
    action = str(request.get("action"))
    if action not in actions:
        raise ValueError(f"expected one of the actions {', '.join(actions)}, got {action}")
    actions[action]()
    return {"node": request.get("node"), "power": machine.power.state, "computer_name": machine.name}


def deploy(fleet: Fleet, request: Mapping[str, object]) -> dict[str, object]:
    """Start a new machine from a copy of another machine's disk, and return its name and address.

    Raises:
        ValueError, OSError: see `Fleet.deploy_image`.
        KeyError: a key of the request is missing, or no machine has the name in `from`.
    """
    others = {key: value for key, value in request.items() if key not in ("from", "name", "address")}
    node = fleet.deploy_image(str(request["from"]), str(request["name"]), str(request["address"]), **others)
    return {"node": request["name"], "computer_name": node.machine.name, "address": node.machine.address}


class ControlServer:
    """The HTTP server that controls a fleet of simulated servers."""

    def __init__(self, fleet: Fleet, address: str = "127.0.0.1", port: int = 0) -> None:
        class ControlHandler(BaseHTTPRequestHandler):
            """The handler of an HTTP request to the control server."""

            def do_GET(self) -> None:
                """Respond with the status of all nodes."""
                if self.path == "/simulator/status":
                    _answer(self, 200, {name: node.status() for name, node in fleet.nodes.items()})
                else:
                    _answer(self, 404, {"error": f"unknown path {self.path}"})

            def do_POST(self) -> None:
                """Run the command that the request's path names."""
                work = {"/simulator/power": power, "/simulator/deploy": deploy}.get(self.path)
                if work is None:
                    _answer(self, 404, {"error": f"unknown path {self.path}"})
                    return
                try:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    request = json.loads(body)
                    if not isinstance(request, dict):
                        raise ValueError(f"expected the request to be a JSON object, got {request!r}")
                    _answer(self, 200, work(fleet, request))
                except KeyError as error:
                    _answer(self, 400, {"error": f"expected a known node and a complete request, got no {error}"})
                except (ValueError, OSError) as error:
                    _answer(self, 400, {"error": str(error)})

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
                """Log nothing."""

        self._server = HttpServer((address, port), ControlHandler)
        self.url = f"http://{address}:{self._server.port}"

    def start(self) -> None:
        """Start a thread that serves requests."""
        threading.Thread(target=self._server.serve_forever, name="fleet-control", daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.stop()


def _answer(handler: BaseHTTPRequestHandler, status: int, document: Mapping[str, object]) -> None:
    data = json.dumps(document, default=str).encode()
    handler.send_response(HTTPStatus(status))
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
