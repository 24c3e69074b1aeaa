# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The words in messages and option texts: Ansible's terms and common English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"
BANNED = re.compile(
    r"\b(wanted|accepted (?:is|are)|is none|told|tells|nobody|what came of|anew|beside|says|said|aside)\b"
)
"""Words that would confuse a reader. `expected X` describes accepted values."""
ACCEPTED = {"expected file or url, and sha256, since update_server is none"}
"""Texts in which a word has another meaning, such as the value of an option."""


def texts(path: Path) -> Iterator[str]:
    """Yield the strings of several words in a file, without docstrings and the documentation of modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
        if "\n" in str(getattr(node.value, "value", ""))
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in comments | documents:
            continue
        if isinstance(node.value, str) and " " in node.value.strip():
            yield node.value


@pytest.mark.parametrize("folder", sorted(path.name for path in PLUGINS.iterdir() if path.is_dir()))
def test_messages_use_common_words(folder: str) -> None:
    found = [
        f"{path.relative_to(PLUGINS)}: {text.strip()}"
        for path in sorted((PLUGINS / folder).rglob("*.py"))
        for text in texts(path)
        if BANNED.search(text) and text not in ACCEPTED
    ]
    assert not found, "\n".join(found)


def test_a_banned_word_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('"""What nobody told."""\nA = f"{1}: wanted a URL"\nB = "expected a URL"\n', encoding="utf-8")
    assert [text for text in texts(file) if BANNED.search(text)] == [": wanted a URL"]
