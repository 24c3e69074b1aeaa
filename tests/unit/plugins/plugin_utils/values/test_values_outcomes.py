# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete results for many values: redacted texts, descriptions of rejected values, problems of versions."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from unit import outcomes
from unit.secret_forms import FORMS, SECRET

from ansible_collections.winkube.node.plugins.module_utils.redaction.names import is_open, is_secret_name
from ansible_collections.winkube.node.plugins.module_utils.redaction.streams import LONGEST_LINE
from ansible_collections.winkube.node.plugins.module_utils.redaction.texts import Redaction
from ansible_collections.winkube.node.plugins.plugin_utils.values import shown, versions
from ansible_collections.winkube.node.plugins.plugin_utils.values.shown import AsItIs
from ansible_collections.winkube.node.plugins.plugin_utils.values.version_support import (
    UnsupportedRelease,
    docker_problems,
    pair_problems,
)
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import Version

PEM = "-----BEGIN {}PRIVATE KEY-----\nMIIEpA/+=\n-----END {}PRIVATE KEY-----"
MORE_FORMS: dict[str, str] = {
    "bearer": f"a Bearer {SECRET} and basic {SECRET}.",
    "a short bearer": "bearer of news, basic rights",
    "a header with an unknown scheme": f"Authorization: negotiate {SECRET} next",
    "a proxy's header": f"proxy-authorization=[{SECRET}]",
    "a JSON web token without signature": "x eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr. y",
    "no JSON web token": "eyJhbG.eyJpc3MiOiJr",
    "a bootstrap token, and no such": "abcdef.0123456789abcdef xabcdef.0123456789abcdef abcdef.0123456789abcdefg",
    "queries": "https://h/?a=b&sig=Zm9v&api_key=x1&x=y&my-token-id=1&code=2#end",
    "keys of clouds": f"AKIA{'A' * 16} ASIA{'B' * 16} AKIA{'C' * 15} AIza{'d' * 35} AIza{'e' * 34}",
    "tokens of GitHub": f"ghp_{'a' * 20} ghs_{'b' * 19} github_pat_{'c' * 20} github_pat_{'d' * 19}",
    "tokens of others": f"xoxb-{'a' * 10} xoxq-{'b' * 10} dckr_pat_{'c' * 16} glpat-{'d' * 16} glpat-{'e' * 15}",
    "answer files": "<AdministratorPassword><Value>x</Value></AdministratorPassword> <Password>\n</Password>",
    "XML": "<a:ClientSecret>x</a:ClientSecret><secret></secret><token>x</secret> <Name>x</Name>",
    "cookies": "Set-Cookie: a=b; c=d\nCookie2: [e=f]\ncookies: none",
    "docker login": f"docker login -u me -p {SECRET} h; sshpass -p {SECRET} ssh; login -p -x",
    "credentials": f"ctr pull --creds me:{SECRET} x; curl -u me:{SECRET} h; docker run -u 1000:1000 x; --user me:",
    "schtasks": f"schtasks /create /ru me /rp {SECRET} /tn x; plink -pw {SECRET} h; -pw -x",
    "net use": f"net use z: \\\\h\\share {SECRET}; net.exe user me {SECRET} /add; net1 user me /delete",
    "netrc": f"machine h login me password {SECRET}",
    "SQL": f"alter user x identified by {SECRET};",
    "a secure string": f"ConvertTo-SecureString -String \"{SECRET}\" -Force; ConvertTo-SecureString '{SECRET}'",
    "a secure string of a variable": "ConvertTo-SecureString $x; ConvertTo-SecureString -AsPlainText",
    "keys": f"{PEM.format('RSA ', 'RSA ')} {PEM.format('', '')}",
    "a key that is cut off": "-----BEGIN PRIVATE KEY-----\nMIIEpA\n!end",
    "two keys, the first cut off": "-----BEGIN PRIVATE KEY-----\nMIIE!x\n" + PEM.format("EC ", "EC "),
    "certificates of a kubeconfig": "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJ==",
    "users in URLs": "https://me:pa/ss@h/ http://h:80/@x http://h:80,x@y http://me@h me:pw@proxy:3128 a:b@sha256:1",
    "names that describe": "token-file=x tokenTTL: 5 secretName: y token_manager.go:121] password-count: 3",
    "types of the API": "*v1.Secret: secrets is forbidden, v1.secret=x",
    "nothing behind names": "password= token: '' secret=true auth: null pwd=[] x",
    "a sentence": "the password is wrong and the token was refused",
    "a long name": f"{'a' * 41}token{'b' * 41}: x, token{'b' * 40}: x",
    "a setting of a whole line": "export DB_PASSWORD=two words\n$env:TOKEN = a b\n  - secret: a b c=d\nset PWD=a b",
    "a setting within a line": "x y password=one two",
    "a passphrase within a line": "x y z passphrase: one two three user=me",
    "a list": 'tokens: [a, "b"] secrets=[ ] token=[[a]]',
    "an object": 'secret: {"value": "a", "name": "b", plaintext: c, "raw": \'d\'} token={}',
    "a block": "password: |\n    one\n\n    two\nname: x",
    "a folded block in a list": "  - token: >-\n      one\n      two\n  - name: x",
    "a value below": 'x:\n  password:\n    one\n  name: y\n"token":\n  "two"\n',
    "a key below": "secret:\n  name: x\n  type: y\n",
    "flags": "--token abc -password abc --secret --x --auth=abc --token=",
    "columns": "DB_PASSWORD      one two\nNAME             x\nmy password  stays",
    "pairs": "name: DB_PASSWORD, value: one\nName:DB_PASSWORD,Value:one,ValueFrom:nil,} x",
    "pairs of other names": "name: HOME, value: one",
    "a value before its name": '{"value": "one", "key": "API_TOKEN"} {"value": "one", "key": "HOME"}',
    "quotes in quotes": "\"password\": \"one\\\"two\" x 'pwd': 'it\\'s' y",
    "an open quote": 'password="one two\nthree',
    "escaped": '{\\"password\\": \\"one two\\", \\"x\\": \\"y\\"}',
    "twice escaped": '\\\\\\"token\\\\\\": \\\\\\"one\\\\\\", x',
    "capital letters": "PASSWORD: ONE Token=Two API_KEY=three İ secret=four",
}


def test_texts_are_redacted_and_the_rest_stays() -> None:
    redaction = Redaction()
    outcomes.check("values/redacted_forms", {name: redaction.text(text) for name, text in FORMS.items()})
    outcomes.check("values/redacted_texts", {name: redaction.text(text) for name, text in MORE_FORMS.items()})


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True),
        ("DB_PASS", True),
        ("adminpass", True),
        ("compass", False),
        ("bypass", False),
        ("tokenFile", False),
        ("token-ttl", False),
        ("secretName", False),
        ("auth", True),
        ("author", False),
        ("oauth", False),
        ("sig", True),
        ("design", False),
        ("private_key", True),
        ("name", False),
        ("passwords", True),
        ("password.go", False),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("text", "open_"), [("token:\na\nb", True), ("token:\na\nb\nc", False), ("", False), ("x\nPASSWORD İ", True)]
)
def test_a_value_may_follow_its_name_for_two_lines(text: str, open_: bool) -> None:
    assert is_open(text) is open_


def test_json_values_are_redacted() -> None:
    document: dict[str, Any] = {
        "token": [SECRET, {"value": SECRET, "note": "x", "number": 5}, 7, None, ""],
        "secret": {"secretName": "tls", "stringData": {"a": SECRET}, "raw": ("x", SECRET)},
        "env": ({"key": "API_TOKEN", "Value": SECRET, "other": "y"}, {"name": "HOME", "value": "z"}),
        "ports": [1, True, 2.5, None],
        "name": "token",
        "value": "hidden, because of its name",
        "text": f"password={SECRET}",
    }
    outcomes.check("values/redacted_json", {"document": Redaction().value(document)})


def test_known_secrets_are_at_least_six_characters_long() -> None:
    redaction = Redaction(["5 chr", "six/ch", "six/ch and more"])
    assert redaction.text("5 chr six/ch six%2Fch six/ch and more") == "5 chr *** *** ***"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", b""),
        (b"\xff\xfea\0\n\0", b"a\n"),
        (b"\xfe\xff\0a\0\n", b"a\n"),
        ("password=x".encode("utf-16-le"), b"password=***"),
        (b"\xef\xbb\xbfa", b"\xef\xbb\xbfa"),
        (b"\xff password=x", b"\xff password=***"),
        (b"a\0b\0c\0d\0e\xffe\xff", None),
        (b"\0\0\0\0", None),
        (b"a\0bcdefgh", None),
        # The bytes of a line ending, but of two characters.
        ("\u0a61\u0100a\n".encode("utf-16-le").ljust(40, b"a\0"[1:]), None),
    ],
)
def test_texts_are_copied_in_utf_8(data: bytes, text: bytes | None) -> None:
    target = io.BytesIO()
    assert Redaction().stream(io.BytesIO(data), target) is (text is not None)
    assert target.getvalue() == (text or b"")


def test_only_too_long_lines_are_left_out() -> None:
    target = io.BytesIO()
    lines = [b"a" * (LONGEST_LINE - 1), b"b" * (2 * LONGEST_LINE), b"c" * 10]
    assert Redaction().stream(io.BytesIO(b"\n".join(lines)), target)
    first, second, third = target.getvalue().split(b"\n")
    assert (first, third) == (lines[0], lines[2])
    assert second == f"[a line of more than {LONGEST_LINE} bytes was left out]".encode()


class Thing:
    """A value of a type that YAML does not have."""


VALUES: dict[str, object] = {
    "a description": AsItIs("three words here"),
    "bytes": b"abc",
    "a bytearray": bytearray(b"ab"),
    "a text": "it's",
    "a text of 200": "a" * 200,
    "a text of 201": "a" * 201,
    "a text with a secret": f"password={SECRET}",
    "a URL": "https://me:x@h/a?sig=b",
    "control characters": "a\x1b[31mb",
    "nothing": None,
    "truth": True,
    "a number": 5,
    "a fraction": 1.5,
    "an empty mapping": {},
    "one key": {"a": "secret"},
    "twelve keys": {f"k{number}": 1 for number in range(12)},
    "fourteen keys": {f"k{number}": 1 for number in range(14)},
    "a long key": {"k" * 61: 1, "l" * 60: 2},
    "a number as key": {1: 2},
    "numbers": [1, 2.5, True],
    "an empty list": [],
    "a tuple of numbers": (1, 2),
    "a mixed list": [1, "a", "b", None, True, {}, [], (), 2.5, Thing()],
    "an object": Thing(),
}


def test_refused_values_are_described() -> None:
    outcomes.check("values/shown", {name: shown.shown(value) for name, value in VALUES.items()})
    kinds = [shown.kind(value) for value in (True, 1, 1.5, "a", {}, [], (), None, Thing())]
    expected = ["true or false", "number", "number", "string", "mapping", "list", "list", "null", "Thing"]
    assert kinds == expected


def read(text: str) -> Version:
    return Version.parse(text)


def test_versions_are_read_and_compared() -> None:
    assert read(" v1.37.1-rc.1 ") == Version(1, 37, 1, "-rc.1")
    assert (str(read("v1.37.1-rc.1")), read("1.37.1").minor_version, read("1.37.1").suffix) == (
        "1.37.1-rc.1",
        "1.37",
        "",
    )
    span = {"oldest": "1.9", "newest": "1.30"}
    found = [versions.within(minor, span) for minor in ("1.8", "1.9", "1.10", "1.30", "1.31", "2.1")]
    assert found == [False, True, True, True, False, False]
    assert versions.containerd_line(read("9.9.9")) is None
    line = versions.containerd_line(read("1.7.35"))
    assert line is not None
    assert "1.7" in line["minors"]


def expected(problems: list[UnsupportedRelease]) -> str:
    return "; ".join(problem.expected for problem in problems) or "none"


def test_problems_of_versions_are_reported() -> None:
    pairs = [(kube, "2.4.2") for kube in ("1.29.9", "1.30.0", "1.37.9", "1.38.0")]
    pairs += [("1.37.1", line) for line in ("1.5.1", "1.6.36", "1.7.35", "2.0.14", "2.4.2", "2.9.0")]
    found: dict[str, object] = {}
    for kube, containerd in pairs:
        found[f"{kube} and containerd {containerd}"] = expected(pair_problems(read(kube), read(containerd)))
    table = versions.supported()
    docker, adapter = table["docker"]["oldest"], table["cri-dockerd"]["oldest"]
    for kube in ("1.23.9", "1.24.0", "1.29.9", "1.30.0", "1.37.1", "1.38.0"):
        found[f"{kube} and Docker"] = expected(docker_problems(read(kube), read(docker), read(adapter)))
    found["old Docker"] = expected(docker_problems(read("1.37.1"), read("1.0.0"), read(adapter)))
    found["old cri-dockerd"] = expected(docker_problems(read("1.37.1"), read(docker), read("0.0.1")))
    found["Docker before its release"] = expected(docker_problems(read("1.37.1"), read(f"{docker}-rc"), read(adapter)))
    for kubelet, server in (("1.34.9", "1.37.0"), ("1.33.9", "1.37.0"), ("1.38.0", "1.37.9"), ("1.37.1", "1.37.0")):
        found[f"kubelet {kubelet}, server {server}"] = versions.skew_problem(read(kubelet), read(server)) or "none"
    found["kubelet 1.0.0, server 1.2.0"] = versions.skew_problem(read("1.0.0"), read("1.2.0")) or "none"
    found["kubelet 2.0.0, server 1.37.0"] = versions.skew_problem(read("2.0.0"), read("1.37.0"))
    for kube in ("1.5.0", "1.30.4", "1.31.0", "1.37.1", "9.0.0"):
        found[f"kubeadm {kube}"] = versions.kubeadm_api(read(kube))
    with pytest.raises(ValueError, match=r"expected MAJOR\.MINOR\.PATCH") as caught:
        read("1.37")
    found["half a version"] = caught.value
    outcomes.check("values/versions", json.loads(json.dumps(outcomes.plain(found))))
