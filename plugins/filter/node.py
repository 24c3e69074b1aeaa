# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that turn variables of roles into values of resources."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.node_config import no_proxy as proxies
from ..plugin_utils.values import versions


def no_proxy(given: str | list[str], *more: str | list[str] | None) -> str:
    """Return the addresses that a node reaches without its proxy."""
    return proxies.no_proxy(given, *more)


def plain_version(version: t.Any) -> str:
    """Return a version without the leading `v` that some inventories have."""
    try:
        return str(versions.Version.parse(str(version)))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"no_proxy": no_proxy, "plain_version": plain_version}
