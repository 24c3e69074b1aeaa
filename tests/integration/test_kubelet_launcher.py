# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The script that runs the kubelet of a machine that joins by itself, on a simulated machine without a cluster.

The simulator interprets the script. test_image.py joins a machine from an image in this way.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from simulator_tests.waiting import wait_for
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.diagnose import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.examination import Examination
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import ObservationOptions
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observe import observe
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import FactsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_commands import JoinCommand
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import kubelet_launcher
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.kubelet_launcher import Commands
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.kubernetes_node import hns
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.integration, pytest.mark.waits, pytest.mark.xdist_group("kubelet_launcher")]

VERSION = "1.36.3"
FLAGS = {"arguments_from_file": r"C:\var\lib\kubelet\kubeadm-flags.env", "arguments_variable": "KUBELET_KUBEADM_ARGS"}
KUBELET_CONF, BOOTSTRAP = r"C:\etc\kubernetes\kubelet.conf", r"C:\etc\kubernetes\bootstrap-kubelet.conf"
CONFIGURATION = r"C:\var\lib\kubelet\config.yaml"
CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
RECORD = r"C:\var\lib\kubelet\winkube-join-commands.txt"
KUBELET_LOG = r"C:\var\log\kubelet\kubelet.log"
LAUNCHER_LOG = r"C:\var\log\kubelet\kubelet.out.log"
PLAYBOOK = r"C:\ProgramData\winkube\join.yaml"
# Without a kubeconfig, the kubelet runs stand-alone.
OWN = (rf"--config={CONFIGURATION}", "--node-labels=winkube.node/pod-network=calico", "--v=2")
# As kubeadm 1.34 writes it. The kubelet of 1.35 does not have the first flag (kubernetes/kubernetes#133779).
WRITTEN = "--pod-infra-container-image=registry.k8s.io/pause:3.10.1 --node-labels=rack=7 --v=4"


class Launched:
    """A machine whose kubelet is run by the script."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.started: list[tuple[str, str]] = []
        run = machine.programs.run

        def record(name: str, arguments: Any = (), **more: Any) -> Any:
            line = arguments if isinstance(arguments, str) else " ".join(arguments)
            if "--help" not in line:
                self.started.append((name.rpartition("\\")[2], line))
            return run(name, arguments, **more)

        machine.programs.run = record  # type: ignore[method-assign]

    def converge(self, before: Sequence[JoinCommand] = (), after: Sequence[JoinCommand] = ()) -> None:
        """Install the script and its service."""
        commands = Commands(tuple(before), tuple(after))
        files = kubelet_launcher.resources(r"C:\k", OWN, FLAGS, commands, log_dir=r"C:\var\log\kubelet", log_mb=0)
        service = {"type": "Service", "name": "kubelet", "path": r"C:\nssm\win64\nssm.exe", "start_mode": "auto"}
        outcome = Convergence(NodeSession(DirectNode(self.machine)), load([*files, service])).run()
        assert outcome.failures == []

    def start(self) -> None:
        """Start the service, as a boot does."""
        self.machine.services.start("kubelet")

    def begin_join(self) -> None:
        """Write what kubeadm writes before it restarts the service."""
        self.machine.files.write_text(BOOTSTRAP, "")
        self.machine.files.write_text(FLAGS["arguments_from_file"], f'KUBELET_KUBEADM_ARGS="{WRITTEN}"\n')
        text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupsPerQOS: false\n"
        self.machine.files.write_text(CONFIGURATION, f"{text}enforceNodeAllocatable: []\n")

    def end_join(self) -> None:
        """Write what the kubelet writes when it has received its certificate."""
        self.machine.files.delete(BOOTSTRAP)
        self.machine.files.write_text(KUBELET_CONF, "")
        self.machine.files.write_text(CERTIFICATE, "")

    def kubelets(self) -> list[str]:
        """Return the command lines with which the kubelet was started."""
        return [line for name, line in self.started if name == "kubelet.exe"]

    def lines(self, path: str) -> list[str]:
        files = self.machine.files
        return files.read_text(path).split() if files.exists(path) else []


def launched(folder: Path, **options: Any) -> Launched:
    entry = {"name": "launch", "address": "127.0.0.12", "features": ["Containers"], **options}
    quick = {"time_scale": 0.02, "pause_scale": 0.1, "reboot_seconds": 0.05}
    machine = Machine(MachineSettings.read({**entry, **quick}), folder / "machine")
    machine.power_on()
    for path in (r"C:\k", r"C:\var\lib\kubelet\pki", r"C:\var\log\kubelet", r"C:\etc\kubernetes", r"C:\nssm\win64"):
        machine.files.make_directory(path)
    machine.files.make_directory(PLAYBOOK.rpartition("\\")[0])
    machine.files.write_bytes(r"C:\nssm\win64\nssm.exe", make("nssm", "2.24"))
    for program, version in {"containerd": "2.4.2", "kubelet": VERSION}.items():
        machine.files.write_bytes(rf"C:\k\{program}.exe", make(program, version))
    machine.files.write_text(r"C:\k\config.toml", "version = 3\n")
    machine.services.create("containerd", r"C:\k\containerd.exe --run-service --config C:\k\config.toml", Start=2)
    machine.services.start("containerd")
    return Launched(machine)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Launched]:
    node = launched(tmp_path)
    yield node
    node.machine.power.power_off()


def appended(text: str, path: str = r"C:\commands.txt") -> JoinCommand:
    return JoinCommand(program="cmd.exe", arguments=("/c", f"echo {text}>> {path}"))


def running(node: Launched) -> list[str]:
    return [process.name for process in node.machine.processes.all() if process.name == "kubelet.exe"]


def causes(node: Launched) -> dict[str, str]:
    """Return the causes that the doctor finds without a cluster, with their evidence."""
    direct = DirectNode(node.machine)
    options = ObservationOptions(hns=FactsOptions(hns_timeout=2.0, grace=0.05))
    first, second = observe(NodeSession(direct), options)
    assert direct.remote_commands <= 2
    examination = Examination(first=first, second=second, cluster=ClusterView.of(None), options=options)
    found = diagnose(examination, datetime.datetime.now(datetime.UTC)).findings
    return {one.finding.cause: "\n".join(one.finding.evidence) for one in found}


def test_the_doctor_names_the_file_for_which_the_script_waits(node: Launched) -> None:
    node.converge()
    node.start()
    found = causes(node)
    assert f"the launcher waits for {BOOTSTRAP}" in found["not_joined"]
    assert "kubelet_stopped" not in found
    node.machine.files.write_text(BOOTSTRAP, "")
    found = causes(node)
    assert f"the launcher waits for {CONFIGURATION}" in found["not_joined"]
    node.machine.files.write_text(KUBELET_CONF, "")
    found = causes(node)
    assert "the launcher waits for this file" in found["kubelet_configuration_invalid"]


def test_the_doctor_reads_how_the_kubelet_ended(node: Launched) -> None:
    node.converge()
    node.begin_join()
    node.machine.files.write_text(CONFIGURATION, "kind: KubeletConfiguration\n")
    node.start()
    wait_for(lambda: "the kubelet ended" in node.machine.files.read_text(LAUNCHER_LOG))
    node.machine.services.stop("kubelet", force=True)
    # The simulated Process.Start does not pass the script's handles on, as Windows does.
    node.machine.files.write_text(KUBELET_LOG, 'E1 run.go:72] "command failed" err="failed to load kubelet config"\n')
    found = causes(node)
    assert "the launcher's log: the kubelet ended with exit code 1" in found["kubelet_stopped"]
    assert "its last error: failed to load kubelet config" in found["kubelet_stopped"]
    assert "flags that this kubelet does not know: --pod-infra-container-image" in found["kubelet_stopped"]


def test_the_doctor_names_a_command_that_failed_until_it_has_run(node: Launched) -> None:
    node.converge(after=[appended("one"), JoinCommand(program="cmd.exe", arguments=("/c", "exit 5"))])
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    node.end_join()
    wait_for(lambda: node.lines(RECORD) == ["1"])
    # The simulated nssm writes the output of a program when the program ends.
    lines = "started the kubelet, process 5", "post_kubeadm_commands[1]: exit code 5"
    node.machine.files.write_text(LAUNCHER_LOG, "".join(f"kubelet-launcher: {line}\n" for line in lines))
    assert "post_kubeadm_commands[1]: exit code 5" in causes(node)["join_command_failed"]
    node.machine.files.delete(RECORD)
    assert "join_command_failed" not in causes(node)


def test_the_doctor_names_a_script_that_does_not_run(node: Launched) -> None:
    node.converge()
    node.machine.files.delete(r"C:\k\kubelet-launcher.json")
    node.start()
    wait_for(lambda: "kubelet-launcher.json" in node.machine.files.read_text(KUBELET_LOG))
    node.machine.services.stop("kubelet", force=True)
    found = causes(node)
    assert "kubelet-launcher.json" in found["launcher_failed"]
    assert "PathNotFound" in found["launcher_failed"]


def test_the_kubelet_waits_for_the_join_and_gets_the_flags_that_it_knows(node: Launched) -> None:
    node.converge()
    node.start()
    time.sleep(0.5)
    assert running(node) == []
    node.begin_join()
    wait_for(lambda: running(node))
    (line,) = node.kubelets()
    assert line.split() == [
        rf"--config={CONFIGURATION}",
        # The labels of both flags apply. Any other flag of kubeadm replaces the flag with the same name.
        "--node-labels=winkube.node/pod-network=calico",
        "--node-labels=rack=7",
        "--v=4",
    ]
    node.machine.services.stop("kubelet")
    wait_for(lambda: running(node) == [])


def test_flags_are_read_at_each_start(node: Launched) -> None:
    node.converge()
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    node.machine.files.write_text(FLAGS["arguments_from_file"], "KUBELET_KUBEADM_ARGS=--v=6\n")
    node.machine.services.stop("kubelet")
    node.start()
    wait_for(lambda: len(node.kubelets()) == 2)
    assert node.kubelets()[1].split()[-1] == "--v=6"


def test_commands_run_once_after_the_join(node: Launched) -> None:
    node.converge([appended("before")], [appended("first"), appended("second")])
    result = node.machine.programs.run("powershell.exe", r"-NoProfile -File C:\k\kubelet-launcher.ps1 -PreCommands")
    assert result.exit_code == 0
    assert node.lines(r"C:\commands.txt") == ["before"]
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    time.sleep(0.8)
    # The machine has no certificate yet.
    assert node.lines(r"C:\commands.txt") == ["before"]
    node.end_join()
    wait_for(lambda: not node.machine.files.exists(RECORD))
    assert node.lines(r"C:\commands.txt") == ["before", "first", "second"]
    node.machine.services.stop("kubelet")
    node.start()
    wait_for(lambda: len(node.kubelets()) == 2)
    time.sleep(0.8)
    assert node.lines(r"C:\commands.txt") == ["before", "first", "second"]


def test_a_command_that_fails_runs_again_at_the_next_start(node: Launched) -> None:
    query = JoinCommand(program="reg.exe", arguments=("query", r"HKLM\SOFTWARE\Missing"))
    node.converge([query], [appended("first"), query, appended("third")])
    result = node.machine.programs.run("powershell.exe", r"-NoProfile -File C:\k\kubelet-launcher.ps1 -PreCommands")
    assert result.exit_code == 1
    assert "pre_kubeadm_commands[0]: exit code 1" in result.stdout
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    node.end_join()
    wait_for(lambda: node.lines(RECORD) == ["1"])
    time.sleep(0.5)
    assert running(node)
    assert node.lines(r"C:\commands.txt") == ["first"]
    node.machine.registry.create_key(r"HKLM:\SOFTWARE\Missing")
    node.machine.services.stop("kubelet")
    node.start()
    wait_for(lambda: not node.machine.files.exists(RECORD))
    assert node.lines(r"C:\commands.txt") == ["first", "third"]


def test_a_program_that_does_not_start_is_a_failure_by_its_number(node: Launched) -> None:
    # An error here would otherwise reach the loop around the kubelet, which would try again every two seconds.
    node.converge([appended("first"), JoinCommand(program=r"C:\missing.exe", arguments=("secret",))])
    result = node.machine.programs.run("powershell.exe", r"-NoProfile -File C:\k\kubelet-launcher.ps1 -PreCommands")
    assert result.exit_code == 1
    assert r"pre_kubeadm_commands[1]: the program C:\missing.exe does not exist" in result.stdout
    assert "secret" not in f"{result.stdout}{result.stderr}"
    assert node.lines(r"C:\commands.txt") == ["first"]


def test_a_playbook_runs_the_commands_itself(node: Launched) -> None:
    node.converge(after=[appended("first")])
    node.machine.files.write_text(PLAYBOOK, "")
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    node.machine.files.delete(PLAYBOOK)
    node.end_join()
    time.sleep(0.8)
    assert node.lines(r"C:\commands.txt") == []
    assert not node.machine.files.exists(RECORD)


def adapter(machine: Machine) -> Any:
    """Return the settings of the external adapter, from whichever interface has them."""
    found: Any = machine.families.status["network"](machine)
    return found.get("vEthernet (Ethernet)") or found["Ethernet"]


def test_a_static_address_outlives_the_first_network(tmp_path: Path) -> None:
    routes = [{"destination": "10.9.0.0/16", "next_hop": "127.0.0.253", "metric": 5}]
    static = {"static": True, "gateway": "127.0.0.254", "dns": ["127.0.0.250"], "routes": routes}
    node = launched(tmp_path, uplink=static, link_drop_seconds=0.1)
    before = adapter(node.machine)
    node.converge()
    node.begin_join()
    node.start()
    wait_for(lambda: running(node))
    time.sleep(0.5)
    hns.store(node.machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    assert adapter(node.machine)["dhcp"]
    wait_for(lambda: adapter(node.machine) == before)
    assert running(node)
    node.machine.power.power_off()
