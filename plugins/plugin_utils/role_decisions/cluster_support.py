# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which Kubernetes objects and permissions the cluster_support role needs, and what its demo runs."""

from __future__ import annotations

import types
import typing as t

from ..cluster_support import gmsa
from ..cluster_support.components import support_objects
from ..cluster_support.demo import demo_services
from ..cluster_support.settings import SupportSettings
from ..node_resources.variables import Variables
from ..pod_networks.catalogue import catalogue
from .node_join import linux_purposes

ROLE = "cluster_support"
_SECRET = ("Secret", gmsa.KIND)
"""Kinds of Kubernetes objects whose content is never printed. A credential spec may contain a plugin's password."""


def settings(host: Variables) -> SupportSettings:
    """Return the settings of the Kubernetes objects that the role applies.

    Args:
        host: the variables of the host on which the role runs.
    """
    return host.fields(SupportSettings, ROLE)


def _objects(host: Variables, *, secret: bool) -> list[dict[str, t.Any]]:
    return [one for one in support_objects(settings(host)) if (one["kind"] in _SECRET) is secret]


def _purposes(host: Variables) -> list[str]:
    """Return the purposes for which cluster_info checks permissions before the role applies a pod network.

    The result is empty if the role applies no pod network.
    """
    if not settings(host).network:
        return []
    plugin = str(host.value("cni_plugin"))
    return ["read", *linux_purposes(host, plugin), catalogue()[plugin].purpose]


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "cluster_support_objects": lambda host: _objects(host, secret=False),
        "cluster_support_secret_objects": lambda host: _objects(host, secret=True),
        "cluster_support_purposes": _purposes,
        "cluster_support_demo_services": lambda host: demo_services(settings(host)),
    }
)
