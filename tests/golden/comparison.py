# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare the files that the collection renders with the golden files in the folder of this module."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
UPDATE = "WINKUBE_GOLDEN"
_NO_DATA = {"README.md", "comparison.py", "yaml_text.py"}
OTHERS = ("outcomes", "plays", "resources", "changes", "runs", "user_data")
"""Folders of golden files that roles do not write and other programs do not read."""


def path(name: str) -> Path:
    """Return the path of a golden file, such as `containerd/2.4.2.toml`."""
    return FOLDER / name


def recorded(folder: str = "") -> set[str]:
    """Return the names of the golden files in a folder; by default, of all golden files that roles write.

    Args:
        folder: one of `OTHERS`.
    """
    found = {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*") if file.is_file()}
    names = {name for name in found if name not in _NO_DATA and "__pycache__" not in name}
    if folder:
        return {name for name in names if name.startswith(f"{folder}/")}
    return {name for name in names if name.partition("/")[0] not in OTHERS}


def compare(rendered: Mapping[str, str]) -> str:
    """Compare rendered texts with the golden files, byte for byte.

    With the environment variable WINKUBE_GOLDEN=update, the files are first written, and then compared.

    Args:
        rendered: text by the name of its golden file.

    Returns:
        The differences, and how to accept them; empty if there are none.

    Raises:
        RuntimeError: WINKUBE_GOLDEN=update is set in a run of CI, which would then accept any change.
    """
    if os.environ.get(UPDATE) == "update":
        if os.environ.get("CI"):
            raise RuntimeError(f"{UPDATE}=update writes the golden files: not where CI is set")
        for name, text in rendered.items():
            path(name).parent.mkdir(parents=True, exist_ok=True)
            path(name).write_bytes(text.encode())
    differences = [_difference(name, text) for name, text in rendered.items()]
    found = "".join(filter(None, differences))
    if not found:
        return ""
    return f"{found}\nIf this is what you want, run the test again with {UPDATE}=update, and commit the golden files."


def _difference(name: str, text: str) -> str:
    """Return one file's difference as a unified diff; empty if there is no difference."""
    file = path(name)
    expected = file.read_bytes().decode() if file.is_file() else ""
    if file.is_file() and expected == text:
        return ""
    # With `keepends`, a carriage return is also a difference.
    lines = difflib.unified_diff(
        [f"{line!r}\n" if "\r" in line else line for line in expected.splitlines(keepends=True)],
        [f"{line!r}\n" if "\r" in line else line for line in text.splitlines(keepends=True)],
        f"tests/golden/{name}",
        "rendered",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
