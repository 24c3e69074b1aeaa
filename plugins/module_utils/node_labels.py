# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Labels of nodes and pods: where the pods of networks run, their revision, and the generation of a node."""

from __future__ import annotations

RUN_AS_LABEL = "winkube.node/network-runs-as"
"""The label of a node on which the DaemonSets of networks must not run. Its value is `service`."""
NETWORK_LABEL = "winkube.node/pod-network"
"""The label of a node with the name of the network whose DaemonSet may run on the node. Calico removes the HNS networks
of other plugins when it starts for the first time after the node boots, so it must not start on its own on a live
node that has a different network (projectcalico/calico v3.31.5,
node/windows-packaging/CalicoWindows/node-service.ps1)."""
REVISION_LABEL = "winkube.node/revision"
"""The label of a DaemonSet's pods that identifies their template and configuration."""
GENERATION_LABEL = "winkube.node-restriction.kubernetes.io/generation"
"""The label of a node with the generation of its machine. The admission plugin NodeRestriction does not let kubelets
set labels of this domain (kubernetes.io: Node isolation/restriction)."""
