# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The verbs of the module itself, such as @read-file: files, registry, environment, ports."""

from __future__ import annotations

import base64
import hashlib
import socket
from typing import Any

import pytest
from simulator_tests.batches import observe

from simulator.machine.session import Session

pytestmark = pytest.mark.waits


def one(session: Session, verb: str, **parameters: object) -> dict[str, Any]:
    """Run one verb, and return its result; `first` is the first object of its output."""
    selected = [
        "path",
        "exists",
        "type",
        "size",
        "sha256",
        "content",
        "sddl",
        "link",
        "name",
        "key_exists",
        "value",
        "kind",
        "values",
        "subkeys",
        "open",
        "free",
        "total",
        "destination",
        "algorithm",
        "expected",
        "copied",
        "error",
    ]
    call = {"id": "a", "command": verb, "parameters": parameters, "select": selected, "on_error": "continue"}
    result: dict[str, Any] = observe(session, call)["calls"]["a"]
    return result | {"first": result["output"][0] if result.get("output") else None}


def test_files_by_verb(session: Session) -> None:
    requested = hashlib.sha256(b"hello").hexdigest()
    closed = "D:P(A;;FA;;;SY)(A;;FA;;;BA)"
    written = one(session, "@write-file", path=r"C:\k\a\x.txt", content="hello", sddl=closed)["first"]
    assert (written["sha256"], written["size"]) == (requested, 5)
    looked = one(session, "@read-file", paths=[r"c:\K\A\X.TXT"], hash=True, content=True, acl=True)["first"]
    assert (looked["exists"], looked["type"], looked["content"]) == (True, "file", "hello")
    assert (looked["sddl"], looked["link"], looked["sha256"]) == (
        "O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)",
        None,
        requested,
    )
    missing = one(session, "@read-file", paths=[r"C:\nope"], hash=True)["first"]
    assert (missing["exists"], missing["type"], missing["sha256"]) == (False, None, None)
    one(session, "@write-file", path=r"C:\k\b", content="AAEC", encoding="base64")
    assert session.machine.files.read_bytes(r"C:\k\b") == b"\0\1\2"
    assert (
        one(session, "@write-file", path=r"C:\k\b", content="!", encoding="base64")["error"]["id"] == "FormatException"
    )
    assert one(session, "@set-acl", path=r"C:\k\b", sddl="D:P(A;;FA;;;BA)")["ok"]
    assert session.machine.files.sddl(r"C:\k\b") == "O:BAG:SYD:PAI(A;;FA;;;BA)"
    one(session, "@write-file", path=r"C:\new\f", content="new")
    assert one(session, "@move-path", path=r"C:\new", destination=r"C:\k")["ok"]
    assert [entry.name for entry in session.machine.files.listing(r"C:\k")] == ["f"]
    space = one(session, "@free-space", path="C:\\")["first"]
    assert 0 < space["free"] < space["total"]


def test_full_disk_by_verb(session: Session) -> None:
    session.machine.files.reserved = session.machine.files.capacity
    error = one(session, "@write-file", path=r"C:\x", content="x" * 100)["error"]
    assert (error["category"], error["id"]) == ("WriteError", "IOException")
    assert "not enough space" in error["message"]


def test_commit_of_downloads(session: Session) -> None:
    files, good = session.machine.files, hashlib.sha256(b"data").hexdigest()

    def download() -> None:
        files.make_directory(r"C:\d")
        files.write_bytes(r"C:\d\x.part", b"data")

    download()
    done = one(session, "@commit-file", path=r"C:\d\x.part", destination=r"C:\d\sub\x.zip", sha256=good.upper())[
        "first"
    ]
    assert (done["sha256"], done["algorithm"], done["expected"]) == (good, "SHA256", good)
    assert files.read_bytes(r"C:\d\sub\x.zip") == b"data"
    download()
    wrong = one(session, "@commit-file", path=r"C:\d\x.part", destination=r"C:\d\y.zip", sha256="0" * 64)["error"]
    assert wrong["id"] == "ChecksumMismatch"
    assert good in wrong["message"]
    assert "0" * 64 in wrong["message"]
    assert not files.exists(r"C:\d\x.part")
    assert not files.exists(r"C:\d\y.zip")
    download()
    lines = f"{'1' * 128}  other.zip\n{hashlib.sha512(b'data').hexdigest()} *dir/x.zip\n"
    files.write_text(r"C:\d\sums", lines)
    named = {"checksum_path": r"C:\d\sums", "checksum_name": "x.zip", "algorithm": "SHA512"}
    assert one(session, "@commit-file", path=r"C:\d\x.part", destination=r"C:\d\y.zip", **named)["ok"]
    download()
    files.write_text(r"C:\d\sums", good.upper() + "\r\n")
    bare = {"checksum_path": r"C:\d\sums", "checksum_name": "x.zip"}
    assert one(session, "@commit-file", path=r"C:\d\x.part", destination=r"C:\d\z.zip", **bare)["ok"]


def test_registry_by_verb(session: Session) -> None:
    path = r"HKLM:\SOFTWARE\Demo"
    session.machine.registry.set(path, "A", "%X%", "ExpandString")
    session.machine.registry.create_key(path + "\\Sub")
    value = one(session, "@read-registry", values=[{"path": path, "name": "a"}])["first"]
    assert (value["exists"], value["value"], value["kind"]) == (True, "%X%", "ExpandString")
    key = one(session, "@read-registry", values=[{"path": path}])["first"]
    assert key["values"] == {"A": {"value": "%X%", "kind": "ExpandString"}}
    assert key["subkeys"] == ["Sub"]
    gone = one(session, "@read-registry", values=[{"path": path + "\\x", "name": "a"}])["first"]
    assert (gone["exists"], gone["key_exists"], gone["value"]) == (False, False, None)


def test_environment_by_verb(session: Session) -> None:
    assert one(session, "@set-environment", name="DEMO", value=r"%SystemRoot%\x", kind="ExpandString")["ok"]
    assert session.machine.environment()["DEMO"] == r"C:\Windows\x"
    one(session, "@set-environment", name="demo", value=None)
    assert "DEMO" not in session.machine.environment()


def test_waiting_for_a_port(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert one(session, "@wait-port", host="127.0.0.1", port=port, timeout=2)["first"]["open"]
    assert not one(session, "@wait-port", host="127.0.0.1", port=port, timeout=0.2)["first"]["open"]


def test_a_file_in_pieces(session: Session) -> None:
    content = bytes(range(256)) * 4
    session.machine.files.write_bytes(r"C:\b.bin", content)
    pieces = []
    for offset in (0, 1000, 2000, 9999):
        asked = {"paths": [r"C:\b.bin"], "content": True, "encoding": "base64", "offset": offset, "limit": 1000}
        pieces.append(base64.b64decode(one(session, "@read-file", **asked)["first"]["content"]))
    assert pieces == [content[:1000], content[1000:], b"", b""]
    text = one(session, "@read-file", paths=[r"C:\b.bin"], content=True, offset=65, limit=3)["first"]["content"]
    assert text == "ABC"


def test_copies_of_what_is_being_written(session: Session) -> None:
    files = session.machine.files
    files.write_bytes(r"C:\a.log", b"old new")
    requested = [
        {"path": r"C:\a.log", "destination": r"C:\copies\1"},
        {"path": r"C:\none.log", "destination": r"C:\copies\2"},
        {"path": r"C:\a.log", "destination": r"C:\copies\3", "tail": 3},
        {"path": r"C:\a.log", "destination": r"C:\copies\4", "tail": 300},
    ]
    result = one(session, "@copy-file", files=requested)
    assert result["ok"]
    assert [(item["size"], item["copied"], bool(item["error"])) for item in result["output"]] == [
        (7, 7, False), (None, 0, True), (7, 3, False), (7, 7, False)
    ]  # fmt: skip
    assert files.read_bytes(r"C:\copies\1") == files.read_bytes(r"C:\copies\4") == b"old new"
    assert files.read_bytes(r"C:\copies\3") == b"new"
