# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An account with exactly the rights in docs/rbac.yaml, or in other files of docs."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml
from integration.playbooks import ROOT
from kubernetes import client, config, utils

from simulator.cluster import SimulatedCluster


def limited_kubeconfig(
    cluster: SimulatedCluster, folder: Path, *more: str, rights: str = "rbac.yaml", account: str = "winkube"
) -> Path:
    """Apply files with rights, and write a kubeconfig for their service account.

    Args:
        folder: where the kubeconfig is written.
        more: names of other files in docs that are applied, too.
        rights: name of the file in docs that creates the account.
        account: name of the service account in kube-system.
    """
    api = config.new_client_from_config(str(cluster.kubeconfig))
    for name in (rights, *more):
        utils.create_from_yaml(api, str(ROOT / "docs" / name))
    asked = {"spec": {"audiences": [], "expirationSeconds": 7200}}
    made = client.CoreV1Api(api).create_namespaced_service_account_token(account, "kube-system", asked)
    authority = base64.b64encode(cluster.ca_certificate.encode()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": cluster.server, "certificate-authority-data": authority}}],
        "users": [{"name": "u", "user": {"token": made.status.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    file = folder / "limited.conf"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file
