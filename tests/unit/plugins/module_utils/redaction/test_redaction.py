# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Secrets in collected texts are removed everywhere; the rest stays."""

from __future__ import annotations

import io
import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.secret_forms import FORMS, SECRET
from unit.secret_forms import HARMLESS as ORDINARY

from ansible_collections.winkube.node.plugins.module_utils.redaction import BLANK, streams
from ansible_collections.winkube.node.plugins.module_utils.redaction.texts import Redaction

TOKEN = "abcdef.0123456789abcdef"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0jHIPtEOoRK\n-----END RSA PRIVATE KEY-----"
PASSWORD = "Hunter2-4711!"

# A text that contains a secret, and the secret.
SECRETS = {
    "bootstrap token": (f"joined with {TOKEN} at noon", TOKEN),
    "kubeadm's flag": (f"kubeadm.exe join 10.0.0.1:6443 --token {TOKEN} --v=5", TOKEN),
    "JSON web token": (f"got {JWT}, fine", JWT),
    "bearer": (f"Authorization: Bearer {JWT}", JWT),
    "header in JSON": (json.dumps({"Authorization": ["Bearer aGVsbG8gd29ybGQ"]}), "aGVsbG8gd29ybGQ"),
    "basic": ("proxy-authorization: Basic cm9ib3Q6c2VjcmV0", "cm9ib3Q6c2VjcmV0"),
    "private key": (f"read\n{KEY}\nand went on", "MIIEpAIBAAKCAQEA"),
    "private key in JSON": (json.dumps({"key": KEY}), "MIIEpAIBAAKCAQEA"),
    "private key without end": ("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "MIIEpAIBAAKCAQEA"),
    "kubeconfig": ("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==", "FURQ=="),
    "proxy": (f"HTTPS_PROXY=http://robot:{PASSWORD}@proxy.example.com:3128", PASSWORD),
    "proxy with /": ("http://robot:Hunter/2-4711@proxy:3128/", "2-4711"),
    "proxy with @ and /": ("http://robot:Hunt@er/2-4711@proxy:3128/", "2-4711"),
    "proxy with @": ("http://robot:Hunt@er2-4711@proxy:3128/", "er2-4711"),
    "proxy without scheme": (f"proxy-server=robot:{PASSWORD}@proxy.example.com:3128", PASSWORD),
    "signature": ("GET https://x.blob.core.windows.net/a?sv=2024&sig=Zm9vYmFy%3D&sp=r", "Zm9vYmFy"),
    "signature of S3": ("/a?X-Amz-Signature=0f1e2d3c4b&x=1", "0f1e2d3c4b"),
    "TOML": (f'  password = "{PASSWORD}"', PASSWORD),
    "TOML with a blank": ('  password = "two words"', "two words"),
    "containerd's auth": ('  auth = "dXNlcjpwYXNzd29yZA=="', "dXNlcjpwYXNz"),
    "identity token": ('{"identitytoken":"abc123xyz789"}', "abc123xyz789"),
    "JSON in JSON": ('"body": "{\\"password\\":\\"two words\\"}"', "two words"),
    "YAML": (f"password: {PASSWORD}", PASSWORD),
    "comma": ("pwd=abc,def;ghi", "def;ghi"),
    "argument": (f"net.exe --db-password {PASSWORD} --verbose", PASSWORD),
    "one dash": (f"-Password {PASSWORD}", PASSWORD),
    "storage key": ("DefaultEndpointsProtocol=https;AccountKey=Zm9vYmFyYmF6;X=1", "Zm9vYmFyYmF6"),
    "cloud": ("id AKIAIOSFODNN7EXAMPLE was used", "AKIAIOSFODNN7EXAMPLE"),
    "GitHub": ("cloning with ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789"),
    "answer file": ("<Password>\n <Value>UABhAHMAcwA=</Value>\n</Password>", "UABhAHMAcwA="),
    "capitals": (f"PASSWORD={PASSWORD}", PASSWORD),
}
HARMLESS = (
    r'"C:\k\kubelet.exe" --windows-service --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf',
    "authentication:\n  anonymous:\n    enabled: false\n  webhook:\n    enabled: true\nauthorization:\n  mode: x",
    "tokenAttributesEnabled: true, tokenFile: C:\\x, secretName: certs, --token-ttl 2h0m0s, tokenTTL: 24h",
    "--discovery-token-ca-cert-hash sha256:0123 --tls-private-key-file=C:\\pki\\key",
    'I1121 14:00:00.123456    1234 kubelet.go:2345] "SyncLoop" pods=["kube-system/kube-proxy-abcde"]',
    "image registry.k8s.io/pause@sha256:7c38f24774e3cbd906d2d33c38354ccf787635581c122965132c9bd309754d4a",
    "pulled mcr.microsoft.com/windows/nanoserver:ltsc2022 in 3.4s; Namespace 9a4b6f8e-0000-1111-2222-333344445555",
    "Name=nat Subnets={172.16.0.0/16} user@example.com time=12:30:45 a=b c:d",
    "no password was given; the token has expired; secrets are mounted",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
)


@pytest.mark.parametrize("case", SECRETS)
def test_secrets_are_blanked(case: str) -> None:
    text, secret = SECRETS[case]
    assert secret in text
    clean = Redaction().text(text)
    assert secret not in clean
    assert BLANK in clean


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_not_redacted(text: str) -> None:
    assert Redaction().text(text) == text


texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=40)


@given(st.sampled_from(sorted(SECRETS)), texts, texts)
@example("proxy", "ẞİ", "")
def test_secrets_are_redacted_between_other_lines(case: str, before: str, after: str) -> None:
    text, secret = SECRETS[case]
    assert secret not in Redaction().text(f"{before}\n{text}\n{after}").replace(before, "").replace(after, "")


@given(st.text())
def test_a_text_without_any_of_it_is_left_alone(text: str) -> None:
    plain = text.translate(str.maketrans(dict.fromkeys("=:@.?&-_<", " ")))
    assert Redaction().text(plain) == plain


@pytest.mark.parametrize("case", FORMS)
def test_every_form_of_a_secret_is_blanked(case: str) -> None:
    assert "Correct4711" in FORMS[case]
    clean = Redaction().text(f"first line\n{FORMS[case]}\nlast line")
    assert "Correct4711" not in clean
    assert clean.startswith("first line\n")
    assert clean.endswith("last line")
    assert Redaction().text(clean) == clean


def test_the_table_is_as_long_as_the_review_that_asked_for_it() -> None:
    assert len(FORMS) >= 86


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_lines_of_logs_stay_readable(text: str) -> None:
    assert Redaction().text(text) == text


@pytest.mark.parametrize("form", ["env in JSON for people", "env in YAML", "JSON on the next line", "Format-List"])
def test_the_border_of_blocks_cuts_no_name_off_its_value(form: str) -> None:
    """The longest secret across lines, with the border at each of its positions."""
    lines = "\n".join(f"line {number} of many" for number in range(20))
    data = f"{lines}\n{FORMS[form]}\n{lines}\n".encode()
    for size in range(30, 500, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(streams, "_BLOCK", size)
            clean = streamed(data) or b""
        assert b"Correct4711" not in clean, size
        assert len(clean) > len(data) - 100


def test_structured_values_know_the_same_forms() -> None:
    document = {
        "env": [{"name": "DB_PASSWORD", "value": SECRET}, {"name": "HOME", "value": "C:\\"}],
        "token": [SECRET],
        "secret": {"value": SECRET, "type": "Opaque"},
        "volume": {"secret": {"secretName": "tls", "defaultMode": 420}},
    }
    clean = Redaction().value(document)
    assert SECRET not in json.dumps(clean)
    assert clean["env"][1] == document["env"][1]  # type: ignore[index]
    assert (clean["volume"], clean["secret"]["type"]) == (document["volume"], "Opaque")


BEGINNINGS = (
    "-eyJ", "eyJaaaaaaaaa.",
    'token="', "token='", 'token=\\"', "token=[", "token={", "tokenfile=", "token: ", "--token ",
    "x://a:", "@a:", "authorization: [", "bearer ", "?sig", "&a-token", "<Password>", "<token>",
    "-----BEGIN PRIVATE KEY-----[", "cookie: ", " login ", "-u a:", "net user a", "identified by ", "password:\n",
    "password: |\n", 'value:"a",name:"', 'name:"token",value:', "token,      ", "\\", "token\\", '\\"', "TOKEN   ",
    "LS0tLS1CRUdJTi", "ghp_", "token", "secret{", "  token: |\n   a\n",
)  # fmt: skip
# Otherwise, a form could be missed because its hint is missing.
HINTS = "@ ? & < eyj -p -pw /rp ls0tls1crudjti private key----- password> authorization bearer cookie login net xox\n"


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_time_grows_with_the_text_and_no_faster(beginning: str) -> None:
    """Eight times the text takes about eight times as long, and a quadratic pattern would take 64 times as long."""

    def cost(size: int) -> float:
        text = HINTS + beginning * (size // len(beginning))
        times = []
        for _ in range(3):
            before = time.process_time()
            Redaction().text(text)
            times.append(time.process_time() - before)
        return min(times)

    small, large = cost(4 * 1024), cost(32 * 1024)
    assert large < 30 * max(small, 0.001)


def test_known_secrets_are_blanked_in_any_dress() -> None:
    redaction = Redaction(["p@ss w0rd/1", "short"])
    assert redaction.text("said p@ss w0rd/1 and p%40ss%20w0rd%2F1 and short") == f"said {BLANK} and {BLANK} and short"


def test_values_of_json() -> None:
    document = {
        "Environment": ["HTTP_PROXY=http://u:geheim@p:1"],
        "clientSecret": "geheim",
        "tokenFile": "C:\\token",
        "deep": {"list": [{"password": "geheim"}], "number": 7, "none": None},
    }
    clean = Redaction().value(document)
    assert "geheim" not in json.dumps(clean)
    assert (clean["tokenFile"], clean["deep"]["number"], clean["deep"]["none"]) == ("C:\\token", 7, None)


def streamed(data: bytes, known: tuple[str, ...] = ()) -> bytes | None:
    target = io.BytesIO()
    return target.getvalue() if Redaction(known).stream(io.BytesIO(data), target) else None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_texts_of_any_encoding(encoding: str) -> None:
    text = f"first line\r\npassword: {PASSWORD}\r\nlast line of the log\r\n"
    data = text.encode(encoding)
    clean = streamed(b"\xfe\xff" + data if encoding == "utf-16-be" else data)
    assert clean == f"first line\r\npassword: {BLANK}\r\nlast line of the log\r\n".encode()


def test_bytes_other_than_utf_8_are_kept() -> None:
    data = b"caf\xe9 \xff\xfe token=abc\nnext\n"
    assert streamed(data) == b"caf\xe9 \xff\xfe token=***\nnext\n"


def test_binary_files_are_left_out() -> None:
    assert streamed(b"MZ\x90\0\x03\0\0\0\x04 password=x") is None
    assert streamed(b"") == b""


@given(st.integers(min_value=20, max_value=300), st.sampled_from(["utf-8", "utf-16-le"]))
def test_blocks_cut_no_secret(size: int, encoding: str) -> None:
    lines = [f"line {number} of many" for number in range(20)]
    text = "\n".join([*lines, KEY, *lines, f"password={PASSWORD}", *lines, TOKEN, "end"])
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_BLOCK", size)
        clean = (streamed(mark + text.encode(encoding)) or b"").decode()
    assert clean == "\n".join([*lines, BLANK, *lines, f"password={BLANK}", *lines, BLANK, "end"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_line_without_end_is_left_out(encoding: str) -> None:
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    text = "before\n" + "x" * 2_000_000 + f"password={PASSWORD}" + "y" * 2_000_000 + "\nafter\n"
    clean = (streamed(mark + text.encode(encoding)) or b"").decode()
    assert clean.splitlines() == ["before", "[a line of more than 1048576 bytes was left out]", "after"]


def test_only_the_text_of_an_unterminated_key_is_redacted() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nMIIE\n[kubelet] started\n" * 2000
    clean = Redaction().text(text)
    assert "MIIE" not in clean
    assert clean.count("[kubelet] started") == 2000
