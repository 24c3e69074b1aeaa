# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions of a bundle, one after the other: the needs of hosts, the folder, the server, and the facts for nodes."""

from __future__ import annotations

import types
import typing as t
from pathlib import Path

import pytest
from unit.action_run import run
from unit.bundle_site import FILE, PATCH, SHA256, files, make, needs

from ansible_collections.winkube.node.plugins.action import bundle, bundle_content
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.keys import public_pem


def test_a_hosts_requirements_follow_from_its_resources_and_patches(site: Path) -> None:
    (site / "kb5999002.msu").write_bytes(PATCH)
    resources = [
        {"type": "ContainerImage", "name": "registry.example/pause:3.10", "environment": {"https_proxy": "http://i:1"}},
        {"type": "Artifact", "name": "kubelet 1.37.1", "path": "C:\\a.exe", "sha256": "ab" * 32, "proxy": "http://p:1",
         "urls": ["https://dl.example/v1/kubelet.exe?sig=1"]},
        {"type": "Artifact", "name": "old 1", "path": "C:\\old.exe", "sha256": "cd" * 32, "windows": ["2019"],
         "urls": ["https://dl.example/old.exe"]},
    ]  # fmt: skip
    options = {
        "resources": resources,
        "patches": [{"kb": "KB5999002", "file": "kb5999002.msu", "sha256": SHA256},
                    {"kb": "KB5999003", "url": "https://dl.example/x.msu", "sha256": SHA256}],
        "patch_source": str(site),
        "windows": ["2022"],
        "registries": {"registry.example": {"password": "p"}},
        "proxy": "http://q:1",
        "no_proxy": ["b", "c"],
    }  # fmt: skip
    usual: dict[str, t.Any] = {"headers": {}, "ca": "", "verify": True, "inside": None}
    checksum = {"algorithm": "SHA256", "digest": SHA256}
    assert run(bundle_content, options, {"inventory_hostname": "a"}) == {
        "changed": False,
        "_ansible_no_log": True,
        "content": {
            "files": [
                {
                    "path": "dl.example/v1/kubelet.exe",
                    "kind": "kubelet",
                    "name": "kubelet 1.37.1",
                    "version": "1.37.1",
                    "sources": ({**usual, "url": resources[1]["urls"][0], "proxy": "http://p:1", "no_proxy": ()},),
                    "local": "",
                    "checksum": {"algorithm": "SHA256", "digest": "ab" * 32},
                    "sums": None,
                    "windows": (),
                },
                {
                    "path": f"patches/{SHA256}/kb5999002.msu",
                    "kind": "patch",
                    "name": "KB5999002",
                    "version": "KB5999002",
                    "sources": (),
                    "local": str(site / "kb5999002.msu"),
                    "checksum": checksum,
                    "sums": None,
                    "windows": (),
                },
                {
                    "path": f"patches/{SHA256}/x.msu",
                    "kind": "patch",
                    "name": "KB5999003",
                    "version": "KB5999003",
                    "sources": (
                        {
                            **usual,
                            "url": "https://dl.example/x.msu",
                            "proxy": "http://q:1",
                            "no_proxy": ("b", "c"),
                        },
                    ),
                    "local": "",
                    "checksum": checksum,
                    "sums": None,
                    "windows": (),
                },
            ],
            "images": [
                {
                    "name": "registry.example/pause:3.10",
                    "windows": ("2022",),
                    "digest": "",
                    "registries": {"registry.example": {"password": "p"}},
                    "proxy": "http://i:1",
                    "no_proxy": (),
                }
            ],
        },
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"windows": []}, "bundle_windows: expected at least one of 2019, 2022, 23H2, 2025, got []"),
        (
            {"patches": [{"kb": "KB5999001", "file": "none-such.msu", "sha256": SHA256}]},
            (
                "file: expected the name of a file on the controller, got 'none-such.msu'. "
                "Set patch_source if the file is in a different folder or on a mirror."
            ),
        ),
    ],
)
def test_an_unavailable_requirement_is_reported_with_its_host(options: dict[str, t.Any], message: str) -> None:
    expected = {"failed": True, "msg": f"a: nothing was fetched, because of its variables: {message}"}
    assert run(bundle_content, options, {"inventory_hostname": "a"}) == expected


def test_a_bundle_is_built_once(site: Path) -> None:
    content = needs(site)
    shown: list[str] = []
    with pytest.MonkeyPatch.context() as message:
        message.setattr(bundle, "show", shown.append)
        made = make(site, content, content)
    assert shown == ["bundle: KB5999001: 0.0 MB"]
    pem = made["public_key"]
    assert made == {
        "changed": True,
        "path": str(site / "bundle"),
        "fetched": [FILE],
        "removed": [],
        "files": 1,
        "size": len(PATCH),
        "public_key": pem,
    }
    key, new = bundle.keys.private_key(str(site / "key"))
    assert not new
    assert pem == public_pem(key.public_key()).decode()
    assert files(site / "bundle") == {FILE, "index.json", "index.json.sig"}
    assert make(site, content) == {**made, "changed": False, "fetched": []}
    # Unneeded files are only removed on request.
    assert make(site) == {**made, "changed": False, "fetched": []}
    gone = {**made, "fetched": [], "removed": [FILE], "files": 0, "size": 0}
    assert make(site, prune=True) == gone
    assert files(site / "bundle") == {"index.json", "index.json.sig"}


def test_creating_a_key_is_a_change(site: Path) -> None:
    made = make(site, needs(site))
    (site / "key").unlink()
    again = make(site, needs(site))
    assert again["public_key"] != made["public_key"]
    # An index that was signed with another key is rejected.
    assert (again["changed"], again["fetched"], len(again["warnings"])) == (True, [FILE], 1)
    (site / "key").unlink()
    (site / "bundle/index.json").unlink()
    assert make(site)["changed"] is True


def test_a_key_needs_its_passphrase(site: Path) -> None:
    made = make(site, needs(site), key_passphrase="s3cret")
    assert make(site, needs(site), key_passphrase="s3cret")["public_key"] == made["public_key"]
    assert "bundle_key_passphrase" in make(site, needs(site))["msg"]


def test_a_dry_run_makes_no_bundle_and_no_key(site: Path) -> None:
    found = make(site, needs(site), check_mode=True)
    assert found == {
        "changed": True,
        "path": str(site / "bundle"),
        "fetched": [FILE],
        "removed": [],
        "files": 0,
        "size": 0,
        "public_key": found["public_key"],
    }
    assert files(site) == {"kb5999001.msu"}
    # An existing key is used.
    pem = make(site, needs(site))["public_key"]
    assert make(site, needs(site), check_mode=True)["public_key"] == pem


@pytest.mark.parametrize("name", ["parallel", "attempts"])
def test_numbers_of_downloads_have_limits(site: Path, name: str) -> None:
    for number in (1, 64):
        assert "failed" not in make(site, needs(site), check_mode=True, **{name: number})
    for number in (0, 65):
        expected = {"failed": True, "msg": f"{name}: expected 1 to 64, got {number}"}
        assert make(site, needs(site), **{name: number}) == expected
    assert not (site / "bundle").exists()


def test_a_host_without_requirements_is_named(site: Path) -> None:
    expected = {"failed": True, "msg": "host1: expected a result of bundle_content in the variable 'needs', got none"}
    assert make(site, needs(site), {"failed": True}) == expected
    assert make(site, needs(site), None) == expected


def test_missing_files_of_a_bundle_are_reported_and_the_rest_is_kept(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, t.Any]] = []

    class Builder:
        """Fails like the real builder."""

        def __init__(self, folder: Path, key: object, fetcher: object, how: object, say: object) -> None:
            asked.append(vars(how) | {"folder": folder})

        def run(self, requested: object) -> types.SimpleNamespace:
            entries = {"a": types.SimpleNamespace(size=3), "b": types.SimpleNamespace(size=4)}
            return types.SimpleNamespace(
                fetched=["b", "a"],
                removed=["d", "c"],
                signed=False,
                entries=entries,
                warnings=["w2", "w1", "w2"],
                failures=["first", "second"],
            )

    monkeypatch.setattr(bundle, "Builder", Builder)
    found = make(site, needs(site), refresh=True, parallel=2)
    assert found == {
        "changed": True,
        "path": str(site / "bundle"),
        "fetched": ["a", "b"],
        "removed": ["c", "d"],
        "files": 2,
        "size": 7,
        "public_key": found["public_key"],
        "warnings": ["w1", "w2"],
        "failed": True,
        "msg": "the bundle is complete except for these failures:\n- first\n- second",
    }
    assert asked[0]["folder"] == site / "bundle"
    how = {name: asked[0][name] for name in ("parallel", "refresh", "prune", "check_mode")}
    assert how == {"parallel": 2, "refresh": True, "prune": False, "check_mode": False}
