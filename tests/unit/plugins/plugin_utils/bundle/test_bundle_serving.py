# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The responses of a bundle's server: files, parts of them, and errors; authorization and limits."""

from __future__ import annotations

import errno
import os
import pathlib
import socket
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving import nodes, watched
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving.files import BusyError, Files, requested_range
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving.handler import Handler

CONTENT = b"0123456789"
SHA = "ab" * 32
TAG = f'"{SHA}"'


@pytest.fixture
def files(tmp_path: pathlib.Path) -> Files:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a b.exe").write_bytes(CONTENT)
    (tmp_path / "h" / "secret").write_bytes(b"it is not in the index")
    return Files(str(tmp_path), {"h/a b.exe": (len(CONTENT), SHA), "h/gone": (1, SHA)})


class Answer(t.NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(files: Files, path: str = "h/a%20b.exe", method: str = "GET", **headers: str) -> Answer:
    """Return the response to a request with a token."""
    lines = [f"{method} /~token/{path} HTTP/1.1", "Host: h"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Handler(ours, ("\r\n".join(lines) + "\r\n\r\n").encode(), files)
        ours.close()
        data = b"".join(iter(lambda: theirs.recv(65536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("ascii").split("\r\n")
    return Answer(int(first.split()[1]), {line.partition(": ")[0]: line.partition(": ")[2] for line in rest}, body)


def test_a_file_is_sent_completely(files: Files) -> None:
    answer = ask(files)
    assert (answer.status, answer.body) == (200, CONTENT)
    assert {name: answer.headers[name] for name in ("ETag", "Content-Length", "Accept-Ranges")} == {
        "ETag": TAG,
        "Content-Length": "10",
        "Accept-Ranges": "bytes",
    }
    head = ask(files, method="HEAD")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "10")


@pytest.mark.parametrize("path", ["", "h", "h/secret", "../h/secret", "h/../h/secret", "h/gone", "h/a%20b.exe/"])
def test_only_files_of_the_index_are_served(files: Files, path: str) -> None:
    answer = ask(files, path)
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (404, b"", "0")


@pytest.mark.parametrize("change", ["content", "size", "gone"])
def test_a_file_changed_after_verification_is_not_served(files: Files, tmp_path: pathlib.Path, change: str) -> None:
    path = tmp_path / "h" / "a b.exe"
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(CONTENT[::-1] if change == "content" else CONTENT + b"x")
        os.utime(path, (1, 1))
    assert ask(files).status == 404


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_server_without_descriptors_sends_retry_after(
    files: Files, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> t.NoReturn:
        raise OSError(number, "too many open files")

    monkeypatch.setattr(pathlib.Path, "open", refuse)
    answer = ask(files)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    with pytest.raises(BusyError):
        files.open("h/a b.exe")


def test_a_part_of_a_file_is_sent_with_its_range(files: Files) -> None:
    answer = ask(files, Range="bytes=4-6")
    assert (answer.status, answer.body) == (206, b"456")
    assert (answer.headers["Content-Range"], answer.headers["Content-Length"]) == ("bytes 4-6/10", "3")
    beyond = ask(files, Range="bytes=10-")
    assert (beyond.status, beyond.body, beyond.headers["Content-Range"]) == (416, b"", "bytes */10")


@pytest.mark.parametrize(
    ("tag", "status", "body"), [(TAG, 206, CONTENT[4:]), ('"another"', 200, CONTENT), (f"W/{TAG}", 200, CONTENT)]
)
def test_a_download_resumes_only_with_the_same_file(files: Files, tag: str, status: int, body: bytes) -> None:
    answer = ask(files, Range="bytes=4-", If_Range=tag)
    assert (answer.status, answer.body) == (status, body)


def test_an_unchanged_file_is_not_sent_again(files: Files) -> None:
    answer = ask(files, If_None_Match=TAG)
    assert (answer.status, answer.body) == (304, b"")
    assert ask(files, If_None_Match='"another"').status == 200


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-0", range(1)),
        ("bytes=0-", range(10)),
        ("bytes=9-", range(9, 10)),
        ("bytes=9-9", range(9, 10)),
        ("bytes=2-100", range(2, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-100", range(10)),
        ("bytes=-0", range(10, 10)),
        ("bytes=10-", range(10, 10)),
        ("bytes=5-5", range(5, 6)),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=1-2,4-5", None),
        ("lines=1-2", None),
        ("bytes=a-", None),
    ],
)
def test_which_bytes_a_range_asks_for(header: str | None, expected: range | None) -> None:
    found = requested_range(header, 10)
    assert (found is None) == (expected is None)
    assert list(found or ()) == list(expected or ())


@given(st.text("bytes=-0123456789, ", max_size=20), st.integers(0, 50))
def test_no_range_leaves_the_file(header: str, size: int) -> None:
    found = requested_range(header, size)
    assert found is None or 0 <= found.start <= found.stop <= size


def test_each_node_has_a_token_of_its_own_until_it_is_revoked() -> None:
    known = nodes.Nodes({"a": "~1", "b": "~2"})
    assert [known.of(target) for target in ("/~1/h/x", "/~2", "/~3/h/x", "/", "http://[broken/~1")] == [
        *("a", "b", None, None, None)
    ]
    known.revoke([nodes.fingerprint("~1"), "nobody's"])
    assert (known.of("/~1/h/x"), known.of("/~2/h/x")) == (None, "b")


def test_a_burst_of_five_seconds_worth_of_requests_is_allowed() -> None:
    known = nodes.Nodes({})
    assert [known.may_ask("c", 2.0, 100.0) for _ in range(12)] == [True] * 10 + [False] * 2
    # After that as many as the time allows, for each client separately.
    assert [known.may_ask("c", 2.0, 101.0) for _ in range(3)] == [True, True, False]
    assert known.may_ask("d", 2.0, 101.0)
    # No more than that is saved, however long there were no requests.
    assert [known.may_ask("c", 2.0, 9000.0) for _ in range(11)] == [True] * 10 + [False]


def test_a_reused_process_id_is_not_the_same_process() -> None:
    me = os.getpid()
    assert watched.lives(me, watched.birth(me))
    assert watched.lives(me, "")
    assert not watched.lives(me, "12")
    child = os.fork()
    if not child:
        os._exit(0)
    born = watched.birth(child)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    # A zombie counts as ended, and so does an unknown process.
    assert not watched.lives(child, born)
    os.waitpid(child, 0)
    assert not watched.lives(child, born)
