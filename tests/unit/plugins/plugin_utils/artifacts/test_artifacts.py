# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Kinds, sites and lists of versions: one clear message for each invalid value, before a node is accessed."""

from __future__ import annotations

import contextlib
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import cache, catalogue, locations
from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import sites as artifacts_sites
from ansible_collections.winkube.node.plugins.plugin_utils.artifacts.catalogue import ArtifactError
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import artifacts as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import DATA
from simulator.artifacts import catalog

CACHE = "C:\\cache"
KINDS = (
    *("kubernetes", "containerd", "moby", "docker", "cri-dockerd", "crictl", "nerdctl", "sdn-plugins", "azure-vnet"),
    *("cni-plugins", "flannel", "flannel-cni-plugin", "calico", "csi-proxy", "cloudbase-init", "nssm"),
    "hns-debug-scripts",
)
VERSIONS = {"flannel-cni-plugin": "1.9.1-flannel1", "hns-debug-scripts": "0" * 40, "nssm": "2.24"}
SECRET = "s3cret"


def listed(lists: t.Any, **options: t.Any) -> list[dict[str, t.Any]]:
    return cache.resources_for_versions(lists, cache_dir=CACHE, **options)


def test_every_kind_cites_its_source_and_uses_no_retired_host() -> None:
    kinds = catalogue.catalogue()
    assert set(KINDS) <= set(kinds)
    for kind in kinds.values():
        assert kind.source
        assert "azureedge" not in kind.url
        assert kind.url.startswith("https://") or kind.name in ("docker", "calico-images")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "docker"])
def test_every_kind_names_what_upstream_serves(kind: str) -> None:
    """Its URL and its checksum file exist at the simulated upstream (which has its own sources)."""
    found = locations.locate(kind, VERSIONS.get(kind, "1.6.2"), cache_dir=CACHE)
    content = catalog.content(found.url.removeprefix("https://"))
    assert content is not None
    if found.checksum_url:
        assert catalog.content(found.checksum_url.removeprefix("https://"))
    (resource,) = load([locations.resource(kind, found.version, cache_dir=CACHE)])
    assert resource.title == f"Artifact {kind} {found.version}"


@pytest.mark.parametrize(
    ("version", "kind", "sha256"),
    [("2.24", "nssm", True), ("2.23", "nssm", False), ("0.3.0", "sdn-plugins", False), ("0.3.1", "sdn-plugins", True)],
)
def test_versions_without_a_published_checksum_are_pinned_where_their_digest_is_known(
    version: str, kind: str, sha256: bool
) -> None:
    (resource,) = listed({kind: [version]})
    assert ("sha256" in resource) == sha256
    assert resource.get("allow_unverified", False) != sha256
    assert [text.split(" is ")[0] for text in cache.unverified([resource])] == ([] if sha256 else [f"{kind} {version}"])


def test_one_sums_file_serves_all_files_of_a_release() -> None:
    (resource,) = listed({"nerdctl": ["2.1.0"]}, mirror="http://m")
    sums = "github.com/containerd/nerdctl/releases/download/v2.1.0/SHA256SUMS"
    assert resource["checksum_url"] == f"https://{sums}"
    assert resource["sites"] == [
        {"url": resource["urls"][0].replace("https://", "http://m/"), "checksum_url": f"http://m/{sums}"}
    ]


def test_the_publisher_is_asked_last_or_not_at_all() -> None:
    both = locations.locate("crictl", "1.37.0", cache_dir=CACHE, sites=["http://a", "http://b"], mirror="http://c")
    hosts = [re.split("/+", source.url)[1] for source in both.sources]
    assert hosts == ["a", "b", "c", "github.com"]
    none = locations.locate("crictl", "1.37.0", cache_dir=CACHE, sites=["http://a"], upstream=False)
    assert [re.split("/+", source.url)[1] for source in none.sources] == ["a"]
    assert none.upstream == both.sources[-1].url


def test_a_users_own_url_is_requested_only_from_sites_with_overrides() -> None:
    sites = [{"url": "http://mirror"}, {"url": "file:///C:/bundle", "overrides": True}]
    (resource,) = listed({"moby": [{"version": "29.2.1", "url": f"https://ci/x.zip?sig={SECRET}"}]}, sites=sites)
    assert [site["url"] for site in resource["sites"]] == ["file:///C:/bundle/ci/x.zip"]
    assert resource["path"] == f"{CACHE}\\moby\\custom\\{locations.custom_key('https://ci/x.zip')}\\x.zip"
    assert resource["custom"] is True


def test_the_publisher_is_used_if_no_other_source_is_set() -> None:
    found = locations.locate("crictl", "1.37.0", cache_dir=CACHE, upstream=False)
    assert [source.url for source in found.sources] == [found.upstream]


def test_a_users_password_goes_to_no_site() -> None:
    url = f"https://user:{SECRET}@files.example/x.zip"
    (resource,) = listed({"moby": [{"version": "29.2.1", "url": url}]}, sites=[{"url": "http://m", "overrides": True}])
    assert [site["url"] for site in resource["sites"]] == ["http://m/files.example/x.zip"]


@pytest.mark.parametrize(
    "url", ["https://u:p@files.example/a%20b/c%2Bd.zip", "https://files.example/a%20b/c+d.zip?sig=x"]
)
def test_a_site_vouches_for_a_file_however_its_url_is_quoted(url: str) -> None:
    site = artifacts_sites.ArtifactSite(url="http://m", digests={"files.example/a b/c+d.zip": "0" * 64})
    assert site.digest(url) == "0" * 64
    assert site.digest("https://files.example/other.zip") == ""


# The role image_cache has variables with URLs for these kinds.
CACHED_ONLY = ("nerdctl", "sdn-plugins", "azure-vnet", "calico", "csi-proxy", "cloudbase-init")


@pytest.mark.parametrize("kind", CACHED_ONLY)
def test_a_url_replaces_the_publishers_for_all_listed_versions_of_a_kind(kind: str) -> None:
    urls = {kind: f"https://ci.example/{{version}}/{kind}_{{underscores}}.zip?sig={SECRET}"}
    lists = {kind: ["v1.2.3", "1.3.0", {"version": "1.4.0", "url": "https://other.example/x.zip"}], "nssm": ["2.24"]}
    found = listed(lists, urls=urls)
    assert [(resource["urls"], resource.get("custom", False)) for resource in found] == [
        ([f"https://ci.example/1.2.3/{kind}_1_2_3.zip?sig={SECRET}"], True),
        ([f"https://ci.example/1.3.0/{kind}_1_3_0.zip?sig={SECRET}"], True),
        (["https://other.example/x.zip"], True),
        (["https://nssm.cc/release/nssm-2.24.zip"], False),
    ]


def test_a_url_for_every_kind_that_no_role_installs() -> None:
    without = {name for name, kind in catalogue.catalogue().items() if not kind.variables}
    # collect_logs.yml has variables for the scripts.
    assert without - {"hns-debug-scripts"} == set(CACHED_ONLY) - {"sdn-plugins", "azure-vnet", "cloudbase-init"}


def test_every_kind_states_its_windows_versions() -> None:
    data = json.loads((DATA / "artifacts.json").read_text(encoding="utf-8"))
    assert [name for name, kind in data["kinds"].items() if not kind.get("windows")] == []
    assert listed({"calico": ["3.29.1"]})[0]["windows"] == ["2019", "2022"]


OWN = {"url": "https://files.example/{version}/agent.zip"}


def test_a_user_defines_a_kind_in_a_few_lines() -> None:
    kinds = {"agent": {**OWN, "checksum_suffix": ".sha512", "windows": ["2022", 2025]}}
    (resource,) = listed({"agent": ["v3.1"]}, kinds=kinds)
    assert resource["urls"] == ["https://files.example/3.1/agent.zip"]
    assert resource["checksum_algorithm"] == "SHA512"
    assert resource["windows"] == ["2022", "2025"]
    load([resource])


BAD: list[tuple[str, dict[str, t.Any], str, str]] = [
    ("no lists", {"lists": ["1.37.1"]}, "artifacts", "a mapping of artifact kinds"),
    ("one version", {"lists": {"crictl": "1.37.0"}}, "artifacts.crictl", "a list of versions"),
    ("a number", {"lists": {"crictl": [1.37]}}, "artifacts.crictl[0]", "a version in quotes"),
    ("a path", {"lists": {"crictl": ["..\\..\\x"]}}, "artifacts.crictl[0]", "a version in quotes"),
    ("custom", {"lists": {"crictl": ["custom"]}}, "artifacts.crictl[0]", "a version in quotes"),
    ("a key", {"lists": {"crictl": [{"version": "1", "sha": "x"}]}}, "artifacts.crictl[0]", "version, url and sha256"),
    ("a digest", {"lists": {"crictl": [{"version": "1", "sha256": "x"}]}}, "artifacts.crictl[0]", "64 hexadecimal"),
    ("a kind", {"lists": {"kubernets": ["1.37.1"]}}, "artifacts.kubernets[0]", "Did you mean kubernetes?"),
    ("docker", {"lists": {"docker": ["25.0.14"]}}, "artifacts.docker[0]", "a default download URL"),
    ("a url", {"lists": {"x": [{"version": "1", "url": f"C:\\x?{SECRET}"}]}}, "artifacts.x[0]", "a URL (http, https"),
    ("a folder", {"lists": {"x": [{"version": "1", "url": "http://h/"}]}}, "artifacts.x[0]", "ends in a file name"),
    ("a kind's file", {"lists": {"calico": ["1"]}, "urls": {"calico": "http://h/"}}, "calico_url", "a file name"),
    (
        "one file for two",
        {"lists": {"csi-proxy": ["1", "2"]}, "urls": {"csi-proxy": f"http://h/x.zip?{SECRET}"}},
        "csi_proxy_url",
        "{version}, because 2 versions are listed",
    ),
    ("kinds", {"kinds": [OWN]}, "artifact_kinds", "a mapping of kind names"),
    ("a kind's name", {"kinds": {"A b": OWN}}, "artifact_kinds", "lower-case"),
    (
        "a kind's key",
        {"kinds": {"a": {**OWN, "checksum_sufix": "x"}}},
        "artifact_kinds.a.checksum_sufix",
        "Did you mean",
    ),
    ("a kind without", {"kinds": {"a": {}}}, "artifact_kinds.a.url", "{version}"),
    ("a kind's url", {"kinds": {"a": {"url": "http://h/{versio}"}}}, "artifact_kinds.a.url", "{version}"),
    ("attributes", {"kinds": {"a": {"url": "http://h/{version.x}"}}}, "artifact_kinds.a.url", "{version}"),
    (
        "a signature",
        {"kinds": {"a": {"url": f"http://h/{{version}}?{SECRET}"}}},
        "artifact_kinds.a.url",
        "artifact_sites",
    ),
    (
        "members",
        {"kinds": {"a": {**OWN, "members": ["x"]}}},
        "artifact_kinds.a.members",
        "expected one of the properties",
    ),
    ("windows", {"kinds": {"a": {**OWN, "windows": ["2016"]}}}, "artifact_kinds.a.windows", "2019, 2022, 2025"),
    ("digests", {"kinds": {"a": {**OWN, "digests": {"1": "x"}}}}, "artifact_kinds.a.digests.1", "64 hexadecimal"),
    (
        "two checksums",
        {"kinds": {"a": {**OWN, "checksum_suffix": ".x", "checksum_url": "http://h/{version}"}}},
        "artifact_kinds.a",
        "expected either checksum_url or checksum_suffix",
    ),
    ("sites", {"sites": 5}, "artifact_sites", "a list of URLs"),
    ("a site", {"sites": [f"ftp://u:{SECRET}@h"]}, "artifact_sites[0].url", "http, https or file"),
    ("a site's query", {"sites": [f"http://h?sig={SECRET}"]}, "artifact_sites[0].url", "part after the ? to query"),
    (
        "a site's key",
        {"sites": [{"url": "http://h", "sas": SECRET}]},
        "artifact_sites[0].sas",
        "expected one of the properties url, query",
    ),
    ("a query", {"sites": [{"url": "http://h", "query": [SECRET]}]}, "artifact_sites[0].query", "expected a string"),
    (
        "headers",
        {"sites": [{"url": "http://h", "headers": {"a": f"{SECRET}\nb: c"}}]},
        "artifact_sites[0].headers",
        "no line break",
    ),
    ("a proxy", {"sites": [{"url": "http://h", "proxy": f"a {SECRET}"}]}, "artifact_sites[0].proxy", "http://proxy"),
    ("a flag", {"sites": [{"url": "http://h", "overrides": "maybe"}]}, "artifact_sites[0].overrides", "true or false"),
]


@pytest.mark.parametrize(("options", "variable", "accepted"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_an_invalid_value_is_reported_with_its_variable_and_the_accepted_values(
    options: dict[str, t.Any], variable: str, accepted: str
) -> None:
    given = {"lists": {"crictl": ["1.37.0"]}, **options}
    with pytest.raises(ArtifactError) as caught:
        listed(given.pop("lists"), **given)
    text = str(caught.value)
    assert text.startswith((f"{variable}: ", f"{variable} ("))
    assert accepted in text
    assert SECRET not in text
    assert "\n" not in text


@given(st.text(max_size=40))
def test_no_version_leads_to_a_path_outside_the_cache(version: str) -> None:
    try:
        found = locations.locate("crictl", version, cache_dir=CACHE)
    except ArtifactError:
        return
    folder = found.path.removeprefix(f"{CACHE}\\crictl\\").split("\\")
    assert len(folder) == 2
    assert folder[0] not in ("", ".", "..", "custom")


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
WILD = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(WILD)
def test_wild_values_are_refused_or_taken_and_nothing_else(value: t.Any) -> None:
    for read in (
        lambda: artifacts_sites.parse(value),
        lambda: catalogue.kinds(value),
        lambda: listed(value),
        lambda: listed({"crictl": value}),
        lambda: listed({"tool": ["1"]}, kinds={"tool": value}),
    ):
        with contextlib.suppress(ArtifactError):
            read()


def test_preflight_names_the_sites_own_variable() -> None:
    problems = preflight.problems({"image_cache_kube_node_versions": [1.37]})
    assert [str(problem) for problem in problems] == [
        'kube_node_versions.kubernetes[0]: expected a version in quotes, such as "1.37.1", got 1.37'
    ]
    sources = {"sites": [{"urls": "http://h"}], "kinds": {}, "limit_rate": "fast"}
    found = preflight.problems({"cni_artifact_sources": sources, "image_cache_artifact_sources": sources})
    assert [problem.variable for problem in found] == ["artifact_sites[0].urls", "artifact_limit_rate"]
    mirrored = {"cni_artifact_sources": {"sites": []}, "cni_artifact_mirror": f"http://user:{SECRET}@m?{SECRET}"}
    (problem,) = preflight.problems(mirrored)
    assert problem.variable == "artifact_mirror.url"
    assert SECRET not in str(problem)
    assert preflight.problems({"image_cache_kube_node_versions": ["1.37.1"]}) == []


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        (
            "image_cache_artifact_cache",
            "cache",
            "the absolute path of a folder below the root of a drive, such as C:\\ProgramData",
        ),
        ("cni_artifact_cache", "C:\\", "absolute path"),
        ("cni_artifact_cache", "C:/cache", "absolute path"),
        ("cni_artifact_cache", "C:\\a\\..\\Windows", "absolute path"),
        ("container_runtime_containerd_url", f"C:/x.tgz?{SECRET}", "a URL (http, https or file)"),
        ("image_cache_buildkit_url", "https://h/", "ends in a file name"),
        ("kubernetes_node_sha256", "12", "64 hexadecimal digits"),
        ("container_runtime_crictl_version", 1.37, "in quotes"),
    ],
)
def test_preflight_checks_what_roles_install_and_where(name: str, value: t.Any, accepted: str) -> None:
    (problem,) = preflight.problems({name: value, "image_cache_kube_node_versions": ["1.37.1"]})
    assert problem.variable in (name, "artifact_cache")
    assert accepted in str(problem)
    assert SECRET not in str(problem)
    with pytest.raises(ArtifactError, match=r"cache_dir \(artifact_cache\): expected .*, got 'cache'"):
        cache.resources_for_versions({}, cache_dir="cache", prune=True)


def test_preflight_warns_of_unverified_artifacts_that_are_cached() -> None:
    values = {"image_cache_azure_vnet_versions": ["1.6.21"], "image_cache_containerd_versions": ["2.3.7"]}
    assert [text.split(" is ")[0] for text in preflight.warnings(values, ["image_cache"])] == ["azure-vnet 1.6.21"]
    assert preflight.warnings(values, ["sysprep"]) == []


def sourced(site: t.Any, verify: str = "warn", role: str = "container_runtime") -> dict[str, t.Any]:
    return {
        f"{role}_artifact_sources": {"sites": [site], "upstream": True, "verify": verify},
        "container_runtime": "containerd",
        "container_runtime_containerd_version": "2.3.7",
        "container_runtime_crictl_version": "1.37.0",
    }


CONTAINERD = "github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz"


@pytest.mark.parametrize(
    ("site", "named"),
    [
        ("http://mirror:8080", "nothing verifies containerd, crictl"),
        ({"url": "http://mirror:8080", "digests": {CONTAINERD: "0" * 64}}, "nothing verifies crictl"),
        ("https://mirror", ""),
        ("file:///C:/Windows/winkube/bundle", ""),
    ],
)
def test_a_checksum_from_the_same_plain_http_server_is_not_trusted(site: t.Any, named: str) -> None:
    """A mirror over plain HTTP served a trojan with its own .sha256, without any message."""
    values = sourced(site)
    reported = preflight.warnings(values, ["container_runtime"])
    assert [named in text and "http://mirror:8080" in text for text in reported] == ([True] if named else [])
    refused = preflight.refused(sourced(site, "strict"), ["container_runtime"])
    assert [problem.variable for problem in refused] == (["artifact_sites"] if named else [])
    assert all(named in str(problem) and "artifact_verify" in str(problem) for problem in refused)
    assert preflight.refused(values, ["container_runtime"]) == []


def test_strict_refuses_each_artifact_that_nothing_verifies() -> None:
    for options in ({"mirror": "http://m"}, {"sites": ["https://a", "http://b"]}):
        with pytest.raises(ArtifactError, match=r"crictl 1\.37\.0.*artifact_verify is strict.* plain HTTP "):
            listed({"crictl": ["1.37.0"]}, verify="strict", **options)
        pinned = {"version": "1.37.0", "sha256": "0" * 64}
        assert len(listed({"crictl": [pinned]}, verify="strict", **options)) == 1
    with pytest.raises(ArtifactError, match="a checksum"):
        listed({"azure-vnet": ["1.6.21"]}, verify="strict")
    with pytest.raises(ArtifactError, match="a custom URL"):
        listed({"crictl": [{"version": "1.37.0", "url": "https://h/x.zip"}]}, verify="strict")
    assert len(listed({"crictl": ["1.37.0"]}, verify="strict", sites=["https://a"])) == 1
    (problem,) = preflight.problems({"cni_artifact_sources": {"verify": "sometimes"}})
    assert str(problem) == "artifact_verify: expected warn or strict, got 'sometimes'"


def test_lists_of_versions_are_warned_of_by_site() -> None:
    lists = {"crictl": ["1.36.0", "1.37.0"], "containerd": ["2.2.1", "2.3.7"]}
    (sentence,) = cache.unverified(listed(lists, mirror="http://user:secret@mirror:8080"))
    assert sentence.startswith("http://mirror:8080 uses plain HTTP")
    assert "and 1 more" in sentence
    values = {"image_cache_containerd_versions": ["2.3.7"], "image_cache_artifact_mirror": "http://mirror:8080"}
    assert len(preflight.warnings(values, ["image_cache"])) == 1
    (problem,) = preflight.problems({**values, "image_cache_artifact_sources": {"verify": "strict"}})
    assert "artifact_verify is strict" in str(problem)


# Publishers without a digest for the Windows archive. A run warns about it, and `strict` rejects it.
WITHOUT_DIGEST = {"cri-dockerd", "azure-vnet"}


def test_the_default_version_of_whatever_a_role_installs_is_verified(repository: Path) -> None:
    """Programs that run as SYSTEM on every node were unverified: flannel, and with Docker also cri-dockerd."""
    unverified = set()
    for kind in (kind for kind in catalogue.catalogue().values() if kind.variables and kind.url):
        roles = ("cloudbase_init", "container_runtime", "image_cache", "kubernetes_node", "cni")
        role = next(name for name in roles if kind.variables.startswith(name))
        defaults = yaml.safe_load((repository / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
        version = re.findall(r"\d+\.\d+[\w.-]*", str(defaults[f"{kind.variables}_version"]))[-1:]
        if not (kind.checksum_suffix or kind.checksum_url) and not set(version) & set(kind.digests):
            unverified.add(kind.name)
    assert unverified == WITHOUT_DIGEST
    cni = yaml.safe_load((repository / "roles" / "cni" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert re.fullmatch(r"mcr\.microsoft\.com/[a-z/-]+@sha256:[0-9a-f]{64}", cni["cni_host_process_image"])
