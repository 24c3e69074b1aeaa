# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Archives: unpacked once, repaired when broken, with services stopped only while files are replaced."""

from __future__ import annotations

import json
import typing as t

import pytest
from unit.resource_answers import answer, call, commands, file, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult

ARCHIVE = "C:\\cache\\kubernetes-node.tar.gz"
RECORD = "C:\\k\\.winkube-archive"


def archive(**more: t.Any) -> t.Any:
    return one(**{"type": "Archive", "name": "C:\\k", "path": ARCHIVE, **more})


KUBELET = {
    "members": ["kubernetes/node/bin/kubelet.exe"],
    "strip_components": 3,
    "check": ["kubelet.exe"],
    "stops": ["kubelet"],
}


class Disk:
    """The files of a node, which the verbs of a change modify as in docs/wire.md. tar.exe unpacks one file."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {ARCHIVE: "archive 1"}
        self.unpacks = {"kubelet.exe": "kubelet 1"}
        self.processes: list[dict[str, t.Any]] = []

    def seen(self, resource: t.Any) -> dict[str, t.Any]:
        return {each.id: answer(*self._answer(each)) for each in resource.observe()}

    def _answer(self, question: Call) -> t.Iterable[dict[str, t.Any]]:
        if question.command == "Get-Process":
            return self.processes
        if question.command == "Get-ChildItem":
            folder = f"{question.parameters['LiteralPath']}\\"
            return [{"FullName": name} for name in self.files if name.startswith(folder) and name.endswith(".old")]
        return map(self._read, t.cast("list[str]", question.parameters["paths"]))

    def _read(self, path: str) -> dict[str, t.Any]:
        if any(name.startswith(path + "\\") for name in self.files):
            return {"path": path, "exists": True, "type": "directory"}
        return file(path, self.files.get(path))

    def apply(self, change: Change, stop_before: str = "") -> None:
        objects: dict[str, list[dict[str, t.Any]]] = {}
        for each in change.calls:
            if each.id == stop_before:
                return
            parameters = dict(each.parameters)
            if each.input and each.input.parameter and each.input.property:
                parameters[each.input.parameter] = objects.get(each.input.calls[0], [{}])[0].get(each.input.property)
            if each.command == "@read-file":
                objects[each.id] = [self._read(path) for path in parameters["paths"]]
                assert any(item.get("type") == each.until["type"] for item in objects[each.id])
            elif each.command == "@write-file":
                self.files[parameters["path"]] = parameters["content"]
            elif each.command == "Remove-Item":
                self._remove(parameters["LiteralPath"])
            elif each.command == "@move-path":
                self._move(parameters["path"], parameters["destination"])
            elif each.command == "tar.exe" and each.arguments[0] == "-tf":
                # Names that lead out of the folder are searched for, and there are none.
                assert each.success_codes == (1,)
            elif each.command == "tar.exe":
                target = each.arguments[each.arguments.index("-C") + 1]
                self.files |= {f"{target}\\{name}": content for name, content in self.unpacks.items()}

    def _remove(self, path: str) -> None:
        self.files = {
            name: content for name, content in self.files.items() if not (name + "\\").startswith(path + "\\")
        }

    def _move(self, path: str, destination: str) -> None:
        moved = {name: content for name, content in self.files.items() if (name + "\\").startswith(path + "\\")}
        assert moved
        self._remove(destination)
        self._remove(path)
        self.files |= {destination + name[len(path) :]: content for name, content in moved.items()}


MODES = [{"check": ["kubelet.exe"]}, {"exclusive": True, "check": ["kubelet.exe"]}, KUBELET]


@pytest.mark.parametrize("mode", MODES)
def test_unpacked_once(mode: dict[str, t.Any]) -> None:
    disk, resource = Disk(), archive(**mode)
    change = must(resource, **disk.seen(resource))
    assert change.why == "was not unpacked"
    disk.apply(change)
    assert disk.files["C:\\k\\kubelet.exe"] == "kubelet 1"
    assert not [name for name in disk.files if "unpack" in name]
    assert planned(resource, **disk.seen(resource)) is None
    # The cache may be cleaned up.
    del disk.files[ARCHIVE]
    assert planned(resource, **disk.seen(resource)) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_breaks_anywhere_is_repaired_by_the_next(mode: dict[str, t.Any]) -> None:
    resource = archive(**mode)
    first = must(resource, **Disk().seen(resource))
    for broken_at in [each.id for each in first.calls]:
        disk = Disk()
        disk.apply(first, stop_before=broken_at)
        disk.apply(must(resource, **disk.seen(resource)))
        assert planned(resource, **disk.seen(resource)) is None
        # An update that breaks at the same point, with half of a file written.
        disk.files[ARCHIVE] = "archive 2"
        disk.unpacks = {"kubelet.exe": "kubelet 2"}
        disk.apply(must(resource, **disk.seen(resource)), stop_before=broken_at)
        disk.apply(must(resource, **disk.seen(resource)))
        assert disk.files["C:\\k\\kubelet.exe"] == "kubelet 2"
        assert planned(resource, **disk.seen(resource)) is None


def test_a_changed_file_is_put_back() -> None:
    disk, resource = Disk(), archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    disk.files["C:\\k\\kubelet.exe"] = "somebody's"
    change = must(resource, **disk.seen(resource))
    assert change.why == "changed files is C:\\k\\kubelet.exe, expected empty"
    disk.apply(change)
    assert disk.files["C:\\k\\kubelet.exe"] == "kubelet 1"


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"path": "C:\\cache\\other.zip"}, "path"),
        ({"members": ["kubernetes/node/bin/kubeadm.exe"]}, "members"),
        ({"sha256": "0" * 64}, "sha256"),
    ],
)
def test_another_archive_or_selection_is_unpacked_again(more: dict[str, t.Any], key: str) -> None:
    disk, resource = Disk(), archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    other = archive(**{**KUBELET, **more})
    assert list(must(other, **disk.seen(other)).after) == [key]


def test_other_files_in_a_shared_folder_are_left_alone() -> None:
    disk = Disk()
    disk.files |= {"C:\\k\\config.toml": "mine", "C:\\k\\kubelet.exe": "old"}
    resource = archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    assert (disk.files["C:\\k\\config.toml"], disk.files["C:\\k\\kubelet.exe"]) == ("mine", "kubelet 1")


def test_an_exclusive_folder_contains_nothing_else() -> None:
    disk = Disk()
    disk.files["C:\\k\\stale.dll"] = "old"
    resource = archive(exclusive=True)
    disk.apply(must(resource, **disk.seen(resource)))
    assert "C:\\k\\stale.dll" not in disk.files


def test_services_are_stopped_only_while_files_are_replaced() -> None:
    resource = archive(**{**KUBELET, "stops": ["kubelet", "containerd"]})
    change = must(resource, **Disk().seen(resource))
    names = commands(change)
    assert (
        names.index("tar.exe") < names.index("Stop-Service") < names.index("@move-path") < names.index("Start-Service")
    )
    stop, start = call(change, "stop-0"), call(change, "start-0")
    assert stop.to_wire()["input"] == {
        "from": ["service-0"],
        "where": {"Status": "Running"},
        "parameter": "Name",
        "property": "Name",
    }
    assert start.input == stop.input
    assert start.always
    order = [each.id for each in change.calls if each.command in ("Stop-Service", "Start-Service")]
    assert order == ["stop-0", "stop-1", "start-1", "start-0"]
    # Which services ran must be known before the first one is stopped, because that also stops its dependents.
    assert max(i for i, name in enumerate(names) if name == "Get-Service") < names.index("Stop-Service")


def test_members_are_passed_to_tar_with_their_names_in_the_archive() -> None:
    change = must(archive(**KUBELET), **Disk().seen(archive(**KUBELET)))
    assert call(change, "unpack").arguments == (
        "-xf",
        ARCHIVE,
        "-C",
        f"{RECORD}.unpack",
        "--strip-components=3",
        "--",
        "kubernetes/node/bin/kubelet.exe",
    )


def test_a_member_may_get_another_name() -> None:
    resource = one(
        type="Archive",
        name="flannel's CNI plugin",
        destination="C:\\opt\\cni\\bin",
        path="C:\\cache\\flannel.tar.gz",
        members=["flannel-amd64.exe"],
        renames={"flannel-amd64.exe": "flannel.exe"},
        check=["flannel.exe"],
    )
    change = must(resource, **Disk().seen(resource))
    assert call(change, "move-0").parameters["destination"] == "C:\\opt\\cni\\bin\\flannel.exe"
    assert resource.record == "C:\\opt\\cni\\bin\\.winkube-archive-flannel_s_CNI_plugin"


def test_a_program_alone_is_copied() -> None:
    given = {"type": "Archive", "name": "C:\\opt\\flannel", "path": "C:\\cache\\flanneld.exe"}
    resource = one(**given, members=["flanneld.exe"], check=["flanneld.exe"])
    change = must(resource, **Disk().seen(resource))
    copied = "C:\\opt\\flannel\\.winkube-archive.unpack\\flanneld.exe"
    assert call(change, "unpack").command == "Copy-Item"
    assert call(change, "unpack").parameters == {"LiteralPath": given["path"], "Destination": copied}
    assert call(change, "move-0").parameters["path"] == copied
    assert not [each for each in change.calls if each.command == "tar.exe"]
    for wrong in ({}, {"members": ["a.exe", "b.exe"]}, {"members": ["b/a.exe"], "strip_components": 1}):
        with pytest.raises(ResourceError, match="members"):
            one(**given, **wrong)


def test_a_record_that_is_not_json_is_ignored() -> None:
    disk, resource = Disk(), archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    assert json.loads(disk.files[f"{RECORD}\\archive.json"])["path"] == ARCHIVE
    disk.files[f"{RECORD}\\archive.json"] = '["x'
    assert must(resource, **disk.seen(resource)).why == "was unpacked only in part"


@pytest.mark.parametrize(
    "properties",
    [
        {"path": "C:\\a.rar"},
        {"name": "C:\\"},
        {"members": ["../x"]},
        {"members": ["C:\\x"]},
        {"members": ["bin/x"], "strip_components": 2},
        {"members": ["x"], "exclusive": True},
        {"check": ["..\\x"]},
        {"renames": {"x": "y"}},
        {"members": ["x"], "renames": {"x": "..\\y"}},
        {"strip_components": -1},
    ],
)
def test_invalid_archives_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        archive(**properties)


RENAMED = f"C:\\k\\kubelet.exe.20261121150000-{'0' * 32}.old"


@pytest.mark.parametrize(
    ("processes", "removed"),
    [
        ([], True),
        ([("kubelet", "2026-11-21T15:00:01.1234567Z")], True),
        ([("Kubelet", "2026-11-21T14:59:59.9Z")], False),
        ([("kubelet", "2026-11-21T15:00:01Z"), ("kubelet", "2026-11-20T23:00:00Z")], False),
        ([("kubelet", None)], False),
    ],
)
def test_a_replaced_executable_is_deleted_when_no_process_runs_it(
    processes: list[tuple[str, str | None]], removed: bool
) -> None:
    disk, resource = Disk(), archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    others = {"C:\\k\\other.exe.old": "", f"C:\\k\\other.exe.20261121150000-{'0' * 32}.old": ""}
    disk.files |= {RENAMED: "", **others}
    disk.processes = [{"ProcessName": name, "StartTime": start} for name, start in processes]
    change = planned(resource, **disk.seen(resource))
    assert (change is not None) is removed
    if change is not None:
        assert commands(change) == ["Remove-Item"]
        disk.apply(change)
    assert (RENAMED not in disk.files) is removed
    assert set(others) <= set(disk.files)


def test_renamed_files_are_deleted_before_the_next_replacement() -> None:
    disk, resource = Disk(), archive(**KUBELET)
    disk.apply(must(resource, **disk.seen(resource)))
    disk.files |= {RENAMED: "", ARCHIVE: "archive 2"}
    change = must(resource, **disk.seen(resource))
    assert commands(change)[0] == "Remove-Item"
    disk.apply(change)
    assert RENAMED not in disk.files
    assert planned(resource, **disk.seen(resource)) is None


def test_an_archive_that_leads_out_of_its_folder_is_refused_before_anything_is_unpacked() -> None:
    resource = archive(exclusive=True)
    change = must(resource, **Disk().seen(resource))
    listings = [each for each in change.calls if each.arguments[:1] == ("-tf",)]
    assert listings
    assert change.calls.index(listings[-1]) < [each.id for each in change.calls].index("unpack")
    reported = resource.explain(listings[0].id, CallResult(ok=False, exit_code=0, stdout="../../evil.exe\r\n"))
    assert reported == "the archive contains names that lead outside its target folder: ../../evil.exe"
    assert resource.explain("unpack", CallResult(ok=False, exit_code=1)) is None
