# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Folders in which only administrators may write, on a simulated machine that users change before or during a run."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.users import USER, plant

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources import directory
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation
from simulator.machine.files import FileSystem
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.settings import MachineSettings

USERS = "BU"


class Attacked(DirectNode):
    """A node on which a user makes a change between the observation and the first change."""

    def __init__(self, machine: Machine, attack: Callable[[FileSystem], None]) -> None:
        super().__init__(machine)
        self._attack: Callable[[FileSystem], None] | None = attack

    def run(self, batch: Batch, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        if self.remote_commands == 1 and self._attack is not None:
            self._attack(self.machine.files)
            self._attack = None
        return super().run(batch)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(
        MachineSettings.read({"name": "node-1", "address": "127.0.0.11", "windows": "2022"}), tmp_path / "m"
    )
    machine.power_on()
    yield machine
    machine.power.power_off()


def link(files: FileSystem, path: str, target: str) -> None:
    """Create a junction."""
    files.make_directory(target)
    files.real(path).symlink_to(files.real(target))


def converge(node: DirectNode, *resources: dict[str, t.Any], check_mode: bool = False) -> ConvergenceOutcome:
    return Convergence(NodeSession(node), load(resources), check_mode=check_mode).run()


def settled(node: DirectNode, *resources: dict[str, t.Any]) -> ConvergenceOutcome:
    """Converge, and check that nothing differs afterwards."""
    outcome = converge(node, *resources)
    assert outcome.failures == []
    assert [change.planned.change for change in converge(node, *resources, check_mode=True).changes] == []
    return outcome


ETC = directory.closed([r"C:\etc\kubernetes"])
CACHE = directory.closed([r"C:\ProgramData\winkube\cache"], content="writable")
KUBELET = directory.closed([r"C:\var\lib\kubelet"], users="read", open_folders=["pods"], shallow=True)


def test_a_new_folder_is_never_open(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []
    make = FileSystem.make_directory

    def watched(files: FileSystem, path: str, sddl: str | None = None) -> None:
        make(files, path, sddl)
        if path.startswith(r"C:\etc\kubernetes"):
            seen.append(files.who_may_write(path) | files.who_may_read(path))

    monkeypatch.setattr(FileSystem, "make_directory", watched)
    manifests = {"type": "Directory", "name": r"C:\etc\kubernetes\manifests"}
    outcome = settled(DirectNode(machine), *ETC, manifests)
    assert outcome.remote_commands == 2
    assert seen
    assert set().union(*seen) == set()
    # Others can still create their own items next to it, but not replace it.
    assert machine.files.who_may_read(r"C:\etc") == {USERS}


def test_files_that_pods_may_need_are_renamed_when_the_node_is_drained(machine: Machine) -> None:
    files, node = machine.files, DirectNode(machine)
    folders = directory.closed([r"C:\opt\cni\bin", r"C:\k"], users="read", disrupts=True)
    made = Convergence(NodeSession(node), load(folders), disruptive="defer").run()
    # New folders, and lists that become stricter, do not affect pods.
    assert (len(made.changes), made.deferred) == (2, [])
    plant(files, r"C:\opt\cni\bin\flannel.exe")
    later = Convergence(NodeSession(node), load(folders), disruptive="defer").run()
    assert [one.resource.name for one in later.deferred] == [r"C:\opt\cni\bin"]
    assert files.exists(r"C:\opt\cni\bin\flannel.exe")
    settled(node, *folders)
    assert not files.exists(r"C:\opt\cni\bin\flannel.exe")


def test_files_that_users_created_earlier_are_protected_and_renamed(machine: Machine) -> None:
    files = machine.files
    plant(files, r"C:\etc\kubernetes\manifests\evil.yaml")
    assert USER in files.who_may_write(r"C:\etc\kubernetes")
    planned = converge(DirectNode(machine), *ETC, check_mode=True)
    assert files.exists(r"C:\etc\kubernetes\manifests\evil.yaml")
    outcome = settled(DirectNode(machine), *ETC)
    for path in (r"C:\etc", r"C:\etc\kubernetes"):
        assert files.who_may_write(path) - {USERS} == set(), path
    assert files.who_may_write(r"C:\etc\kubernetes") == set()
    assert not files.exists(r"C:\etc\kubernetes\manifests")
    (renamed,) = [entry for entry in files.listing(r"C:\etc\kubernetes") if entry.name.startswith(".untrusted-")]
    assert files.read_text(rf"{renamed.path}\manifests\evil.yaml") == "evil"
    for warnings in (planned.warnings, outcome.warnings):
        (warning,) = [text for text in warnings if "not trusted" in text]
        assert warning.startswith(r"node-1: Directory C:\etc\kubernetes: ")
        assert USER in warning
        assert r"C:\etc\kubernetes\manifests" in warning


def test_files_of_other_users_are_observed_again(machine: Machine) -> None:
    # The planted file has exactly the expected content. Without a second observation, it would not be written.
    plant(machine.files, r"C:\etc\kubernetes\x.conf", b"good\n")
    requested = {"type": "File", "name": r"C:\etc\kubernetes\x.conf", "content": "good\n"}
    outcome = settled(DirectNode(machine), *ETC, requested)
    assert [change.planned.resource.type for change in outcome.changes] == ["Directory", "File"]
    assert machine.files.who_may_write(r"C:\etc\kubernetes\x.conf") == set()


@pytest.mark.parametrize(("target", "named"), [(r"C:\etc", r"C:\etc"), (r"C:\etc\kubernetes", r"C:\etc\kubernetes")])
def test_a_junction_on_the_path_is_refused(machine: Machine, target: str, named: str) -> None:
    machine.files.make_directory(target.rpartition("\\")[0] or "C:\\")
    link(machine.files, target, r"C:\Users\eve")
    with pytest.raises(NodeError) as refused:
        converge(DirectNode(machine), *ETC)
    assert repr(named) in str(refused.value)
    assert "junctions" in str(refused.value)
    assert machine.files.listing(r"C:\Users\eve") == []


def test_a_junction_created_during_the_run_is_refused(machine: Machine) -> None:
    before = machine.files.sddl(r"C:\Users")
    node = Attacked(machine, lambda files: link(files, r"C:\etc", r"C:\Users\eve"))
    outcome = converge(node, *ETC)
    assert len(outcome.failures) == 1
    assert r"C:\etc is a junction or symbolic link" in outcome.failures[0]
    assert machine.files.sddl(r"C:\Users") == before
    assert machine.files.listing(r"C:\Users\eve") == []


def test_a_folder_filled_during_the_run_fails_it_and_the_next_run_clears_it(machine: Machine) -> None:
    node = Attacked(machine, lambda files: plant(files, r"C:\etc\kubernetes\manifests\evil.yaml"))
    outcome = converge(node, *ETC)
    assert "was made meanwhile, and is not empty" in outcome.failures[0]
    settled(DirectNode(machine), *ETC)
    assert not machine.files.exists(r"C:\etc\kubernetes\manifests")


def test_parent_folders_are_protected_if_users_could_replace_them(machine: Machine) -> None:
    # As in Azure's images (Azure/aks-engine#4633): Authenticated Users may modify all of C:\.
    machine.files.set_sddl("C:\\", machine.files.sddl("C:\\") + "(A;OICIIO;0x1301bf;;;AU)(A;;LC;;;AU)")
    machine.files.make_directory(r"C:\etc\kubernetes")
    assert "AU" in machine.files.who_may_write(r"C:\etc\kubernetes")
    settled(DirectNode(machine), *ETC)
    assert machine.files.who_may_write(r"C:\etc\kubernetes") == set()


def test_volumes_of_pods_stay_open(machine: Machine) -> None:
    files, volume = machine.files, r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~empty-dir\x"
    settled(DirectNode(machine), *KUBELET)
    assert files.who_may_write(r"C:\var\lib\kubelet") == set()
    files.make_directory(volume)
    assert files.who_may_write(volume) == {USERS}


def test_volumes_of_pods_that_run_are_open_at_every_moment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    files, volume = machine.files, r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~empty-dir\x"
    files.make_directory(volume)
    seen: list[set[str]] = []
    set_sddl = FileSystem.set_sddl

    def watched(files: FileSystem, path: str, sddl: str) -> None:
        set_sddl(files, path, sddl)
        seen.append(files.who_may_write(volume))

    monkeypatch.setattr(FileSystem, "set_sddl", watched)
    settled(DirectNode(machine), *KUBELET)
    assert seen
    assert all(who == {USERS} for who in seen)


def test_files_of_administrators_stay_in_the_cache(machine: Machine) -> None:
    files, kept = machine.files, r"C:\ProgramData\winkube\cache\kubernetes\1.37.1\node.tar.gz"
    files.make_directory(kept.rpartition("\\")[0])
    files.write_text(kept, "seed")
    outcome = settled(DirectNode(machine), *CACHE)
    assert [text for text in outcome.warnings if "not trusted" in text] == []
    assert files.read_text(kept) == "seed"
    assert files.who_may_write(kept) == set()


def test_files_that_other_users_could_write_are_removed_from_the_cache(machine: Machine) -> None:
    files, kept = machine.files, r"C:\ProgramData\winkube\cache\kubernetes\1.37.1\node.tar.gz"
    files.make_directory(kept.rpartition("\\")[0])
    files.write_text(kept, "seed")
    files.set_sddl(kept, f"D:(A;;0x1301bf;;;{USERS})")
    settled(DirectNode(machine), *CACHE)
    assert not files.exists(kept)


def test_files_that_disappear_during_the_check_are_ignored(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs create temporary files. Only existing items that cannot be read count as others'."""
    files = machine.files
    files.make_directory(r"C:\ProgramData\winkube\cache")
    for name in ("a-passing", "hidden"):
        files.write_text(rf"C:\ProgramData\winkube\cache\{name}", "x")
    sddl = FileSystem.sddl

    def asked(files: FileSystem, path: str, *enabled: t.Collection[str]) -> str:
        if path.endswith("passing") and files.exists(path):
            files.delete(path)
        if path.endswith("hidden") or not files.exists(path):
            raise CmdletError("PermissionDenied", "GetAcl_UnauthorizedAccessException", "unauthorized", "System.X")
        return sddl(files, path, *enabled)

    monkeypatch.setattr(FileSystem, "sddl", asked)
    outcome = converge(DirectNode(machine), *CACHE, check_mode=True)
    (warning,) = [text for text in outcome.warnings if "not trusted" in text]
    assert r"cache\hidden" in warning
    assert "passing" not in warning


def test_a_join_protects_folders_that_older_images_left_unprotected(machine: Machine) -> None:
    machine.files.make_directory(r"C:\etc\kubernetes\manifests")
    joining = join.KubeadmJoin(configuration="token", kubeadm=r"C:\k\kubeadm.exe", timeout=1.0)
    seen = DirectNode(machine).run(Batch(calls=join.calls(joining)))
    assert seen.stopped is not None
    assert seen.stopped.id == "join"
    for path in (r"C:\etc\kubernetes\manifests", r"C:\var\lib\kubelet\pki"):
        assert machine.files.who_may_read(path) | machine.files.who_may_write(path) == set()
    assert machine.files.who_may_write(r"C:\var\lib\kubelet") == {USERS}


def test_whole_drives_and_folders_of_windows_are_left_unchanged() -> None:
    folders = ["D:\\", r"C:\Windows", r"c:\program files\containerd", r"C:\ProgramData", r"D:\logs"]
    assert directory.closed(folders, only_below=r"C:\var\log") == [
        {"type": "Directory", "name": folder} for folder in folders
    ]


def test_two_roles_may_name_a_folder_with_more_or_less_care() -> None:
    (strict,) = directory.closed([r"C:\x"], content="writable")
    for other in (*directory.closed([r"C:\x"]), {"type": "Directory", "name": r"C:\X"}):
        for pair in ([strict, other], [other, strict]):
            (one,) = load(pair)
            assert one.move_aside == "writable"  # type: ignore[attr-defined]
