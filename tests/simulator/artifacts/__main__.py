# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run the artifact server: `python -m simulator.artifacts --port 8080`."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer


def main() -> None:
    """Run the artifact server until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m simulator.artifacts", description=__doc__)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 picks a free port")
    parser.add_argument(
        "--tls-ca", type=Path, help="serve HTTPS with a new private CA, and write its root certificate to this file"
    )
    options = parser.parse_args()
    context = None
    if options.tls_ca:
        authority = PrivateCA()
        options.tls_ca.write_bytes(authority.pem)
        context = authority.server_context([options.address, "localhost"])
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with ArtifactServer(options.address, options.port, context) as server:
        print(f"artifacts at {server.url}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
