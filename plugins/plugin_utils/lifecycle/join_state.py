# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether a Windows machine is a cluster's node, and what it would need to become one."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import typing as t
import urllib.parse

from ..hns.facts import uplink
from ..resources.computer_name import NETBIOS
from ..windows import windows_info
from ..wire.messages import Call, Observation

KUBELET_CONF = "C:\\etc\\kubernetes\\kubelet.conf"
CNI_NOTE = "C:\\ProgramData\\winkube\\cni.json"
"""Where the role cni notes which network a node has, so that it knows the former one when that changes."""
_SERVICE_KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\kubelet"
_SERVER = re.compile(r"^\s*server:\s*[\"']?(\S+?)[\"']?\s*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinState:
    """What a machine says of itself."""

    joined: bool
    server: str
    """`host:port` of the API server that its kubelet uses; empty if it has not joined."""
    prepared: bool
    """Whether the kubelet's service is there."""
    computer_name: str
    clock_skew: float
    """Seconds by which the node's clock is ahead of the controller's."""
    windows: windows_info.WindowsInfo
    cni: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """What CNI_NOTE says: `plugin`, `backend`, `network`; empty if it is not there."""
    unresolved: str = ""
    """Why the name of the control plane's endpoint cannot be resolved; empty where it can, or was not asked for."""
    uplink_at_risk: bool = False
    """Whether an adapter has a static address that the first network of a CNI may take (hns/guard.py)."""


def calls(name: str = "") -> tuple[Call, ...]:
    """What to ask. The kubeconfig may hold a key: its batch is private.

    Args:
        name: of the control plane's endpoint, where the machine has to resolve it; empty: none.
    """
    # As the system resolves names, its hosts file included (learn.microsoft.com: Resolve-DnsName).
    resolve = Call(
        id="resolve", command="Resolve-DnsName", parameters={"Name": name}, select=("Name",), on_error="continue"
    )
    return (
        *([resolve] if name else []),
        windows_info.call(),
        Call(id="kubeconfig", command="@read-file", parameters={"paths": [KUBELET_CONF, CNI_NOTE], "content": True}),
        Call(
            id="service", command="@read-registry", parameters={"values": [{"path": _SERVICE_KEY, "name": "ImagePath"}]}
        ),
        *uplink.calls(),
    )


def read(seen: Observation, now: datetime.datetime) -> JoinState:
    """Reads the answer to `calls`.

    Args:
        seen: the observation.
        now: the controller's clock, in UTC, when the answer came.

    Raises:
        ValueError, KeyError: the answer is not one.
    """
    file, *notes = seen["kubeconfig"].output
    server = _SERVER.search(file.get("content") or "") if file["exists"] else None
    about = windows_info.read(seen[windows_info.CALL_ID])
    return JoinState(
        joined=bool(file["exists"]),
        server=urllib.parse.urlsplit(server[1]).netloc if server else "",
        prepared=bool(seen["service"].first["exists"]),
        computer_name=about.active_computer_name or about.computer_name,
        clock_skew=seen.clock_skew(now) or 0.0,
        windows=about,
        cni=_note(notes),
        unresolved=_unresolved(seen),
        uplink_at_risk=bool(uplink.read(seen.calls).at_risk),
    )


def _unresolved(seen: Observation) -> str:
    """Windows' words for a name that it cannot resolve."""
    result = seen.calls.get("resolve")
    return str(result.error) if result is not None and result.error is not None else ""


def _note(files: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """What the role cni noted; one that cannot be read is none."""
    text = (files[0].get("content") or "") if files else ""
    try:
        document = json.loads(text)
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
    """What forbids to go on with this machine.

    Args:
        state: what it says of itself.
        cluster_servers: `host:port` of the cluster to join, by each of its addresses; empty: any cluster.
        skew_limit: seconds by which the clocks may differ; 0 does not check.
        refuse_joined: whether a cluster's node is refused.
        require_prepared: whether a machine without a kubelet is.
        node_name: what it will be called in the cluster; empty: what it is called.
        next_name: the computer's name when it joins, where this run renames it first; empty: it keeps its name.
    """
    computer_name = next_name or state.computer_name
    own = computer_name[:NETBIOS].lower()
    # kubeadm starts the kubelet as the service that it is, and so under the computer's own name; its certificate is for
    # that name alone.
    if node_name and own and not state.joined and node_name[:NETBIOS].lower() != own:
        yield (
            f"its computer's name is {computer_name}, and its kubelet would join as {own}, not as {node_name}; "
            "kubernetes_node_hostname sets both names, node_join_node_name has to be the same"
        )
    if refuse_joined and state.joined:
        yield (
            f"it is a node of the cluster at {state.server or 'an unknown address'} ({KUBELET_CONF} exists); "
            "reset it first, an image is built from a plain machine"
        )
    if require_prepared and not state.prepared:
        yield "it is not prepared (there is no kubelet service); run site.yml, or start it from an image"
    if cluster_servers and state.joined and state.server and state.server not in cluster_servers:
        yield f"it is a node of another cluster, at {state.server}; the cluster to join is at {cluster_servers[0]}"
    if state.unresolved and not state.joined:
        yield (
            f"it cannot resolve the name of the control plane's endpoint ({state.unresolved}). Add it to its DNS, "
            "set windows_settings_hosts to {NAME: ADDRESS} to add it to its hosts file, or set node_join_api_server to "
            "a HOST:PORT of the control plane that it can reach"
        )
    if skew_limit and abs(state.clock_skew) > skew_limit:
        yield (
            f"its clock is {abs(state.clock_skew):.0f} s {'ahead of' if state.clock_skew > 0 else 'behind'} the "
            f"controller's; at most {skew_limit:.0f} s are accepted, since certificates fail otherwise"
        )
