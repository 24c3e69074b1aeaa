# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that the roles write are, byte for byte, the golden files."""

from __future__ import annotations

import pytest
from golden import comparison
from unit.roles import rendered

AREAS = (rendered.runtimes, rendered.kubelet, rendered.network, rendered.manifests, rendered.joins)


@pytest.fixture(scope="module")
def texts() -> dict[str, dict[str, str]]:
    """Every golden file's text as it is rendered now, by area."""
    return {area.__name__: area() for area in AREAS}


@pytest.mark.parametrize("area", [area.__name__ for area in AREAS])
def test_what_is_rendered_is_the_golden_file(area: str, texts: dict[str, dict[str, str]]) -> None:
    assert comparison.compare(texts[area]) == ""


def test_every_golden_file_is_rendered(texts: dict[str, dict[str, str]]) -> None:
    assert comparison.recorded() == {name for area in texts.values() for name in area}
