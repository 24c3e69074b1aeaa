# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests to registries, their order, and their authentication."""

from __future__ import annotations

import base64
import hashlib
import json
import typing as t
from pathlib import Path

import pytest
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import fetch, images, registry
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import Checksum, FetchSource
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError

PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"


class Answers:
    """A fetcher whose servers are a dictionary. It records the requests."""

    def __init__(self, **documents: object) -> None:
        self.documents = documents
        self.asked: list[FetchSource] = []

    def document(self, source: FetchSource) -> tuple[bytes, dict[str, str]]:
        self.asked.append(source)
        name = source.url.partition("?")[0].rpartition("/")[2].replace(":", "_").replace(".", "_")
        found = self.documents.get(name, fetch.FetchError(source.url, "HTTP 404", 404))
        answer = found.pop(0) if isinstance(found, list) else found
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode(), {
            "Content-Type": "from/header; x=y"
        }

    def file(self, source: FetchSource, target: Path, checksum: Checksum | None) -> None:
        data, _headers = self.document(source)
        target.write_bytes(data)


def client(answers: Answers, host: str = "r.example", **about: t.Any) -> registry.RegistryClient:
    endpoints = registry.endpoints(host, {host: about} if about else {})
    return registry.RegistryClient(t.cast("t.Any", answers), endpoints, proxy="http://p:1", no_proxy=("a",))


REGISTRIES: dict[str, tuple[str, dict[str, t.Any]]] = {
    "none": ("r.example", {}),
    "Docker Hub": ("docker.io", {}),
    "this machine": ("localhost:5000", {}),
    "this machine by address": ("127.0.0.1:5000", {}),
    "this machine without a port": ("localhost", {}),
    "the default": ("r.example", {"_default": {"mirrors": ["m.example"]}}),
    "one of its own": ("r.example", {"_default": {"mirrors": ["m.example"]}, "r.example": None}),
    "in full": (
        "r.example",
        {
            "r.example": {
                "server": "http://s.example/x",
                "username": "u",
                "password": "p",
                "headers": {"a": ["b", "c"], "d": 1},
                "ca": [PEM, f" {PEM}"],
                "override_path": True,
                "mirrors": [{"url": "https://m.example", "skip_verify": True, "ca": PEM, "username": "m"}],
            }
        },
    ),
    "a CA that is a path": ("r.example", {"r.example": {"ca": "C:\\ca.pem"}}),
    "a path that is not read": ("r.example", {"r.example": {"ca": "C:\\ca.pem", "skip_verify": True}}),
    "no URL": ("r.example", {"r.example": {"server": "ftp://r.example"}}),
    "a mirror without a URL": ("r.example", {"r.example": {"mirrors": [{}]}}),
}


def test_the_endpoints_of_registries() -> None:
    found: dict[str, object] = {}
    for name, (host, registries) in REGISTRIES.items():
        try:
            found[name] = registry.endpoints(host, registries)
        except BundleError as error:
            found[name] = error
    outcomes.check("bundle/endpoints", found)


def challenge(text: str) -> fetch.FetchError:
    return fetch.FetchError("https://r.example", "HTTP 401", 401, text)


TOKEN = 'Bearer realm="https://t.example/token?x=1",service="r"'
CHALLENGES: dict[str, tuple[str, dict[str, t.Any], object]] = {
    "a token": (TOKEN, {}, {"token": "t"}),
    "a token of another name": ('Bearer realm="https://t.example/token",scope="s"', {}, {"access_token": "t"}),
    "a token for a user": (TOKEN, {"username": "u", "password": "p"}, {"token": "t"}),
    "no token": (TOKEN, {}, {}),
    "a token that cannot be sent": (TOKEN, {}, {"token": "a\nb"}),
    "a token server without HTTPS": ('Bearer realm="http://t.example/token"', {}, {"token": "t"}),
    "a token server without HTTPS like the registry": (
        'Bearer realm="http://t.example/token"',
        {"server": "http://r.example"},
        {"token": "t"},
    ),
    "a password": ("Basic", {"username": "u", "password": "p"}, {}),
    "a password that nobody gave": ("Basic", {}, {}),
    "another scheme": ("Negotiate", {}, {}),
    "nothing": ("", {}, {}),
}


def test_credentials_are_sent_as_the_registry_asks() -> None:
    found: dict[str, object] = {}
    for name, (text, about, token) in CHALLENGES.items():
        answers = Answers(**{"1": [challenge(text), {"config": {}, "layers": []}], "token": token})
        try:
            client(answers, **about).image("r.example/team/a:1", ["2022"])
            message = ""
        except BundleError as error:
            message = str(error)
        asked = [
            {"url": one.url, "headers": {key: value for key, value in one.headers.items() if key != "Accept"}}
            for one in answers.asked
        ]
        found[name] = {"said": message, "asked": asked}
    outcomes.check("bundle/challenges", found)


def test_a_token_is_kept_and_renewed() -> None:
    """Tokens expire after a few minutes."""
    answers = Answers(**{"1": [challenge(TOKEN), b"{}", b"{}", challenge(TOKEN), b"{}"], "token": {"token": "t"}})
    found = client(answers)
    for _number in range(3):
        with pytest.raises(BundleError):
            found.image("r.example/a:1", ["2022"])
    assert [one.url.partition("?")[0].rpartition("/")[2] for one in answers.asked] == [
        "1", "token", "1", "1", "1", "token", "1",
    ]  # fmt: skip
    sent = [one.headers.get("Authorization") for one in answers.asked]
    assert sent == [None, None, "Bearer t", "Bearer t", "Bearer t", None, "Bearer t"]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def packed(document: object) -> tuple[bytes, dict[str, t.Any]]:
    """Return a document and its descriptor."""
    data = json.dumps(document).encode()
    return data, {"digest": digest(data), "size": len(data), "mediaType": images.MANIFESTS[0]}


def test_an_image_without_an_index_has_the_platform_of_its_configuration() -> None:
    config, about = packed({"os": "windows", "architecture": "amd64", "os.version": "10.0.20348.1", "config": {}})
    manifest = {"config": {**about, "mediaType": "c"}, "layers": [{**about, "mediaType": "l"}]}
    answers = Answers(**{"1": manifest, about["digest"].replace(":", "_"): config})
    found = client(answers).image("r.example/a:1", ["2022", "2025", "2019"])
    fits = {version: [one.own.platform for one in manifests] for version, manifests in found.manifests.items()}
    platform = {"os": "windows", "architecture": "amd64", "os.version": "10.0.20348.1"}
    assert fits == {"2022": [platform], "2025": fits["2025"], "2019": []}
    assert list(found.documents) == [found.top.digest]
    assert (found.top.media_type, found.top.size) == ("from/header", len(json.dumps(manifest)))
    sources = [(one.url, one.headers.get("Accept"), one.proxy, one.no_proxy) for one in answers.asked]
    kinds = ", ".join((*images.INDEXES, *images.MANIFESTS))
    assert sources == [
        ("https://r.example/v2/a/manifests/1", kinds, "http://p:1", ("a",)),
        (f"https://r.example/v2/a/blobs/{about['digest']}", None, "http://p:1", ("a",)),
    ]
    lying = Answers(**{"1": manifest, about["digest"].replace(":", "_"): config + b" "})
    with pytest.raises(BundleError, match=r"expected the image configuration sha256:.* from the registry, got sha256:"):
        client(lying).image("r.example/a:1", ["2022"])


def test_of_an_index_each_manifest_that_fits_is_read_once() -> None:
    config = packed({})[1]
    data, about = packed({"config": config, "layers": [config]})
    platform = {"os": "windows", "architecture": "amd64", "os.version": "10.0.20348.1"}
    linux = {**about, "digest": "sha256:" + "0" * 64, "platform": {"os": "linux", "architecture": "amd64"}}
    index = {"mediaType": images.INDEXES[0], "manifests": [linux, {**about, "platform": platform}]}
    answers = Answers(**{"1": index, about["digest"].replace(":", "_"): data})
    found = client(answers).image("r.example/a:1", ["2022", "2019"])
    assert len(answers.asked) == 2
    assert [one.own.digest for one in found.manifests["2022"]] == [about["digest"]]
    assert found.manifests["2019"] == ()
    assert set(found.documents) == {found.top.digest, about["digest"]}
    assert found.top.media_type == images.INDEXES[0]
    none = Answers(**{"1": {"mediaType": images.INDEXES[0], "manifests": {}}})
    with pytest.raises(BundleError, match="expected a list of manifests"):
        client(none).image("r.example/a:1", ["2022"])


def test_mirrors_are_asked_first_with_the_name_of_the_registry(tmp_path: Path) -> None:
    answers = Answers()
    about = {"mirrors": ["https://m.example/v2", {"url": "https://n.example/x/", "override_path": True}]}
    blob = images.Descriptor(digest="sha256:" + "a" * 64, size=1)
    with pytest.raises(BundleError) as caught:
        client(answers, **about).blob("r.example/a/b:1", blob, tmp_path / "blob")
    path = f"a/b/blobs/{blob.digest}"
    assert [one.url for one in answers.asked] == [
        f"https://m.example/v2/{path}?ns=r.example",
        f"https://n.example/x/{path}?ns=r.example",
        f"https://r.example/v2/{path}",
    ]
    assert str(caught.value) == "; ".join(f"{one.url.partition('?')[0]}: HTTP 404" for one in answers.asked)


def test_foreign_layers_come_from_the_places_that_they_name(tmp_path: Path) -> None:
    urls = ("http://f.example/layer", "https://f.example/none", "https://f.example/layer")
    blob = images.Descriptor(digest="sha256:" + "a" * 64, size=1, urls=urls)
    answers = Answers(layer=b"x")
    client(answers).blob("r.example/a:1", blob, tmp_path / "blob")
    assert (tmp_path / "blob").read_bytes() == b"x"
    assert [one.url for one in answers.asked[1:]] == list(urls[1:])
    assert {one.inside for one in answers.asked[1:]} == {frozenset({"r.example"})}
    assert {(one.proxy, one.no_proxy) for one in answers.asked} == {("http://p:1", ("a",))}
    plain = Answers(layer=b"y")
    client(plain, server="http://r.example").blob("r.example/a:1", blob, tmp_path / "blob")
    assert [one.url for one in plain.asked[1:]] == [urls[0]]
    with pytest.raises(BundleError) as caught:
        client(Answers()).blob("r.example/a:1", blob, tmp_path / "blob")
    assert str(caught.value) == (
        f"r.example/a:1: layer {blob.digest}: http://f.example/layer: a manifest from an HTTPS registry contains a "
        "layer URL without HTTPS; https://f.example/none: HTTP 404; https://f.example/layer: HTTP 404"
    )


def test_basic_authentication_is_a_pair() -> None:
    endpoint = registry.RegistryEndpoint(url="https://h", username="u", password="p:x")
    assert base64.b64decode(registry._basic(endpoint).removeprefix("Basic ")) == b"u:p:x"
