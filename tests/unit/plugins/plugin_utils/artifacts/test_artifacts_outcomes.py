# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Artifacts as users write them: results and errors, as tables that are compared with golden files."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Callable

from unit import outcomes
from unit.plugins.plugin_utils.artifacts.test_artifacts import BAD
from unit.resource_answers import answer, failure

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import (
    cache,
    catalogue,
    locations,
    sites,
    verification,
)
from ansible_collections.winkube.node.plugins.plugin_utils.artifacts.catalogue import ArtifactError
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load

CACHE = "C:\\cache"
DIGEST = 64 * "a"
OWN = {"url": "https://files.example/{version}/agent.zip"}
SITE = {
    "url": "https://site.example/files/",
    "query": "?sig=1",
    "headers": {"X-Key": 1},
    "proxy": "",
    "no_proxy": ["a.example", "b.example"],
    "ignore_revocation": True,
}
FILE = "dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz"
BUNDLE = {"url": "file:///C:/bundle", "overrides": True, "digests": {FILE: DIGEST}}
FULL = {
    **OWN,
    "checksum_suffix": ".sha512",
    "windows": ["2022", 2025],
    "digests": {"v3.1": f"sha256:{64 * 'B'}"},
    "source": None,
}


def refused(call: Callable[[], object]) -> object:
    """Return the result of a call, or its error message."""
    try:
        return call()
    except ArtifactError as error:
        return error


def kind(**more: t.Any) -> dict[str, t.Any]:
    return {"kinds": {"a": {**OWN, **more}}}


MORE_BAD: dict[str, dict[str, t.Any]] = {
    "a version with dots": {"lists": {"crictl": ["1..2"]}},
    "an empty version": {"lists": {"crictl": [" "]}},
    "a long version": {"lists": {"crictl": [129 * "1"]}},
    "a mapping without version": {"lists": {"crictl": [{"url": "http://h/x"}]}},
    "a mapping of versions": {"lists": {"crictl": {"1.37.0": {}}}},
    "a file name": {"lists": {"x": [{"version": "1", "url": "http://h/a%3Fb"}]}},
    "dots as a file name": {"lists": {"x": [{"version": "1", "url": "http://h/a/.."}]}},
    "a kind with a URL": {"lists": {"A b": [{"version": "1", "url": "http://h/a"}]}},
    "no kind at all": {"lists": {"zzz": ["1"]}},
    "a kind that is no mapping": {"kinds": {"a": "http://h/{version}"}},
    "a kind's field": kind(nonsense=1),
    "no windows": kind(windows=[]),
    "digests that are no mapping": kind(digests=["x"]),
    "a digest of no version": kind(digests={"a b": DIGEST}),
    "a suffix with a slash": kind(checksum_suffix="/sha256"),
    "a suffix with a field": kind(checksum_suffix=".{version}"),
    "a URL of checksums without version": kind(checksum_url="http://h/SHA256SUMS"),
    "a URL with an open brace": kind(url="http://h/{version"),
    "a URL with a number": kind(url="http://h/{0}"),
    "a URL of FTP": kind(url="ftp://h/{version}"),
    "a URL with a password": kind(url="http://u:s3cret@h/{version}"),
    "a URL with an empty field": kind(url="http://h/{}"),
    "a cache": {"cache_dir": "cache"},
    "a cache in the root": {"cache_dir": "C:\\"},
    "a cache above": {"cache_dir": "C:\\a\\.."},
    "a cache with a star": {"cache_dir": "C:\\a*"},
    "no cache": {"cache_dir": None},
    "a mode": {"verify": "loose"},
    "a rate": {"limit_rate": "fast"},
    "no parallel downloads": {"parallel": 0},
    "signers": {"allowed_signers": 5},
    "signers that are no texts": {"allowed_signers": {"crictl": [5]}},
    "signers of a wrong form": {"allowed_signers": "Example"},
    "a site that is a number": {"sites": [5]},
    "an unknown key of a site": {"sites": [{"url": "http://h", "header": {}}]},
    "a site without URL": {"sites": [{}]},
    "a site with a part": {"sites": "http://h/#x"},
    "a query with a blank": {"sites": [{"url": "http://h", "query": "a b"}]},
    "a query with a part": {"sites": [{"url": "http://h", "query": "a#b"}]},
    "a query that is not printable": {"sites": [{"url": "http://h", "query": "a\x07"}]},
    "headers that are no mapping": {"sites": [{"url": "http://h", "headers": ["a: b"]}]},
    "a header without name": {"sites": [{"url": "http://h", "headers": {"": "b"}}]},
    "a header of two lines": {"sites": [{"url": "http://h", "headers": {"a": "b\rc"}}]},
    "a header's name of two lines": {"sites": [{"url": "http://h", "headers": {"a\nb": "c"}}]},
    "a proxy that is no text": {"sites": [{"url": "http://h", "proxy": ["s3cret"]}]},
    "no_proxy that is no list": {"sites": [{"url": "http://h", "no_proxy": {"a": 1}}]},
    "no_proxy of lists": {"sites": [{"url": "http://h", "no_proxy": [["h"]]}]},
    "a site's digests": {"sites": [{"url": "http://h", "digests": ["x"]}]},
    "a site's digest": {"sites": [{"url": "http://h", "digests": {"x": "y"}}]},
    "ignore_revocation": {"sites": [{"url": "http://h", "ignore_revocation": "perhaps"}]},
    "a mirror": {"mirror": "mirror.example"},
    "strict, a URL": {"lists": {"x": [{"version": "1", "url": "http://h/x.zip"}]}, "verify": "strict"},
    "strict, no checksum": {"lists": {"moby": ["1.0.0"]}, "verify": "strict"},
    "strict, plain HTTP": {"sites": "http://u:s3cret@h/a?", "verify": "strict"},
    "strict, a plain site": {"sites": "http://site.example", "verify": "strict"},
}
GOOD: dict[str, dict[str, t.Any]] = {
    "sites": {"sites": [SITE, BUNDLE, "http://plain.example"], "mirror": "https://mirror.example/"},
    "sites only": {"sites": [SITE], "upstream": False},
    "no site and no publisher": {"upstream": False},
    "one site": {"sites": {"url": "https://site.example", "proxy": "http://proxy.example"}},
    "no sites": {"sites": ""},
    "a digest of a bundle": {"lists": {"kubernetes": ["v1.37.1"]}, "sites": [SITE, BUNDLE]},
    "a pin goes before a digest": {
        "lists": {"kubernetes": [{"version": "1.37.1", "sha256": f" sha256:{64 * 'C'} "}]}, "sites": [BUNDLE]
    },
    "a digest of the catalogue": {"lists": {"moby": ["29.2.1"]}},
    "nothing verifies": {"lists": {"moby": ["1.0.0"]}},
    "own URL": {"lists": {"x": [{"version": "v1", "url": "http://h/x%20y.zip?sig=1#a"}]}, "sites": [SITE, BUNDLE]},
    "own URL of a kind": {"lists": {"calico": ["3.1", "v3.2"]}, "urls": {"calico": "http://h/c-{underscores}.zip"}},
    "own kind": {"lists": {"agent": ["v3.1", "3.1", "3.2"]}, "kinds": {"agent": FULL}},
    "own kind with a file of checksums": {
        "lists": {"agent": ["3.1"]}, "kinds": {"agent": {**OWN, "checksum_url": "http://h/{version}/SHA512SUMS"}}
    },
    "options": {
        "proxy": "http://proxy.example", "no_proxy": "localhost", "limit_rate": "500K", "ignore_revocation": True,
        "parallel": 1, "allowed_signers": {"crictl": 40 * "0", "x": "y"},
    },
    "no proxy": {"no_proxy": "localhost", "allowed_signers": [40 * "0"]},
    "pruned": {"lists": {"crictl": ["1.37.0"], "moby": []}, "prune": True, "keep": ["C:\\cache\\x"]},
}  # fmt: skip


def refusal(options: dict[str, t.Any]) -> object:
    given: dict[str, t.Any] = {"lists": {"crictl": ["1.37.0"]}, "cache_dir": CACHE, **options}
    return refused(lambda: cache.resources_for_versions(given.pop("lists"), **given))


def test_lists_of_versions() -> None:
    bad = {name: options for name, options, _variable, _accepted in BAD} | MORE_BAD
    found = {name: refusal(options) for name, options in bad.items()}
    assert [name for name, outcome in found.items() if not isinstance(outcome, ArtifactError)] == []
    outcomes.check("artifacts/refused", found)
    made = {name: refusal(options) for name, options in GOOD.items()}
    assert [name for name, outcome in made.items() if isinstance(outcome, ArtifactError)] == []
    outcomes.check("artifacts/resources", made)


def test_sites() -> None:
    found = {one.url: one for one in sites.parse([SITE, BUNDLE, "http://plain.example/a/"], "http://mirror.example")}
    published = "https://user@dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar%2Egz?x=1"
    about = {
        url: {
            "site": site,
            "at": site.at("https://u@dl.k8s.io/a%20b?x=1"),
            "digest": site.digest(published),
            "of another": site.digest("https://dl.k8s.io/x"),
        }
        for url, site in found.items()
    }
    outcomes.check("artifacts/sites", about)
    assert sites.parse(None) == sites.parse("") == sites.parse([]) == ()


def test_locations() -> None:
    found = locations.locate("agent", "3.1", cache_dir=f"{CACHE}\\", kinds={"agent": FULL}, sites=[SITE])
    about = {name: getattr(found, name) for name in ("url", "checksum_url", "unverified", "name")}
    urls = ("http://h/x.zip", "http://h/", "http://h", "C:\\x", "http://h/a%2Fb", "http://h/a%07", "file:///C:/x.zip")
    outcomes.check("artifacts/location", {"agent": found, **about})
    assert {url: locations.is_own_url(url) for url in urls} == {
        **dict.fromkeys(urls, False), "http://h/x.zip": True, "file:///C:/x.zip": True,
    }  # fmt: skip
    assert (
        locations.custom_key("http://h/x?a#b")
        == locations.custom_key("http://h/x#c?d")
        == hashlib.sha256(b"http://h/x").hexdigest()[:16]
    )
    assert locations.mirrored("http://h/x", "") == "http://h/x"


def test_signers_and_digests() -> None:
    assert catalogue.signers(None, "x") == catalogue.signers({"y": ["z"]}, "x") == catalogue.signers("", "x") == []
    assert catalogue.signers("CN=A, O=B", "x") == ["CN=A, O=B"]
    assert catalogue.checked_sha256(None, "x") == ""
    assert catalogue.filled("{version} {underscores} {x}", "1.2") == "1.2 1_2 {x}"


class Answers:
    """The responses of a node for each resource: before a change, and for its calls."""

    def __init__(self, *of_resources: tuple[dict[str, t.Any], dict[str, t.Any]]) -> None:
        self._of_resources = of_resources

    def of_resource(self, position: int) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
        return self._of_resources[position]


def test_the_table_of_the_cache() -> None:
    resources = load(
        cache.resources_for_versions({"crictl": [{"version": "1.37.0", "sha256": DIGEST}]}, cache_dir=CACHE, prune=True)
    )
    path = f"{CACHE}\\crictl\\1.37.0\\crictl-v1.37.0-windows-amd64.tar.gz"
    there = answer({"path": path, "exists": True, "type": "file", "size": 5, "sha256": DIGEST})
    absent = answer({"path": path, "exists": False})
    note = answer({"content": json.dumps({"sha256": DIGEST, "source": "https://site.example/x"})})
    states: dict[str, tuple[dict[str, t.Any], dict[str, t.Any]]] = {
        "not asked": ({}, {}),
        "held": ({"manifest": note, "file": there}, {}),
        "held, nobody knows from where": ({"manifest": answer({"content": None}), "file": there}, {}),
        "missing": ({"manifest": answer({"content": None}), "file": absent}, {}),
        "fetched": ({}, {"download-0": answer(), "verify-0": answer({"sha256": DIGEST, "size": 7})}),
        "failed": ({}, {"download-0": failure("x", "y", "no"), "fetched": failure("x", "y", "z")}),
    }
    found = {
        name: cache.table(resources, t.cast("t.Any", Answers(state, ({}, {}))), "2022")
        for name, state in states.items()
    }
    kinds = {"agent": {**OWN, "windows": "2019"}}
    other = load(cache.resources_for_versions({"agent": ["1"]}, cache_dir=CACHE, kinds=kinds))
    found["another Windows"] = cache.table(other, t.cast("t.Any", Answers(states["held"])), "2022")
    outcomes.check("artifacts/table", found)


def test_warnings_of_unverified_artifacts() -> None:
    def warnings(lists: dict[str, list[t.Any]], **more: t.Any) -> list[str]:
        return cache.unverified(cache.resources_for_versions(lists, cache_dir=CACHE, prune=True, **more))

    crictl = {"crictl": ["1.36.0", "1.37.0", {"version": "1.35.0", "sha256": DIGEST}]}
    outcomes.check(
        "artifacts/warnings",
        {
            "none": warnings(crictl),
            "own URL": warnings({"x": [{"version": "1", "url": "http://h/x.zip"}]}),
            "plain sites": warnings(
                crictl, sites=["http://u:s3cret@plain.example", "https://h", "http://b.example:80"]
            ),
            "many": warnings({"crictl": ["1.34.0", "1.35.0", "1.36.0", "1.37.0"]}, mirror="http://plain.example"),
            "no checksum": warnings({"moby": ["1.0.0", "29.2.1"]}, mirror="http://plain.example"),
        },
    )


def test_unverified_artifacts_of_roles() -> None:
    plain = {"sites": ["http://u:s3cret@plain.example", "https://h"]}
    values: dict[str, dict[str, t.Any]] = {
        "nothing set": {"container_runtime": "containerd"},
        "own URL": {"container_runtime": "containerd", "kubernetes_node_url": "http://h/x?sig=s3cret"},
        "pinned": {"container_runtime": "containerd", "kubernetes_node_url": "x", "kubernetes_node_sha256": DIGEST},
        "moby": {"container_runtime": "moby", "container_runtime_moby_version": "1.0.0"},
        "moby with a digest": {"container_runtime": "moby", "container_runtime_moby_version": "v29.2.1"},
        "moby of one's own": {
            "container_runtime": "moby", "container_runtime_moby_version": "29.2.1", "container_runtime_moby_url": "x"
        },
        "a plain site": {
            "container_runtime": "containerd", "container_runtime_artifact_sources": plain,
            "kubernetes_node_artifact_sources": plain, "kubernetes_node_version": "v1.37.1",
        },
        "a plain mirror": {
            "container_runtime": "containerd", "cni_artifact_sources": {}, "cni_artifact_mirror": "http://plain.example"
        },
        "a mirror and no sources": {"container_runtime": "x", "kubernetes_node_artifact_sources": "x",
                                    "kubernetes_node_artifact_mirror": "http://plain.example"},
        "a bundle beside": {
            "container_runtime": "containerd", "kubernetes_node_version": "v1.37.1",
            "kubernetes_node_artifact_sources": {"sites": ["http://plain.example", BUNDLE]},
        },
    }  # fmt: skip
    roles = ["container_runtime", "cni", "kubernetes_node"]
    found = {name: [str(one) for one in verification.of_roles(given, roles)] for name, given in values.items()}
    own = verification.of_roles(values["own URL"], ["kubernetes_node"])
    site = verification.of_roles(values["a plain site"], ["kubernetes_node"])
    none = verification.of_roles(values["own URL"], ["cni"])
    outcomes.check("artifacts/of_roles", {**found, "whole": [one._asdict() for one in (*own, *site)], "no role": none})
