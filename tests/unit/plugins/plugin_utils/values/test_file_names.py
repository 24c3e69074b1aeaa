# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names of files that are made from names of hosts."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.values.file_names import host_file_name


@pytest.mark.parametrize("name", ["win-1.example", "WIN_1"])
def test_files_are_named_after_their_host(name: str) -> None:
    assert host_file_name(name) == name


@pytest.mark.parametrize("names", [("a/b", "a_b", "a:b"), ("..", "_", ""), (".a", "a"), ("2001:db8::1", "2001_db8__1")])
def test_names_are_unique_and_stay_in_the_folder(names: tuple[str, ...]) -> None:
    found = [host_file_name(name) for name in names]
    assert len(set(found)) == len(names)
    assert not any("/" in name or name.startswith(".") for name in found)
