# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Findings on the Linux side of a cluster: what is refused, changed or reported, and how to fix it."""

from __future__ import annotations

import dataclasses
import typing as t

from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.linux_daemon_sets import Restricted
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import cluster as checks
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import linux_side
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.host import HostVariables

NODE = HostVariables(
    kubernetes="1.36.2",
    runtime="containerd",
    containerd="2.3.7",
    cni_plugin="flannel",
    backend="vxlan",
    pods="10.233.64.0/18",
    services="10.233.0.0/18",
    api_server="",
    hosts={},
    address="10.3.0.4",
)
CALICO = dataclasses.replace(NODE, cni_plugin="calico", api_server="10.0.0.1:6443")
RESTRICTED = Restricted(namespaces=("kube-system", "kube-flannel"), patterns=("logging/*",))
UNBOUND = [
    {"namespace": "monitoring", "name": "exporter", "owner": "", "managers": {}},
    {"namespace": "kube-system", "name": "kube-proxy", "owner": "", "managers": {}},
    {"namespace": "calico-system", "name": "csi-node-driver", "owner": "Installation default", "managers": {}},
    {"namespace": "logging", "name": "fluent", "managers": {"meta.helm.sh/release-name": "logs"}},
    {"namespace": "site", "name": "agent", "managers": {"app.kubernetes.io/managed-by": "kapp"}},
]


def flannel(**backend: t.Any) -> dict[str, t.Any]:
    conf = {"Network": "10.233.64.0/18", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789, **backend}}
    return {"flannel": {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": conf}}


def calico(**more: t.Any) -> dict[str, t.Any]:
    """Return a part of the facts, as far as the findings read it."""
    pool = {"name": "p", "cidr": "10.233.64.0/18", "ipip": "Never", "vxlan": "Always", "disabled": False}
    facts = {
        "namespace": "kube-system",
        "strict_affinity": False,
        "pools": [pool],
        "vxlan": {"vni": 4096, "port": 4789, "mtu": 1350},
        "installation": {},
        "has_former_daemon_set": False,
    }
    return {"calico": {**facts, **more}}


def findings_of(node: HostVariables, cluster: dict[str, t.Any]) -> list[linux_side.Finding]:
    refused = checks.linux_problems(node, cluster) if node.cni_plugin == "flannel" else []
    return linux_side.findings(node, cluster, refused, RESTRICTED)


def test_all_findings() -> None:
    operator = {"windows_dataplane": "Disabled", "service_cidrs": [], "api_server": "", "mtu": None}
    cases = {
        "nothing": (NODE, flannel()),
        "flannel's defaults": (NODE, flannel(VNI=1, Port=8472, MTU=1400)),
        "cni_mtu as on Linux nodes": (dataclasses.replace(NODE, mtu=1350), flannel(MTU=1400)),
        "cni_mtu": (dataclasses.replace(NODE, mtu=1400), flannel(MTU=1400)),
        "DaemonSets": (NODE, {**flannel(), "unbound_daemon_sets": UNBOUND}),
        "Calico": (CALICO, calico()),
        "Calico on request": (dataclasses.replace(CALICO, set_strict_affinity=True, enable_calico_windows=True),
                              calico(installation=operator)),
        "an unknown network": (dataclasses.replace(NODE, cni_plugin="weave"), flannel(MTU=1400)),
    }  # fmt: skip
    named = {name: [one.to_json() for one in findings_of(node, cluster)] for name, (node, cluster) in cases.items()}
    outcomes.check("preflight/linux_side", named)


def test_the_command_of_a_finding_is_complete() -> None:
    (finding,) = linux_side.daemon_sets(UNBOUND[:1], RESTRICTED)
    assert finding.outcome == "reported"
    patch = '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}'
    assert finding.fix.startswith(f"kubectl -n monitoring patch daemonset exporter --patch '{patch}'")
    assert "cni_linux_daemon_sets: [monitoring/exporter]" in finding.fix


def test_only_what_stays_is_a_warning() -> None:
    first, second = linux_side.warnings(UNBOUND, RESTRICTED)
    assert "monitoring/exporter, site/agent, managed by kapp" in first
    assert "calico-system/csi-node-driver, managed by the Tigera operator" in second
    assert "csiNodeDriverDaemonSet of the Installation default" in second
    for text in (first, second):
        assert "kube-proxy" not in text
        assert "fluent" not in text
    assert linux_side.warnings([UNBOUND[1]], RESTRICTED) == []
