# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Transferring an archive: in pieces, verified, without secrets, and with constant memory."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import random
import tarfile
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traced_memory import peak_memory
from unit.resource_answers import answer, failure

from ansible_collections.winkube.node.plugins.module_utils.redaction import streams
from ansible_collections.winkube.node.plugins.module_utils.redaction.texts import Redaction
from ansible_collections.winkube.node.plugins.plugin_utils.logs import archive as logs_archive
from ansible_collections.winkube.node.plugins.plugin_utils.logs import gathering
from ansible_collections.winkube.node.plugins.plugin_utils.logs.selection import Export, SelectedFile, Selection
from ansible_collections.winkube.node.plugins.plugin_utils.remote import download
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult, Observation, Stopped

MB = 1024 * 1024


class FileNode:
    """A node with one file."""

    name = "win-1"

    def __init__(self, content: t.Callable[[int, int], bytes], size: int) -> None:
        self.content, self.size = content, size
        self.pieces: list[tuple[int, int]] = []

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        assert private, "megabytes of base64 must not be in a log"
        (call,) = calls
        offset, limit = t.cast("int", call.parameters["offset"]), t.cast("int", call.parameters["limit"])
        self.pieces.append((offset, limit))
        data = self.content(offset, max(0, min(limit, self.size - offset)))
        content = base64.b64encode(data).decode()
        return Observation(calls={"piece": answer({"exists": True, "size": self.size, "content": content})})


def of(data: bytes) -> FileNode:
    return FileNode(lambda offset, count: data[offset : offset + count], len(data))


@given(st.binary(max_size=500), st.integers(min_value=1, max_value=200))
def test_any_file_is_collected_completely(data: bytes, piece: int) -> None:
    target = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(download, "PIECE", piece)
        count = download.fetch(of(data), "C:\\x", len(data), hashlib.sha256(data).hexdigest().upper(), target)
    assert target.getvalue() == data
    assert count == -(-len(data) // piece)


@pytest.mark.parametrize(
    ("announced", "why"),
    [
        (b"another file..", "expected SHA-256"),
        (b"the same bytes and more", "expected 23 bytes, got 14"),
    ],
)
def test_a_member_other_than_the_requested_file_is_refused(announced: bytes, why: str) -> None:
    digest = hashlib.sha256(announced).hexdigest()
    with pytest.raises(NodeError, match=why):
        download.fetch(of(b"the same bytes"), "C:\\x", len(announced), digest, io.BytesIO())


def test_a_piece_that_is_longer_than_asked_is_refused() -> None:
    node = FileNode(lambda _offset, _count: bytes(64), 10)
    target = io.BytesIO()
    with pytest.raises(NodeError, match="expected at most 10 bytes, got 64"):
        download.fetch(node, "C:\\x", 10, "0" * 64, target)
    assert target.getvalue() == b""


def test_a_file_that_is_gone_is_an_error_that_names_the_node() -> None:
    class Gone(FileNode):
        def observe(self, *_: t.Any, **__: t.Any) -> Observation:
            return Observation(calls={"piece": failure("NotSpecified", "x", "no")})

    node = Gone(lambda *_: b"", 5)
    with pytest.raises(NodeError, match=r"win-1: download C:\\x, 0%: no"):
        download.fetch(node, "C:\\x", 5, "0" * 64, io.BytesIO())


class Nothing(io.RawIOBase):
    """A file that discards its data."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: t.Any) -> int:
        self.size += len(data)
        return len(data)


def test_memory_does_not_grow_with_the_file() -> None:
    size = 200 * MB

    def content(offset: int, count: int) -> bytes:
        return bytes(count)

    digest = hashlib.sha256()
    for _ in range(200):
        digest.update(bytes(MB))
    target = t.cast("t.BinaryIO", Nothing())
    peak = peak_memory(lambda: download.fetch(FileNode(content, size), "C:\\x", size, digest.hexdigest(), target))
    assert peak < 10 * download.PIECE


def tar(**members: bytes) -> io.BytesIO:
    """Return a tar.gz like bsdtar creates it for a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        folder = tarfile.TarInfo("./")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in members.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    file.seek(0)
    return file


def kept(
    source: t.BinaryIO, members: t.Mapping[str, str], limit: int = 100 * MB, **documents: t.Any
) -> tuple[logs_archive.ArchiveContent, dict[str, bytes]]:
    target = io.BytesIO()
    reported = logs_archive.write(
        source,
        target,
        folder="win-1",
        members=members,
        documents=lambda _: documents,
        redaction=Redaction(["Passw0rd!"]),
        limit=limit,
    )
    target.seek(0)
    with tarfile.open(fileobj=target) as archive:
        found = {member.name: (archive.extractfile(member) or io.BytesIO()).read() for member in archive}
        assert {member.mode for member in archive} <= {0o600}
    return reported, found


def test_members_get_their_names_and_lose_their_secrets() -> None:
    event_log = b"ElfFile\0" + "password=geheim".encode("utf-16-le")
    reported, found = kept(
        tar(f00000=b"token: geheim\nok\n", e00000=event_log, f00001="pw: Passw0rd!\n".encode("utf-16"), other=b"x"),
        {"f00000": "files/a.log", "e00000": "event-logs/System.evtx", "f00001": "files/b.log"},
        **{"facts/x.json": {"password": "geheim", "a": [1]}, "commands/x.txt": "said Passw0rd!\n"},
    )
    assert found.pop("win-1/event-logs/System.evtx") == event_log
    assert json.loads(found.pop("win-1/facts/x.json")) == {"password": "***", "a": [1]}
    assert found == {
        "win-1/files/a.log": b"token: ***\nok\n",
        "win-1/files/b.log": b"pw: ***\n",
        "win-1/commands/x.txt": b"said ***\n",
    }
    assert reported.members["files/a.log"] == len(b"token: ***\nok\n")


def test_binary_files_are_left_out_and_reported() -> None:
    reported, found = kept(tar(f00000=b"\0\1\2" * 100), {"f00000": "files/a.log"})
    assert (reported.not_texts, found) == (("files/a.log",), {})
    # Unlike the exported logs, an event log that a user names may contain command lines with secrets.
    event_log = b"ElfFile\0" + "password=geheim".encode("utf-16-le")
    reported, found = kept(tar(f00000=event_log), {"f00000": "files/paths/D/logs/Security.evtx"})
    assert (reported.not_texts, found) == (("files/paths/D/logs/Security.evtx",), {})


def test_links_and_unrequested_names_are_ignored() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        link = tarfile.TarInfo("f00000")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("../../etc/cron.d/x"))
    file.seek(0)
    assert kept(file, {"f00000": "files/a.log"})[1] == {}


@pytest.mark.parametrize(
    "name",
    [
        "facts/../../.bashrc.json",
        "commands/../../../../tmp/pwned.txt",
        "/etc/cron.d/x",
        "facts//x",
        "facts/./x",
        "..",
        "facts/..",
        "C:/x",
        "a:stream",
        "facts\\..\\x",
        "\x1b[31mred",
        "a\nb",
        "del\x7f",
        "",
    ],
)
def test_a_name_that_leads_out_of_the_archive_is_refused(name: str) -> None:
    with pytest.raises(logs_archive.ArchiveError, match="expected a name that stays in the archive's folder"):
        kept(tar(), {}, **{name: "x"})


def test_a_small_archive_that_becomes_a_large_one_is_refused() -> None:
    source = tar(f00000=bytes(8 * MB).replace(b"\0", b"x"))
    assert len(source.getvalue()) < 20_000
    with pytest.raises(logs_archive.ArchiveError, match=f"expected at most {MB} bytes"):
        kept(source, {"f00000": "files/a.log"}, limit=MB)


def test_sparse_files_are_ignored() -> None:
    """Its holes expand to zeros, which no limit on the input would stop."""
    with tarfile.open(fileobj=(file := io.BytesIO()), mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("f00000")
        info.pax_headers = {
            "GNU.sparse.major": "0",
            "GNU.sparse.minor": "1",
            "GNU.sparse.size": str(10**15),
            "GNU.sparse.map": "0,4",
        }
        info.size = 4
        archive.addfile(info, io.BytesIO(b"text"))
    file.seek(0)
    assert kept(file, {"f00000": "files/a.log"})[1] == {}


def test_large_members_are_written_to_a_file_next_to_the_archive(
    tmp_path: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[t.Any] = []
    spooled = logs_archive.tempfile.SpooledTemporaryFile
    monkeypatch.setattr(
        logs_archive.tempfile,
        "SpooledTemporaryFile",
        lambda *arguments, **keywords: (folders.append(keywords.get("dir")), spooled(*arguments, **keywords))[1],
    )
    logs_archive.write(
        tar(f00000=b"a\n", f00001=b"b\n"),
        io.BytesIO(),
        folder="w",
        members={"f00000": "a", "f00001": "b"},
        documents=lambda _: {},
        redaction=Redaction(),
        limit=MB,
        temporary=tmp_path,
    )
    # One copy of each file.
    assert folders == [str(tmp_path), str(tmp_path)]


@pytest.mark.parametrize("length", [0, 100, -30_000])
def test_a_damaged_archive_is_one_error(length: int) -> None:
    whole = tar(f00000=random.Random(1).randbytes(40_000).hex().encode()).getvalue()
    damaged = b"no gzip" * 20 if not length else whole[:length] + bytes(600)
    with pytest.raises(logs_archive.ArchiveError):
        kept(io.BytesIO(damaged), {"f00000": "files/a.log"})


def test_memory_does_not_grow_with_the_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"I1121 14:00:00.123456 kubelet.go:2345] SyncLoop pods=kube-system/kube-proxy\n" * 100_000
    source = tar(f00000=data)
    monkeypatch.setattr(streams, "_BLOCK", 64 * 1024)
    monkeypatch.setattr(logs_archive, "_IN_MEMORY", 64 * 1024)
    monkeypatch.setattr(logs_archive, "_COPY", 64 * 1024)

    def write() -> None:
        reported = logs_archive.write(
            source,
            t.cast("t.BinaryIO", Nothing()),
            folder="w",
            members={"f00000": "a.log"},
            documents=lambda _: {},
            redaction=Redaction(),
            limit=100 * MB,
        )
        assert reported.members == {"a.log": len(data)}

    assert peak_memory(write) < 2 * MB < len(data) / 3


SELECTION = Selection(
    files=(
        SelectedFile(source="kubelet", path="C:\\a.log", member="files/a", tail=9, expected=9, seen=True),
        SelectedFile(source="kubelet", path="C:\\b.log", member="files/b", tail=9, expected=9, seen=False),
        SelectedFile(source="kubelet", path="C:\\c.log", member="files/c", tail=9, expected=9, seen=True),
    ),
    exports=(
        Export(channel="System", member="event-logs/System.evtx", query="*", expected=9),
        Export(channel="Setup", member="event-logs/Setup.evtx", query="*", expected=9),
    ),
    left_out=(),
)


def gathered(**calls: CallResult) -> gathering.GatherResult:
    copies = [
        {"path": "C:\\a.log", "size": 20, "copied": 9, "error": None},
        {"path": "C:\\b.log", "size": None, "copied": 0, "error": "Die Datei wurde nicht gefunden."},
        {"path": "C:\\c.log", "size": None, "copied": 0, "error": "Access is denied."},
    ]
    answers = {
        "copies": answer(*copies),
        "export.0": answer(),
        "export.1": CallResult.from_wire(
            {"ok": False, "exit_code": 5, "stderr": "Access\r\nis denied.\r\n", "error": {}}
        ),
        "version.kubelet": CallResult.from_wire({"ok": True, "exit_code": 0, "stdout": "Kubernetes v1.34.2\r\n"}),
        "archive": answer({"exists": True, "size": 77, "sha256": "AB"}),
        **calls,
    }
    return gathering.read(Observation(calls=answers), SELECTION)


def test_the_archive_lists_collected_and_missing_files() -> None:
    found = gathered()
    assert found.members == {"f00000": "files/a", "e00000.evtx": "event-logs/System.evtx"}
    assert found.sizes == {"files/a": (20, 9)}
    assert found.versions == {"kubelet": "Kubernetes v1.34.2"}
    # A file that is only in the command line of a service may be missing.
    assert found.problems == ("C:\\c.log: Access is denied.", "event log Setup: Access is denied.")


def test_limits_apply_to_the_selected_files() -> None:
    assert SELECTION.most < 10 * MB
    with pytest.raises(ValueError, match=f"expected at most {SELECTION.most} bytes for the selected logs"):
        gathered(archive=answer({"exists": True, "size": 10**15, "sha256": "AB"}))


def test_no_source_is_taken_twice_over_its_limit() -> None:
    files = [dataclasses.replace(SELECTION.files[0], tail=50 * MB - number) for number in range(250)]
    assert Selection(files=tuple(files), exports=(), left_out=()).most < 103 * MB


def test_versions_are_of_our_services_only() -> None:
    evil = CallResult.from_wire({"ok": True, "exit_code": 0, "stdout": "x"})
    assert gathered(**{"version.../../evil": evil}).versions == {"kubelet": "Kubernetes v1.34.2"}


def test_a_stopped_batch_is_reported_with_its_call_and_reason() -> None:
    pack = {"ok": False, "exit_code": 1, "stderr": "tar: Write error\n", "error": {"message": "tar.exe ended with 1"}}
    seen = Observation(calls={"pack": CallResult.from_wire(pack)}, stopped=Stopped(id="pack", reason="error"))
    with pytest.raises(ValueError, match=r"pack: tar.exe ended with 1 \(tar: Write error\)"):
        gathering.read(seen, SELECTION)
