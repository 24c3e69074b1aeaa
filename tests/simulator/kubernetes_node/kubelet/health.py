# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelet's health check (/healthz on 127.0.0.1), which kubeadm requests.

A simulated node has its own loopback address, so simulated programs call `healthy` instead of sending a request. A real
kubeadm that runs for a simulated node requests /healthz from the real 127.0.0.1, where one server responds for all
nodes. The server finds the requesting process in /proc. It identifies the node by the root folder of this process,
which is the node's folder because kubeadm runs with --rootfs. A marker file next to this folder exists while the
kubelet is healthy. Therefore, several test runs can share the port (SO_REUSEPORT), and each server reports the health
of the right kubelet.

A real kubeadm checks every 0.5 seconds whether the kubelet is healthy, and then every second whether the kubelet has a
certificate. A simulated kubelet is healthy and has its certificate sooner. Therefore, the server delays its response
briefly until both are true, so that kubeadm does not pause.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.http_base import HttpServer
from simulator.machine.listeners import Listeners, Port

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

MARKER = ".kubelet-healthz-{port}"
"""The name of the file that marks a node's kubelet as healthy. The file is next to the node's folder."""
_STARTING = 1.0
"""The maximum number of seconds that a response waits for a kubelet to start and to get its certificate."""


def up(machine: Machine, port: int) -> None:
    """Make a machine's kubelet respond to health checks on a port."""
    machine.part(Listeners).ports[port] = Port("127.0.0.1", "kubelet")
    _marker(machine, port).touch()


def down(machine: Machine, port: int) -> None:
    """Make a machine's kubelet stop responding to health checks on a port."""
    machine.part(Listeners).ports.pop(port, None)
    _marker(machine, port).unlink(missing_ok=True)


def healthy(machine: Machine, port: int = 10248) -> bool:
    """Return whether a machine's kubelet responds to health checks on a port."""
    return port in machine.part(Listeners).ports


def _marker(machine: Machine, port: int) -> Path:
    return machine.files.real("C:\\").parent / MARKER.format(port=port)


class Answerer:
    """A server on the real loopback address that responds to the health checks of all simulated kubelets.

    It runs while a real kubeadm runs. Several such servers may share the port (SO_REUSEPORT), because each can respond
    for every node.
    """

    def __init__(self, port: int = 10248) -> None:
        class Server(HttpServer):
            def server_bind(self) -> None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                super().server_bind()

        class PortHandler(_HealthHandler):
            asked = port

        self._server = Server(("127.0.0.1", port), PortHandler)  # OSError: another program uses the port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="healthz", daemon=True)
        self._thread.start()

    @classmethod
    def start(cls, port: int = 10248, seconds: float = 3.0) -> Answerer | None:
        """Start a server and return it, or return None if another program still uses the port after `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return cls(port)
            except OSError:
                if time.monotonic() >= deadline:
                    return None
                time.sleep(0.1)

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()


class _HealthHandler(BaseHTTPRequestHandler):
    asked = 10248

    def do_GET(self) -> None:
        """Respond for the node whose kubeadm sent the request."""
        root = _root_of_peer(self.client_address[1])
        good = root is not None and _has_started(root, root.parent / MARKER.format(port=self.asked))
        body = b"ok" if good else b"the kubelet of this node does not run"
        self.send_response(200 if good else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""


def _has_started(root: Path, marker: Path) -> bool:
    """Return whether a node's kubelet is healthy. Wait briefly if it is still starting."""
    end = time.monotonic() + _STARTING
    while not (marker.exists() and _has_certificate(root)) and time.monotonic() < end:
        time.sleep(0.05)
    return marker.exists()


def _has_certificate(root: Path) -> bool:
    """Return whether kubeadm can find the kubelet's certificate, whose file name is a Windows path."""
    try:
        text = (root / "etc/kubernetes/kubelet.conf").read_text(encoding="utf-8")
    except OSError:
        return False
    return "client-certificate: C:" not in text or any(root.glob("C:*"))


def _root_of_peer(port: int) -> Path | None:
    """Return the root folder of the kubeadm process that uses a port on 127.0.0.1, or None if there is none."""
    inode = ""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == f"0100007F:{port:04X}":
            inode = fields[9]
    if not inode or inode == "0":
        return None
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if (process / "comm").read_text().startswith("kubeadm") and _owns(process, inode):
                return Path(os.readlink(process / "root"))  # noqa: PTH115 - a link that must not be resolved further
        except OSError:
            continue
    return None


def _owns(process: Path, inode: str) -> bool:
    return any(os.readlink(link) == f"socket:[{inode}]" for link in (process / "fd").iterdir())  # noqa: PTH115
