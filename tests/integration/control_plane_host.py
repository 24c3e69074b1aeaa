# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A control plane host for `kubeadm token`: this machine, with kubeadm and an administrator's kubeconfig."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

from integration.playbooks import Site, cluster_api
from kubernetes import client

_TOKENS = Path(__file__).with_name("kubeadm_tokens.py")


def control_plane_host(site: Site, *, real: bool) -> dict[str, Any]:
    """Return variables with which tokens come from this machine. Its calls of kubeadm are recorded.

    Args:
        real: whether to use a real kubeadm if there is one. It sends protobuf, so it needs a real API server. Otherwise
            a program of the tests takes its place.
    """
    assert site.world.cluster is not None
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    kubeadm = Path(folder).expanduser() / "kubeadm"
    found = real and bool(folder) and kubeadm.is_file()
    program = site.folder / "kubeadm"
    lines = [
        "#!/bin/sh",
        f'echo "$@" >> {site.folder}/kubeadm.log',
        f"export KUBECONFIG={site.world.cluster.kubeconfig}",
        f'exec {kubeadm} "$@"' if found else f'exec {sys.executable} {_TOKENS} "$@"',
    ]
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        "node_join_token_source": "control_plane",
        "node_join_control_plane": "localhost",
        "node_join_control_plane_kubeadm": str(program),
    }


def token_commands(site: Site) -> list[str]:
    """Return the arguments of each call of kubeadm."""
    return (site.folder / "kubeadm.log").read_text(encoding="utf-8").splitlines()


def hide_cluster_info(site: Site) -> None:
    """Make the ConfigMap cluster-info readable only with credentials."""
    rbac = client.RbacAuthorizationV1Api(cluster_api(site))
    rbac.delete_namespaced_role_binding("kubeadm:bootstrap-signer-clusterinfo", "kube-public")
