# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write report files on the controller."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import typing as t


def write_json(path: pathlib.Path, document: t.Mapping[str, t.Any]) -> None:
    """Write a JSON document atomically, because a monitoring system may read it at any time."""
    write_text(path, json.dumps(document, indent=2) + "\n")


def write_text(path: pathlib.Path, text: str) -> None:
    """Write a text atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)  # noqa: PTH105 - Path.replace does the same
