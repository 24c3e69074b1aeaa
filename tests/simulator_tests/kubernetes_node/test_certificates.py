# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Certificates and clocks: a wrong clock breaks TLS, and kubelets renew their client certificates in time, or exit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
import yaml
from cryptography import x509
from simulator_tests.waiting import wait_for

from simulator.cluster import start_cluster
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.faults import set_fault
from simulator.machine.listeners import Listeners

from .conftest import Admin, Node, administrator

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("simulated_kubeadm")]

DAY = 86400
HOUR = 3600
CURRENT = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
X509 = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time "


@pytest.fixture
def hourly() -> Iterator[Admin]:
    """Start a cluster with client certificates for one hour. Nodes become Unknown 1.5 seconds after a heartbeat."""
    with start_cluster("memory", client_certificate_seconds=HOUR, node_grace_period=1.5) as cluster:
        admin = Admin(cluster, administrator(cluster))
        path = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
        settings = yaml.safe_load(admin.client.get(path)["data"]["kubelet"])
        text = yaml.safe_dump({**settings, "nodeStatusUpdateFrequency": "300ms"})
        admin.client.patch(path, {"data": {"kubelet": text}})
        yield admin


@pytest.fixture
def ready(make_node: Callable[..., Node], registry: SimulatedRegistry, hourly: Admin) -> Node:
    """Return a node that is Ready in this cluster."""
    node = make_node()
    node.mirror(registry)
    node.start_containerd()
    node.install_kubernetes()
    node.install_cni()
    node.join_configuration(hourly.cluster, hourly.token())
    result = node.join()
    assert result.exit_code == 0, result.stderr
    hourly.wait_ready(node.name, "True")
    return node


def certificate(node: Node) -> x509.Certificate:
    return x509.load_pem_x509_certificate(node.machine.files.read_bytes(CURRENT))


def set_clock(node: Node, hourly: Admin | None, seconds: float) -> None:
    set_fault(node.machine, {"kind": "clock", "offset": seconds})
    if hourly is not None:
        assert hourly.cluster.set_clock is not None
        hourly.cluster.set_clock(seconds)


def kubelet_state(node: Node) -> str:
    kubelet = node.machine.services.get("kubelet")
    assert kubelet is not None
    return kubelet.state


@pytest.mark.parametrize(("days", "word"), [(-2, "before"), (400, "after")])
def test_a_join_with_a_wrong_clock_is_refused_by_tls(
    make_node: Callable[..., Node], cluster: Admin, days: int, word: str
) -> None:
    node = make_node(clock_offset=days * DAY)
    node.start_containerd()
    node.install_kubernetes()
    node.join_configuration(cluster.cluster, cluster.token())
    document = json.loads(node.machine.files.read_text(r"C:\join.yaml"))
    document["timeouts"]["discovery"] = "300ms"
    node.write(r"C:\join.yaml", json.dumps(document))

    result = node.join()

    assert result.exit_code == 1
    assert "couldn't validate the identity of the API Server: failed to request the cluster-info" in result.stderr
    assert f"{X509}{node.machine.clock.now():%Y-%m-%dT%H:}" in result.stderr
    assert f" is {word} {datetime.now(UTC).year + (word == 'after')}-" in result.stderr


def test_a_wrong_clock_disconnects_the_node(ready: Node, hourly: Admin) -> None:
    set_clock(ready, None, -2 * DAY)
    ready.machine.services.stop("kubelet", force=True)
    ready.machine.services.start("kubelet")

    hourly.wait_ready(ready.name, "Unknown", "Kubelet stopped posting node status")
    assert kubelet_state(ready) == "Running"
    set_clock(ready, None, 0)
    hourly.wait_ready(ready.name, "True")


def test_a_kubelet_renews_its_certificate_in_time(ready: Node, hourly: Admin) -> None:
    before = certificate(ready)
    set_clock(ready, hourly, 0.6 * HOUR)
    hourly.wait_ready(ready.name, "True")
    assert certificate(ready) == before, "not before 70 % of its time"

    set_clock(ready, hourly, 0.95 * HOUR)

    wait_for(lambda: certificate(ready) != before, "another certificate")
    kept = [entry.name for entry in ready.machine.files.listing(CURRENT.rpartition("\\")[0])]
    assert len([name for name in kept if name.startswith("kubelet-client-20")]) == 2
    set_clock(ready, hourly, 1.1 * HOUR)  # the first certificate has expired by then
    ready.machine.services.stop("kubelet", force=True)
    ready.machine.services.start("kubelet")
    hourly.wait_ready(ready.name, "True")


def test_a_kubelet_with_an_expired_certificate_ends(ready: Node, hourly: Admin) -> None:
    set_clock(ready, hourly, 2 * HOUR)

    wait_for(lambda: kubelet_state(ready) == "Stopped", "the kubelet ends")
    message = "\n".join(ready.machine.services.events)
    assert "The currently active client certificate has expired and the server is responsive, exiting." in message
    hourly.wait_ready(ready.name, "Unknown")
    # The kubelet cannot bootstrap again, because kubeadm has removed the bootstrap kubeconfig.
    ready.machine.services.start("kubelet")
    wait_for(lambda: kubelet_state(ready) == "Stopped", "the kubelet ends again")
    assert "unable to load bootstrap kubeconfig" in "\n".join(ready.machine.services.events)


def test_without_rotation_the_kubelet_is_refused(ready: Node, hourly: Admin) -> None:
    path = r"C:\var\lib\kubelet\config.yaml"
    text = ready.machine.files.read_text(path)
    ready.machine.services.stop("kubelet", force=True)
    ready.write(path, text.replace("rotateCertificates: true", "rotateCertificates: false"))
    ready.machine.services.start("kubelet")
    wait_for(lambda: 10250 in ready.machine.part(Listeners).ports, "the kubelet has read its credentials")

    set_clock(ready, hourly, 2 * HOUR)

    hourly.wait_ready(ready.name, "Unknown")
    assert kubelet_state(ready) == "Running"
