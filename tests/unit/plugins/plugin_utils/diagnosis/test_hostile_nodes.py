# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node that returns values of any type and size: the doctor ends with an error that the action reports, or continues.

The texts that such a node returns reach the report only as evidence, and the report escapes them.
"""

from __future__ import annotations

import datetime
import random
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.altered_node import ODD, Altered, Recording, places, replaced

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.diagnose import Diagnosis, diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.examination import Examination
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import ObservationOptions
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observe import observe
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.wire.typed_values import MISREAD
from simulator.kubernetes_node.hns import fixtures
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

KUBELET_CONF = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:9', certificate-authority-data: YQ==}}]
users: [{name: u, user: {client-certificate: 'C:\\x.pem'}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Yield a machine with a runtime, networks and pods, whose API server does not respond."""
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "features": ["Containers"]}
    settings = MachineSettings.read({**entry, "first_delay": 0.02})
    machine = Machine(settings, Path(tmp_path_factory.mktemp("machine")))
    machine.power_on()
    fixtures.install(machine)
    fixtures.populate(machine, "flannel-host-gw", running=2, stale=1)
    for path, text in (
        (r"C:\etc\kubernetes\kubelet.conf", KUBELET_CONF),
        (r"C:\k\kube-proxy\config.yaml", "winkernel: {networkName: cbr0}\n"),
        (r"C:\ProgramData\winkube\cni.json", '{"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}'),
    ):
        machine.files.make_directory(path.rpartition("\\")[0])
        machine.files.write_text(path, text)
    yield machine
    machine.power.power_off()


def outcome(node: t.Any) -> Diagnosis | str:
    """Return the diagnosis, or the error."""
    options = ObservationOptions()
    try:
        first, second = observe(NodeSession(node), options)
        examination = Examination(first=first, second=second, cluster=ClusterView.of(None), options=options)
        return diagnose(examination, datetime.datetime.now(datetime.UTC))
    except NodeError as error:
        return str(error)
    except MISREAD as error:
        # NodeAction reports these as one message.
        return f"node-1: {error!r}"


def test_values_of_any_type_end_in_an_error_or_a_diagnosis(machine: Machine) -> None:
    recording = Recording(machine)
    honest = outcome(recording)
    assert isinstance(honest, Diagnosis)
    assert "api_unreachable" in [one.finding.cause for one in honest.findings]
    choice = random.Random(16)
    every = list(places(recording.wires))
    tried = [(path, value) for path in choice.sample(every, 400) for value in choice.sample(ODD, 2)]
    found = [outcome(Altered(replaced(recording.wires, path, value))) for path, value in tried]
    errors = [one for one in found if isinstance(one, str)]
    assert 50 < len(errors) < len(found)
    assert [text for text in errors if not text.startswith("node-1: ")] == []
