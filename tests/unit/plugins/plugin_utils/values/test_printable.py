# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Characters that terminals interpret become visible; everything else stays."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible.utils.display import Display
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.values.printable import all_printable, printable
from ansible_collections.winkube.node.plugins.plugin_utils.values.terminal import show

ATTACK = "\x1b]0;OWNED\x07\x1b[2J\x1b[1;1H\x1b[32mwina ok=9 failed=0\x1b[0m\x1b]52;c;cm0gLXJmIC8K\x07"
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain Text 1.2_3~", "plain Text 1.2_3~"),
        ("two\r\nlines\n\tand a tab", "two\r\nlines\n\tand a tab"),
        ("Datei nicht gefunden: Übergröße, 日本語, ñ", "Datei nicht gefunden: Übergröße, 日本語, ñ"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("over\rwritten", "over\\x0dwritten"),
        ("c1 \x9b31m del \x7f nul \0", "c1 \\x9b31m del \\x7f nul \\x00"),
        ("evil\u202etxt.exe \u200b \ud800", "evil\ufffdtxt.exe \ufffd \ufffd"),
        ("introuvable\u00a0: 1\u202f000", "introuvable : 1 000"),
    ],
)
def test_control_characters_become_visible(text: str, clean: str) -> None:
    assert printable(text) == clean


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_no_text_keeps_a_control_character_and_a_second_time_changes_nothing(text: str) -> None:
    clean = printable(text)
    assert CONTROLS.search(clean) is None
    assert printable(clean) == clean
    clean.encode()


def test_texts_in_lists_and_mappings_names_included() -> None:
    value = {"a\x1b": ["\x07", 1, None, {"b": "\x9b"}]}
    assert all_printable(value) == {"a\\x1b": ["\\x07", 1, None, {"b": "\\x9b"}]}


def test_an_error_of_a_node_is_safe_to_print() -> None:
    assert CONTROLS.search(str(NodeError(f"wina: observe: boom {ATTACK}"))) is None


def test_the_one_way_to_the_terminal_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(Display, "display", lambda _self, line, **_: lines.append(t.cast("str", line)))
    show(f"wina  network  cbr0{ATTACK}")
    assert len(lines) == 1
    assert CONTROLS.search(lines[0]) is None
