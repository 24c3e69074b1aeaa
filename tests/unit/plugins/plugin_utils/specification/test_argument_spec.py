# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Annotations of dataclasses as Ansible's argument specifications."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.specification.argument_spec import (
    has_secrets,
    of_annotation,
)
from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inner:
    """A nested mapping."""

    name: str
    size: int = 5
    token: str = dataclasses.field(default="", metadata=SECRET)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
    """A mapping without secrets of its own."""

    inner: tuple[Inner, ...] = ()


OPTIONS = {
    "name": {"type": "str", "required": True},
    "size": {"type": "int", "default": 5},
    "token": {"type": "str", "default": "", "no_log": True},
}


@pytest.mark.parametrize(
    ("annotation", "spec"),
    [
        (str, {"type": "str"}),
        (int | None, {"type": "int"}),
        (float, {"type": "float"}),
        (bool, {"type": "bool"}),
        (t.Any, {"type": "raw"}),
        (str | tuple[str, ...], {"type": "raw"}),
        (t.Literal["a", "b"], {"type": "str", "choices": ["a", "b"]}),
        (tuple[str, ...], {"type": "list", "elements": "str"}),
        (tuple[t.Literal["a"], ...], {"type": "list", "elements": "str", "choices": ["a"]}),
        (tuple[str | Inner, ...], {"type": "list", "elements": "raw"}),
        (t.Mapping[str, Inner], {"type": "dict"}),
        (Inner, {"type": "dict", "options": OPTIONS}),
        (tuple[Inner, ...], {"type": "list", "elements": "dict", "options": OPTIONS}),
    ],
)
def test_an_annotation_is_an_option(annotation: t.Any, spec: dict[str, t.Any]) -> None:
    assert of_annotation(annotation) == spec


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, False),
        (t.Literal["a"], False),
        (t.Mapping[str, t.Any], False),
        (Inner, True),
        (t.Mapping[str, str | Outer], True),
    ],
)
def test_secrets_are_found_at_any_depth(annotation: t.Any, expected: bool) -> None:
    assert has_secrets(annotation) is expected
