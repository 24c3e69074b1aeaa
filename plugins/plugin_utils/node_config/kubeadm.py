# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm's configurations for a join (lifecycle/join.py) and a reset (lifecycle/reset.py) of a Windows machine."""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.versions import Version, kubeadm_api
from ..values.yaml_text import to_yaml
from ..windows import node_paths

DISCOVERY = f"{node_paths.PROGRAM_DATA}\\discovery.conf"
"""Path of the discovery file, a kubeconfig from which kubeadm reads the address of the cluster. If the cluster-info
ConfigMap is not public, the kubeconfig contains the bootstrap token."""
_DISCOVERY_PATH = "/ProgramData/winkube/discovery.conf"
"""The path of the discovery file without the drive. kubeadm would mistake `C:` for the scheme of a URL and reject the
path. Source: cmd/kubeadm/app/apis/kubeadm/validation, ValidateDiscoveryKubeConfigPath."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint of a node (Kubernetes core/v1)."""

    key: str
    value: str = ""
    effect: t.Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Join:
    """The settings with which kubeadm joins a machine to a cluster."""

    api_server: str
    """The control plane endpoint as `host:port`."""
    token: str
    ca_cert_hashes: tuple[str, ...]
    """Hashes of the public keys of the cluster's CAs, as `sha256:…`."""
    discovery_file: bool = False
    """Whether kubeadm reads the cluster's endpoint from the discovery file. If false, kubeadm reads the endpoint from
    the cluster-info ConfigMap, which it gets from `api_server`. Source: cmd/kubeadm/app/discovery."""
    node_name: str = ""
    """Name of the node; empty for the machine's host name."""
    cri_socket: str = node_paths.CONTAINERD_PIPE
    kubelet_extra_args: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[t.Mapping[str, str], ...] = ()
    ignore_preflight_errors: tuple[str, ...] = ()
    timeouts: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """kubeadm's timeouts by their names in v1beta4. For v1beta3, only `discovery` is used."""


def join_configuration(kubernetes_version: str, join: Join) -> str:
    """Return the JoinConfiguration as YAML, v1beta3 or v1beta4 depending on kubeadm's version.

    In v1beta4, extra arguments are a list, and there are several timeouts. In v1beta3, extra arguments are a map, and
    there is only one timeout.

    Raises:
        ValueError: the version is malformed.
    """
    api = kubeadm_api(Version.parse(kubernetes_version))
    name = {"name": join.node_name} if join.node_name else {}
    registration: dict[str, t.Any] = {**name, "criSocket": join.cri_socket}
    if join.kubelet_extra_args:
        registration["kubeletExtraArgs"] = (
            dict(join.kubelet_extra_args)
            if api == "v1beta3"
            else [{"name": name, "value": value} for name, value in join.kubelet_extra_args.items()]
        )
    # Always write the taints: without the list, kubeadm would choose them itself, and give a worker none.
    registration["taints"] = [dict(taint) for taint in join.taints]
    if join.ignore_preflight_errors:
        registration["ignorePreflightErrors"] = list(join.ignore_preflight_errors)
    discovery = _discovery(join)
    document: dict[str, t.Any] = {
        "apiVersion": f"kubeadm.k8s.io/{api}",
        "kind": "JoinConfiguration",
        "discovery": discovery,
        "nodeRegistration": registration,
    }
    if api == "v1beta3":
        if "discovery" in join.timeouts:
            discovery["timeout"] = join.timeouts["discovery"]
    elif join.timeouts:
        document["timeouts"] = dict(join.timeouts)
    return to_yaml(document, sort_keys=False)


def reset_configuration(kubernetes_version: str, cri_socket: str) -> str:
    """Return the ResetConfiguration as YAML, or an empty string for kubeadm up to 1.30, which needs flags instead.

    Args:
        kubernetes_version: version of kubeadm.
        cri_socket: endpoint of the container runtime. Without it, kubeadm fails if it finds several runtimes.

    Raises:
        ValueError: the version is malformed.
    """
    api = kubeadm_api(Version.parse(kubernetes_version))
    if api == "v1beta3":
        return ""
    document = {
        "apiVersion": f"kubeadm.k8s.io/{api}",
        "kind": "ResetConfiguration",
        "criSocket": cri_socket,
        "cleanupTmpDir": True,
        "force": True,
    }
    return to_yaml(document, sort_keys=False)


def reset_flags(cri_socket: str) -> tuple[str, ...]:
    """Return the flags of `kubeadm reset` that have the same effect as `reset_configuration`.

    Args:
        cri_socket: endpoint of the container runtime. Without it, kubeadm fails if it finds several runtimes.
    """
    return ("--force", "--cleanup-tmp-dir", "--cri-socket", cri_socket)


def _discovery(join: Join) -> dict[str, t.Any]:
    """Return the `discovery` section, which defines how kubeadm finds and authenticates the cluster."""
    if join.discovery_file:
        return {"file": {"kubeConfigPath": _DISCOVERY_PATH}, "tlsBootstrapToken": join.token}
    return {
        "bootstrapToken": {
            "apiServerEndpoint": join.api_server,
            "token": join.token,
            "caCertHashes": list(join.ca_cert_hashes),
        }
    }
