# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check kubespray's flannel variables, without a cluster, for VXLAN settings that Windows does not support (no I/O).

Only variables that the inventory sets are checked. The cluster's actual settings are checked in flannel.py.
"""

from __future__ import annotations

import typing as t

from ..pod_networks.catalogue import catalogue
from .kubespray_calico import Ask, number
from .variables import Problem


def problems(values: t.Mapping[str, t.Any], ask: Ask) -> list[Problem]:
    """Return a problem for each of kubespray's flannel settings that Windows nodes do not support.

    Args:
        values: templated values of all role options that are set.
        ask: function that returns a variable of the cluster.
    """
    known = catalogue().get(str(values.get("cni_plugin") or ""))
    if known is None:
        return []
    name = str(values.get(f"cni_{known.mode_variable}") or "") if known.mode_variable else next(iter(known.modes))
    mode = known.modes.get(name)
    if mode is None or mode.flannel_backend != "vxlan":
        return []
    settings = {"flannel_vxlan_vni": mode.fixed["vni"], "flannel_vxlan_port": mode.fixed["port"]}
    return [
        Problem(variable, given, f"expected {fixed}, the only value that Windows nodes support")
        for variable, fixed in settings.items()
        if (given := number(ask(variable))) is not None and given != fixed
    ]
