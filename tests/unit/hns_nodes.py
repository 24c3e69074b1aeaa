# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HNS nodes with all kinds of objects, and with the problems that they may have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unit.hns_models import CNI, DOCKER, KINDS, OTHER, Model, Pod, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import journal
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.runtime import Programs
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.uplink import Uplink
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult, Observation

CARD = Uplink(
    mac="00-AA",
    alias="Ethernet",
    addresses=(("10.0.0.5", 24),),
    routes=(("0.0.0.0/0", "10.0.0.1", 1),),
    dns=("10.0.0.2",),
)
SECOND = Uplink(mac="00-BB", alias="Storage", addresses=(("10.1.0.5", 24), ("10.1.0.6", 24)), routes=(), dns=())
PROGRAMS = Programs(
    crictl="C:\\k\\crictl.exe", ctr="C:\\k\\ctr.exe", docker="C:\\d\\docker.exe", namespaces=("k8s.io", "x")
)


def failed(message: str = "denied", error_id: str = "X", **more: Any) -> CallResult:
    return CallResult(ok=False, error=CallError(id=error_id, message=message), **more)


def printed(text: str) -> CallResult:
    return CallResult(ok=True, exit_code=0, stdout=text)


def lines(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with one JSON line for each object in its lists."""
    return {
        key: [json.dumps(one) if isinstance(one, dict) else one for one in value] if isinstance(value, list) else value
        for key, value in items.items()
    }


def station(**more: Any) -> Model:
    """Return a node with an endpoint of every kind, on several networks."""
    pods = [
        Pod(number=number, kind=kind, network=network, isolated=number % 3 == 2, named=True, born=number != 4)
        for number, (kind, network) in enumerate(
            [*((kind, CNI) for kind in KINDS), ("gone", DOCKER), ("gone", OTHER), ("live", OTHER), ("gone", CNI)]
        )
    ]
    return Model(pods=pods, policies=[[0, 2], [2, 9], [], [20], [5]], orphans=1, **more)


CONTENT = '{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}'
FILES = {
    "cni-content": result(
        [
            {"path": "C:\\etc\\cni\\net.d\\10.conf", "exists": True, "content": '{"name": "flannel.4096"}'},
            {"path": "C:\\etc\\kube-flannel\\net-conf.json", "exists": True, "content": CONTENT},
            {"path": "C:\\broken.json", "exists": True, "content": "{"},
        ]
    ),
    "cni-state": result(
        [
            {"path": "C:\\run\\flannel\\subnet.env", "exists": True, "content": "FLANNEL_NETWORK=10.244.0.0/16\n"},
            {"path": "C:\\k\\azure-vnet.json", "exists": True},
            {"path": "C:\\k\\azure-vnet.json.lock", "exists": False},
        ]
    ),
    "cni-folders": result([{"FullName": "C:\\var\\lib\\cni\\networks\\cbr0"}]),
    "port-pools": result([{"reserved": 64, "ranges": ["50000-50063"]}]),
    "files": result([{"path": "C:\\x", "exists": True}, {"path": "C:\\y", "exists": False}]),
    "adapters": result(
        [
            {"Name": "Ethernet", "ifIndex": 5, "MacAddress": "00-aa", "HardwareInterface": True, "Status": "Up"},
            {"Name": "vEthernet", "ifIndex": 20, "MacAddress": "00-AA", "HardwareInterface": False, "Status": "Up"},
        ]
    ),
    "interfaces": result([{"InterfaceIndex": 20, "Dhcp": "Disabled"}]),
    "addresses": result(
        [{"InterfaceIndex": 20, "IPAddress": "10.0.0.5", "PrefixLength": 24, "PrefixOrigin": "Manual"}]
    ),
    "routes": result(
        [
            {"InterfaceIndex": 20, "DestinationPrefix": "0.0.0.0/0", "NextHop": "10.0.0.1", "RouteMetric": 256},
            {"InterfaceIndex": 20, "DestinationPrefix": "10.244.3.0/24", "NextHop": "10.0.0.9", "RouteMetric": 1},
        ]
    ),
    "dns": result([{"InterfaceIndex": 20, "ServerAddresses": ["10.0.0.2"]}]),
}
SERVICES = {
    "services": result(
        [{"Name": name, "Status": "Running"} for name in ("kubelet", "kube-proxy", "flanneld", "containerd")]
    ),
    "service-keys": result(
        [
            {"path": "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\kubelet", "value": 2},
            {"path": "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\flanneld", "value": 4},
        ]
    ),
}
JOURNAL = {
    "path": journal.JOURNAL,
    "exists": True,
    "content": json.dumps({"key": "k", "services": ["kubelet"], "uplinks": [CARD.to_json()]}),
}


def containers(*rows: tuple[str, str, str]) -> CallResult:
    return printed("\n".join(json.dumps({"ID": one, "Names": name, "State": state}) for one, name, state in rows))


def nodes() -> dict[str, Observation]:
    model = station()
    first, second = model.pods[6].sandbox, model.pods[7].sandbox
    docked = containers(
        (first, "k8s_POD_web_shop_uid_0", "running"), (second, "old", "exited"), ("ab", "new", "created")
    )
    broken = {f"1.{name}": failed("timeout") for name in ("pods", "ctr")}
    gone = failed("not found", "CommandNotFoundException")
    namespaces = printed("k8s.io\nmoby\nstrange\n")
    return {
        "containerd": model.observation(**FILES, **SERVICES),
        "containerd without leases": station(leases=False).observation(),
        "docker": model.observation(installed="docker", **{"1.docker": docked, "2.docker": docked}),
        "docker does not answer": model.observation(installed="docker", **{"2.docker": failed("no daemon")}),
        "the runtime does not answer": model.observation(
            **{name.replace("1.", "2."): one for name, one in broken.items()}
        ),
        "no client": model.observation(**{f"2.{name}": gone for name in ("pods", "containers", "ctr", "leases")}),
        "strange namespaces": model.observation(
            **{"2.ctr-namespaces": namespaces, "2.ctr-of:moby": printed("ab\ncd\n")}
        ),
        "no runtime": model.observation(installed="other"),
        "HNS hangs": model.observation(**{"2.endpoints": failed("late", "CommandTimeout")}),
        "no HNS": model.observation(**{"1.policies": failed("The term Get-HnsPolicyList is not recognized")}),
        "HNS fails": model.observation(**{"2.networks": failed("HRESULT 5")}),
        "an interrupted cleanup": model.observation(files=result([JOURNAL])),
        "nothing": Observation(),
    }
