# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start a fleet of simulated servers: python -m simulator --fleet FILE.yml."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from simulator.control import ControlServer
from simulator.fleet import HTTP_PORT, HTTPS_PORT, read_fleet
from simulator.world import World


def serve(world: World, control_port: int, kubeconfig: Path | None, stop: threading.Event) -> None:
    """Write the cluster's kubeconfig, report that the fleet is ready, and serve until the `stop` event is set."""
    fleet = world.fleet
    control = ControlServer(fleet, port=control_port)
    control.start()
    try:
        if kubeconfig is not None and world.cluster is not None:
            kubeconfig.parent.mkdir(parents=True, exist_ok=True)
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_text(Path(world.cluster.kubeconfig).read_text(encoding="utf-8"), encoding="utf-8")
        names = ", ".join(f"{name} {node.machine.address}" for name, node in fleet.nodes.items())
        assert fleet.certificate is not None
        sys.stdout.write(f"ready: {names}; control {control.url}; certificate {fleet.certificate.certificate}\n")
        sys.stdout.flush()
        stop.wait()
    finally:
        control.stop()


def main(arguments: list[str] | None = None) -> int:
    """Run the fleet that the command line specifies until SIGTERM or SIGINT, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--fleet", type=Path, required=True, help="the fleet file (YAML)")
    parser.add_argument("--state", type=Path, help="folder for the nodes' files; a temporary one by default")
    parser.add_argument("--http-port", type=int, default=HTTP_PORT)
    parser.add_argument("--https-port", type=int, default=HTTPS_PORT)
    parser.add_argument("--kubeconfig", type=Path, help="file for the cluster's kubeconfig")
    parser.add_argument(
        "--control-port",
        type=int,
        default=0,
        help="port on 127.0.0.1 for control requests to the fleet; 0 picks a free port",
    )
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        world = World(
            read_fleet(options.fleet), options.state, http_port=options.http_port, https_port=options.https_port
        )
        with world:
            serve(world, options.control_port, options.kubeconfig, stop)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
