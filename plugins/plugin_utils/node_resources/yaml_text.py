# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Configurations of Kubernetes' programs as YAML."""

from __future__ import annotations

import typing as t

import yaml


def to_yaml(configuration: t.Mapping[str, t.Any]) -> str:
    """Return a component's configuration as YAML with sorted keys.

    Args:
        configuration: the configuration.
    """
    text: str = yaml.safe_dump(dict(configuration), indent=2, default_flow_style=False, allow_unicode=True)
    return text
