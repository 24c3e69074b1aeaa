# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which components of cluster_support the variables request, and build their objects."""

from __future__ import annotations

import functools
import types
import typing as t

from ..pod_networks import kube_proxy_pods
from ..pod_networks.settings import KubernetesObject
from .azure import NODE_MANAGER, node_manager
from .catalogue import support_catalogue
from .csi import csi_driver
from .demo import demo
from .exporter import exporter, prometheus
from .gmsa import credential_specs
from .log_shipper import log_shipper
from .parts import namespace
from .runtime_classes import runtime_classes
from .settings import SupportSettings

COMPONENT_LABEL = "winkube.node/cluster-support"
"""Key of a label that every object of a component has. Its value is the component's name."""
_OF_AZURE = ("azure_disk", "azure_file")


def _account(_settings: SupportSettings) -> list[KubernetesObject]:
    """Return the service account and the permissions of kube-proxy's Windows service.

    The cni role creates the account's token.
    """
    return [one for one in kube_proxy_pods.account_objects() if one["kind"] != "Secret"]


def _namespace(settings: SupportSettings) -> list[KubernetesObject]:
    """Return a list with the Namespace of windows_exporter and the log shipper.

    The list is empty if this is kube-system, which always exists.
    """
    return [] if settings.namespace == "kube-system" else [namespace(settings.namespace, "privileged")]


def requested_drivers(settings: SupportSettings) -> list[str]:
    """Return the names of the CSI drivers that the variables request, including the cloud provider's drivers.

    Args:
        settings: settings of the cluster_support role.
    """
    known = support_catalogue().csi_drivers
    of_cloud = _OF_AZURE if settings.cloud_provider == "azure" else ()
    return [name for name in known if name in {*settings.csi_drivers, *of_cloud}]


def _is_namespace_used(settings: SupportSettings) -> bool:
    return settings.windows_exporter or settings.prometheus_rules or settings.log_shipper


class SupportComponent(t.NamedTuple):
    """A cluster component that can be requested on its own."""

    is_requested: t.Callable[[SupportSettings], bool]
    objects: t.Callable[[SupportSettings], list[KubernetesObject]]


COMPONENTS: t.Mapping[str, SupportComponent] = types.MappingProxyType(
    {
        "namespace": SupportComponent(_is_namespace_used, _namespace),
        "kube-proxy-account": SupportComponent(lambda settings: settings.kube_proxy_account, _account),
        "runtime-classes": SupportComponent(lambda settings: settings.runtime_classes, runtime_classes),
        "windows-exporter": SupportComponent(lambda settings: settings.windows_exporter, exporter),
        "prometheus": SupportComponent(lambda settings: settings.prometheus_rules, prometheus),
        "log-shipper": SupportComponent(lambda settings: settings.log_shipper, log_shipper),
        "cloud-node-manager": SupportComponent(lambda settings: settings.cloud_provider == "azure", node_manager),
        **{
            f"csi-{name.replace('_', '-')}": SupportComponent(
                functools.partial(lambda settings, driver: driver in requested_drivers(settings), driver=name),
                functools.partial(csi_driver, name=name),
            )
            for name in ("smb", *_OF_AZURE)
        },
        "demo": SupportComponent(lambda settings: settings.demo, demo),
        "gmsa": SupportComponent(
            lambda settings: bool(settings.gmsa_credential_specs),
            lambda settings: credential_specs(settings.gmsa_credential_specs),
        ),
    }
)
"""The components in the order in which they are applied."""


def support_objects(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the objects of all requested components. Each has the label of its component.

    Args:
        settings: settings of the cluster_support role.

    Raises:
        ValueError: a variable of the role has an invalid value.
    """
    _check_images(settings)
    return [
        _labelled(one, name)
        for name, component in COMPONENTS.items()
        if component.is_requested(settings)
        for one in component.objects(settings)
    ]


def _check_images(settings: SupportSettings) -> None:
    """Raise ValueError if `cluster_support_images` names an unknown program, which would otherwise be ignored."""
    names = [*support_catalogue().programs, NODE_MANAGER]
    unknown = sorted(set(settings.images) - set(names))
    if unknown:
        raise ValueError(
            f"cluster_support_images: expected only the programs {', '.join(names)}, got {', '.join(unknown)}"
        )


def _labelled(item: KubernetesObject, component: str) -> KubernetesObject:
    labels = {**item["metadata"].get("labels", {}), COMPONENT_LABEL: component}
    return {**item, "metadata": {**item["metadata"], "labels": labels}}
