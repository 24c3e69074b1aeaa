# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""tar.exe: what bsdtar extracts and rejects, and its messages."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from simulator.artifacts import catalog
from simulator.machine.executables import identify, make
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult

DELAYED = "tar: Error exit delayed from previous errors.\n"


def tar(machine: Machine, *arguments: str) -> ProgramResult:
    return machine.programs.run("tar.exe", list(arguments), directory="C:\\")


def put(machine: Machine, name: str, members: dict[str, bytes]) -> str:
    raw = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(raw, "w") as archive:
            for path, content in members.items():
                archive.writestr(path, content)
    else:
        with tarfile.open(fileobj=raw, mode="w:gz") as packed:
            for path, content in members.items():
                header = tarfile.TarInfo(path)
                header.size = len(content)
                packed.addfile(header, io.BytesIO(content))
    machine.files.write_bytes(f"C:\\{name}", raw.getvalue())
    return f"C:\\{name}"


def download(machine: Machine, url: str) -> str:
    content = catalog.content(url)
    assert content is not None
    path = "C:\\" + url.rpartition("/")[2]
    machine.files.write_bytes(path, content)
    return path


def test_an_upstream_archive_is_extracted_with_its_layout(machine: Machine) -> None:
    path = download(machine, "dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz")
    machine.files.make_directory(r"C:\staging")
    assert tar(machine, "-xzf", path, "-C", r"C:\staging") == ProgramResult(0, "", "")
    kubelet = machine.files.read_bytes(r"C:\staging\kubernetes\node\bin\kubelet.exe")
    assert identify(kubelet) == ("kubelet", "1.37.1")
    assert machine.programs.find(r"C:\staging\kubernetes\node\bin\kubelet.exe").identity == "kubelet"


def test_members_and_strip_components(machine: Machine) -> None:
    path = download(machine, "dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz")
    machine.files.make_directory(r"C:\k")
    arguments = (
        "--strip-components=3",
        "-C",
        r"C:\k",
        "kubernetes/node/bin/kubelet.exe",
        "kubernetes/node/bin/kubeadm.exe",
    )
    assert tar(machine, "-xf", path, *arguments).exit_code == 0
    assert [entry.name for entry in machine.files.listing(r"C:\k")] == ["kubeadm.exe", "kubelet.exe"]


def test_a_leading_dot_does_not_count(machine: Machine) -> None:
    path = download(
        machine,
        "github.com/containernetworking/plugins/releases/download/v1.9.0/cni-plugins-windows-amd64-v1.9.0.tgz",
    )
    machine.files.make_directory(r"C:\cni")
    assert tar(machine, "xf", path, "-C", r"C:\cni", "win-overlay.exe", "host-*").exit_code == 0
    assert [entry.name for entry in machine.files.listing(r"C:\cni")] == ["host-local.exe", "win-overlay.exe"]


def test_a_zip_is_an_archive_too(machine: Machine) -> None:
    path = put(machine, "a.zip", {"d/x.txt": b"one", "y.txt": b"two"})
    assert tar(machine, "-tf", path).stdout == "d/x.txt\ny.txt\n"
    machine.files.make_directory(r"C:\out")
    assert tar(machine, "-xf", path, "-C", r"C:\out").exit_code == 0
    assert machine.files.read_bytes(r"C:\out\d\x.txt") == b"one"


def test_a_member_that_is_not_there_is_an_error_and_the_others_are_extracted(machine: Machine) -> None:
    path = put(machine, "a.tgz", {"x.txt": b"one"})
    result = tar(machine, "-xf", path, "x.txt", "none.txt")
    assert result == ProgramResult(1, "", f"tar: none.txt: Not found in archive\n{DELAYED}")
    assert machine.files.read_bytes(r"C:\x.txt") == b"one"


def test_paths_do_not_leave_the_folder(machine: Machine) -> None:
    members = {"../evil.txt": b"1", "a/../../evil2.txt": b"2", "/abs.txt": b"3", "D:/drive.txt": b"4", "good.txt": b"5"}
    path = put(machine, "a.tgz", members)
    machine.files.make_directory(r"C:\deep\out")
    result = tar(machine, "-xf", path, "-C", r"C:\deep\out")
    assert result.exit_code == 1
    assert "tar: ../evil.txt: Path contains '..'\n" in result.stderr
    assert result.stderr.endswith(DELAYED)
    assert [entry.path for entry in machine.files.walk(r"C:\deep") if not entry.is_directory] == [
        r"C:\deep\out\abs.txt",
        r"C:\deep\out\drive.txt",
        r"C:\deep\out\good.txt",
    ]


def test_a_link_out_of_the_folder_is_refused(machine: Machine) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as packed:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../../etc"
        packed.addfile(link)
    machine.files.write_bytes(r"C:\a.tar", raw.getvalue())
    assert tar(machine, "-xf", r"C:\a.tar").exit_code == 1
    assert not machine.files.exists(r"C:\out")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Sign in</html>", "tar: Error opening archive: Unrecognized archive format\n"),
        (b"", "tar: Error opening archive: Unrecognized archive format\n"),
    ],
)
def test_files_other_than_archives_are_refused(machine: Machine, content: bytes, message: str) -> None:
    machine.files.write_bytes(r"C:\a.tgz", content)
    assert tar(machine, "-xf", r"C:\a.tgz") == ProgramResult(1, "", message)


def test_a_truncated_archive_fails(machine: Machine) -> None:
    path = put(machine, "a.tgz", {f"{number}.bin": bytes([number]) * 5000 for number in range(20)})
    machine.files.write_bytes(path, machine.files.read_bytes(path)[:-60])
    result = tar(machine, "-xf", path)
    assert result.exit_code == 1
    assert "Truncated" in result.stderr


def test_archive_and_folder_must_exist(machine: Machine) -> None:
    assert (
        tar(machine, "-xf", r"C:\none.tgz").stderr == r"tar: Error opening archive: Failed to open 'C:\none.tgz'" + "\n"
    )
    path = put(machine, "a.tgz", {"x": b""})
    assert tar(machine, "-xf", path, "-C", r"C:\none").stderr == r"tar: could not chdir to 'C:\none'" + "\n"


def test_usage(machine: Machine) -> None:
    assert "Must specify one of -c, -r, -t, -u, -x" in tar(machine, "-f", "x").stderr
    assert "Option --frobnicate is not supported" in tar(machine, "-x", "--frobnicate").stderr
    assert tar(machine, "-xf").stderr.startswith("tar: Option -f requires an argument\nUsage:\n")
    assert tar(machine, "-xQ").stderr.startswith("Usage:\n")
    assert "Usage" not in tar(machine, "-f", "x").stderr
    assert tar(machine, "--version").stdout.startswith("bsdtar 3.5.2")


def test_a_program_that_runs_as_a_service_is_not_replaced(machine: Machine) -> None:
    machine.files.make_directory(r"C:\bin")
    machine.files.write_bytes(r"C:\bin\x.exe", make("svchost.exe", "1"))
    machine.services.create("x", r"C:\bin\x.exe")
    machine.services.start("x")
    path = put(machine, "a.tgz", {"x.exe": b"new", "y.txt": b"new"})
    result = tar(machine, "-xf", path, "-C", r"C:\bin")
    assert (result.exit_code, machine.files.read_bytes(r"C:\bin\y.txt")) == (1, b"new")
    assert "x.exe: Can't unlink already-existing object: Permission denied" in result.stderr
    machine.services.stop("x")
    assert tar(machine, "-xf", path, "-C", r"C:\bin").exit_code == 0


def test_a_dot_is_an_element_that_can_be_stripped(machine: Machine) -> None:
    path = put(machine, "dots.tgz", {"./bin/a.exe": b"a", "./b.txt": b"b"})
    machine.files.make_directory(r"C:\one")
    machine.files.make_directory(r"C:\two")
    assert tar(machine, "-xf", path, "-C", r"C:\one", "--strip-components", "1").exit_code == 0
    assert machine.files.is_file(r"C:\one\bin\a.exe")
    assert machine.files.is_file(r"C:\one\b.txt")
    assert tar(machine, "-xf", path, "-C", r"C:\two", "--strip-components", "2").exit_code == 0
    assert [entry.name for entry in machine.files.listing(r"C:\two")] == ["a.exe"]


def test_a_full_disk(machine: Machine) -> None:
    path = put(machine, "a.tgz", {"big": bytes(100_000)})
    machine.files.reserved += machine.files.free_space() - 50_000
    result = tar(machine, "-xf", path)
    assert (result.exit_code, "big: Write failed: No space left on device" in result.stderr) == (1, True)


@pytest.mark.parametrize(("arguments", "name"), [(("-czf",), "a.tgz"), (("-caf",), "a.zip"), (("-cf",), "a.tar")])
def test_a_created_archive_can_be_extracted(machine: Machine, arguments: tuple[str, ...], name: str) -> None:
    machine.files.make_directory(r"C:\in\d")
    machine.files.write_text(r"C:\in\d\x.txt", "one")
    assert tar(machine, *arguments, f"C:\\{name}", "-C", r"C:\in", "d") == ProgramResult(0, "", "")
    machine.files.make_directory(r"C:\out")
    assert tar(machine, "-xf", f"C:\\{name}", "-C", r"C:\out").exit_code == 0
    assert machine.files.read_text(r"C:\out\d\x.txt") == "one"


def test_a_file_that_another_holds_is_not_replaced(machine: Machine) -> None:
    path = put(machine, "a.tar.gz", {"held": b"new", "other": b"new"})
    machine.files.make_directory(r"C:\out")
    machine.files.write_text(r"C:\out\held", "old")
    with machine.files.open.hold(r"C:\out\held", "r", "rw"):
        result = tar(machine, "-xf", path, "-C", r"C:\out")
    assert result.exit_code == 1
    assert "held: Can't unlink already-existing object: Permission denied" in result.stderr
    assert machine.files.read_text(r"C:\out\held") == "old"
    assert machine.files.read_text(r"C:\out\other") == "new"


def test_tar_opens_its_output_files_exclusively(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(machine, "a.tar.gz", {"x": b"new"})
    machine.files.make_directory(r"C:\out")
    append, seen = machine.files.append, []

    def watch(*arguments: object) -> None:
        seen.append((machine.files.open.holders(r"C:\out"), machine.files.open.blocks(r"C:\out\x", "r")))
        append(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(machine.files, "append", watch)
    assert tar(machine, "-xf", path, "-C", r"C:\out").exit_code == 0
    assert seen == [(["tar.exe"], True)]
    assert machine.files.open.holders(r"C:\out") == []
