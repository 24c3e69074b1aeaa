# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The responses of registries, and what a bundle uses of them."""

from __future__ import annotations

import hashlib
import json
import pathlib
import tarfile
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import archive as bundle_archive
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import images
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import registry as bundle_registry
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import (
    Fetcher,
    FetchError,
    FetchSource,
    retry_after,
)
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.images import Descriptor
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError, path_problem
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.routes import bypasses, is_inside
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_versions

REFERENCE = "registry.k8s.io/pause:3.10.2"
WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["manifests", "config", "layers", "digest", "size", "urls", "platform", "mediaType"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


class Answers:
    """A fetcher that returns the same document for all requests."""

    def __init__(self, *documents: bytes) -> None:
        self._documents = documents
        self.asked: list[FetchSource] = []

    def document(self, source: FetchSource) -> tuple[bytes, dict[str, str]]:
        self.asked.append(source)
        return self._documents[min(len(self.asked), len(self._documents)) - 1], {}


def entry(version: str | None, number: int = 1, system: str = "windows", machine: str = "amd64") -> Descriptor:
    platform = {"os": system, "architecture": machine} | ({"os.version": version} if version else {})
    return Descriptor(digest="sha256:" + f"{number:064x}", size=1, platform=platform)


@given(st.binary(max_size=60) | WILD.map(lambda found: json.dumps(found).encode()))
def test_any_answer_of_a_registry_is_an_image_or_one_message(data: bytes) -> None:
    fetcher = t.cast("Fetcher", Answers(data))
    registry = bundle_registry.RegistryClient(fetcher, [bundle_registry.RegistryEndpoint(url="http://h")])
    try:
        found = registry.image(REFERENCE, list(windows_versions.NAMES))
    except BundleError:
        return
    assert set(found.manifests) == set(windows_versions.NAMES)


def test_another_manifest_than_the_list_names_is_refused() -> None:
    def manifest(number: int) -> bytes:
        config = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": f"sha256:{number:064x}", "size": 1}
        return json.dumps({"schemaVersion": 2, "config": config, "layers": []}).encode()

    own = entry("10.0.20348.1")
    right = f"sha256:{hashlib.sha256(manifest(1)).hexdigest()}"
    listed = {"digest": right, "size": 1, "platform": dict(own.platform)}
    top = json.dumps({"schemaVersion": 2, "manifests": [listed]}).encode()

    def read(*answers: bytes) -> bundle_registry.Image:
        registry = bundle_registry.RegistryClient(
            t.cast("Fetcher", Answers(*answers)), [bundle_registry.RegistryEndpoint(url="http://h")]
        )
        return registry.image(REFERENCE, ["2022"])

    assert [one.config.digest for one in read(top, manifest(1)).manifests["2022"]] == [f"sha256:{1:064x}"]
    wrong = f"sha256:{hashlib.sha256(manifest(2)).hexdigest()}"
    with pytest.raises(BundleError, match=f"expected {right} from the registry, got {wrong}"):
        read(top, manifest(2))


@given(st.text(max_size=80))
def test_wild_challenges_are_read(header: str) -> None:
    scheme, parameters = bundle_registry.read_challenge(header)
    assert scheme == scheme.lower()
    assert all(isinstance(value, str) for value in parameters.values())


def test_challenges_of_registries_are_parsed() -> None:
    header = 'Bearer realm="https://auth.h/token?x=1",service="registry.h", scope="repository:a/b:pull,push",error=bad'
    assert bundle_registry.read_challenge(header) == (
        "bearer",
        {
            "realm": "https://auth.h/token?x=1",
            "service": "registry.h",
            "scope": "repository:a/b:pull,push",
            "error": "bad",
        },
    )


def test_an_old_windows_takes_its_own_build_only_and_a_new_one_older_ones_too() -> None:
    own, older, old, newer = (
        entry("10.0.26100.1", 1),
        entry("10.0.20348.9", 2),
        entry("10.0.17763.5", 3),
        entry("10.0.30000.1", 4),
    )
    entries = [old, older, newer, own, entry("10.0.26100.1", 5, "linux"), entry("10.0.26100.1", 6, machine="arm64")]
    assert images.supported_entries(entries, "2025") == [own, older]
    assert images.supported_entries(entries, "2022") == [older]
    assert images.supported_entries(entries, "2019") == [old]
    assert images.supported_entries([entry(None)], "2019") == [entry(None)]


def test_the_newer_revision_comes_first() -> None:
    entries = [entry("10.0.20348.887", 1), entry("10.0.20348.2849", 2)]
    assert [one.platform["os.version"] for one in images.supported_entries(entries, "2022")] == [
        "10.0.20348.2849",
        "10.0.20348.887",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pause",
        "pause:3",
        "registry.k8s.io/pause",
        "registry.k8s.io/Pause:1",
        "h/a:b c",
        "h/a@sha256:12",
        "h/../a:1",
    ],
)
def test_invalid_references_are_refused(text: str) -> None:
    with pytest.raises(BundleError, match="expected a complete reference: registry/repository:tag"):
        images.reference(text)


@given(
    st.sampled_from(["registry.k8s.io", "127.0.0.1:5000", "localhost:5000"]),
    st.from_regex(r"[a-z0-9]{1,8}(/[a-z0-9]{1,8}){0,2}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
)
def test_an_archives_path_is_one_that_windows_has(host: str, path: str, tag: str) -> None:
    found = images.archive_path(f"{host}/{path}:{tag}", ["sha256:1"])
    assert not path_problem(found)
    assert ":" not in found


def test_an_archive_is_a_layout_and_what_docker_loads(tmp_path: pathlib.Path) -> None:
    config, layer = tmp_path / "config", tmp_path / "layer"
    config.write_bytes(b"{}")
    layer.write_bytes(b"layer" * 1000)
    parts = [
        Descriptor(digest=images.digest_of(path.read_bytes()), size=path.stat().st_size) for path in (config, layer)
    ]
    manifest = images.Manifest(own=entry("10.0.20348.1"), config=parts[0], layers=(parts[1],))
    top = Descriptor(digest="sha256:" + "9" * 64, size=5, media_type=images.INDEXES[0])
    image = bundle_registry.Image(
        top=top, manifests={"2022": (manifest,)}, documents={top.digest: b"index", manifest.own.digest: b"manifest"}
    )
    blobs = {parts[0].digest: config, parts[1].digest: layer}
    for name in ("one.tar", "two.tar"):
        bundle_archive.write(tmp_path / name, REFERENCE, image, [manifest], blobs)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        members = {member.name: (archive.extractfile(member) or layer.open("rb")).read() for member in archive}
    assert json.loads(members["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (listed,) = json.loads(members["index.json"])["manifests"]
    assert (listed["digest"], listed["size"], listed["mediaType"]) == (top.digest, 5, images.INDEXES[0])
    assert listed["annotations"]["io.containerd.image.name"] == REFERENCE
    (loaded,) = json.loads(members["manifest.json"])
    assert loaded["RepoTags"] == [REFERENCE]
    assert members[loaded["Config"]] == b"{}"
    assert [members[path] for path in loaded["Layers"]] == [b"layer" * 1000]


@pytest.mark.parametrize(
    ("registries", "expected"),
    [
        ({}, ["https://h"]),
        ({"h": {"mirrors": ["http://m"]}}, ["http://m", "https://h"]),
        (
            {"h": {"mirrors": [{"url": "http://m/x", "override_path": True}], "server": "http://s"}},
            ["http://m/x", "http://s"],
        ),
    ],
)
def test_mirrors_come_before_the_registry(registries: dict[str, t.Any], expected: list[str]) -> None:
    found = bundle_registry.endpoints("h", registries)
    assert [endpoint.url for endpoint in found] == expected
    assert [endpoint.mirror for endpoint in found] == [url != "https://h" for url in expected]


def test_a_mirror_must_be_a_url() -> None:
    with pytest.raises(BundleError, match="expected an http or https URL, got 'ftp://m'"):
        bundle_registry.endpoints("h", {"h": {"mirrors": ["ftp://m"]}})


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", None),
        ("soon", None),
        ("7", 7.0),
        ("99999", 120.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 120.0),
    ],
)
def test_retry_after_is_parsed(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


@given(st.text(max_size=30))
def test_a_wild_retry_after_is_within_reason(value: str) -> None:
    found = retry_after(value)
    assert found is None or 0 <= found <= 120


@pytest.mark.parametrize(
    ("url", "exceptions", "expected"),
    [
        ("http://dl.k8s.io/a", (), False),
        ("http://dl.k8s.io/a", ("*",), True),
        ("http://dl.k8s.io/a", (".k8s.io",), True),
        ("http://dl.k8s.io/a", ("example.com", ""), False),
        ("http://10.0.0.5/a", ("10.0.0.0/8",), True),
    ],
)
def test_no_proxy_decides_which_hosts_are_reached_directly(
    url: str, exceptions: tuple[str, ...], expected: bool
) -> None:
    assert bypasses(url, exceptions) is expected


def test_an_error_shows_no_signature() -> None:
    shown = str(FetchError("https://user:pw@h/a?sig=secret", "HTTP 403"))
    assert shown == "https://h/a: HTTP 403"


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("https://127.0.0.1/x", True),
        ("https://[::1]/x", True),
        ("http://169.254.169.254/latest/meta-data/", True),
        ("https://10.1.2.3:8443/x", True),
        ("https://[::ffff:10.1.2.3]/x", True),
        ("https://localhost/x", True),
        # Another notation of 127.0.0.1, which the system's resolver accepts.
        ("https://2130706433/x", True),
        ("https://8.8.8.8/x", False),
        ("https://[2001:4860:4860::8888]/x", False),
        ("https://name.invalid/x", False),
    ],
)
def test_which_addresses_are_not_public(url: str, inside: bool) -> None:
    assert is_inside(url) is inside
    assert not is_inside("https://127.0.0.1/x", {"127.0.0.1"})
