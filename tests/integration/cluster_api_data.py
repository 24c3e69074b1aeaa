# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""User data of a worker node in the form in which Cluster API's kubeadm bootstrap provider writes it.

https://github.com/kubernetes-sigs/cluster-api/tree/v1.14.0-rc.0/bootstrap/kubeadm/pkg/cloudinit: node.go, files.go,
commands.go. The provider of the infrastructure passes it on as it is, or as a part of multi-part user data.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any
from urllib.parse import urlsplit

import yaml
from integration.joined_nodes import make_token
from integration.playbooks import Site

_JOIN = "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml "


def join_configuration(server: str, ca_hash: str, token: str, arguments: Mapping[str, str]) -> str:
    """Return kubeadm's configuration, with a name that is a template."""
    endpoint = {"apiServerEndpoint": server, "caCertHashes": [ca_hash]}
    registration = {
        "criSocket": "npipe:////./pipe/containerd-containerd",
        "kubeletExtraArgs": [{"name": one, "value": value} for one, value in arguments.items()],
        "name": "{{ ds.meta_data.local_hostname }}",
        "taints": [],
    }
    document = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"bootstrapToken": {**endpoint, "token": token}},
        "nodeRegistration": registration,
    }
    return yaml.safe_dump(document)


def user_data(configuration: str, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """Return the user data: a template of a cloud-config.

    Args:
        configuration: kubeadm's configuration.
        before: preKubeadmCommands.
        after: postKubeadmCommands.
    """
    commands = [*map(json.dumps, before), f"{_JOIN} && echo success > /run/cluster-api/bootstrap-success.complete"]
    commands += map(json.dumps, after)
    return (
        "## template: jinja\n#cloud-config\n\nwrite_files:\n"
        "-   path: /run/kubeadm/kubeadm-join-config.yaml\n    owner: root:root\n    permissions: '0640'\n"
        f"    content: |\n      ---\n{textwrap.indent(configuration, 6 * ' ')}"
        "-   path: /run/cluster-api/placeholder\n    owner: root:root\n    permissions: '0640'\n"
        '    content: "This placeholder file is used to create the /run/cluster-api sub directory"\n'
        "runcmd:\n" + "".join(f"  - {command}\n" for command in commands)
    )


def multi_part(document: str) -> str:
    """Return user data with a cloud-config as its only part."""
    message = MIMEMultipart()
    part = MIMEText(document, "cloud-config")
    part.add_header("Content-Disposition", "attachment", filename="cloud-config.txt")
    message.attach(part)
    return message.as_string()


def config_drive(
    site: Site, host: str, instance: str, arguments: Mapping[str, str], before: Sequence[str], after: Sequence[str]
) -> dict[str, Any]:
    """Return a config drive of NoCloud with which a machine joins the site's cluster.

    Args:
        host: the machine's name.
        instance: the id of the instance.
        arguments: the kubelet's arguments.
        before: preKubeadmCommands.
        after: postKubeadmCommands.
    """
    cluster = site.world.cluster
    assert cluster is not None
    configuration = join_configuration(urlsplit(cluster.server).netloc, cluster.ca_hash, make_token(site), arguments)
    files = {
        "meta-data": f"instance-id: {instance}\nlocal-hostname: {host}\n",
        "user-data": multi_part(user_data(configuration, before, after)),
    }
    return {"label": "cidata", "files": files}
