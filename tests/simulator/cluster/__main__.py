# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run a cluster in the foreground until SIGTERM or Ctrl-C: `python -m simulator.cluster --kubeconfig FILE`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

from .cluster import start_cluster


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.cluster", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file for the administrator's kubeconfig")
    parser.add_argument("--kind", choices=("auto", "real", "memory"), default="auto")
    parser.add_argument("--version", default="1.37.1", help="Kubernetes version of the control plane")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port of the API server; 0 picks a free port")
    parser.add_argument("--extra-san", action="append", default=[], help="name or address for the certificate")
    parser.add_argument("--pod-cidr", default="10.244.0.0/16")
    parser.add_argument("--service-cidr", default="10.96.0.0/12")
    parser.add_argument("--cluster-name", default="kubernetes")
    return parser.parse_args()


def _write_private(file: Path, text: str) -> None:
    """Write a file atomically, so that no reader finds it half-written. Only the file's owner can read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write(text)
    part.replace(file)


def main() -> int:
    """Start a cluster, print one line of JSON that describes it, wait for SIGTERM or SIGINT, and stop the cluster.

    Returns:
        The exit code.
    """
    arguments = _arguments()
    # A signal that arrives during the start aborts it, and the cluster cleans up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with start_cluster(
        kind=arguments.kind,
        version=arguments.version,
        address=arguments.address,
        port=arguments.port,
        extra_sans=arguments.extra_san,
        pod_cidr=arguments.pod_cidr,
        service_cidr=arguments.service_cidr,
        cluster_name=arguments.cluster_name,
    ) as cluster:
        signals: list[int] = []
        # Do this before anything reports that the cluster is ready, because the reader may immediately send a signal.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: signals.append(received))
        _write_private(arguments.kubeconfig, cluster.kubeconfig.read_text())
        facts = {"kind": cluster.kind, "version": cluster.version, "server": cluster.server, "ca_hash": cluster.ca_hash}
        print(json.dumps(facts), flush=True)
        while not signals:  # the kernel may deliver the signal to any thread; Python handles it here, at the next step
            time.sleep(0.1)
    arguments.kubeconfig.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
