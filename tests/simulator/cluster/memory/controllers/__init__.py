# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The controllers of a control plane, including the scheduler, limited to what the tests need."""

from __future__ import annotations

import ipaddress

from ...options import ClusterOptions
from ..authentication import ServiceAccountTokens
from ..certificates import Authority
from ..objects import Objects
from .bootstrap import BootstrapSigner, TokenCleaner
from .daemonsets import DaemonSetController
from .definitions import DefinitionController
from .deployments import DeploymentController, ReplicaSetController
from .disruption import DisruptionController
from .evictions import TaintEvictionController
from .garbage import GarbageCollector, PodGarbageCollector
from .loop import Controller, ControllerLoop
from .namespaces import NamespaceController
from .nodes import NodeLifecycleController, PodCidrController
from .scheduler import Scheduler
from .signing import SigningController
from .tokens import TokenController

__all__ = ["ControllerLoop", "all_controllers"]


def all_controllers(
    objects: Objects, authority: Authority, tokens: ServiceAccountTokens, options: ClusterOptions
) -> list[Controller]:
    """Return all controllers of a cluster.

    Args:
        objects: the interface to the cluster's objects.
        authority: the cluster's certificate authority.
        tokens: the issuer of service account tokens.
        options: the cluster's options.
    """
    return [
        DefinitionController(objects),
        NamespaceController(objects, authority.pem),
        BootstrapSigner(objects),
        TokenCleaner(objects),
        TokenController(objects, tokens, authority.pem),
        SigningController(objects, authority, options.client_certificate_seconds),
        PodCidrController(objects, ipaddress.IPv4Network(options.pod_cidr)),
        NodeLifecycleController(objects, options.node_grace_period),
        DeploymentController(objects),
        ReplicaSetController(objects),
        DaemonSetController(objects),
        Scheduler(objects),
        DisruptionController(objects),
        TaintEvictionController(objects),
        PodGarbageCollector(objects),
        GarbageCollector(objects),
    ]
