# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read release notes from a file on the controller."""

from __future__ import annotations

import pathlib

from ..values.errors import ResourceError
from .contents import ImageContents, from_json

_LARGEST = 50_000_000
"""Maximum size of a file with release notes, in bytes."""


def read_notes(option: str, name: str, variable: str) -> ImageContents:
    """Read the release notes of an image from a JSON file.

    Args:
        option: the module's option that names the file, for messages.
        name: path of the file.
        variable: the playbook's variable that sets this option.

    Raises:
        ResourceError: the file cannot be read, or contains no release notes.
    """
    hint = f"Set {option} (variable of the playbook: {variable}) to a .json file that build_image.yml wrote."
    if not name:
        raise ResourceError(option, None, "expected a JSON file of release notes", hint)
    path = pathlib.Path(name)
    try:
        if path.stat().st_size > _LARGEST:
            raise ResourceError(option, name, f"expected a file of at most {_LARGEST} bytes")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        expected = f"expected a JSON file of release notes ({error})"
        raise ResourceError(option, name, expected, hint) from error
    return from_json(text, option)
