# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checksum files: the controller, the node's verb and the simulator read the same hash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.downloads.checksums import checksum_in
from wire_provider.checksums import find

ONE, TWO = "1a" * 32, "2B" * 32
_PIECES = st.sampled_from(
    [
        ONE,
        TWO,
        ONE * 2,
        "x.zip",
        "X.ZIP",
        "dist/",
        "..\\",
        "*",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\x0b",
        "\x85",
        "\ufeff",
        "#",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join), st.sampled_from([("SHA256", 64), ("SHA512", 128)]))
@example(f"{ONE}\n{TWO}  other.zip\n", ("SHA256", 64))
@example(f"{ONE} *\n", ("SHA256", 64))
@example(f"{ONE} * x.zip\n", ("SHA256", 64))
@example(f"{ONE} dist/", ("SHA256", 64))
@example(f"{ONE}  x.zip\x0b", ("SHA256", 64))
def test_controller_and_simulator_read_the_same(text: str, algorithm: tuple[str, int]) -> None:
    assert checksum_in(text, "x.zip", algorithm[0]) == find(text, "x.zip", algorithm[1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"\n {ONE}\r\n\r\n", ONE),
        # It is unknown which file the bare hash belongs to.
        (f"{ONE}\n{TWO}  other.zip\n", None),
        (f"{ONE}\n# made by hand\n", None),
        (f"{ONE}  other.zip\n{TWO} *.\\dist\\X.zip\n{ONE}  x.zip\n", TWO.lower()),
        (f"{ONE}  my x.zip", None),
    ],
    ids=["bare", "bare and another's", "bare and a remark", "the first of the name", "a longer name"],
)
def test_a_hash_is_of_a_name_or_all_alone(text: str, found: str | None) -> None:
    assert checksum_in(text, "x.zip", "SHA256") == find(text, "x.zip", 64) == found


def test_the_verb_has_the_same_rule(repository: Path) -> None:
    """Without PowerShell, compare at least its pattern with the one that these tests use."""
    verb = (repository / "plugins/module_utils/_CallVerbs.psm1").read_text(encoding="utf-8")
    assert r"^[ \t]*([0-9a-fA-F]{$length})(?:[ \t]+[*]?([^ \t].*?))?[ \t]*`$" in verb
    assert "if ($bare -and $lines.Count -eq 1)" in verb
