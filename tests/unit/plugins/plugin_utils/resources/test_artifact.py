# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Artifacts: verified without the network, downloaded in order, without visible secrets."""

from __future__ import annotations

import hashlib
import json
import typing as t

import pytest
from unit.resource_answers import MISSING, SERVER_2022, answer, call, commands, failure, file, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.downloads.checksums import checksum_in
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, CallResult

PATH = "C:\\cache\\containerd\\2.2.1\\containerd.tar.gz"
SHA256 = hashlib.sha256(b"whole").hexdigest()
SHA512 = hashlib.sha512(b"whole").hexdigest()
URL = "https://github.com/containerd/containerd.tar.gz"


def artifact(**more: t.Any) -> t.Any:
    return one(**{"type": "Artifact", "name": "containerd 2.2.1", "path": PATH, "urls": [URL], **more})


def files(content: str | None = None, part: str | None = None) -> t.Any:
    return answer(file(PATH, content), file(PATH + ".part", part))


@pytest.mark.parametrize(
    ("requested", "seen"),
    [
        ({"sha256": SHA256.upper()}, {}),
        ({"sha256": f"sha256:{SHA256}"}, {}),
        ({"sha512": SHA512}, {"sha512": answer({"Hash": SHA512.upper()}), "sha512-aside": MISSING}),
        (
            {"checksum_url": URL + ".sha256sum"},
            {"checksum": answer(file(PATH + ".checksum", f"{SHA256}  containerd.tar.gz\n"))},
        ),
        ({"checksum_url": URL + ".sha256"}, {"checksum": answer(file(PATH + ".checksum", SHA256))}),
        ({"allow_unverified": True}, {}),
    ],
)
def test_a_whole_file_is_known_without_the_network(requested: dict[str, t.Any], seen: dict[str, t.Any]) -> None:
    assert planned(artifact(**requested), file=files("whole"), **seen) is None


def test_a_single_download_goes_directly_to_its_destination() -> None:
    change = must(artifact(sha256=SHA256), file=files())
    assert commands(change)[:3] == ["curl.exe", "@read-file", "@commit-file"]
    # At least its first bytes must match its name: 1f 8b 08.
    assert call(change, "form-0").until == {"content": "H4sI"}
    # If a checksum is known, the file is verified with it, and the error contains both hashes.
    assert call(change, "verify-0").needs == ("download-0",)
    assert call(change, "verify-0").parameters == {"path": PATH + ".part", "destination": PATH, "sha256": SHA256}
    download = call(change, "download-0")
    assert (download.long, download.parallel, download.watch) == (True, 8, PATH + ".part")
    assert change.after["source"] == URL


def test_a_wrong_file_names_both_hashes() -> None:
    change = must(artifact(sha256=SHA256), file=files("broken"))
    wrong = hashlib.sha256(b"broken").hexdigest()
    assert change.why == f"its SHA256 is {wrong}, expected {SHA256}"
    assert change.before == {"sha256": wrong}


def test_a_checksum_file_is_fetched_first_and_kept() -> None:
    change = must(artifact(checksum_url=URL + ".sha256sum"), file=files(), checksum=answer(file(PATH + ".checksum")))
    assert commands(change)[:5] == ["curl.exe", "@commit-file", "curl.exe", "@read-file", "@commit-file"]
    # It is small, and a partial file of a broken run may be another version's.
    assert "continue-at" not in (call(change, "sum-0").stdin or "")
    assert call(change, "download-0").needs == ("keep-0",)
    assert call(change, "verify-0").parameters == {
        "path": PATH + ".part",
        "destination": PATH,
        "checksum_path": PATH + ".checksum",
        "checksum_name": "containerd.tar.gz",
        "algorithm": "SHA256",
    }


def test_a_sha512_is_given_to_the_node_as_a_checksum_file() -> None:
    change = must(artifact(sha512=SHA512), file=files(), **{"sha512": MISSING, "sha512-aside": MISSING})
    assert call(change, "keep-checksum").parameters == {"path": PATH + ".checksum", "content": SHA512 + "\n"}
    assert call(change, "verify-0").parameters["algorithm"] == "SHA512"


def attempts(change: Change, works: t.Collection[str], cut: t.Collection[str] = ()) -> list[str]:
    """Return the downloads that a node would run by the rules of docs/wire.md, if the given ones succeeded.

    Args:
        works: the ids of downloads that return the file.
        cut: the ids of downloads that leave a part of it.
    """
    succeeded: set[str] = set()
    ran: list[str] = []
    part = False
    for each in change.calls:
        if set(each.unless) & succeeded:
            succeeded.add(each.id)
            continue
        if not set(each.needs) <= succeeded:
            continue
        ok = True
        if each.command == "curl.exe":
            ran.append(each.id)
            ok = each.id in works
            part = part or each.id in cut
        elif each.command == "Remove-Item" and each.parameters["LiteralPath"] == PATH + ".part":
            part = False
        elif each.id == "left":
            ok = part
        elif each.id.startswith("form-"):
            ok = True
        elif each.command == "@fail":
            ok = False
        if ok:
            succeeded.add(each.id)
        elif each.on_error == "stop":
            return [*ran, "failed"]
    return ran


@pytest.mark.parametrize(
    ("content", "part", "works", "cut", "expected"),
    [
        (None, None, ["download-0"], [], ["download-0"]),
        (None, None, ["download-1"], [], ["download-0", "download-1"]),
        (None, None, [], [], ["download-0", "download-1", "failed"]),
        (None, None, ["download-again"], ["download-1"], ["download-0", "download-1", "download-again"]),
        (None, "half", ["download-0"], [], ["download-0"]),
        (None, "half", ["download-1"], [], ["download-0", "download-1"]),
        (None, "half", ["download-2"], [], ["download-0", "download-1", "download-2"]),
        ("wrong", None, ["download-0"], [], ["download-0"]),
        ("wrong", None, [], [], ["download-0", "download-1", "failed"]),
        ("wrong", "half", ["download-2"], [], ["download-0", "download-1", "download-2"]),
    ],
)
def test_a_source_is_used_only_if_the_earlier_ones_failed(
    content: str | None, part: str | None, works: list[str], cut: list[str], expected: list[str]
) -> None:
    requested = artifact(urls=[URL, "https://mirror/x.tar.gz"], sha256=SHA256)
    change = must(requested, file=files(content, part))
    assert attempts(change, works, cut) == expected
    # A wrong one is useless in the meantime.
    assert (change.calls[0].command == "Remove-Item") == (content is not None)


def test_sites_are_asked_in_order_before_the_publisher_each_for_its_own_checksum() -> None:
    sites = [
        {"url": "https://a/x.tar.gz?sig=s3cret", "checksum_url": "https://a/x.sha256?sig=s3cret", "proxy": ""},
        {"url": "https://b/x.tar.gz", "checksum_url": "https://b/x.sha256", "headers": {"X-Key": "s3cret"}},
    ]
    requested = artifact(sites=sites, checksum_url=URL + ".sha256", proxy="http://p:3128")
    change = must(requested, file=files(), checksum=answer(file(PATH + ".checksum")))
    works = ["sum-2", "download-2"]
    assert attempts(change, works) == ["sum-0", "sum-1", "sum-2", "download-2"]
    assert attempts(change, ["sum-1", "download-1"]) == ["sum-0", "sum-1", "download-1"]
    assert "proxy" not in (call(change, "download-0").stdin or "")
    assert 'proxy = "http://p:3128"' in (call(change, "download-1").stdin or "")
    assert [call(change, f"download-{index}").private for index in range(3)] == [True, True, False]
    assert "s3cret" not in f"{change.why}{change.before}{change.after}"


def test_a_partial_download_is_continued_or_deleted() -> None:
    change = must(artifact(sha256=SHA256), file=files(part="half"))
    ids = [call.id for call in change.calls]
    assert ids[:6] == ["download-0", "form-0", "verify-0", "discard-1", "download-1", "form-1"]
    assert call(change, "discard-1").unless == ("verify-0",)


def test_an_unverified_partial_download_starts_over() -> None:
    change = must(artifact(allow_unverified=True), file=files(part="half"))
    assert [call.id for call in change.calls][:2] == ["discard-0", "download-0"]
    # At least its first bytes must match its name, and all of it must be a safe archive.
    assert call(change, "whole-0").needs == ("form-0",)
    assert call(change, "verify-0").needs == ("inside-0-3",)


KIND: dict[str, t.Any] = {"kind": "containerd", "version": "2.2.1"}
CURL = answer(stdout="curl 8.9.1 (Windows) libcurl/8.9.1 Schannel\n")


def manifest(**noted: t.Any) -> t.Any:
    return answer(file(PATH + ".manifest.json", json.dumps(noted)))


def test_a_download_and_a_copy_both_write_the_manifest() -> None:
    sites = [{"url": "https://user:s3cret@site/x.tar.gz?sig=s3cret"}]
    change = must(artifact(sha256=SHA256, sites=sites, **KIND), file=files(), manifest=manifest(), curl=CURL)
    facts = {"kind": "containerd", "version": "2.2.1", "custom": False}
    assert call(change, "verify-0").parameters["manifest"] == {**facts, "source": "https://site/x.tar.gz"}
    assert call(change, "verify-1").parameters["manifest"] == {**facts, "source": URL}


@pytest.mark.parametrize("noted", [{}, {"sha256": "0" * 64}])
def test_a_manifest_that_does_not_match_a_verified_file_is_rewritten(noted: dict[str, t.Any]) -> None:
    change = must(artifact(sha256=SHA256, **KIND), file=files("whole"), manifest=manifest(**noted), curl=CURL)
    assert commands(change) == ["@write-file"]
    written = json.loads(str(change.calls[0].parameters["content"]))
    # It was not requested, so no source is named.
    assert (written["sha256"], written["source"]) == (SHA256, None)


def test_a_file_that_differs_from_its_manifest_is_downloaded_again() -> None:
    requested = artifact(allow_unverified=True, **KIND)
    assert planned(requested, file=files("whole"), manifest=manifest(sha256=SHA256), curl=CURL) is None
    other = must(requested, file=files("whole"), manifest=manifest(sha256="0" * 64), curl=CURL)
    assert "a different SHA-256" in other.why
    missing = must(requested, file=files("whole"), manifest=answer(file(PATH + ".manifest.json")), curl=CURL)
    # It may be correct, and the last one, so it is only moved out of the way.
    assert commands(missing)[:2] == ["@move-path", "curl.exe"]


def test_an_unverified_file_is_used_only_after_verification() -> None:
    unverified = file(PATH + ".unverified", "whole")
    there = answer(file(PATH), file(PATH + ".part"), unverified)
    back = must(artifact(sha256=SHA256), file=there)
    assert commands(back) == ["@move-path"]
    other = must(artifact(sha256="0" * 64), file=there)
    assert "@move-path" not in commands(other)
    # It runs only after another download: the call before it fails if there was none.
    assert [each.id for each in other.calls][-2:] == ["fetched", "remove-aside"]
    summed = artifact(checksum_url=URL + ".sha512", checksum_algorithm="SHA512")
    unknown = {"checksum": answer(file(PATH + ".checksum")), "sha512": MISSING, "sha512-aside": MISSING}
    assert "@move-path" not in commands(must(summed, file=there, **unknown))


def offer(etag: str, size: int) -> t.Any:
    head = f"HTTP/1.1 206 Partial Content\r\nETag: {etag}\r\nContent-Range: bytes 0-0/{size}\r\n\r\nP"
    return answer(stdout=f"HTTP/1.1 302 Found\r\nLocation: https://h/?sig=s3cret\r\n\r\n{head}")


@pytest.mark.parametrize(
    ("answered", "changed"),
    [
        (offer('"a"', 5), []),
        (offer('"b"', 5), ["etag"]),
        (offer('"a"', 6), ["size"]),
        # An unreachable source is no evidence against the existing file.
        (failure("FromStdErr", "NativeCommandError"), []),
        (answer(stdout="HTTP/1.1 403 Forbidden\r\n\r\n"), []),
    ],
)
def test_a_users_own_file_is_fetched_again_when_its_etag_or_size_changes(answered: t.Any, changed: list[str]) -> None:
    requested = artifact(allow_unverified=True, custom=True, **KIND)
    assert requested.private
    seen = {"file": files("whole"), "manifest": manifest(sha256=SHA256, etag='"a"', size=5), "curl": CURL}
    change = planned(requested, **seen, offer=answered)
    assert list(change.after if change else ()) == changed
    if change is not None:
        # The old one stays until the new one is complete.
        assert commands(change)[0] == "curl.exe"


@pytest.mark.parametrize(
    ("more", "secret"),
    [
        ({"urls": ["https://h/x.zip?sig=s3cret"]}, "s3cret"),
        ({"urls": ["https://user:s3cret@h/x.zip"]}, "s3cret"),
        ({"proxy": "http://user:s3cret@p:3128"}, "s3cret"),
        ({"headers": {"Authorization": "Bearer s3cret"}}, "s3cret"),
    ],
)
def test_secrets_are_sent_on_standard_input_and_never_returned(more: dict[str, t.Any], secret: str) -> None:
    change = must(artifact(sha256=SHA256, **more), file=files())
    download = call(change, "download-0")
    assert Batch(calls=(download,)).secret, "its batch is kept out of all output"
    assert "show-error" not in (download.stdin or ""), "curl's words might hold it"
    assert "private" not in download.to_wire()
    assert secret in (download.stdin or "")
    assert secret not in f"{download.arguments}{change.why}{change.before}{change.after}"


@pytest.mark.parametrize(
    ("headers", "version", "follows"),
    [
        ({}, "7.55.1", True),
        ({"X-Key": "s3cret"}, "8.9.1", False),
        ({"Authorization": "Bearer s3cret"}, "7.55.1", False),
        ({"Authorization": "Bearer s3cret"}, "7.79.1", False),
        ({"authorization": "Bearer s3cret", "Cookie": "s3cret"}, "8.9.1", True),
        ({"Authorization": "Bearer s3cret", "X-Key": "s3cret"}, "8.9.1", False),
    ],
)
def test_headers_follow_no_redirect_unless_curl_keeps_them_back(
    headers: dict[str, str], version: str, follows: bool
) -> None:
    curl = answer(stdout=f"curl {version} (Windows)\n")
    change = must(artifact(sha256=SHA256, headers=headers, **KIND), file=files(), manifest=manifest(), curl=curl)
    (probe,) = (required.probe for required in change.space)
    assert probe is not None
    for each in (call(change, "download-0"), *probe.calls):
        # Without it, the response with the redirect would be used as the file.
        assert "location\n" in (each.stdin or "")
        assert ('max-redirs = "0"' not in (each.stdin or "")) == follows


def test_a_url_without_credentials_is_not_secret() -> None:
    assert not call(must(artifact(sha256=SHA256, proxy="http://p:3128"), file=files()), "download-0").private


@pytest.mark.parametrize(
    ("properties", "accepted"),
    [
        ({}, "expected sha256, sha512 or checksum_url"),
        ({"sha256": "abc"}, "64 hexadecimal"),
        ({"sha256": SHA256, "checksum_url": URL}, "expected either sha256 or"),
        ({"urls": [], "sha256": SHA256}, "at least one"),
        ({"urls": ["C:\\x.zip"], "sha256": SHA256}, "http, https or file"),
        ({"urls": ["https://h/a b"], "sha256": SHA256}, "http, https or file"),
        ({"headers": {"A": "b\r\nc: d"}, "sha256": SHA256}, "one line"),
    ],
)
def test_invalid_artifacts_are_refused(properties: dict[str, t.Any], accepted: str) -> None:
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


FAILED = {
    "download-0": {"ok": False, "exit_code": 22, "stdout": "404 text/html", "error": {"id": "NativeCommandError"}},
    "download-1": {
        "ok": False,
        "exit_code": 60,
        "stderr": "curl: (60) schannel: SEC_E_CERT_EXPIRED",
        "error": {"id": "x"},
    },
}


def test_each_failed_source_is_reported_without_the_signature_in_its_url() -> None:
    requested = artifact(urls=["https://a/x.zip?sig=s3cret", "https://b/x.zip"], sha256=SHA256)
    results = {key: CallResult.from_wire(value) for key, value in FAILED.items()}
    reported = requested.failure(results)
    assert "https://a/x.zip: " in reported
    assert "HTTP 404" in reported
    assert "https://b/x.zip: the server's certificate" in reported
    assert "SEC_E_CERT_EXPIRED" in reported
    assert "s3cret" not in reported


def test_a_page_instead_of_a_file_is_called_one() -> None:
    requested = artifact(sha256=SHA256)
    results = {
        "download-0": answer(exit_code=0, stdout="200 text/html"),
        "verify-0": failure("InvalidData", "ChecksumMismatch", "wrong SHA256 of x: expected a, but it has b"),
    }
    reported = requested.failure(results)
    assert "expected a, but it has b; the response is an HTML page" in reported


def test_roles_may_name_one_file_each_in_their_own_way() -> None:
    plain = artifact(checksum_url=URL + ".sha256")
    assert plain.joined(artifact(checksum_url=URL + ".sha256", proxy="http://p:1")) == plain
    pinned = artifact(sha256=SHA256)
    assert plain.joined(pinned) == pinned
    assert pinned.joined(artifact(sha256="0" * 64)) is None
    longer = artifact(sha512="1" * 128)
    assert plain.joined(longer) == longer
    assert longer.joined(artifact(sha512="0" * 128)) is None
    assert plain.joined(artifact(checksum_url=URL + ".sha256", path="C:\\other.zip")) is None


def test_without_downloads_no_source_is_asked_and_local_sources_count_as_present() -> None:
    requested = artifact(allow_unverified=True, custom=True, **KIND)
    assert {each.id for each in requested.observe()} - {each.id for each in requested.observe_offline()} == {"offer"}
    unasked = {"file": files("whole"), "manifest": manifest(sha256=SHA256, etag='"a"', size=5), "curl": CURL}
    assert requested.plan(unasked, SERVER_2022) is None
    assert requested.plan(unasked | {"file": files()}, SERVER_2022).downloads == PATH
    pushed = {"urls": [], "sites": [{"url": "file:///C:/pushed/x.tar.gz"}], "sha256": SHA256}
    assert must(artifact(**pushed), file=files()).downloads == ""
    assert must(artifact(**pushed | {"urls": [URL]}), file=files()).downloads == PATH
    back = must(artifact(sha256=SHA256), file=answer(file(PATH), file(PATH + ".unverified", "whole")))
    assert (commands(back), back.downloads) == (["@move-path"], "")
