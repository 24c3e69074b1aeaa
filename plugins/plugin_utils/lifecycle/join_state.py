# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine whether a Windows machine is a node of a cluster, and find problems that keep it from becoming a node."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import typing as t
import urllib.parse

from ..hns.facts import uplink
from ..node_config import nssm
from ..pod_networks.catalogue import catalogue
from ..resources.computer_name import NETBIOS
from ..windows import azure_platform
from ..windows.node_paths import JOIN_RECORD, KUBELET_CONF, LAUNCHER_SCRIPT, NETWORK_RECORD
from ..windows.registry_keys import KUBELET_SERVICE
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, Observation
from . import join_commands, node_network
from .node_network import ClusterNetwork, NodeNetwork

_SERVICE = (
    {"path": KUBELET_SERVICE, "name": "ImagePath"},
    {"path": nssm.key("kubelet"), "name": nssm.ARGUMENTS},
)
_SERVER = re.compile(r"^\s*server:\s*[\"']?(\S+?)[\"']?\s*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinState:
    """What a machine reports about its join and its networks."""

    joined: bool
    server: str
    """The kubelet's API server, as `server_of` returns it; empty if the machine has not joined."""
    prepared: bool
    """Whether the kubelet's service exists."""
    computer_name: str
    windows: WindowsInfo
    clock_skew: float
    """Seconds by which the node's clock is ahead of the controller's clock; 0 if the node's time is unknown."""
    kubelet_launcher: bool = False
    """Whether the kubelet's service runs the launcher script, which starts the kubelet."""
    ended_commands: int | None = None
    """Number of the user's post-kubeadm programs that have ended, or None if none is left to run."""
    cni: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """Content of the NETWORK_RECORD file, in which the cni role records the node's pod network: `plugin`, `mode`,
    `network` and `services`. Empty if the file is missing or malformed."""
    unresolved: str = ""
    """Why the name of the control plane endpoint cannot be resolved; empty if it can be resolved or was not checked."""
    uplink_at_risk: bool = False
    """Whether an adapter has a static address that may be lost when the first CNI network is created (hns/guard)."""
    azure: bool = False
    """Whether the machine is an Azure virtual machine."""
    secondary_addresses: int | None = None
    """Number of addresses that Azure CNI can give to pods, or None if unknown or not requested."""
    network: NodeNetwork = dataclasses.field(default_factory=NodeNetwork)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedNetwork:
    """What the machine's future pod network requires of the machine."""

    plugin: str = ""
    """Value of `cni_plugin`; empty to skip the checks."""
    mode: str = ""
    max_pods: int = 0
    """Maximum number of pods that the kubelet accepts."""
    cluster: ClusterNetwork = dataclasses.field(default_factory=ClusterNetwork)

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> ExpectedNetwork:
        """Return the pod network that the options of the join_info module describe."""
        linux = options["linux_mtu"]
        cluster = ClusterNetwork(
            mtu=options["cni_mtu"],
            linux_mtu=int(linux.get("pods") or 0),
            linux_setting=str(linux.get("where", "")),
            linux_remedy=str(linux.get("remedy", "")),
            nodes={str(name): str(address) for name, address in options["node_addresses"].items()},
        )
        return cls(
            plugin=options["cni_plugin"], mode=options["cni_mode"], max_pods=options["max_pods"], cluster=cluster
        )

    @property
    def needs_azure(self) -> bool:
        """Whether the network works only on Azure virtual machines."""
        return self.plugin in catalogue() and catalogue()[self.plugin].needs_azure


def calls(name: str = "", *, counts_addresses: bool = False) -> tuple[Call, ...]:
    """Return the calls that read a machine's state. The kubeconfig may contain a key, so the batch must be private.

    Args:
        name: name of the control plane endpoint that the machine must resolve; empty to skip this check.
        counts_addresses: whether to count the addresses that an Azure virtual machine has for pods.
    """
    # Resolve-DnsName resolves names as the system does, including the hosts file (learn.microsoft.com).
    resolve = query("resolve", "Resolve-DnsName", {"Name": name}, select=("Name",))
    return (
        *([resolve] if name else []),
        query(
            "kubeconfig",
            "@read-file",
            {"paths": [KUBELET_CONF, NETWORK_RECORD, JOIN_RECORD], "content": True},
            on_error="stop",
        ),
        query("service", "@read-registry", {"values": [dict(value) for value in _SERVICE]}, on_error="stop"),
        *uplink.calls(),
        node_network.networks_call(),
        azure_platform.chassis_call(),
        *([azure_platform.addresses_call()] if counts_addresses else []),
    )


def read(seen: Observation, windows: WindowsInfo, now: datetime.datetime) -> JoinState:
    """Return a machine's state, as read from the results of `calls`.

    Args:
        seen: the results of `calls`.
        windows: the version of Windows that was read at the same time.
        now: time of the controller's clock (UTC) when the results arrived.

    Raises:
        ValueError: the results are malformed.
        KeyError: a result or one of its properties is missing.
    """
    file, note, record = seen["kubeconfig"].output
    service, parameters = seen["service"].output
    return JoinState(
        joined=bool(file["exists"]),
        server=server_of(file.get("content") or "") if file["exists"] else "",
        prepared=bool(service["exists"]),
        kubelet_launcher=LAUNCHER_SCRIPT in str(parameters.get("value") or ""),
        computer_name=windows.active_computer_name or windows.computer_name,
        windows=windows,
        clock_skew=seen.clock_skew(now) or 0.0,
        ended_commands=join_commands.ended(record.get("content")) if file["exists"] else None,
        cni=_note(note),
        unresolved=_unresolved(seen),
        uplink_at_risk=bool(uplink.read(seen.calls).at_risk),
        azure=azure_platform.is_azure(seen.calls.get(azure_platform.CHASSIS)),
        secondary_addresses=azure_platform.secondary_addresses(seen.calls.get(azure_platform.ADDRESSES)),
        network=node_network.read(seen.calls),
    )


def server_of(kubeconfig: str) -> str:
    """Return the API server's `host:port` or `host` from a kubeconfig, or an empty string if the file has none."""
    server = _SERVER.search(kubeconfig)
    return urllib.parse.urlsplit(server[1]).netloc if server else ""


def _unresolved(seen: Observation) -> str:
    """Return Windows' message about a name that it cannot resolve, or an empty string if there is none."""
    result = seen.calls.get("resolve")
    return str(result.error) if result is not None and result.error is not None else ""


def _note(file: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the content of the NETWORK_RECORD file, or an empty dictionary if it is missing or malformed."""
    try:
        document = json.loads(file.get("content") or "")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def problems(
    state: JoinState,
    *,
    cluster_servers: t.Sequence[str],
    skew_limit: float,
    refuse_joined: bool,
    require_prepared: bool,
    node_name: str = "",
    next_name: str = "",
) -> t.Iterator[str]:
    """Yield the reasons why the run must not continue with this machine.

    Args:
        state: the state that the machine reported.
        cluster_servers: addresses (`host:port`) of the cluster to join; empty to accept any cluster.
        skew_limit: maximum clock difference in seconds; 0 to skip this check.
        refuse_joined: whether it is a problem if the machine is already a node of a cluster.
        require_prepared: whether it is a problem if the machine has no kubelet.
        node_name: the machine's future node name; empty if it is the current computer name.
        next_name: the machine's computer name at the join, if this run renames the machine first; otherwise empty.
    """
    computer_name = next_name or state.computer_name
    own = computer_name[:NETBIOS].lower()
    # kubeadm starts the kubelet's service, which uses the computer's own name, and whose certificate contains only that
    # name.
    if node_name and own and not state.joined and node_name[:NETBIOS].lower() != own:
        yield (
            f"its computer name is {computer_name}, so its kubelet would join as {own}, not as {node_name}; "
            "set kubernetes_node_hostname, which sets both names; node_join_node_name must be the same"
        )
    if refuse_joined and state.joined:
        yield (
            f"it is a node of the cluster at {state.server or 'an unknown address'} ({KUBELET_CONF} exists); "
            "reset it first, because an image must be built from a machine that is not a node"
        )
    if require_prepared and not state.prepared:
        yield "it is not prepared (there is no kubelet service); run site.yml, or start it from an image"
    if cluster_servers and state.joined and state.server and state.server not in cluster_servers:
        yield f"it is a node of another cluster, at {state.server}; the cluster to join is at {cluster_servers[0]}"
    if state.unresolved and not state.joined:
        yield (
            f"it cannot resolve the name of the control plane endpoint ({state.unresolved}). Add the name to DNS, "
            "set windows_settings_hosts to {NAME: ADDRESS} to add the name to its hosts file, or set "
            "node_join_api_server to a HOST:PORT of the control plane that it can reach"
        )
    if skew_limit and abs(state.clock_skew) > skew_limit:
        yield (
            f"its clock is {abs(state.clock_skew):.0f} s {'ahead of' if state.clock_skew > 0 else 'behind'} the "
            f"controller's clock; expected at most {skew_limit:.0f} s, because certificates may be rejected otherwise"
        )


def network_problems(state: JoinState, expected: ExpectedNetwork) -> t.Iterator[str]:
    """Yield the reasons why the machine cannot have the expected pod network.

    A node that already has this network is refused only if `cni_mtu` is too large.

    Args:
        state: the state that the machine reported.
        expected: the requirements of the machine's future pod network.
    """
    known = catalogue().get(expected.plugin)
    if known is None:
        return
    mode = known.modes.get(expected.mode)
    if mode is not None and (too_large := node_network.mtu_problem(state.network, mode, expected.cluster)):
        yield too_large
    if _has_network(state, expected):
        return
    version = state.windows.version or ""
    runtime = known.supported.runtimes[0]
    unsupported = known.support_problem(kubernetes="", windows=version, runtime=runtime) if known.is_managed else None
    if unsupported is not None:
        yield f"it runs Windows Server {version}, {unsupported}. {known.supported.reason}"
        return
    unpatched = known.patch_problem(expected.mode, windows=version, ubr=state.windows.ubr) if known.is_managed else None
    if unpatched is not None:
        yield unpatched
    # The HNS networks of the network in NETWORK_RECORD are removed before the new network is created.
    if mode is not None and not state.cni and (wrong := node_network.type_problem(state.network, mode)):
        yield wrong
    if mode is not None and (far := node_network.subnet_problem(state.network, mode, expected.cluster)):
        yield far
    if not known.needs_azure:
        return
    count = state.secondary_addresses
    if not state.azure:
        yield (
            f"it is not an Azure virtual machine, which cni_plugin: {expected.plugin} requires, because pods get "
            "addresses of the virtual machine's network interface. Use another network, such as flannel or calico"
        )
    elif count is not None and count < max(expected.max_pods, 1):
        yield (
            f"its network interfaces have {count} secondary addresses for pods, expected at least {expected.max_pods} "
            "(maxPods of its kubelet). Add IP configurations to the network interface, or set "
            f"kubernetes_node_kubelet_configuration: {{maxPods: {max(count, 1)}}}"
        )


def network_warnings(state: JoinState, expected: ExpectedNetwork) -> t.Iterator[str]:
    """Yield warnings about problems that may harm the machine's pod network, but do not prevent the machine's join.

    Args:
        state: the state that the machine reported.
        expected: the requirements of the machine's future pod network.
    """
    known = catalogue().get(expected.plugin)
    mode = known.modes.get(expected.mode) if known is not None else None
    if mode is None:
        return
    yield from node_network.mtu_warnings(
        state.network, mode, expected.cluster, in_azure=state.azure, joined=state.joined
    )
    if _has_network(state, expected) and (far := node_network.subnet_problem(state.network, mode, expected.cluster)):
        yield far


def _has_network(state: JoinState, expected: ExpectedNetwork) -> bool:
    """Return whether the machine is a node that already has the expected network."""
    return state.joined and (state.cni.get("plugin"), state.cni.get("mode")) == (expected.plugin, expected.mode)
