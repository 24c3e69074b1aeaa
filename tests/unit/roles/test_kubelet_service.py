# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelet's service in the role kubernetes_node."""

from __future__ import annotations

from unit.roles.templates import templar, value


def test_kubeadms_flags_are_checked_against_the_starting_kubelet() -> None:
    known = templar(["container_runtime", "kubernetes_node"], {"kube_version": "v1.36.2", "groups": {}, "hostvars": {}})
    service = value(known, "kubernetes_node_resources")[-1]
    assert service["name"] == "kubelet"
    assert service["arguments_from_file"].endswith("kubeadm-flags.env")
    assert service["arguments_for_kubelet"] == "1.36.2"
