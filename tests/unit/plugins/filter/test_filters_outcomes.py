# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results and errors of each filter, compared with golden files."""

from __future__ import annotations

import importlib
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display
from unit import outcomes

FILTERS = Path(__file__).resolve().parents[4] / "plugins" / "filter"
JOIN = {"api_server": "h:6443", "token": "abcdef.0123456789abcdef", "ca_cert_hashes": ["sha256:0"], "node_name": "win1"}
COMMIT = 40 * "a"


def filters() -> dict[str, t.Any]:
    """Return all filters of the collection, by name."""
    found: dict[str, t.Any] = {}
    for file in sorted(FILTERS.glob("*.py")):
        module = importlib.import_module(f"ansible_collections.winkube.node.plugins.filter.{file.stem}")
        found |= module.FilterModule().filters()
    return found


def refused(call: Callable[[], object]) -> object:
    """Return the result of a call, or its error message including causes."""
    try:
        return call()
    except AnsibleFilterError as error:
        return f"refused: {error}"


def test_each_filter_is_documented_under_its_name() -> None:
    documented = {file.stem for file in FILTERS.glob("*.yml")}
    assert set(filters()) == documented


def test_configurations_of_a_join() -> None:
    made = filters()["join_configuration"]
    outcomes.check(
        "filters/join_configuration",
        {
            "whole": made({**JOIN, "taints": [{"key": "os"}], "ignore_preflight_errors": ["a", "b"]}, "1.36.3"),
            "an unknown setting": refused(lambda: made({**JOIN, "x": 1}, "1.36.3")),
            "a version": refused(lambda: made(JOIN, "latest")),
        },
    )


@pytest.mark.parametrize(
    ("version", "expected"), [("v1.36.3", "1.36.3"), ("1.36.3", "1.36.3"), ("1.36.3-rc.1", "1.36.3-rc.1")]
)
def test_plain_versions(version: str, expected: str) -> None:
    assert filters()["plain_version"](version) == expected


def test_exceptions_of_a_proxy() -> None:
    assert filters()["no_proxy"]("a,b", ["c", "a"], None, "d") == "a,b,c,d"


def test_debug_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: warnings.append(text))
    scripts = filters()["sdn_debug_scripts"]
    folders = {"directory": "C:\\k\\debug", "cache_dir": "C:\\cache"}
    whole = scripts(
        COMMIT, **folders, sha256=64 * "b", sources={"sites": ["https://site.example"]}, allowed_signers=[COMMIT]
    )
    assert warnings == []
    unverified = scripts("", **folders)
    assert len(warnings) == 1
    found = {
        "whole": whole,
        "by default": unverified[0],
        "warning": warnings[0],
        "a commit": refused(lambda: scripts("main", **folders)),
        "no folder": refused(lambda: scripts(COMMIT, cache_dir="C:\\cache")),
    }
    outcomes.check("filters/sdn_debug_scripts", found)


def test_files_of_registries() -> None:
    files, toml, settings = (filters()[name] for name in ("registry_files", "hosts_toml", "docker_registries"))
    given = {"r.example:5000": {"username": "u", "password": "p", "skip_verify": True}}
    outcomes.check(
        "filters/registries",
        {
            "containerd": files(given, "C:\\certs.d"),
            "docker": files(given, runtime="docker"),
            "moby": files(given, "C:\\d", runtime="moby"),
            "buildkit": files(given, "C:\\certs.d", runtime="buildkit"),
            "hosts.toml": toml({"mirrors": ["http://m:5000"]}, "registry.k8s.io"),
            "daemon.json": settings(given),
            "refused": [
                refused(lambda: files({"": {}}, "C:\\certs.d")),
                refused(lambda: toml({"x": 1}, "r.example")),
                refused(lambda: settings({"r.example": 5})),
            ],
        },
    )
