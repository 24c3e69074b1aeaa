# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the Calico objects that kubespray and the Tigera operator have in common, such as the IP pool."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .client import Object
from .options import CalicoOptions

_DATA = Path(__file__).parent / "data"
_GROUP = "crd.projectcalico.org/v1"


@cache
def _read(name: str) -> list[Object]:
    # libyaml, if it is installed, reads the definitions in a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [one for one in yaml.load_all((_DATA / name).read_text(encoding="utf-8"), loader) if one]


def documents(name: str) -> list[Object]:
    """Return copies of the objects in a data file; the caller may change them."""
    return copy.deepcopy(_read(name))


def calico(kind: str, name: str, spec: dict[str, Any]) -> Object:
    """Return an object of the API group crd.projectcalico.org.

    It has the annotation in which calicoctl stores the metadata of the projectcalico.org/v3 object
    (libcalico-go/lib/backend/k8s/resources/resources.go).
    """
    annotations = {"projectcalico.org/metadata": json.dumps({"creationTimestamp": None})}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": _GROUP, "kind": kind, "metadata": metadata, "spec": spec}


def pool(options: CalicoOptions, name: str = "default-pool") -> Object:
    """Return Calico's IPv4 pool."""
    spec = {
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
        "blockSize": options.block_size,
        "cidr": str(options.pool),
        "ipipMode": options.ipip_mode,
        "natOutgoing": options.nat_outgoing,
        "nodeSelector": "all()",
        "vxlanMode": options.vxlan_mode,
    }
    return calico("IPPool", name, spec)


def cluster_information(options: CalicoOptions, cluster_type: str) -> Object:
    """Return the ClusterInformation object `default`, as calico-node writes it on the first Linux node."""
    spec = {
        "calicoVersion": f"v{options.version}",
        "clusterGUID": "5a2d1c90b3f34a6f9d4f6f1f8c1f0a11",
        "clusterType": cluster_type,
        "datastoreReady": True,
    }
    return calico("ClusterInformation", "default", spec)


def linux_nodes(options: CalicoOptions) -> list[Object]:
    """Return Linux nodes with Calico's annotations, and each node's IPAMBlock and BlockAffinity."""
    found: list[Object] = []
    blocks = options.pool.subnets(new_prefix=options.block_size)
    for number in range(options.linux_nodes):
        name, block, address = f"linux-{number + 1}", next(blocks), f"192.0.2.{20 + number}"
        annotations = {
            "projectcalico.org/IPv4Address": f"{address}/24",
            "projectcalico.org/IPv4VXLANTunnelAddr": str(block.network_address),
            "projectcalico.org/VXLANTunnelMACAddr": f"66:0f:ac:00:00:{number + 1:02x}",
        }
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"}
        status = {"addresses": [{"type": "InternalIP", "address": address}]}
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        found.append({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
        size = block.num_addresses
        found.append(
            calico(
                "IPAMBlock",
                str(block).replace(".", "-").replace("/", "-"),
                {
                    "affinity": f"host:{name}",
                    "allocations": [0, *[None] * (size - 1)],
                    "attributes": [{"handle_id": f"vxlan-tunnel-addr-{name}", "secondary": {"node": name}}],
                    "cidr": str(block),
                    "deleted": False,
                    "sequenceNumber": 1,
                    "sequenceNumberForAllocation": {"0": 0},
                    "strictAffinity": False,
                    "unallocated": list(range(1, size)),
                },
            )
        )
        affinity = {"cidr": str(block), "deleted": "false", "node": name, "state": "confirmed", "type": "host"}
        found.append(calico("BlockAffinity", f"{name}-{str(block).replace('.', '-').replace('/', '-')}", affinity))
    return found
