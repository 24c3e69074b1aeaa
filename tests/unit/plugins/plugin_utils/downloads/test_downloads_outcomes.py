# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The calls of downloads, and parsing their results, as tables that are compared with golden files."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit import outcomes
from unit.resource_answers import answer, failure

from ansible_collections.winkube.node.plugins.module_utils.redaction.urls import carries_secret, redact_url
from ansible_collections.winkube.node.plugins.plugin_utils.downloads import archive_members, attempts, checksums, curl
from ansible_collections.winkube.node.plugins.plugin_utils.downloads.attempts import Download, DownloadSource
from ansible_collections.winkube.node.plugins.plugin_utils.downloads.curl import DownloadRoute
from ansible_collections.winkube.node.plugins.plugin_utils.downloads.curl_errors import describe_curl_error
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult

TOKEN = f"~{'aZ-_' * 8}"
FIRST = DownloadSource(url="https://user:pass@one.example/tool.zip?sig=1")
SECOND = DownloadSource(
    url="https://two.example/tool.zip",
    checksum_url="https://two.example/tool.zip.sha256",
    route=DownloadRoute(proxy="http://proxy.example:3128", no_proxy=("localhost",)),
)
FULL = DownloadRoute(
    proxy="http://proxy.example:3128",
    no_proxy=("localhost", "10.0.0.0/8"),
    headers={"X-Key": "key"},
    ignore_revocation=True,
    limit_rate="2M",
)


def download(*places: DownloadSource, name: str = "tool.zip", **more: t.Any) -> Download:
    given: dict[str, t.Any] = {"commit": {"sha256": 64 * "a"}, "verified": True, **more}
    return Download(path=f"C:\\cache\\{name}", sources=places, **given)


def test_the_calls_of_a_download() -> None:
    both = {"first": download(FIRST), "two sources": download(FIRST, SECOND)}
    unverified: dict[str, t.Any] = {"commit": {}, "verified": False}
    expected = {
        **both,
        "unverified": download(SECOND, **unverified),
        "unverified tar.gz": download(FIRST, name="tool.TAR.GZ", **unverified),
        "unverified tgz": download(FIRST, name="tool.tgz", **unverified),
        "unverified exe": download(FIRST, name="tool.exe", **unverified),
        "unverified text": download(FIRST, name="tool.txt", **unverified),
        "tar.gz": download(FIRST, name="tool.tar.gz"),
        "tar": download(FIRST, name="tool.tar"),
        "msi": download(FIRST, name="setup.msi"),
        "text": download(SECOND, name="tool.txt"),
        "all options": download(
            *(FIRST, SECOND),
            manifest={"kind": "tool", "source": "replaced"},
            timeout=60.0,
            parallel=4,
            secret=True,
            version=(7, 66),
        ),
    }
    found = {name: outcomes.calls(attempts.calls(one, broken=False)) for name, one in expected.items()}
    found |= {f"{name}, broken": outcomes.calls(attempts.calls(one, broken=True)) for name, one in both.items()}
    again = attempts.calls(expected["unverified"], broken=True)
    outcomes.check("downloads/calls", {**found, "unverified, broken": outcomes.calls(again)})


def test_the_size_of_a_download() -> None:
    third = DownloadSource(url="https://three.example/tool.zip")
    asked = attempts.space(download(SECOND, FIRST, third, version=(8, 9)), present=100)
    probe = asked.probe
    assert probe is not None
    sized = answer(stdout="HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/1000\r\n\r\n")
    small = answer(stdout="HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
    read = {
        "the first": probe.size({"size-0": sized, "size-1": small}),
        "the second": probe.size({"size-0": failure("x", "y"), "size-1": sized}),
        "less than what is there": probe.size({"size-0": small}),
        "none": probe.size({"size-0": answer(stdout="HTTP/1.1 200 OK\r\n\r\n"), "size-1": answer()}),
        "no answer": probe.size({}),
    }
    outcomes.check(
        "downloads/size",
        {"path": asked.path, "size": str(asked.size), "ask": outcomes.calls(probe.calls), "read": read},
    )


def ended(exit_code: int, stdout: str = "", stderr: str = "") -> CallResult:
    error = {"category": "", "id": "", "message": f"exit code {exit_code}"} if exit_code else None
    return CallResult.from_wire(
        {"ok": not exit_code, "exit_code": exit_code, "stdout": stdout, "stderr": stderr, "error": error}
    )


OK = answer({"sha256": 64 * "a", "size": 5, "expected": None})
WRONG = failure("InvalidData", "ChecksumMismatch", "the file has another checksum")
NAMES = dataclasses.replace(ended(0, "../a\r\n../b\n../c\n../d\n"), ok=False, error=CallError(message="exit code 0"))
RESULTS: dict[str, dict[str, CallResult]] = {
    "nothing was asked": {},
    "first": {"download-0": ended(0), "verify-0": OK},
    "second": {"download-0": ended(22, "404 text/plain"), "download-1": ended(0), "verify-1": OK},
    "first after it broke off": {"verify-0": WRONG, "verify-1": OK, "verify-2": OK},
    "again": {"verify-0": WRONG, "verify-1": WRONG, "verify-again": OK},
    "skipped": {"verify-0": answer(skipped="needs download-0"), "verify-1": answer()},
    "both refuse": {"download-0": ended(22, "403 text/html"), "download-1": ended(22, "000 ")},
    "no status": {"download-0": ended(22), "download-1": ended(22, "abc x")},
    "both break off": {"download-0": ended(18, "", "a\ncurl: (18) broke\n"), "download-1": ended(56, "", "\n")},
    "a checksum file": {"sum-0": ended(6), "keep-1": WRONG},
    "no program": {"download-0": failure("ObjectNotFound", "CommandNotFoundException", "no curl.exe")},
    "wrong": {"download-0": ended(0, "200 text/plain"), "verify-0": WRONG, "form-0": answer()},
    "wrong form": {"form-0": failure("x", "y"), "verify-0": answer(), "verify-1": WRONG, "form-1": failure("x", "y")},
    "a page": {"download-0": ended(0, "200 text/html"), "form-0": failure("x", "y"), "verify-0": WRONG},
    "a page that was taken": {"download-0": ended(0, "200 text/html"), "verify-0": answer()},
    "no whole archive": {"whole-0": ended(1, "", " truncated \n"), "whole-1": ended(1, "", "no"), "verify-1": WRONG},
    "a page and no archive": {"form-0": failure("x", "y"), "whole-0": ended(1, "", "no"), "verify-0": answer()},
    "names": {"inside-0-1": ended(0), "inside-1-0": NAMES},
    "no tar.exe": {"inside-0-0": failure("ObjectNotFound", "CommandNotFoundException", "no tar.exe")},
}  # fmt: skip


def test_the_outcomes_of_a_download() -> None:
    headers = DownloadSource(url="https://one.example/x", route=DownloadRoute(headers={"X-Key": "key"}))
    login = DownloadSource(url="https://two.example/x", route=DownloadRoute(headers={"Cookie": "x"}))
    requested = download(FIRST, SECOND)
    redirected = {"download-0": ended(47), "download-1": ended(47), "download-again": ended(7)}
    found = {
        name: {
            "explain": attempts.explain(requested, results),
            "brought": attempts.downloaded(requested, results) or "nothing",
        }
        for name, results in RESULTS.items()
    }
    plain = download(DownloadSource(url="https://three.example/x"))
    outcomes.check(
        "downloads/results",
        {
            **found,
            "redirected, with headers": attempts.explain(download(headers, login), redirected),
            "redirected, without": attempts.explain(plain, redirected),
        },
    )


def test_the_calls_of_curl() -> None:
    routes = {"plain": DownloadRoute(), "full": FULL, "login": DownloadRoute(headers={" Authorization ": "x"})}
    found: dict[str, t.Any] = {
        f"{name}, {version}": outcomes.calls([curl.ask("x", "http://h/x", route, version=version)])
        for name, route in routes.items()
        for version in ((), (7, 69), (7, 70), (7, 82), (7, 83))
        if version in ((), (7, 83)) or name == "full"
    }
    for name, route in routes.items():
        found[f"download, {name}"] = outcomes.calls([curl.download("x", "https://h/x", "C:\\x", route, timeout=9)])
    every = curl.download(
        *("x", "https://h/x?sig=1", 'C:\\"x"', DownloadRoute()),
        timeout=9,
        needs=("a",),
        unless=("b",),
        on_error="continue",
        secret=True,
        resume=False,
        parallel=3,
        version=(7, 66),
    )
    outcomes.check("downloads/curl", {**found, "all options": outcomes.calls([every, curl.VERSION_CALL])})


def test_valid_and_invalid_routes() -> None:
    routes = {
        "plain": DownloadRoute(),
        "proxy": DownloadRoute(proxy="http://proxy.example"),
        "proxy with a password": DownloadRoute(proxy="http://u:p@proxy.example"),
        "no proxy": DownloadRoute(proxy=""),
        "header": DownloadRoute(headers={"X-Key": "key"}),
        "login": DownloadRoute(headers={"authorization": "x", "COOKIE": "y"}),
        "both": DownloadRoute(headers={"Cookie": "y", "X-Key": "key"}),
    }
    assert {
        name: (one.secret, one.only_credentials, one.follows((7, 82)), one.follows((7, 83)))
        for name, one in routes.items()
    } == {
        "plain": (False, True, True, True),
        "proxy": (False, True, True, True),
        "proxy with a password": (True, True, True, True),
        "no proxy": (False, True, True, True),
        "header": (True, False, False, False),
        "login": (True, True, False, True),
        "both": (True, False, False, False),
    }


URLS = (
    "https://host.example/a/b%20c.zip",
    "HTTPS://host.example/a",
    "http://user:pa/s?s#@host.example:8080/a?sig=1#part",
    "user@host.example/a",
    "host.example?x",
    "https://host.example?sig=1",
    "https://host.example/a?sig=1",
    "https://host.example/a#part",
    f"http://host.example/{TOKEN}/a.zip",
    f"http://host.example/{TOKEN}",
    f"http://host.example/{TOKEN[:-1]}/a.zip",
    f"http://host.example/a/{TOKEN}/b",
    f"host.example/{TOKEN}/a",
    "file:///C:/cache/a.zip",
    "ftp://host.example/a",
    "http:///a",
    "http://host.example",
    "http://[::1/a",
    "http://host.example/a b",
    "http://host.example/\x07",
    "",
)


def test_valid_and_invalid_urls() -> None:
    outcomes.check(
        "downloads/urls",
        {
            repr(url): {
                "redacted": redact_url(url),
                "carries_secret": carries_secret(url),
                "is_url": curl.is_url(url),
                "is_encrypted": curl.is_encrypted(url),
                **({} if "[" in url else {"file_name": curl.file_name(url)}),
            }
            for url in URLS
        },
    )


@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        ("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 12\r\n\r\nbody: 1", curl.RemoteFile('"x"', 12)),
        ("HTTP/1.1 302 Found\r\nETag: a\r\n\r\nHTTP/2 206\nContent-Range: bytes 0-0/7\n\n", curl.RemoteFile("", 7)),
        ("HTTP/1.1 206 x\nContent-Range: bytes 0-0/9\nContent-Length: 1\n\n", curl.RemoteFile("", 9)),
        ("HTTP/1.1 206 x\nContent-Range: bytes 0-0/*\nno field\n : x\n\n", curl.RemoteFile("", None)),
        ("HTTP/1.1 200 OK\nContent-Length: ²\n\n", curl.RemoteFile("", None)),
        ("HTTP/1.1 200 OK", curl.RemoteFile("", None)),
        ("HTTP/1.1 204 No Content\n\n", None),
        ("HTTP/1.1 2000\n\n", None),
        ("HTTP/1.1 404 x\nContent-Length: 5\n\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_headers_of_a_server_are_read(stdout: str, expected: curl.RemoteFile | None) -> None:
    assert curl.offered(answer(stdout=stdout)) == expected


def test_without_an_answer_resuming_is_not_possible() -> None:
    assert curl.offered(None) is None
    assert curl.offered(CallResult(ok=False, stdout="HTTP/1.1 200 OK\nContent-Length: 1\n\n")) is None
    assert curl.read_version(None) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("1", True), ("500K", True), ("2m", True), ("3G", True), ("9" * 13, True)),
        *(("0", False), ("01", False), ("2T", False), ("1 K", False), ("", False), ("9" * 14, False)),
    ],
)
def test_valid_and_invalid_rates(text: str, expected: bool) -> None:
    assert curl.is_rate(text) is expected


def test_a_line_of_curls_configuration() -> None:
    assert curl.line("x", None) == "x"
    assert curl.line("x", "") == 'x = ""'
    assert curl.line("x", 'a\\b"c\td\ne\rf') == 'x = "a\\\\b\\"c\\td\\ne\\rf"'


def test_the_meanings_of_curls_exit_codes() -> None:
    outcomes.check("downloads/curl_errors", {str(code): describe_curl_error(code) for code in (*range(79), 96)})


def test_the_checks_of_an_archive() -> None:
    inside = archive_members.calls("C:\\x.zip")
    whole = archive_members.readable("C:\\x.zip", "whole")
    outcomes.check("downloads/archive_checks", {"inside": outcomes.calls(inside), "whole": outcomes.calls([whole])})
    assert archive_members.describe_failure(ended(2, "x")) == ""
    names = "../a\r\n../b\n../c\n../d\n"
    assert archive_members.describe_failure(ended(0, names)) == (
        "the archive contains names that lead outside its target folder: ../a, ../b, ../c"
    )


@pytest.mark.parametrize(
    ("algorithm", "given", "expected"),
    [
        ("sha256", f" sha256:{32 * 'Ab'}\n", 32 * "ab"),
        ("sha512", 64 * "0F", 64 * "0f"),
        ("sha256", 63 * "a", None),
        ("sha256", 65 * "a", None),
        ("sha512", 64 * "a", None),
        ("sha256", f"sha512:{64 * 'a'}", None),
        ("sha256", 64 * "g", None),
    ],
)
def test_valid_and_invalid_digests(algorithm: str, given: str, expected: str | None) -> None:
    if expected is not None:
        assert checksums.digest(algorithm, given) == expected
        return
    with pytest.raises(ResourceError) as refused:
        checksums.digest(algorithm, given)
    digits = 64 if algorithm == "sha256" else 128
    assert str(refused.value) == f"{algorithm}: expected {digits} hexadecimal digits, got {given!r}"
