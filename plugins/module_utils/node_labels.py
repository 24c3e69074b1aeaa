# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names of the labels that this collection sets on nodes and on pods of the pod network."""

from __future__ import annotations

RUN_AS_LABEL = "winkube.node/network-runs-as"
"""The label of nodes whose pod network and kube-proxy run as Windows services. DaemonSets of pod networks must not run
on these nodes. The value is `service`."""
NETWORK_LABEL = "winkube.node/pod-network"
"""The node label that names the pod network whose DaemonSet may run on the node.

When Calico starts for the first time after a node has booted, it removes the HNS networks of other plugins. It must
therefore not start on a live node that has a different pod network. Source: projectcalico/calico v3.31.5,
node/windows-packaging/CalicoWindows/node-service.ps1.
"""
REVISION_LABEL = "winkube.node/revision"
"""The pod label that identifies the version of a DaemonSet's pod template and configuration."""
GENERATION_LABEL = "winkube.node-restriction.kubernetes.io/generation"
"""The node label that contains the generation of the node's machine, so that old machines can be replaced.

The NodeRestriction admission plugin prevents kubelets from setting labels in the domain
node-restriction.kubernetes.io. Source: kubernetes.io, Node isolation/restriction.
"""
