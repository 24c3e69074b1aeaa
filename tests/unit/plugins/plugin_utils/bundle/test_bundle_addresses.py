# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How nodes reach a bundle: the URL of its server, where it listens, and the site and patches for nodes."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server, use
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError, IndexEntry


def entry(path: str, kind: str = "kubernetes", **more: t.Any) -> IndexEntry:
    given = {"name": "a", "version": "1", "source": "s", "sha256": f"{len(path):064x}", "size": 3, "time": "t"}
    return IndexEntry(path=path, kind=kind, **{**given, **more})


@pytest.mark.parametrize(
    ("address", "host"),
    [("192.0.2.1", "192.0.2.1"), ("::1", "[::1]"), ("2001:db8::7", "[2001:db8::7]"), ("me.example", "me.example")],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_node_gets_a_url_with_its_own_token(scheme: str, address: str, host: str) -> None:
    served = server.ServedBundle(port=8080, tokens={"a": "~1", "b": "~2"}, scheme=scheme, pid=1, revoked="/revoked")
    assert served.url("b", address) == f"{scheme}://{host}:8080/~2"
    assert server.token(served.url("b", address)) == "~2"
    assert "~2" not in repr(served)


@pytest.mark.parametrize(
    ("addresses", "own", "listens"),
    [
        (["192.0.2.1"], True, "192.0.2.1"),
        (["192.0.2.1", "192.0.2.1"], True, "192.0.2.1"),
        (["2001:db8::1"], True, "2001:db8::1"),
        # The machine does not have the address if it is translated.
        (["192.0.2.1"], False, "0.0.0.0"),
        (["2001:db8::1"], False, "::"),
        (["192.0.2.1", "192.0.2.2"], True, "0.0.0.0"),
        (["192.0.2.1", "2001:db8::1"], True, "::"),
        (["192.0.2.1", "192.0.2.2"], False, "0.0.0.0"),
        ([], True, "0.0.0.0"),
    ],
)
def test_a_server_listens_where_all_nodes_find_it_and_nowhere_else(
    addresses: list[str], own: bool, listens: str
) -> None:
    assert server.bind_address(addresses, own) == listens


def test_the_controller_knows_its_address_towards_a_node() -> None:
    assert server.own_address("127.0.0.1") == "127.0.0.1"
    with pytest.raises(BundleError, match=r"for no such host could not be determined .*set bundle_address"):
        server.own_address("no such host")


@pytest.mark.parametrize(("scheme", "more"), [("http", {}), ("file", {}), ("https", {"ignore_revocation": True})])
def test_a_bundle_is_a_site_that_has_users_own_urls_too(scheme: str, more: dict[str, bool]) -> None:
    entries = [
        entry("dl.k8s.io/kubelet.exe"),
        entry("dl.k8s.io/kubelet.exe.sha256", "checksum"),
        entry("images/pause.tar", "container-image"),
        entry("patches/a.msu", "patch"),
    ]
    assert use.site(f"{scheme}://h/~1", entries) == {
        "url": f"{scheme}://h/~1",
        "overrides": True,
        "proxy": "",
        "digests": {"dl.k8s.io/kubelet.exe": entries[0].sha256},
        **more,
    }


def test_an_image_is_found_by_its_reference() -> None:
    new = entry("i/b.tar", "container-image", name="pause:3", windows=("2025",))
    old = entry("i/a b.tar", "container-image", name="pause:3", windows=("2019", "2022"))
    other = entry("i/c.tar", "container-image", name="flannel:1", windows=("2022",))
    assert use.images([other, entry("dl/x.exe"), new, old], "https://h/~1") == {
        "pause:3": [
            {"windows": ["2019", "2022"], "url": "https://h/~1/i/a%20b.tar", "sha256": old.sha256, "size": 3,
             "ignore_revocation": True},
            {"windows": ["2025"], "url": "https://h/~1/i/b.tar", "sha256": new.sha256, "size": 3,
             "ignore_revocation": True},
        ],
        "flannel:1": [
            {"windows": ["2022"], "url": "https://h/~1/i/c.tar", "sha256": other.sha256, "size": 3,
             "ignore_revocation": True},
        ],
    }  # fmt: skip


SHA = "ab" * 32
PATCH = dataclasses.replace(entry("p/a b.msu", "patch"), sha256=SHA)


@pytest.mark.parametrize(
    ("base", "place"),
    [
        ("http://h/~1", {"url": "http://h/~1/p/a%20b.msu"}),
        ("/srv/bundle", {"file": "/srv/bundle/p/a b.msu"}),
    ],
)
@pytest.mark.parametrize("given", [{"url": "http://u/a.msu"}, {"file": "a.msu"}, {"file": "a.msu", "url": "u"}])
@pytest.mark.parametrize("sha256", [SHA, f"  sha256:{SHA.upper()} "])
def test_a_patch_that_the_bundle_has_is_taken_from_there(
    base: str, place: dict[str, str], given: dict[str, str], sha256: str
) -> None:
    found = use.patches([PATCH, entry("dl/x.exe")], base)
    patch = {"name": "fix", "sha256": sha256}
    assert use.bundled_patches([{**patch, **given}], found) == [{**patch, **place}]
    required = {"name": "later", "sha256": "0" * 64, "file": "b.msu", "requires": [{**patch, **given}]}
    assert use.bundled_patches([required], found) == [{**required, "requires": [{**patch, **place}]}]


@pytest.mark.parametrize("patch", ["KB5048654", {"kb": "KB1", "sha256": SHA}, {"sha256": "0" * 64, "file": "a.msu"}])
def test_another_patch_stays_as_it_is(patch: object) -> None:
    assert use.bundled_patches([patch], use.patches([PATCH], "http://h")) == [patch]


def test_a_pushed_file_is_stored_below_the_name_of_its_server() -> None:
    assert use.windows_path("C:\\b", entry("dl.k8s.io/v1/x.exe")) == "C:\\b\\dl.k8s.io\\v1\\x.exe"
    with pytest.raises(BundleError, match=r"h:80/x\.exe: expected a URL without a port"):
        use.windows_path("C:\\b", entry("h:80/x.exe"))
