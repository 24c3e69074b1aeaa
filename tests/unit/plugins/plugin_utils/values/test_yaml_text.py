# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""YAML that Go's library reads as it was meant."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.values.yaml_text import to_yaml

# What goyaml's resolve_test.go and decode_test.go read as numbers or dates, and the words of YAML 1.1.
NUMBERS_AND_DATES = [
    "1234",
    "0x1f",
    "0b101",
    "017",
    "0o17",
    "1e5",
    "1E+5",
    "12e03",
    "1.5",
    ".5",
    "1.",
    "-7",
    "1_000",
    "2026-1-2",
]
RESERVED_NAMES = ["null", "~", "", "yes", "no", "on", "off", "true", "False", ".inf", ".nan"]


@pytest.mark.parametrize("text", [*NUMBERS_AND_DATES, *RESERVED_NAMES])
def test_a_text_that_looks_like_another_value_is_in_quotes(text: str) -> None:
    written = to_yaml({"name": text, "list": [text]})
    assert written == f"list:\n- '{text}'\nname: '{text}'\n"
    assert yaml.safe_load(written) == {"name": text, "list": [text]}


@pytest.mark.parametrize("text", ["win1", "1a", "1e", "e5", "0xwin", "1.2.3", "10.0.0.1", "1-2", "v1.36.3", "5m0s"])
def test_other_texts_need_no_quotes(text: str) -> None:
    assert to_yaml({"name": text}) == f"name: {text}\n"
    assert to_yaml({"name": text}, quoted=("name", "absent")) == f"name: '{text}'\n"


@pytest.mark.parametrize("value", [5, 0.5, True, None, 1e300])
def test_other_values_stay_what_they_are(value: t.Any) -> None:
    assert yaml.safe_load(to_yaml({"b": value, "a": 1}, sort_keys=False)) == {"b": value, "a": 1}
