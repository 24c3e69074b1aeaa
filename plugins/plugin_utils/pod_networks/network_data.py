# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the data files of networks, some of which contain only the differences from another network."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..values.merged import merged
from ..values.versions import DATA

_FOLDER = DATA / "networks"
_LIKE = "like"
_OWN = ("modes", "mode_variable")
"""Keys that a network does not inherit from another network's file."""


def text_of(name: str) -> str:
    """Return the text of a network's data file.

    Args:
        name: the network's name.
    """
    return (_FOLDER / f"{name}.yml").read_text(encoding="utf-8")


def content(text: str) -> dict[str, t.Any]:
    """Return the content of a data file.

    A file with the key `like` inherits the keys that it lacks from the file of the network that `like` names. The keys
    `modes` and `mode_variable` are not inherited.

    Args:
        text: the file's text, which is YAML.
    """
    own = yaml_load(text) or {}
    if not isinstance(own, dict) or _LIKE not in own:
        return t.cast("dict[str, t.Any]", own)
    name = str(own.pop(_LIKE))
    other = {key: value for key, value in content(text_of(name)).items() if key not in _OWN}
    return merged(other, own)
