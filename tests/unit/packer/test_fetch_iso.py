# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The download of an ISO before Packer: from a server with the behavior of an Azure storage account."""

from __future__ import annotations

import hashlib
import http.server
import importlib.util
import json
import os
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from unit.packer.packer_templates import MISSING, TEMPLATES, Packer
from unit.packer.packer_variables import from_iso

SCRIPT = TEMPLATES / "fetch_iso.py"
ISO = bytes(range(256)) * 2000
CHECKSUM = f"sha256:{hashlib.sha256(ISO).hexdigest()}"
SAS, TOKEN = "sv=2022-11-02&sp=r&sig=s3cr3t%2Bsas%3D", "eyJ0b2tlbg"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packer_fetch_iso", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FETCH = load()


class Account(http.server.ThreadingHTTPServer):
    """A storage account with one blob.

    Attributes:
        needs: what a request must have: nothing, `sas` or `bearer`.
        cuts: after how many bytes each of the next responses breaks.
        errors: the status of each of the next responses.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Blob)
        self.content, self.etag, self.needs = ISO, '"1"', ""
        self.cuts: list[int] = []
        self.errors: list[int] = []
        self.requests: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/isos/windows.iso"


class Blob(http.server.BaseHTTPRequestHandler):
    """Get Blob."""

    server: Account

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        account, parts = self.server, urllib.parse.urlsplit(self.path)
        account.requests.append({**dict(self.headers), "path": self.path})
        allowed = {
            "": True,
            "sas": parts.query == SAS,
            "bearer": self.headers["Authorization"] == f"Bearer {TOKEN}" and bool(self.headers["x-ms-version"]),
        }[account.needs]
        begin = int((self.headers["Range"] or "bytes=0-")[6:-1])
        match = self.headers["If-Match"] in (None, account.etag)
        status = account.errors.pop(0) if account.errors else 403 if not allowed else 412 if not match else 0
        if not status and begin >= len(account.content):
            status = 416
        if status:
            body = f"<Error><Detail>{self.path}</Detail></Error>".encode()
            self.send_response(status)
            self.send_header("x-ms-error-code", f"Code{status}")
            self.send_header("Location", "http://localhost:1/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        piece = account.content[begin:]
        self.send_response(206 if self.headers["Range"] else 200)
        self.send_header("Content-Length", str(len(piece)))
        self.send_header("ETag", account.etag)
        self.end_headers()
        self.wfile.write(piece[: account.cuts.pop(0)] if account.cuts else piece)


@pytest.fixture
def account() -> Iterator[Account]:
    with Account() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Run:
    """Runs of the program with one output file."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.output, self._capsys = folder, folder / "iso" / "windows.iso", capsys
        self.pauses: list[float] = []

    def __call__(self, url: str, *words: str, checksum: str = CHECKSUM, **environment: str) -> tuple[int, str]:
        line = [url, "--checksum", checksum, "--output", str(self.output), *words]
        code = FETCH.main(line, environment, self.pauses.append)
        printed = self._capsys.readouterr()
        text = printed.out + printed.err
        assert "s3cr3t" not in text
        assert TOKEN not in text
        return code, text


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)


def test_an_iso_is_downloaded_once(account: Account, run: Run) -> None:
    code, text = run(account.url)
    assert (code, run.output.read_bytes() == ISO) == (0, True), text
    assert [path.name for path in run.output.parent.iterdir()] == ["windows.iso"]
    assert run(account.url) == (0, f"{run.output}: is complete\n")
    assert len(account.requests) == 1


@pytest.mark.parametrize("source", ["environment", "file"])
def test_a_sas_token_is_shown_nowhere(account: Account, run: Run, source: str) -> None:
    account.needs = "sas"
    file = run.folder / "sas"
    file.touch(mode=0o600)
    file.write_text(f"?{SAS}\n", encoding="utf-8")
    if source == "file":
        assert run(account.url, "--sas-file", str(file))[0] == 0
    else:
        assert run(account.url, AZURE_STORAGE_SAS_TOKEN=SAS)[0] == 0
    assert run.output.read_bytes() == ISO
    run.output.unlink()
    code, text = run(account.url, AZURE_STORAGE_SAS_TOKEN="sv=1&sig=s3cr3t-old")
    assert (code, "expected the ISO, got 403 Code403. The login needs the role" in text) == (1, True)


def azure_cli(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Put a program `az` on PATH."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "az").write_text(f"#!/bin/sh\nprintf '%s ' \"$@\" > {folder}/asked\n{answer}\n", encoding="utf-8")
    (programs / "az").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def test_the_login_of_the_azure_cli_is_used(account: Account, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    account.needs = "bearer"
    azure_cli(run.folder, monkeypatch, f"""echo '{{"accessToken": "{TOKEN}", "tokenType": "Bearer"}}'""")
    assert run(account.url, "--login")[0] == 0
    assert run.output.read_bytes() == ISO
    asked = (run.folder / "asked").read_text(encoding="utf-8")
    assert asked == "account get-access-token --resource https://storage.azure.com --output json "


def test_a_missing_login_is_named(account: Account, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    azure_cli(run.folder, monkeypatch, "echo 'Please run az login' >&2; exit 1")
    assert run(account.url, "--login") == (1, "expected a login of the Azure CLI, got none. Run: az login\n")
    refused = "expected a storage account of Azure, got example.org"
    assert run("https://example.org/a.iso", "--login")[1].startswith(refused)
    monkeypatch.setenv("PATH", str(run.folder))
    assert run(account.url, "--login")[1].startswith("expected the Azure CLI (az), got none")
    assert account.requests == []


def test_an_interrupted_download_continues(account: Account, run: Run) -> None:
    account.cuts, account.errors = [1000, 5000], [500]
    code, text = run(account.url)
    assert (code, run.output.read_bytes() == ISO) == (0, True), text
    assert [request.get("Range") for request in account.requests] == [None, None, "bytes=1000-", "bytes=6000-"]
    assert "continuing at 6000 of 512000 bytes" in text
    assert run.pauses == [1.0, 2.0, 4.0]


def test_the_next_run_continues_and_notices_a_changed_file(account: Account, run: Run) -> None:
    account.cuts = [1000] * 5
    code, text = run(account.url)
    assert (code, "5 attempts failed. The next run continues" in text) == (1, True)
    assert not run.output.exists()
    # The server has another file now.
    account.content, account.etag = ISO[::-1], '"2"'
    reverse = f"SHA512:{hashlib.sha512(ISO[::-1]).hexdigest().upper()}"
    code, text = run(account.url, checksum=reverse)
    assert (code, run.output.read_bytes() == ISO[::-1]) == (0, True), text
    assert "the file on the server has changed" in text


def test_a_complete_download_is_not_made_again(account: Account, run: Run) -> None:
    # An earlier run was interrupted while it computed the checksum.
    part, note = (run.output.with_name(f"windows.iso.{end}") for end in ("part", "etag"))
    part.parent.mkdir()
    part.write_bytes(ISO)
    note.write_text(account.etag, encoding="utf-8")
    code, text = run(account.url)
    assert (code, run.output.read_bytes() == ISO, account.requests) == (0, True, []), text
    assert [path.name for path in run.output.parent.iterdir()] == ["windows.iso"]


def test_a_file_with_another_checksum_is_not_kept(account: Account, run: Run) -> None:
    account.content = ISO + b"x"
    code, text = run(account.url)
    assert (code, f"expected {CHECKSUM}, got sha256:" in text) == (1, True)
    assert list(run.output.parent.iterdir()) == []


def test_a_redirect_does_not_get_the_token(account: Account, run: Run) -> None:
    account.errors = [302]
    code, text = run(account.url, AZURE_STORAGE_SAS_TOKEN=SAS)
    assert (code, text) == (1, "expected the ISO, got a redirect (302), which is not followed with a token\n")


def test_a_token_of_the_environment_is_for_storage_accounts_only() -> None:
    split = urllib.parse.urlsplit
    assert FETCH.is_storage_account(split("https://a.blob.core.windows.net/c/x.iso"))
    assert not FETCH.is_storage_account(split("https://blob.core.windows.net.example.org/c/x.iso"))
    assert not FETCH.is_storage_account(split("https://example.org/c/x.iso"))


@pytest.mark.parametrize(
    ("url", "checksum", "message"),
    [
        (f"https://a.blob.core.windows.net/c/x.iso?{SAS}", CHECKSUM, "expected a URL without a token. Remove"),
        ("https://user:s3cr3t@example.org/x.iso", CHECKSUM, "expected a URL without a token"),
        ("http://example.org/x.iso", CHECKSUM, "expected a URL that begins with https://, got http://example.org/x"),
        ("https://example.org/", CHECKSUM, "expected the URL of a file"),
        ("https://example.org/x.iso", "sha256:abc", "expected sha256: and 64 hexadecimal digits"),
        ("https://example.org/x.iso", f"md5:{'a' * 32}", "expected sha256: and 64 hexadecimal digits"),
    ],
)
def test_a_mistake_is_refused_before_a_request(run: Run, url: str, checksum: str, message: str) -> None:
    code, text = run(url, checksum=checksum)
    assert (code, text.startswith(message)) == (1, True), text


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (SAS, 0o644, "expected a file with mode 0600, got 0644"),
        ("s3cr3t", 0o600, "expected a SAS token with sig="),
        ("", 0o600, "expected a SAS token with sig="),
    ],
)
def test_a_file_without_a_private_token_is_refused(
    account: Account, run: Run, text: str, mode: int, message: str
) -> None:
    file = run.folder / "sas"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    assert message in run(account.url, "--sas-file", str(file))[1]
    assert account.requests == []


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_packer_takes_the_file(account: Account, run: Run) -> None:
    variables = run.folder / "base.pkrvars.json"
    assert run(account.url, "--packer-variables", str(variables))[0] == 0
    base = json.loads(variables.read_text(encoding="utf-8"))["base"]
    assert (base["iso_url"], base["iso_checksum"]) == (str(run.output), CHECKSUM)
    packer = Packer(run.folder / "packer")
    assert packer.value("var.base", from_iso() | {"base": base}) == base
    assert packer.validate("qemu.windows", from_iso() | {"base": base}) == ""
