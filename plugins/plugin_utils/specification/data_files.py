# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read YAML files from this collection's `data` folder into dataclasses."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..values.versions import DATA
from .convert import to_dataclass

T = t.TypeVar("T")


def parse_data(type_: type[T], text: str, where: str) -> T:
    """Return an instance of a dataclass with the content of a data file.

    Args:
        type_: the dataclass.
        text: content of the file, in YAML.
        where: name of the file, for messages.

    Raises:
        ResourceError: a key is unknown or missing, or a value is invalid.
    """
    return t.cast("T", to_dataclass(type_, yaml_load(text) or {}, where))


def load_data(type_: type[T], name: str) -> T:
    """Return an instance of a dataclass with the content of a YAML file in this collection's `data` folder.

    Args:
        type_: the dataclass.
        name: path of the file, relative to the folder.

    Raises:
        ResourceError: a key is unknown or missing, or a value is invalid.
    """
    return parse_data(type_, (DATA / name).read_text(encoding="utf-8"), f"data/{name}")
