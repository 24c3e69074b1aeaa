# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A table of the variables that roles decide, with the function that computes each variable's value."""

from __future__ import annotations

import types
import typing as t

from ..node_resources.variables import Variables
from . import (
    calico,
    cluster_support,
    cni,
    kubeadm_join,
    live_nodes,
    network_pods,
    node_join,
    node_maintenance,
    node_names,
    node_prepare,
    node_replace,
    node_reset,
    node_upgrade,
    runtimes,
    windows_patches,
)
from . import windows_settings as settings

Decision: t.TypeAlias = t.Callable[[Variables], t.Any]

DECISIONS: t.Mapping[str, Decision] = types.MappingProxyType(
    {
        **settings.DECISIONS,
        **windows_patches.DECISIONS,
        **runtimes.DECISIONS,
        **cni.DECISIONS,
        **calico.DECISIONS,
        **network_pods.DECISIONS,
        **node_prepare.DECISIONS,
        **node_maintenance.DECISIONS,
        **node_names.DECISIONS,
        **node_join.DECISIONS,
        **kubeadm_join.DECISIONS,
        **live_nodes.DECISIONS,
        **node_reset.DECISIONS,
        **node_replace.DECISIONS,
        **node_upgrade.DECISIONS,
        **cluster_support.DECISIONS,
    }
)


def of_host(variables: t.Mapping[str, t.Any], template: t.Callable[[t.Any], object]) -> Variables:
    """Return the variables of a host, including the variables that roles decide.

    Args:
        variables: maps the names of variables to values that are not templated yet.
        template: Ansible's function that templates a value.
    """
    return Variables(variables, template, DECISIONS)


def decide(name: str, host: Variables) -> t.Any:
    """Return the value of a variable that a role decides.

    Args:
        name: name of the variable.
        host: the host's variables.

    Raises:
        ValueError: no role decides a variable with this name.
    """
    if name not in DECISIONS:
        raise ValueError(f"variable: expected a variable that a role decides, such as {min(DECISIONS)}, got {name!r}")
    return host.decided(name)
