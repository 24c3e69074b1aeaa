# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that the roles write equal the golden files, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden import comparison
from unit.roles import rendered

AREAS: dict[Callable[[], dict[str, str]], set[str]] = {
    rendered.runtimes: {"containerd", "docker", "registries"},
    rendered.kubelet: {"kubelet"},
    rendered.network: {"network"},
    rendered.manifests: {"manifests"},
    rendered.joins: {"kubeadm"},
}


def folder(name: str) -> str:
    return name.partition("/")[0]


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.__name__)
def test_the_rendered_resources_equal_the_golden_file(area: Callable[[], dict[str, str]]) -> None:
    texts = area()
    assert comparison.compare(texts) == ""
    # A file that is no longer rendered must be removed.
    assert {name for name in comparison.recorded() if folder(name) in AREAS[area]} == set(texts)


def test_every_golden_file_is_of_an_area() -> None:
    assert {folder(name) for name in comparison.recorded()} == set().union(*AREAS.values())


def test_ci_writes_no_golden_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparison, "FOLDER", tmp_path)
    monkeypatch.setenv("WINKUBE_GOLDEN", "update")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(RuntimeError, match="not where CI is set"):
        comparison.compare({"a": "text"})
    assert not (tmp_path / "a").exists()
    monkeypatch.delenv("CI")
    assert comparison.compare({"a": "text"}) == ""
    assert (tmp_path / "a").read_text(encoding="utf-8") == "text"
