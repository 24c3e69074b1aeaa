# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl.exe: its options by version, and how its output is reported."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.resource_answers import answer

from ansible_collections.winkube.node.plugins.module_utils.redaction.urls import carries_secret, redact_url
from ansible_collections.winkube.node.plugins.plugin_utils.downloads import curl
from simulator.artifacts import ArtifactServer
from simulator.artifacts.certificates import PrivateCA


@given(st.text(max_size=30))
@example("://")
def test_a_redacted_url_has_neither_query_nor_user(text: str) -> None:
    shown = redact_url(f"https://user:pass@host/{text}?sig=s3cret#s3cret")
    assert "s3cret" not in shown
    assert "pass@" not in shown


def test_a_served_bundles_token_is_a_secret() -> None:
    url = f"http://192.0.2.1:8080/~{'aZ-_' * 8}/dl.k8s.io/v1.37.1/a.tar.gz"
    assert redact_url(url) == "http://192.0.2.1:8080/~/dl.k8s.io/v1.37.1/a.tar.gz"
    assert carries_secret(url)
    homepage = "http://host.example/~user/a.tar.gz"
    assert (redact_url(homepage), carries_secret(homepage)) == (homepage, False)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_takes_the_configuration(tmp_path: Path) -> None:
    source, output = tmp_path / "s ource.bin", tmp_path / 'with "quotes" and \\ backslash' / "out.bin"
    source.write_bytes(b"whole")
    download = curl.download(
        "x", f"file://{source.as_posix().replace(' ', '%20')}", str(output), curl.DownloadRoute(), timeout=9
    )
    arguments = ["curl", *download.arguments]
    ran = subprocess.run(arguments, input=download.stdin, text=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert output.read_bytes() == b"whole"


# curl --help of 7.55.1, which is part of Windows Server 2019, and `man curl` of that version.
_CURL_7_55 = {
    *("url", "output", "create-dirs", "continue-at", "fail", "location", "silent", "show-error", "connect-timeout"),
    *("speed-limit", "speed-time", "retry", "retry-connrefused", "proxy", "noproxy", "ssl-no-revoke", "header"),
    *("max-redirs", "globoff", "write-out", "limit-rate", "include", "range", "max-filesize", "max-time"),
    *("proto", "proto-redir"),
}


@pytest.mark.parametrize("limit_rate", [None, "2M"])
@pytest.mark.parametrize("version", [(), (7, 55, 1)])
def test_only_options_of_the_oldest_supported_curl_are_used(version: tuple[int, ...], limit_rate: str | None) -> None:
    route = curl.DownloadRoute(
        proxy="http://p", no_proxy=("a", "b"), headers={"A": "b"}, ignore_revocation=True, limit_rate=limit_rate
    )
    download = curl.download("x", "https://h/x", "C:\\x", route, timeout=1, version=version)
    ask = curl.ask("x", "https://h/x", route, version=version)
    for each in (download, ask):
        assert {line.split(" ")[0] for line in (each.stdin or "").splitlines()} <= _CURL_7_55


def test_a_curl_that_can_do_better_is_asked_to() -> None:
    route = curl.DownloadRoute(ignore_revocation=True)
    new = curl.download("x", "https://h/x", "C:\\x", route, timeout=1, version=(8, 9, 1))
    assert "ssl-revoke-best-effort" in (new.stdin or "")
    old = curl.download("x", "https://h/x", "C:\\x", route, timeout=1, version=(7, 55, 1))
    assert "ssl-no-revoke" in (old.stdin or "")


@pytest.mark.parametrize(
    ("text", "version"),
    [("curl 7.55.1 (Windows) libcurl/7.55.1 WinSSL", (7, 55, 1)), ("curl 8.9 x", (8, 9, 0)), ("", ()), ("bash", ())],
)
def test_curl_reports_its_version(text: str, version: tuple[int, ...]) -> None:
    assert curl.read_version(answer(stdout=text)) == version


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_real_curl_follows_no_redirect_that_leaves_https(tmp_path: Path, encrypted: bool) -> None:
    authority = PrivateCA()
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    context = authority.server_context(["127.0.0.1"])
    with ArtifactServer(tls=context) as first, ArtifactServer(tls=context if encrypted else None) as elsewhere:
        first.put("moved", b"moved")
        elsewhere.put("blob", b"from elsewhere")
        first.fault("redirect", "/moved", location=f"{elsewhere.url}/blob")
        download = curl.download("x", f"{first.url}/moved", str(tmp_path / "out"), curl.DownloadRoute(), timeout=9)
        ran = subprocess.run(
            ["curl", *download.arguments],
            input=download.stdin,
            text=True,
            capture_output=True,
            check=False,
            env={"CURL_CA_BUNDLE": str(tmp_path / "ca.pem"), "PATH": "/usr/bin:/bin"},
        )
        asked = sum(elsewhere.status()["requests"].values())
    assert (ran.returncode, asked) == ((0, 1) if encrypted else (1, 0)), ran.stderr


def config_lines(stdin: str | None) -> list[str]:
    return (stdin or "").splitlines()


def test_a_download_has_exactly_these_options() -> None:
    plain = curl.download("x", "https://h/x", "C:\\x", curl.DownloadRoute(), timeout=1, version=(8, 9, 1))
    options = [
        'url = "https://h/x"',
        "globoff",
        'output = "C:\\\\x"',
        "create-dirs",
        'continue-at = "-"',
        "fail",
        "silent",
        "show-error",
        'connect-timeout = "30"',
        'speed-limit = "1024"',
        'speed-time = "60"',
        'retry = "4"',
        "retry-connrefused",
        'write-out = "%{http_code} %{content_type}"',
        *(curl.line(*option) for option in curl.DownloadRoute().options("https://h/x", (8, 9, 1))),
    ]
    assert config_lines(plain.stdin) == options
    limited = curl.download(
        "x", "https://h/x", "C:\\x", curl.DownloadRoute(limit_rate="2M"), timeout=1, version=(8, 9, 1)
    )
    assert not any("speed" in line for line in config_lines(limited.stdin))
    anew = curl.download("x", "https://h/x", "C:\\x", curl.DownloadRoute(), timeout=1, resume=False, version=(8, 9, 1))
    assert config_lines(anew.stdin) == [line for line in options if not line.startswith("continue-at")]
    signed = curl.download("x", "https://h/x?sig=1", "C:\\x", curl.DownloadRoute(), timeout=1, version=(8, 9, 1))
    assert "show-error" not in config_lines(signed.stdin)


def test_a_question_about_a_size_has_exactly_these_options() -> None:
    question = curl.ask("x", "https://h/x", curl.DownloadRoute(), version=(8, 9, 1))
    assert config_lines(question.stdin) == [
        'url = "https://h/x"',
        "globoff",
        "include",
        'range = "0-0"',
        'max-filesize = "1"',
        "fail",
        "silent",
        'connect-timeout = "10"',
        'max-time = "20"',
        *(curl.line(*option) for option in curl.DownloadRoute().options("https://h/x", (8, 9, 1))),
    ]


@pytest.mark.parametrize(
    ("version", "final"), [((), (22,)), ((7, 66, 0), ()), ((7, 67), (22,)), ((7, 67, 0), (22,)), ((8, 9, 1), (22,))]
)
def test_a_refused_connection_is_not_retried_but_transient_errors_are(
    version: tuple[int, ...], final: tuple[int, ...]
) -> None:
    """curl itself retries after 429 since 7.67."""
    call = curl.download("x", "https://h/x", "C:\\x", curl.DownloadRoute(), timeout=1, version=version)
    assert call.final_codes == final
