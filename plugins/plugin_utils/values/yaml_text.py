# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write YAML for the programs of Kubernetes, whose rules for reading YAML differ from PyYAML's rules for writing it."""

from __future__ import annotations

import re
import typing as t

import yaml


class _GoDumper(yaml.SafeDumper):
    """A dumper that also quotes strings that only Go's YAML library takes for numbers or dates, such as 1e5 or 0o17."""


class _QuotedText(str):
    """A string that is always written in quotes."""


# sigs.k8s.io/yaml, goyaml.v2/resolve.go: strconv.ParseInt with base 0, the expression yamlStyleFloat, and dates.
_GoDumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?0(?:[xX][0-9a-fA-F_]+|[oO]?[0-7_]+|[bB][01_]+)"
        r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})\Z"
    ),
    list("-+.0123456789"),
)
_GoDumper.add_representer(
    _QuotedText, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="'")
)


def to_yaml(document: t.Mapping[str, t.Any], *, sort_keys: bool = True, quoted: t.Collection[str] = ()) -> str:
    """Return a configuration as YAML.

    Args:
        document: the configuration.
        sort_keys: whether the keys are sorted.
        quoted: keys whose values are always written in quotes.
    """
    own = {key: _QuotedText(value) if key in quoted else value for key, value in document.items()}
    text: str = yaml.dump(
        own, Dumper=_GoDumper, indent=2, default_flow_style=False, allow_unicode=True, sort_keys=sort_keys
    )
    return text
