# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Data as readable YAML for golden files."""

from __future__ import annotations

import json
import typing as t

import yaml

WIDTH = 120


def of(value: t.Any, width: int = WIDTH) -> str:
    """Return data as YAML.

    Args:
        value: data that JSON can express. Other objects are converted to text.
        width: the length below which a mapping or list is written on one line.
    """
    # The conversion to JSON removes Ansible's tags, and replaces tuples by lists.
    plain = json.loads(json.dumps(value, default=str))
    dumper = type("Dumper", (_Dumper,), {"limit": width})
    text: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2 * width)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and short mappings and lists on one line."""

    limit = WIDTH

    def ignore_aliases(self, data: object) -> bool:
        """Write data that occurs twice again, instead of an alias."""
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _mapping(dumper: _Dumper, mapping: dict[str, t.Any]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping.items(), flow_style=_fits(mapping, dumper.limit))


def _sequence(dumper: _Dumper, items: list[t.Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_fits(items, dumper.limit))


def _fits(value: dict[str, t.Any] | list[t.Any], limit: int) -> bool:
    text = json.dumps(value)
    return len(text) < limit and "\\n" not in text


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(list, _sequence)
