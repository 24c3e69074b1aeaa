# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine whether a cluster has a program that enforces network policies on Windows or Linux nodes (no I/O).

The API server accepts a NetworkPolicy even if no program enforces it (see kubernetes.io, Network Policies). The
programs that enforce network policies run as DaemonSets. These are the names of the DaemonSets and their sources:

* `calico-node`, `calico-node-windows`: projectcalico/calico, `manifests/calico.yaml`; tigera/operator,
  `pkg/render/node.go` and `pkg/render/windows.go`. `canal` (`manifests/canal.yaml`) is Calico on Linux with flannel's
  network; kubespray names it `canal-node` (`roles/network_plugin/canal`). Canal enforces nothing on Windows.
* `antrea-agent`, `antrea-agent-windows`: antrea-io/antrea, `build/yamls`.
* `cilium`, `kube-router`, `weave-net`: the projects' manifests, for Linux only.
* `azure-npm`, `azure-npm-win`: Azure/azure-container-networking, `npm`. Microsoft supported the program for Windows
  until 30 September 2026 (AKS documentation, "Use network policies").
"""

from __future__ import annotations

import typing as t

from .nodes import LINUX, WINDOWS

ENGINES: t.Mapping[str, tuple[str, ...]] = {
    LINUX: (
        "antrea-agent",
        "azure-npm",
        "calico-node",
        "canal",
        "canal-node",
        "cilium",
        "kube-router",
        "weave-net",
    ),
    WINDOWS: ("antrea-agent-windows", "azure-npm-win", "calico-node-windows"),
}
"""Maps each operating system to the names of the DaemonSets that enforce network policies on its nodes."""
SYSTEMS = {LINUX: "Linux", WINDOWS: "Windows"}


def missing_engine(system: str, daemon_sets: t.Collection[str]) -> str:
    """Return why nothing enforces network policies on Windows or Linux nodes, or an empty string if something does.

    Args:
        system: `windows` or `linux`.
        daemon_sets: names of all DaemonSets in the cluster.
    """
    engines = ENGINES[system]
    if set(engines) & set(daemon_sets):
        return ""
    return (
        f"the cluster has no program that enforces network policies on {SYSTEMS[system]} nodes (expected one of the "
        f"DaemonSets {', '.join(engines)})"
    )
