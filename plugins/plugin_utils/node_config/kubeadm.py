# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What kubeadm is told to make a Windows machine a node, and how it is run there."""

from __future__ import annotations

import dataclasses
import typing as t

import yaml

from ..values.versions import Version, kubeadm_api
from ..windows.path_calls import make_closed
from ..windows.sddl import CLOSED, SHARED
from ..wire.messages import Call, Input, Json, Observation

CONFIGURATION = "C:\\ProgramData\\winkube\\join.yaml"
"""Holds the token while kubeadm runs; removed in the same batch whatever happens."""
DISCOVERY = "C:\\ProgramData\\winkube\\discovery.conf"
"""A kubeconfig without credentials: where the cluster is, while kubeadm runs."""
_DISCOVERY_PATH = "/ProgramData/winkube/discovery.conf"
"""The same file for kubeadm, on the drive that it runs on. Of a whole path it takes the `C:` for the scheme of a URL,
and refuses it (cmd/kubeadm/app/apis/kubeadm/validation, ValidateDiscoveryKubeConfigPath)."""
PRIVATE = "O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
"""SDDL: SYSTEM and Administrators only."""
_PRIVATE_FOLDERS = ("C:\\etc\\kubernetes", "C:\\var\\lib\\kubelet\\pki")
"""What kubeadm and the kubelet keep the token and the node's key in. Images of earlier versions left them open."""
_BOOTSTRAP = "C:\\etc\\kubernetes\\bootstrap-kubelet.conf"
_KUBELET_CONF = "C:\\etc\\kubernetes\\kubelet.conf"
_KEY = "C:\\var\\lib\\kubelet\\pki\\kubelet-client.key.tmp"
"""The key for which a kubelet has no certificate yet. It would ask with it again, and find its former request, which
was made with a token of another run (kubernetes/kubernetes, pkg/kubelet/certificate/bootstrap: LoadClientCert)."""
_CA = "C:\\etc\\kubernetes\\pki\\ca.crt"
LEFTOVERS = (CONFIGURATION, _BOOTSTRAP)
"""Files with the token that stay where a machine goes down inside kubeadm; the role node_join keeps them away."""
CRI_SOCKET = "npipe:////./pipe/containerd-containerd"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Join:
    """One node's way into a cluster."""

    api_server: str
    """`host:port` of the control plane endpoint."""
    token: str
    ca_cert_hashes: tuple[str, ...]
    """`sha256:…` of the cluster CA's public key."""
    discovery_file: bool = False
    """Whether kubeadm finds the cluster by the file DISCOVERY, not by the ConfigMap cluster-info at `api_server`.
    It goes on at the endpoint that this file, or this ConfigMap, names (cmd/kubeadm/app/discovery)."""
    node_name: str
    cri_socket: str = CRI_SOCKET
    kubelet_extra_args: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[t.Mapping[str, str], ...] = ()
    ignore_preflight_errors: tuple[str, ...] = ()
    timeouts: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """kubeadm's timeouts by name (v1beta4); `discovery` alone exists in v1beta3."""


def join_configuration(kubernetes_version: str, join: Join) -> str:
    """JoinConfiguration as YAML, v1beta3 or v1beta4 by kubeadm's version.

    v1beta4 writes extra arguments as a list and has timeouts of its own; v1beta3 has a map and one timeout.

    Raises:
        ValueError: the version is not known.
    """
    api = kubeadm_api(Version.parse(kubernetes_version))
    registration: dict[str, t.Any] = {"name": join.node_name, "criSocket": join.cri_socket}
    if join.kubelet_extra_args:
        registration["kubeletExtraArgs"] = (
            dict(join.kubelet_extra_args)
            if api == "v1beta3"
            else [{"name": name, "value": value} for name, value in join.kubelet_extra_args.items()]
        )
    # An absent list of taints means none for a worker; an empty one says so.
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
    return yaml.safe_dump(document, sort_keys=False)


def _discovery(join: Join) -> dict[str, t.Any]:
    """How kubeadm finds and trusts the cluster."""
    if join.discovery_file:
        return {"file": {"kubeConfigPath": _DISCOVERY_PATH}, "tlsBootstrapToken": join.token}
    return {
        "bootstrapToken": {
            "apiServerEndpoint": join.api_server,
            "token": join.token,
            "caCertHashes": list(join.ca_cert_hashes),
        }
    }


def join_calls(
    configuration: str, kubeadm: str, timeout: float, discovery: str = "", *, again: bool = False
) -> tuple[Call, ...]:
    """The batch that joins a machine, once: it stops at its first barrier where the machine has joined already.

    A join that an interrupted run has left behind is ended first: its token is gone, and two would be in each other's
    way. What a join that stopped half-way left (kubeadm refuses to go on over it) is removed.

    Args:
        configuration: JoinConfiguration as YAML; secret.
        kubeadm: Windows path of kubeadm.exe.
        timeout: seconds that kubeadm may take.
        discovery: kubeconfig that says where the cluster is; empty: the configuration does.
        again: whether the same token was tried before. The kubelet keeps its key then, and finds its own request: a
            second key of one token would look like an attacker's, and neither would get a certificate.
    """
    leftovers: dict[str, Json] = {"paths": [_BOOTSTRAP, _CA, *([] if again else [_KEY])]}
    return (
        Call(id="joined", command="@read-file", parameters={"paths": [_KUBELET_CONF]}, select=("path", "exists")),
        Call(id="stop-if-joined", command="@stop-if", input=Input(calls=("joined",), where={"exists": True})),
        *_end_former(),
        Call(id="leftovers", command="@read-file", parameters=leftovers, select=("path", "exists")),
        Call(
            id="clear",
            command="Remove-Item",
            parameters={"Force": True},
            input=Input(calls=("leftovers",), where={"exists": True}, parameter="LiteralPath", property="path"),
            select=(),
        ),
        # Where it is missing, as Windows makes it: volumes of pods lie below.
        make_closed("C:\\var\\lib\\kubelet", SHARED, "kubelet-folder", existing="leave"),
        *(make_closed(folder, CLOSED, f"close-{number}") for number, folder in enumerate(_PRIVATE_FOLDERS)),
        Call(
            id="configuration",
            command="@write-file",
            parameters={"path": CONFIGURATION, "content": configuration, "sddl": PRIVATE},
            secret=True,
        ),
        *([_write_discovery(discovery)] if discovery else []),
        Call(id="join", command=kubeadm, arguments=("join", "--config", CONFIGURATION), timeout=timeout, long=True),
        Call(
            id="remove-configuration",
            command="Remove-Item",
            parameters={
                "LiteralPath": [CONFIGURATION, DISCOVERY] if discovery else CONFIGURATION,
                "Force": True,
                "ErrorAction": "SilentlyContinue",
            },
            always=True,
            on_error="continue",
            select=(),
        ),
    )


def _end_former() -> tuple[Call, ...]:
    """Ends a kubeadm that is still at work, with the kubelet that it started, which waits for a certificate.

    It goes on when the former batch has removed its configuration file, which ours has too. kubeadm refuses to begin
    while a kubelet has its port.
    """
    processes: dict[str, Json] = {"Name": "kubeadm", "ErrorAction": "SilentlyContinue"}
    running = Input(calls=("former",), parameter="Id", property="Id")
    return (
        Call(id="former", command="Get-Process", parameters=processes, select=("Id",), on_error="continue"),
        Call(
            id="end-former",
            command="Stop-Process",
            parameters={"Force": True},
            input=running,
            select=(),
            on_error="continue",
        ),
        Call(
            id="stop-kubelet",
            command="Stop-Service",
            parameters={"Name": "kubelet", "Force": True, "ErrorAction": "SilentlyContinue"},
            select=(),
            on_error="continue",
        ),
        # One that stays was left by a machine that went down.
        Call(
            id="former-ended",
            command="@read-file",
            parameters={"paths": [CONFIGURATION]},
            select=("exists",),
            until={"exists": False},
            retries=20,
            delay=0.5,
            on_error="continue",
        ),
    )


def _write_discovery(content: str) -> Call:
    """Writes the kubeconfig that says where the cluster is."""
    parameters: dict[str, Json] = {"path": DISCOVERY, "content": content, "sddl": PRIVATE}
    return Call(id="discovery", command="@write-file", parameters=parameters)


def had_joined(seen: Observation) -> bool:
    """Whether the machine had joined before the batch."""
    return seen.stopped is not None and seen.stopped.id == "stop-if-joined"


def join_problem(seen: Observation) -> str | None:
    """Why the join failed, in kubeadm's words, or None."""
    if had_joined(seen) or seen.stopped is None:
        return None
    result = seen.calls.get(seen.stopped.id)
    if result is None or result.error is None:
        return f"stopped at {seen.stopped.id}"
    words = result.stderr.strip() or result.stdout.strip() or str(result.error)
    return f"{seen.stopped.id}: exit code {result.exit_code}: {words[-2000:]}" if result.exit_code else words
