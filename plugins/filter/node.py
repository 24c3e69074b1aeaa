# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that convert variables of the roles into values for the configuration of a node."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.node_config import kubeadm
from ..plugin_utils.node_config import no_proxy as proxies
from ..plugin_utils.values import versions
from ..plugin_utils.values.ansible_data import plain


def no_proxy(given: str | list[str], *more: str | list[str] | None) -> str:
    """Return the addresses that a node reaches without its proxy, separated by commas."""
    return proxies.no_proxy(given, *more)


def join_configuration(join: t.Mapping[str, t.Any], kubernetes_version: str) -> str:
    """Return kubeadm's JoinConfiguration for a version of Kubernetes."""
    try:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in plain(join).items()}
        return kubeadm.join_configuration(kubernetes_version, kubeadm.Join(**values))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


def plain_version(version: t.Any) -> str:
    """Return a version without its leading `v`, if it has one."""
    try:
        return str(versions.Version.parse(str(version)))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters that convert variables of the roles."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"no_proxy": no_proxy, "join_configuration": join_configuration, "plain_version": plain_version}
