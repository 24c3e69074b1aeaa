# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write report files on the controller."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import typing as t

from ..values.errors import ResourceError


def write_json(path: pathlib.Path, document: t.Mapping[str, t.Any]) -> None:
    """Write a JSON document atomically, because a monitoring system may read it at any time."""
    write_text(path, json.dumps(document, indent=2) + "\n")


def write_text(path: pathlib.Path, text: str) -> None:
    """Write a text file atomically. If writing fails, no part of the text stays on disk, as it may contain a token."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8") as file:
        temporary = pathlib.Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.replace(temporary, path)  # noqa: PTH105 - Path.replace does the same
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_result(option: str, path: str, result: t.Mapping[str, t.Any] | str) -> None:
    """Write a result to the file that an option names. A mapping is written as JSON, and a string as it is.

    Args:
        option: name of the option, for messages.
        path: the option's value.
        result: the mapping or string to write.

    Raises:
        ResourceError: the file cannot be written.
    """
    try:
        if isinstance(result, str):
            write_text(pathlib.Path(path), result)
        else:
            write_json(pathlib.Path(path), result)
    except OSError as error:
        raise ResourceError(option, path, f"expected the path of a file that can be written ({error})") from error
