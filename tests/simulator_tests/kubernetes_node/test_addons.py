# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Add-on programs on Windows nodes: what they need, and how they fail. Kubelets with a cloud provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.kubelet import node_status
from simulator.kubernetes_node.kubelet.settings import KubeletSettings, read
from simulator.machine.listeners import Listeners
from simulator.machine.objects import ProcessEndedError

from .conftest import Node

pytestmark = pytest.mark.waits

EXPORTER, FLUENT_BIT = r"C:\windows_exporter.exe", r"C:\fluent-bit.exe"
DRIVER, REGISTRAR, MANAGER = r"C:\smbplugin.exe", r"C:\csi-node-driver-registrar.exe", r"C:\cloud-node-manager.exe"
FOLDER = r"C:\var\lib\kubelet\plugins\smb.csi.k8s.io"
SOCKET = rf"unix://{FOLDER}\csi.sock".replace("\\", "\\\\")
DRIVES = (f"--endpoint={SOCKET}", "--nodeid=win1", "--enable-windows-host-process=true")
REGISTERS = (f"--csi-address={SOCKET}", f"--kubelet-registration-path={SOCKET}")


@pytest.fixture
def machine(make_node: Callable[..., Node]) -> Node:
    node = make_node()
    for path in (EXPORTER, FLUENT_BIT, DRIVER, REGISTRAR, MANAGER):
        node.put(path, path.rpartition("\\")[2].removesuffix(".exe"), "1.0.0")
    return node


@contextmanager
def running(node: Node, program: str, *arguments: str) -> Iterator[None]:
    """Run a program until the `with` block ends."""
    stop = threading.Event()

    def work() -> None:
        with suppress(ProcessEndedError):
            node.run(program, *arguments, stop=stop)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)


def test_the_exporter_listens_until_it_ends(machine: Node) -> None:
    ports = machine.machine.part(Listeners).ports
    with running(machine, EXPORTER, "--web.listen-address=:9182", "--collectors.enabled=[defaults],container"):
        wait_for(lambda: 9182 in ports, "it listens")
        second = machine.run(EXPORTER)
        assert (second.exit_code, "Only one usage of each socket address" in second.stderr) == (1, True)
    assert 9182 not in ports


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--collectors.enabled=[defaults],containers", "unknown collector containers"),
        ("--web.listen=:9182", "unknown long flag '--web.listen'"),
    ],
)
def test_the_exporter_refuses_what_it_does_not_know(machine: Node, argument: str, message: str) -> None:
    result = machine.run(EXPORTER, argument)
    assert result.exit_code == 1
    assert message in result.stderr


def test_fluent_bit_needs_the_folder_of_its_databases(machine: Node) -> None:
    machine.write(r"C:\fb.yaml", "pipeline: {inputs: [{name: tail, path: 'C:\\a.log', db: 'C:\\state\\a.db'}]}")
    result = machine.run(FLUENT_BIT, "-c", r"C:\fb.yaml")
    assert (result.exit_code, result.stderr) == (1, "[error] [sqldb] cannot open database C:\\state\\a.db\n")
    machine.machine.files.make_directory(r"C:\state")
    with running(machine, FLUENT_BIT, "-c", r"C:\fb.yaml"):
        wait_for(lambda: machine.machine.files.is_file(r"C:\state\a.db"), "it has a database")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pipeline: {outputs: [{name: fowrard}]}", "[output] fowrard: plugin not found"),
        ("pipeline: {inputs: [{name: tail, paths: x}]}", "[config] tail: unknown configuration property 'paths'"),
        ("pipeline: [", "[config] YAML error"),
    ],
)
def test_fluent_bit_refuses_a_wrong_configuration(machine: Node, text: str, message: str) -> None:
    machine.write(r"C:\fb.yaml", text)
    result = machine.run(FLUENT_BIT, "-c", r"C:\fb.yaml")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "could not open configuration file" in machine.run(FLUENT_BIT, "-c", r"C:\none.yaml").stderr


def test_a_driver_is_registered_while_both_programs_run(machine: Node) -> None:
    files = machine.machine.files
    assert machine.run(DRIVER, *DRIVES).exit_code == 1
    files.make_directory(FOLDER)
    registered = r"C:\reg\smb.csi.k8s.io-reg.sock"
    files.make_directory(r"C:\reg")
    with running(machine, REGISTRAR, *REGISTERS, r"--plugin-registration-path=C:\\reg"):
        assert not files.is_file(registered)
        with running(machine, DRIVER, *DRIVES):
            wait_for(lambda: files.is_file(registered), "the driver is registered")
    assert not files.is_file(registered)
    assert not files.is_file(rf"{FOLDER}\csi.sock")


def test_flags_that_drivers_and_the_registrar_can_do_without(machine: Node) -> None:
    files = machine.machine.files
    for folder in (FOLDER, r"C:\registration", r"C:\run\csi"):
        files.make_directory(folder)
    with running(machine, DRIVER, "--endpoint=unix:///run/csi/socket"), running(machine, REGISTRAR, REGISTERS[1]):
        wait_for(lambda: files.is_file(r"C:\registration\smb.csi.k8s.io-reg.sock"), "the driver is registered")
    assert "bind: A socket operation encountered a dead network." in machine.run(DRIVER).stderr


def test_drivers_refuse_flags_of_others(machine: Node) -> None:
    result = machine.run(DRIVER, *DRIVES, "--allow-empty-cloud-config=true")
    assert (result.exit_code, result.stderr) == (2, "flag provided but not defined: -allow-empty-cloud-config\n")


def test_cloud_node_manager_needs_its_kubeconfig(machine: Node) -> None:
    result = machine.run(MANAGER, "--node-name=win1", r"--kubeconfig=C:\none.conf")
    assert result.exit_code == 1
    assert machine.run(MANAGER, "--nodename=win1").stderr == "flag provided but not defined: -nodename\n"


def settings(node: Node, *flags: str) -> KubeletSettings:
    node.write(r"C:\config.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    return read(node.machine, [r"--config=C:\config.yaml", *flags], "1.37.1")


def reported(node: Node, known: dict[str, object], *flags: str) -> list[str] | None:
    """Return the addresses in the status that a kubelet reports; None if the status does not contain addresses."""
    status = node_status.status(node.machine, "win1", settings(node, *flags), None, known)
    return [one["address"] for one in status["addresses"]] if "addresses" in status else None


def test_a_kubelet_with_a_cloud_provider_registers_with_a_taint(machine: Node) -> None:
    registered = node_status.node(machine.machine, "win1", settings(machine, "--cloud-provider=external"))
    (taint,) = registered["spec"]["taints"]
    assert taint["key"] == "node.cloudprovider.kubernetes.io/uninitialized"
    assert "taints" not in node_status.node(machine.machine, "win1", settings(machine))["spec"]


def test_the_cloud_provider_sets_the_addresses(machine: Node) -> None:
    own, conditions = machine.machine.address, {"conditions": [{"type": "Ready", "status": "True"}]}
    external = "--cloud-provider=external"
    assert reported(machine, {}) == [own, "win1"]
    assert reported(machine, {}, external) is None
    # With --node-ip, the kubelet sets the addresses once, and does not change them later.
    assert reported(machine, {}, external, "--node-ip=0.0.0.0") == [own, "win1"]
    assert reported(machine, conditions, external, "--node-ip=0.0.0.0") is None
    assert reported(machine, {}, external, "--node-ip=10.0.0.9") == ["10.0.0.9", "win1"]
    found = node_status.node(machine.machine, "win1", settings(machine, external, "--node-ip=10.0.0.9"))
    assert found["metadata"]["annotations"]["alpha.kubernetes.io/provided-node-ip"] == "10.0.0.9"
