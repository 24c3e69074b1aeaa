# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Paths on nodes that cmd.exe or PATH would split are rejected."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import folders, variables


@pytest.mark.parametrize(
    "path",
    [
        "C:\\k & calc.exe & rem ",
        'C:\\k" & calc.exe',
        "C:\\%TEMP%\\k",
        "C:\\k;D:\\x",
        "C:\\k^",
        "C:\\a|b",
        "C:\\a\\..\\Windows",
        "k",
        "\\\\server\\share\\k",
        "C:",
        "C:\\k\n",
    ],
)
def test_what_a_command_line_would_take_apart_is_refused(path: str) -> None:
    (problem,) = folders.problems({"kubernetes_node_install_dir": path, "kubernetes_node_version": "&"})
    assert str(problem).startswith("kubernetes_node_install_dir: ")


@pytest.mark.parametrize("path", ["C:\\k", "D:/k", "C:\\Program Files\\containerd\\", "C:\\var\\log\\x.log", ""])
def test_ordinary_paths_are_accepted(path: str) -> None:
    assert folders.problems({"kubernetes_node_install_dir": path, "node_prepare_bundle_dir": "/srv/b & c"}) == []


def test_all_defaults_are_accepted() -> None:
    defaults = {name: value for role in variables.roles() for name, value in role.defaults.items()}
    literal = {name: value for name, value in defaults.items() if isinstance(value, str) and "{{" not in value}
    assert folders.problems(literal) == []
    assert "kubernetes_node_install_dir" in literal
