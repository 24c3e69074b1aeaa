# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When a node has to join again, and undoing its former join on a simulated machine."""

from __future__ import annotations

import base64
import datetime
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_renewal
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_renewal import (
    ClusterFacts,
    KubeletCredentials,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubelet_certificate
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_certificate import ClientCertificate
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_kubeconfig import KubeletKubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, CallResult, Observation
from simulator.certificates import Issuer, certificate_pem, named, new_key
from simulator.machine.machine import Machine
from simulator.machine.service_errors import ServiceError
from simulator.machine.settings import MachineSettings

NOW = datetime.datetime(2026, 11, 25, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
NODES = ["win1", "win2"]
CA = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
CERTIFICATE = ClientCertificate(common_name="system:node:win1", begins=NOW - DAY, ends=NOW + DAY)
TRUSTED = KubeletKubeconfig(authorities=kubelet_certificate.authorities(CA))
OTHER_CA = KubeletKubeconfig(authorities=frozenset({"Yg=="}))
FILES = (node_paths.KUBELET_CONF, kubelet_certificate.CURRENT_CERTIFICATE, rf"{node_paths.KUBERNETES}\pki\ca.crt")


def credentials(**more: t.Any) -> KubeletCredentials:
    usual = {"joined": True, "kubeconfig": TRUSTED, "has_certificate": True, "certificate": CERTIFICATE}
    return KubeletCredentials(**(usual | more))


def issued(ago: datetime.timedelta, name: str = "system:node:win1") -> ClientCertificate:
    return ClientCertificate(common_name=name, begins=NOW - ago, ends=NOW + DAY)


@pytest.mark.parametrize(
    ("own", "nodes", "expected"),
    [
        (credentials(), NODES, ""),
        (credentials(), ["win2"], "the Node object win1 was deleted from the cluster"),
        # The run may have listed the nodes before this machine joined.
        (credentials(certificate=issued(datetime.timedelta(minutes=14))), ["win2"], ""),
        (credentials(certificate=issued(datetime.timedelta(minutes=16))), ["win2"],
         "the Node object win1 was deleted from the cluster"),
        (credentials(joined=False, has_certificate=False, certificate=None), [], ""),
        (credentials(certificate=ClientCertificate(common_name="x", begins=NOW - 9 * DAY, ends=NOW - DAY)), NODES,
         "the kubelet's certificate expired on 2026-11-24 12:00 UTC"),
        (credentials(has_certificate=False, certificate=None), NODES,
         "the kubelet's certificate is missing or damaged"),
        # A certificate of another kind, such as an administrator's.
        (credentials(certificate=issued(DAY, "x")), [], ""),
        # A file that cannot be read may be one that this code does not know.
        (credentials(certificate=None), NODES, ""),
        (credentials(kubeconfig=OTHER_CA), NODES, "the kubelet trusts a CA that is not the cluster's"),
        (credentials(kubeconfig=KubeletKubeconfig(authorities=frozenset({"YQ==", "Yg=="}))), NODES, ""),
        # The cluster of a kubeconfig that cannot be read is unknown, so its node was not deleted from this one.
        (credentials(kubeconfig=KubeletKubeconfig()), NODES, ""),
        (credentials(kubeconfig=KubeletKubeconfig()), ["win2"], ""),
    ],
)  # fmt: skip
def test_who_has_to_join_again(own: KubeletCredentials, nodes: list[str], expected: str) -> None:
    cluster = ClusterFacts(ca_certificate=CA, nodes=nodes)
    assert join_renewal.reason(own, cluster, NOW) == expected
    assert join_renewal.other_cluster(own, cluster) == ""


@pytest.mark.parametrize(
    ("own", "nodes"),
    [
        (credentials(kubeconfig=OTHER_CA), ["win2"]),
        (credentials(kubeconfig=OTHER_CA), []),
        (credentials(kubeconfig=OTHER_CA, certificate=None), NODES),
    ],
)
def test_a_healthy_node_of_another_cluster_at_the_same_address_is_refused(
    own: KubeletCredentials, nodes: list[str]
) -> None:
    cluster = ClusterFacts(ca_certificate=CA, nodes=nodes)
    assert join_renewal.reason(own, cluster, NOW) == ""
    assert "so it is a node of another cluster" in join_renewal.other_cluster(own, cluster)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (NOW, NOW),
        # The controller's clock is ahead.
        (NOW - DAY, NOW - DAY),
        # The machine's clock is ahead.
        (NOW + DAY, NOW),
    ],
)
def test_a_clock_that_is_ahead_does_not_count(machine: datetime.datetime, expected: datetime.datetime) -> None:
    assert join_renewal.safe_time(Observation(time=machine.isoformat()), NOW) == expected


def test_without_the_machines_time_the_controllers_counts() -> None:
    assert join_renewal.safe_time(Observation(), NOW) == NOW


def certificate_file(content: bytes) -> CallResult:
    file = {"path": FILES[1], "exists": True, "content": base64.b64encode(content).decode()}
    return CallResult(ok=True, output=(file,))


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        (CallResult(ok=True, output=({"path": FILES[1], "exists": False},)), False),
        (certificate_file(b"\0" * 500), False),
        (certificate_file(b""), False),
        (certificate_file(b"-----BEGIN EC PRIVATE KEY-----"), True),
        # Such as an access that is denied.
        (CallResult(ok=False), True),
    ],
)
def test_a_file_that_cannot_be_read_is_not_lost(certificate: CallResult, *, expected: bool) -> None:
    user = "{name: u, user: {client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem}}"
    text = f"users: [{user}]\ncontexts: [{{name: x, context: {{user: u}}}}]\ncurrent-context: x\n"
    kubeconfig = CallResult(ok=True, output=({"path": FILES[0], "exists": True, "content": text},))
    own = join_renewal.read(Observation(calls={"kubeconfig": kubeconfig, "certificate": certificate}))
    assert own.has_certificate is expected


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    """Yield a machine with a kubelet and the files of a joined node."""
    machine = Machine(MachineSettings.read({"name": "win1", "address": "127.0.0.12"}), tmp_path / "machine")
    machine.power_on()
    machine.services.create("kubelet", r"C:\Windows\System32\svchost.exe -k NetSvcs", Start=2)
    machine.services.start("kubelet")
    for path in FILES:
        machine.files.make_directory(path.rpartition("\\")[0])
        machine.files.write_text(path, "x")
    yield DirectNode(machine)
    machine.power.power_off()


def exists(node: DirectNode) -> list[bool]:
    return [node.machine.files.exists(path) for path in FILES]


def test_credentials_are_read_without_the_key(node: DirectNode) -> None:
    key = new_key()
    signer = Issuer(named("kubernetes"), new_key())
    own = signer.sign(named("system:node:win1", ["system:nodes"]), key.public_key(), (NOW - DAY, NOW))
    pem = certificate_pem(own)
    private = b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(b"s3cret" * 40)
    node.machine.files.write_bytes(FILES[1], pem + private)
    text = f"clusters: [{{name: c, cluster: {{certificate-authority-data: {base64.b64encode(CA.encode()).decode()}}}}}]"
    node.machine.files.write_text(
        FILES[0], f"{text}\ncontexts: [{{name: x, context: {{cluster: c}}}}]\ncurrent-context: x\n"
    )
    seen = node.observe(join_renewal.calls())
    assert b"s3cret" not in base64.b64decode(seen["certificate"].first["content"])
    found = join_renewal.read(seen)
    assert found.certificate is not None
    assert (found.joined, found.certificate.node, found.certificate.ends) == (True, "win1", NOW)
    assert found.kubeconfig.authorities == TRUSTED.authorities


def test_undoing_a_join_removes_the_credentials(node: DirectNode) -> None:
    join_renewal.undo(node)
    assert exists(node) == [False] * 3
    kubelet = node.machine.services.get("kubelet")
    assert kubelet is not None
    assert kubelet.state == "Stopped"
    # It may be repeated.
    join_renewal.undo(node)
    assert not join_renewal.read(node.observe(join_renewal.calls())).joined


def test_a_kubelet_that_does_not_stop_keeps_its_credentials(node: DirectNode, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str, **_options: bool) -> None:
        raise ServiceError(1053)

    monkeypatch.setattr(node.machine.services, "stop", refuse)
    with pytest.raises(NodeError, match="node-1: undo the former join: "):
        join_renewal.undo(node)
    assert exists(node) == [True] * 3


def test_a_batch_that_is_lost_is_repeated(node: DirectNode, monkeypatch: pytest.MonkeyPatch) -> None:
    run, lost = DirectNode.run, []

    def lose_once(self: DirectNode, batch: Batch, **options: t.Any) -> Observation:
        if not lost:
            lost.append(batch)
            raise BatchLost("lost", None)
        return run(self, batch, **options)

    monkeypatch.setattr(DirectNode, "run", lose_once)
    join_renewal.undo(node)
    assert exists(node) == [False] * 3


def test_only_what_a_former_join_left_is_removed() -> None:
    paths = join_renewal.undo_calls()[1].parameters["paths"]
    assert paths == list(FILES)
