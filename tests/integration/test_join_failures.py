# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Joins that fail name the cause, and the next one succeeds; an API server that is away for a while is waited for.

A variant uses a real control plane and a real kubeadm, with its own messages.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from integration import joined_nodes
from integration.fault_points import attempt, failures, fleet
from integration.playbooks import Site, cluster_api
from kubernetes import client
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.module_utils import bootstrap_tokens
from simulator.cluster.cluster import real_unavailable
from simulator.kubernetes_node.kubeadm import real as kubeadm_real

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("prompt")]

KINDS = [
    pytest.param("memory", marks=pytest.mark.xdist_group("join_failures")),
    pytest.param(
        "real",
        marks=[
            pytest.mark.control_plane,
            pytest.mark.variant,
            pytest.mark.xdist_group("join_failures-real"),
            pytest.mark.skipif(bool(real_unavailable()), reason=real_unavailable()),
        ],
    ),
]
KUBEADM = r"C:\k\kubeadm.exe"
HOSTS = 3


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Yield a site with prepared servers."""
    if request.param == "memory":
        # A real kubeadm does not join a cluster in memory.
        monkeypatch.setattr(kubeadm_real, "find", lambda dummy: None)
    with fleet(tmp_path, HOSTS, request.param) as (site, hosts):
        for host in hosts:
            joined_nodes.prepare(site, host)
        joined_nodes.deploy_flannel(site)
        yield site


def join(site: Site, host: str, token: str, seconds: int = 2, **discovery: Any) -> list[str]:
    """Join with a time limit for kubeadm's discovery, and return why it failed.

    Args:
        discovery: fields that replace those of the BootstrapTokenDiscovery.
    """
    document = json.loads(joined_nodes.join_configuration(site, host, token))
    document["discovery"]["bootstrapToken"] |= discovery
    document["timeouts"] = {"discovery": f"{seconds}s"}
    arguments = {"configuration": json.dumps(document), "kubeadm": KUBEADM, "timeout": 60}
    return failures(attempt(site, host, "psrp", "kubeadm_join", arguments))


def expired_token(site: Site) -> str:
    """Return a token that has expired."""
    token = bootstrap_tokens.new_token()
    body = bootstrap_tokens.secret(token, "2020-01-01T00:00:00Z", "of a test", bootstrap_tokens.AUTO_APPROVED_GROUP)
    client.CoreV1Api(cluster_api(site)).create_namespaced_secret("kube-system", body)
    return token


@contextlib.contextmanager
def away(site: Site, seconds: float) -> Iterator[str]:
    """Yield another address of the API server, which accepts connections only after some seconds."""
    assert site.world.cluster is not None
    host, _colon, port = site.world.cluster.server.removeprefix("https://").rpartition(":")
    with socket.socket() as listener:
        listener.bind((host, 0))
        listener.settimeout(0.2)
        ended = threading.Event()

        def serve() -> None:
            ended.wait(seconds)
            listener.listen()
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    accepted = (listener.accept()[0], (host, int(port)))
                    threading.Thread(target=forward, args=accepted, daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"{host}:{listener.getsockname()[1]}"
        ended.set()
        thread.join()


def forward(client_side: socket.socket, server: tuple[str, int]) -> None:
    """Connect a client to a server until one of them ends the connection."""
    with client_side, socket.create_connection(server) as server_side:
        client_side.settimeout(None)
        back = threading.Thread(target=copy, args=(server_side, client_side), daemon=True)
        back.start()
        copy(client_side, server_side)
        back.join(10)


def copy(source: socket.socket, target: socket.socket) -> None:
    """Send everything that one connection receives over another one."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


CAUSES: dict[str, tuple[Callable[[Site], dict[str, Any]], str]] = {
    "expired token": (
        lambda site: {"token": expired_token(site)},
        "the cluster does not know the bootstrap token, which has expired or was deleted",
    ),
    "wrong CA hash": (
        lambda _site: {"caCertHashes": [f"sha256:{'0' * 64}"]},
        "the CA of the API server that the node reached is not the CA of the cluster",
    ),
    "API server that is down": (
        lambda _site: {"apiServerEndpoint": "127.0.0.1:9"},
        "the node cannot reach the API server",
    ),
}


def test_the_cause_of_a_failed_join_is_named_and_the_next_one_succeeds(site: Site) -> None:
    token = joined_nodes.make_token(site)
    for host, (change, cause) in zip(site.hosts(), CAUSES.values(), strict=True):
        changed = change(site)
        (message,) = join(site, host, changed.pop("token", token), **changed)
        assert cause in message
        assert "kubeadm reports: exit code 1: " in message
        assert token.partition(".")[2] not in message
        assert join(site, host, token) == []
    wait_for(lambda: set(site.hosts()) <= joined_nodes.ready_nodes(site), "all nodes are ready")


def test_an_api_server_that_is_away_for_a_while_is_waited_for(site: Site) -> None:
    host, began = site.hosts()[0], time.monotonic()
    with away(site, 1.5) as endpoint:
        assert join(site, host, joined_nodes.make_token(site), 60, apiServerEndpoint=endpoint) == []
    assert time.monotonic() - began >= 1.5
    wait_for(lambda: host in joined_nodes.ready_nodes(site), "the node is ready")
