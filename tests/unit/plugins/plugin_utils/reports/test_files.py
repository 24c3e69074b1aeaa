# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files on the controller that may contain a token: who can read them, and what remains of a failure."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.reports import files
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


def test_only_the_owner_can_read_a_text(tmp_path: Path) -> None:
    path = tmp_path / "new" / "user-data.yml"
    files.write_result("user_data_file", str(path), "token\n")
    assert path.read_text(encoding="utf-8") == "token\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_nothing_of_the_text_remains_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "user-data.yml"
    path.mkdir()
    with pytest.raises(ResourceError, match="user_data_file: expected the path of a file that can be written"):
        files.write_result("user_data_file", str(path), "token\n")
    with pytest.raises(UnicodeEncodeError):
        files.write_text(tmp_path / "other.yml", "token \ud800")
    assert list(tmp_path.iterdir()) == [path]
    assert list(path.iterdir()) == []
