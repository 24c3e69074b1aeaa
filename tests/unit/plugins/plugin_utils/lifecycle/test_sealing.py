# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The end of an image's build, on simulated machines: what the batch does, what it leaves, what a failure says."""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from unit.detached_node import DetachedNode

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import (
    first_boot,
    image_identity,
    image_proxies,
    sealing,
    sysprep,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.generalization import (
    Generalization,
    GeneralizationOptions,
    Link,
)
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import query
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call
from simulator.machine import accounts, certificate_store, winrm_settings
from simulator.machine.machine import COMPLETE, GENERALIZED, SETUP_STATE, Machine
from simulator.machine.power import CBS_PENDING
from simulator.machine.settings import MachineSettings
from simulator.windows.system import event_log_store, machine_identity, storage
from simulator.windows.system.task_parts import Tasks

pytestmark = pytest.mark.waits

WINDOWS_UPDATE = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate"
BUILDER = "packer"
ERROR = rf"{first_boot.FOLDER}\error.txt"
OPTIONS: dict[str, t.Any] = {
    "timeout": 60,
    "unattend": None,
    "clean_paths": [r"C:\Windows\Temp\*"],
    "cloudbase_init": False,
    "registry_credentials": "remove",
    "registry_config_dir": node_paths.CONTAINERD_REGISTRIES,
    "proxy_credentials": "keep",
    "docker_configuration_file": image_proxies.DOCKER_CONFIGURATION,
    "user_apps": "remove",
    "remove_build_account": True,
    "remove_accounts": [],
    "first_boot_winrm": True,
    "reset_winrm": True,
    "end": "power_off",
    "disk_limit_gib": 0.0,
    "max_fill_percent": 90,
}
MakeMachine = Callable[..., Machine]


@pytest.fixture
def make_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeMachine]:
    """Yield a function that starts a build machine, or a new machine from the disk of another one."""
    monkeypatch.setattr(sealing, "_BETWEEN", 0.1)
    monkeypatch.setattr(sealing, "_PAUSE", 0.1)
    monkeypatch.setattr(sealing, "START_LIMIT", 60)
    made: list[Machine] = []

    def make(name: str = "build", source: Machine | None = None, **options: t.Any) -> Machine:
        entry = {"name": name, "address": "127.0.0.1", "windows": "2022", "sysprep_seconds": 0.0, **options}
        entry = {"user": BUILDER, "reboot_seconds": 0.01, "time_scale": 0.01, **entry}
        machine = Machine(MachineSettings.read(entry), tmp_path / name, source=source)
        machine.power_on()
        made.append(machine)
        return machine

    yield make
    for machine in made:
        machine.power.retire()


def seal(machine: Machine, **options: t.Any) -> tuple[dict[str, t.Any], DetachedNode]:
    """Run the action's work once."""
    node = DetachedNode(machine)
    work = Generalization(
        NodeSession(t.cast("t.Any", node)),
        GeneralizationOptions.of({**OPTIONS, **options}),
        Link("127.0.0.1", 1, rf"BUILD\{machine.settings.user}"),
    )
    return work.run(work.inspect()), node


def wait(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def state(machine: Machine) -> object:
    return machine.registry.data(SETUP_STATE, "ImageState")


def result(machine: Machine) -> dict[str, t.Any]:
    found: dict[str, t.Any] = json.loads(machine.files.read_text(sealing.RESULT))
    return found


def identity(machine: Machine) -> dict[str, object]:
    """Return what must differ between two machines from one image."""
    key = r"C:\ProgramData\ssh\ssh_host_ed25519_key"
    own, desktop = (certificate_store.certificates(machine, store) for store in ("My", machine_identity.STORE))
    return {
        "sid": machine.sid,
        "name": machine.name,
        "update client": machine.registry.data(WINDOWS_UPDATE, "SusClientId"),
        "remote desktop": [certificate_store.thumbprint(each) for each in desktop],
        "winrm": [certificate_store.thumbprint(each) for each in own],
        "ssh": machine.files.read_text(key) if machine.files.is_file(key) else "",
    }


def use(machine: Machine) -> None:
    """Let the machine's services create what identifies it."""
    for name in ("wuauserv", "sshd"):
        service = machine.services.get(name)
        if service is not None and service.state != "Running":
            machine.services.start(name)


def test_two_machines_from_an_image_differ_in_everything_that_identifies_them(make_machine: MakeMachine) -> None:
    machine = make_machine(user_apps=["Contoso.App"])
    machine.programs.run(
        "powershell.exe", ["-Command", "Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0"]
    )
    machine.services.configure("sshd", Start=2)
    use(machine)
    before = identity(machine)
    assert all(before.values()), before
    size = machine.files.size()
    outcome, node = seal(machine)
    wait(lambda: machine.power.state == "off")
    assert outcome["generalized"]
    assert outcome["shutdown"]
    assert state(machine) == GENERALIZED
    assert result(machine)["generalized"] is True
    sealed = identity(machine)
    assert [sealed[name] for name in ("update client", "remote desktop", "winrm", "ssh")] == [None, [], [], ""]
    assert len(node.steps) <= 3

    new = [make_machine(f"new{number}", machine, user="Administrator", unallocated_gb=5) for number in (1, 2)]
    for one in new:
        wait(lambda one=one: not one.part(Tasks).tasks)
        use(one)
        assert state(one) == COMPLETE
        assert accounts.find(one, BUILDER) is None
        assert not one.files.exists(rf"C:\Users\{BUILDER}")
        assert one.files.size() > size
        assert not one.files.exists(first_boot.FOLDER)
    seen = [before, *map(identity, new)]
    for name in before:
        assert len({json.dumps(each[name]) for each in seen}) == 3, (name, seen)


def test_the_first_boot_keeps_an_account_that_the_new_machine_uses(make_machine: MakeMachine) -> None:
    machine = make_machine()
    seal(machine, first_boot_winrm=False)
    wait(lambda: machine.power.state == "off")
    builder = accounts.find(machine, BUILDER)
    assert builder is not None
    assert not builder.enabled
    # The cloud enables the account of the same name.
    new = make_machine("new", machine)
    wait(lambda: not new.part(Tasks).tasks)
    assert accounts.find(new, BUILDER) is not None
    assert new.files.exists(rf"C:\Users\{BUILDER}")
    assert certificate_store.certificates(new, "My") == [], "only with first_boot_winrm"


def test_the_first_boot_tries_again_what_failed(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine()
    seal(machine)
    wait(lambda: machine.power.state == "off")
    attempts: list[str] = []
    real = storage.unallocated

    def late(of: Machine) -> int:
        attempts.append(of.files.read_text(ERROR) if of.files.exists(ERROR) else "")
        if len(attempts) == 1:
            raise storage._storage_error("StorageWMI 40001", "Access denied")
        return real(of)

    monkeypatch.setattr(storage, "unallocated", late)
    new = make_machine("new", machine, user="Administrator", unallocated_gb=5, pause_scale=0.05)
    size = machine.files.size()
    wait(lambda: not new.part(Tasks).tasks)
    assert [text.strip() for text in attempts[:2]] == ["", "Access denied"]
    assert new.files.size() > size
    assert winrm_settings.certificate_of(new)
    assert not new.files.exists(first_boot.FOLDER)


def test_a_builder_that_stops_the_machine_finds_it_running(make_machine: MakeMachine) -> None:
    machine = make_machine()
    mark = winrm_settings.certificate_of(machine)
    outcome, dummy = seal(machine, end="leave_running")
    assert (outcome["generalized"], outcome["shutdown"]) == (True, False)
    wait(lambda: not certificate_store.contains(machine, "My", mark))
    time.sleep(0.3)
    assert machine.power.state == "on"


def test_the_shutdown_command_generalizes_the_machine_and_powers_it_off(make_machine: MakeMachine) -> None:
    machine = make_machine()
    outcome, dummy = seal(machine, end="shutdown_command")
    assert (outcome["generalized"], outcome["shutdown"]) == (False, False)
    assert outcome["shutdown_command"] == "schtasks /Run /TN winkube-seal"
    time.sleep(0.3)
    assert state(machine) == COMPLETE, "nothing happens before the command"
    program, *arguments = outcome["shutdown_command"].split()
    assert machine.programs.run(f"{program}.exe", arguments).exit_code == 0
    wait(lambda: machine.power.state == "off")
    assert state(machine) == GENERALIZED
    assert list(machine.part(Tasks).tasks) == [f"\\{first_boot.TASK}"], "no machine can run the task again"


def test_a_failure_after_the_shutdown_command_leaves_the_machine_on(make_machine: MakeMachine) -> None:
    machine = make_machine(sysprep_fault="bitlocker")
    seal(machine, end="shutdown_command")
    machine.programs.run("schtasks.exe", ["/Run", "/TN", sealing.TASK])
    wait(lambda: machine.files.is_file(sealing.RESULT))
    assert result(machine)["generalized"] is False
    time.sleep(0.3)
    assert machine.power.state == "on"
    assert state(machine) == COMPLETE


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bitlocker", "encrypted with BitLocker.*Turn off BitLocker"),
        ("servicing", "servicing stack did not answer.*TiWorker"),
        ("defender_for_endpoint", "Defender for Endpoint.*Offboard"),
        ("desired_state_configuration", "Desired State Configuration"),
        ("rearm", "generalized several times.*new installation"),
        ("validate", "reserved storage"),
        ("generalize", "sysprep: sysprep: .*log ends with:.*Sysprep_Generalize"),
    ],
)
def test_a_failure_is_explained_and_the_machine_stays_on(make_machine: MakeMachine, fault: str, message: str) -> None:
    machine = make_machine(sysprep_fault=fault)
    mark = winrm_settings.certificate_of(machine)
    with pytest.raises(NodeError, match=f"(?s){message}"):
        seal(machine)
    assert machine.power.state == "on"
    assert result(machine)["generalized"] is False
    assert not machine.files.exists(first_boot.FOLDER), "the next boot must not treat the machine as a new one"
    assert certificate_store.contains(machine, "My", mark), "the machine can still be reached"
    builder = accounts.find(machine, BUILDER)
    assert builder is not None
    assert builder.enabled


def test_a_build_that_broke_after_sysprep_continues(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine()
    real = first_boot.calls
    broken = dataclasses.replace(real(accounts=(), winrm_https=False)[0], command="No-SuchCommand")
    monkeypatch.setattr(first_boot, "calls", lambda **_: (broken,))
    with pytest.raises(NodeError, match="first-boot-folder"):
        seal(machine)
    assert (state(machine), machine.power.state) == (GENERALIZED, "on")
    monkeypatch.setattr(first_boot, "calls", real)
    outcome, dummy = seal(machine)
    assert outcome["changes"] == []
    wait(lambda: machine.power.state == "off")
    assert state(machine) == GENERALIZED
    assert machine.files.exists(first_boot.FOLDER)


def test_a_machine_that_cannot_be_closed_stays_on(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine()
    real = sysprep.winrm_calls

    def broken(listeners: t.Any) -> tuple[Call, ...]:
        first, *others = real(listeners)
        return (dataclasses.replace(first, command="No-SuchCommand"), *others)

    monkeypatch.setattr(sysprep, "winrm_calls", broken)
    seal(machine)
    wait(lambda: result(machine)["generalized"] is False)
    time.sleep(0.3)
    assert machine.power.state == "on", "its disk would contain the certificate and private key of its listener"


def test_the_clean_up_removes_files_and_the_entries_of_event_logs(make_machine: MakeMachine) -> None:
    machine = make_machine()
    machine.files.write_bytes(r"C:\Windows\Temp\setup.log", b"x" * 5000)
    assert event_log_store.known(machine, "System")
    node = DetachedNode(machine)
    options = GeneralizationOptions.of(OPTIONS)
    work = Generalization(NodeSession(t.cast("t.Any", node)), options, Link("127.0.0.1", 1))
    cleaned = work.clean()
    assert cleaned["changed"]
    assert cleaned["freed_bytes"] >= 5000
    assert not machine.files.exists(r"C:\Windows\Temp\setup.log")
    assert work.clean() == {"changed": False, "freed_bytes": 0}
    assert node.remote_commands == 2


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("packer", ["packer"]),
        (r".\packer", ["packer"]),
        (r"BUILD\packer", ["packer"]),
        (r"CORP\packer", []),
        ("packer@corp.example", []),
        ("a'b", ["a'b"]),
        ('a"b', []),
        ("", []),
    ],
)
def test_only_local_accounts_are_removed(name: str, local: list[str]) -> None:
    assert image_identity.local_names([name, name.upper()], "build") == local


def test_the_built_in_administrator_stays(make_machine: MakeMachine) -> None:
    machine = make_machine(user="Administrator")
    seal(machine)
    wait(lambda: machine.power.state == "off")
    assert json.loads(machine.files.read_text(rf"{first_boot.FOLDER}\settings.json"))["accounts"] == []
    administrator = accounts.find(machine, "Administrator")
    assert administrator is not None
    assert administrator.enabled


def test_a_machine_that_must_reboot_for_updates_is_refused(make_machine: MakeMachine) -> None:
    machine = make_machine()
    machine.registry.create_key(CBS_PENDING, volatile=True)
    with pytest.raises(NodeError, match="pending updates, got one that must reboot"):
        seal(machine)
    assert (state(machine), machine.power.state) == (COMPLETE, "on")


def test_a_restart_after_sysprep_leaves_no_certificate_of_the_build(
    make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = make_machine()
    mark = winrm_settings.certificate_of(machine)
    monkeypatch.setattr(sysprep, "winrm_calls", lambda _: (query("broken", "No-SuchCommand", on_error="stop"),))
    seal(machine)
    wait(lambda: result(machine)["generalized"] is False)
    machine.power.reset()
    wait(lambda: not machine.part(Tasks).tasks)
    assert state(machine) == COMPLETE
    assert not certificate_store.contains(machine, "My", mark)
    assert winrm_settings.certificate_of(machine)


def test_a_machine_in_its_first_boot_is_refused(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine()
    machine.files.make_directory(first_boot.FOLDER)
    real = first_boot.wait_calls
    monkeypatch.setattr(first_boot, "wait_calls", lambda: real(0))
    with pytest.raises(NodeError, match="got one whose first boot is not finished"):
        seal(machine)
    assert (state(machine), machine.power.state) == (COMPLETE, "on")


def test_a_full_disk_is_refused(make_machine: MakeMachine) -> None:
    machine = make_machine(disk_gb=30)
    with pytest.raises(NodeError, match=r"at most 90 % full, got 9\d % \(1\d\.\d of 13\.0 GiB\)"):
        seal(machine, disk_limit_gib=13.0)
    assert (state(machine), machine.power.state) == (COMPLETE, "on")
    assert seal(machine, disk_limit_gib=20.0)[0]["generalized"]


def test_a_lost_connection_is_no_success(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine()
    monkeypatch.setattr(sealing, "CONFIRMATION", 0.3)
    run = DetachedNode.run

    def cut(node: DetachedNode, batch: t.Any, **keywords: t.Any) -> t.Any:
        if keywords.get("step") == "read the state of the image":
            raise AnsibleConnectionFailure("gone")
        return run(node, batch, **keywords)

    monkeypatch.setattr(DetachedNode, "run", cut)
    with pytest.raises(NodeError, match="connection broke before the state of the image was read"):
        seal(machine)
    wait(lambda: state(machine) == GENERALIZED)
    time.sleep(0.6)
    assert machine.power.state == "on", "the batch does not continue without the controller"
