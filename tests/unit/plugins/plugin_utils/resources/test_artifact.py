# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Artifacts: verified without the network, downloaded in order, no secret in sight."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.resource_answers import MISSING, answer, call, commands, file, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.resources import _curl
from ansible_collections.winkube.node.plugins.plugin_utils.resources._base import Change, ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.resources.artifact import checksum_in

PATH = "C:\\cache\\containerd\\2.2.1\\containerd.tar.gz"
SHA256 = hashlib.sha256(b"whole").hexdigest()
SHA512 = hashlib.sha512(b"whole").hexdigest()
URL = "https://github.com/containerd/containerd.tar.gz"


def artifact(**more: t.Any) -> t.Any:
    return one(**{"type": "Artifact", "name": "containerd 2.2.1", "path": PATH, "urls": [URL], **more})


def files(content: str | None = None, part: str | None = None) -> t.Any:
    return answer(file(PATH, content), file(PATH + ".part", part))


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        ({"sha256": SHA256.upper()}, {}),
        ({"sha256": f"sha256:{SHA256}"}, {}),
        ({"sha512": SHA512}, {"sha512": answer({"Hash": SHA512.upper()})}),
        (
            {"checksum_url": URL + ".sha256sum"},
            {"checksum": answer(file(PATH + ".checksum", f"{SHA256}  containerd.tar.gz\n"))},
        ),
        ({"checksum_url": URL + ".sha256"}, {"checksum": answer(file(PATH + ".checksum", SHA256))}),
        ({"allow_unverified": True}, {}),
    ],
)
def test_a_whole_file_is_known_without_the_network(wanted: dict[str, t.Any], seen: dict[str, t.Any]) -> None:
    assert planned(artifact(**wanted), file=files("whole"), **seen) is None


def test_one_download_goes_straight_to_its_place() -> None:
    change = must(artifact(sha256=SHA256), file=files())
    assert commands(change) == ["curl.exe", "@commit-file"]
    assert call(change, "verify-0").parameters == {"path": PATH + ".part", "destination": PATH, "sha256": SHA256}
    assert call(change, "download-0").long
    assert change.after["source"] == URL


def test_a_wrong_file_names_both_hashes() -> None:
    change = must(artifact(sha256=SHA256), file=files("broken"))
    wrong = hashlib.sha256(b"broken").hexdigest()
    assert change.why == f"its SHA256 is {wrong}, wanted {SHA256}"
    assert change.before == {"sha256": wrong}


def test_a_checksum_file_is_fetched_first_and_kept() -> None:
    change = must(artifact(checksum_url=URL + ".sha256sum"), file=files(), checksum=answer(file(PATH + ".checksum")))
    assert commands(change) == ["Remove-Item", "curl.exe", "@commit-file", "curl.exe", "@commit-file"]
    assert call(change, "verify-0").parameters == {
        "path": PATH + ".part",
        "destination": PATH,
        "checksum_path": PATH + ".checksum",
        "checksum_name": "containerd.tar.gz",
        "algorithm": "SHA256",
    }


def test_a_sha512_is_given_to_the_node_as_a_checksum_file() -> None:
    change = must(artifact(sha512=SHA512), file=files(), sha512=MISSING)
    assert call(change, "keep-checksum").parameters == {"path": PATH + ".checksum", "content": SHA512 + "\n"}
    assert call(change, "verify-0").parameters["algorithm"] == "SHA512"


def attempts(change: Change, works: t.Collection[str], there: bool = False) -> list[str]:
    """The downloads that a node would run, if these of them worked: the rules of docs/wire.md, nothing more."""
    succeeded: set[str] = set()
    ran: list[str] = []
    for each in change.calls:
        if not set(each.needs) <= succeeded:
            continue
        ok = True
        if each.command == "curl.exe":
            ran.append(each.id)
            ok = each.id in works
        elif each.command == "@commit-file" and each.parameters["destination"] == PATH:
            there = True
        elif each.command == "Remove-Item" and each.parameters["LiteralPath"] == PATH:
            there = False
        elif each.until:
            ok = not there
        if ok:
            succeeded.add(each.id)
        elif each.on_error == "stop":
            return [*ran, "failed"]
    return ran if there else [*ran, "nothing there"]


@pytest.mark.parametrize(
    ("content", "part", "works", "expected"),
    [
        (None, None, ["download-0"], ["download-0"]),
        (None, None, ["download-1"], ["download-0", "download-1"]),
        (None, None, [], ["download-0", "download-1", "failed"]),
        (None, "half", ["download-0"], ["download-0"]),
        (None, "half", ["download-1"], ["download-0", "download-1"]),
        (None, "half", ["download-2"], ["download-0", "download-1", "download-2"]),
        ("wrong", None, ["download-0"], ["download-0"]),
        ("wrong", "half", ["download-2"], ["download-0", "download-1", "download-2"]),
    ],
)
def test_a_later_source_is_asked_only_if_those_before_failed(
    content: str | None, part: str | None, works: list[str], expected: list[str]
) -> None:
    wanted = artifact(urls=[URL, "https://mirror/x.tar.gz"], sha256=SHA256)
    assert attempts(must(wanted, file=files(content, part)), works, there=content is not None) == expected


def test_what_a_broken_run_left_is_continued_and_else_thrown_away() -> None:
    change = must(artifact(sha256=SHA256), file=files(part="half"))
    assert [call.id for call in change.calls] == [
        "download-0",
        "verify-0",
        "probe-0",
        "discard-1",
        "download-1",
        "verify-1",
    ]
    assert call(change, "discard-1").needs == ("probe-0",)


@pytest.mark.parametrize(
    ("more", "secret"),
    [
        ({"urls": ["https://h/x.zip?sig=s3cret"]}, "s3cret"),
        ({"urls": ["https://user:s3cret@h/x.zip"]}, "s3cret"),
        ({"proxy": "http://user:s3cret@p:3128"}, "s3cret"),
        ({"headers": {"Authorization": "Bearer s3cret"}}, "s3cret"),
    ],
)
def test_secrets_travel_on_standard_input_and_come_back_nowhere(more: dict[str, t.Any], secret: str) -> None:
    change = must(artifact(sha256=SHA256, **more), file=files())
    download = call(change, "download-0")
    assert download.secret
    assert secret in (download.stdin or "")
    assert secret not in f"{download.arguments}{change.why}{change.before}{change.after}"


def test_an_open_url_is_no_secret() -> None:
    assert not call(must(artifact(sha256=SHA256, proxy="http://p:3128"), file=files()), "download-0").secret


@pytest.mark.parametrize(
    ("properties", "accepted"),
    [
        ({}, "wanted sha256, sha512 or checksum_url"),
        ({"sha256": "abc"}, "64 hexadecimal"),
        ({"sha256": SHA256, "checksum_url": URL}, "one of them"),
        ({"urls": [], "sha256": SHA256}, "at least one"),
        ({"urls": ["C:\\x.zip"], "sha256": SHA256}, "http, https, file"),
        ({"urls": ["https://h/a b"], "sha256": SHA256}, "http, https, file"),
        ({"headers": {"A": "b\r\nc: d"}, "sha256": SHA256}, "one line"),
    ],
)
def test_what_cannot_be_is_refused(properties: dict[str, t.Any], accepted: str) -> None:
    with pytest.raises(ResourceError, match=accepted):
        artifact(**properties)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (SHA256, SHA256),
        (f"\ufeff{SHA256.upper()}\r\n", SHA256),
        (f"{'0' * 64}  other\n{SHA256} *x.zip\n", SHA256),
        (f"{SHA256}  ./dist/x.zip", SHA256),
        (f"{'0' * 64}  other\n", None),
        (f"{SHA256}\n{SHA256}\n", None),
        ("<html>", None),
        ("", None),
    ],
)
def test_checksum_files_are_read_as_publishers_write_them(content: str, found: str | None) -> None:
    assert checksum_in(content, "x.zip", "SHA256") == found


@given(st.text(max_size=30))
@example("://")
def test_a_redacted_url_has_neither_query_nor_user(text: str) -> None:
    shown = _curl.redacted(f"https://user:pass@host/{text}?sig=s3cret#s3cret")
    assert "s3cret" not in shown
    assert "pass@" not in shown


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_takes_the_configuration(tmp_path: Path) -> None:
    source, output = tmp_path / "s ource.bin", tmp_path / 'with "quotes" and \\ backslash' / "out.bin"
    source.write_bytes(b"whole")
    download = _curl.download(
        "x", f"file://{source.as_posix().replace(' ', '%20')}", str(output), _curl.Route(), timeout=9
    )
    arguments = ["curl", *download.arguments]
    ran = subprocess.run(arguments, input=download.stdin, text=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert output.read_bytes() == b"whole"


# curl --help of 7.55.1, which Windows Server 2019 has; `man curl` of that version.
_CURL_7_55 = {
    *("url", "output", "create-dirs", "continue-at", "fail", "location", "silent", "show-error", "connect-timeout"),
    *("speed-limit", "speed-time", "retry", "retry-connrefused", "proxy", "noproxy", "ssl-no-revoke", "header"),
}


def test_only_options_that_the_oldest_curl_knows() -> None:
    route = _curl.Route(proxy="http://p", no_proxy=("a", "b"), headers={"A": "b"}, ignore_revocation=True)
    download = _curl.download("x", "https://h/x", "C:\\x", route, timeout=1)
    assert {line.split(" ")[0] for line in (download.stdin or "").splitlines()} <= _CURL_7_55
