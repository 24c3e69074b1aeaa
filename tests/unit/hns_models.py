# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes that hypothesis generates: pods, HNS objects, and which of these are unused, known by construction."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult, Observation

CNI = {"id": "A" * 8, "name": "cbr0", "type": "L2Bridge"}
DOCKER = {"id": "B" * 8, "name": "nat", "type": "NAT"}
OTHER = {"id": "C" * 8, "name": "lab", "type": "Transparent"}
AZURE = {"id": "D" * 8, "name": "azure", "type": "L2Bridge"}
NETWORKS = (CNI, DOCKER, OTHER, AZURE)
KINDS = ("live", "creating", "gone", "host", "remote", "source_vip")


@dataclasses.dataclass
class Pod:
    """One endpoint with everything that belongs to it."""

    number: int
    kind: str
    network: t.Mapping[str, str]
    isolated: bool
    named: bool
    """Whether its name contains the container. The namespace always does, unless it is isolated."""
    born: bool
    """Whether it exists at the first observation."""
    address: str = ""
    """The address; by default its own one."""

    @property
    def sandbox(self) -> str:
        return f"{self.number + 1:064x}"[::-1]

    @property
    def endpoint_id(self) -> str:
        return f"{self.number:08X}-0000-4000-8000-000000000000"

    @property
    def namespace_id(self) -> str:
        return f"{self.number:08X}-1111-4000-8000-000000000000"

    @property
    def of_pod(self) -> bool:
        return self.kind in ("live", "creating", "gone")

    def endpoint(self) -> dict[str, t.Any]:
        network = self.network
        item: dict[str, t.Any] = {
            # HNS lists endpoints in lower case, and everything else in upper case.
            "ID": self.endpoint_id.lower(),
            "Name": "Ethernet",
            "VirtualNetwork": network["id"].lower(),
            "VirtualNetworkName": network["name"],
            "IPAddress": self.address or f"10.244.{self.number // 250}.{self.number % 250 + 3}",
            "IsRemoteEndpoint": True if self.kind == "remote" else None,
            "SharedContainers": [],
            "Namespace": None,
            "State": 1,
        }
        if self.kind == "host":
            item["Name"] = f"{network['name']}_ep"
        if self.of_pod:
            if self.named:
                azure = network["name"] == "azure"
                item["Name"] = f"{self.sandbox[:8]}-eth0" if azure else f"{self.sandbox}_{network['name']}"
            if not self.isolated:
                # PowerShell expands a list with one member.
                item["SharedContainers"] = self.sandbox if self.number % 2 else [self.sandbox]
            item["Namespace"] = {"ID": self.namespace_id.lower()}
        return item

    def namespace(self) -> dict[str, t.Any]:
        return {
            "ID": self.namespace_id,
            "IsDefault": False,
            "Containers": [] if self.isolated else [self.sandbox[:12]],
            "ResourceList": [{"Type": "Endpoint", "Data": {"Id": self.endpoint_id.lower()}}],
        }


@dataclasses.dataclass
class Model:
    """A node: pods, policy lists (with the numbers of endpoints), empty namespaces."""

    pods: list[Pod]
    policies: list[list[int]]
    orphans: int = 0
    leases: bool = True

    def listed(self, first: bool) -> dict[str, t.Any]:
        """Return what HNS lists at the first or the second observation, by kind."""
        there = [pod for pod in self.pods if pod.born or not first]
        namespaces: list[dict[str, t.Any]] = [
            {"ID": "E" * 8, "IsDefault": True, "Containers": [], "ResourceList": None}
        ]
        namespaces += [pod.namespace() for pod in there if pod.of_pod]
        namespaces += [{"ID": f"F{number:07X}", "IsDefault": False} for number in range(self.orphans)]
        policies = [
            {
                "ID": f"{number:08X}-2222-4000-8000-000000000000",
                "Policies": [{"Type": "ELB", "VIPs": ["10.96.0.1"], "ExternalPort": number, "Protocol": 6}],
                "References": [f"/endpoints/{self.reference(one).lower()}" for one in refers],
            }
            for number, refers in enumerate(self.policies)
        ]
        networks = [{"ID": one["id"], "Name": one["name"], "Type": one["type"], "Subnets": []} for one in NETWORKS]
        return {
            "policies": policies,
            "namespaces": namespaces,
            "endpoints": [pod.endpoint() for pod in there],
            "networks": networks,
        }

    def reference(self, number: int) -> str:
        """Return the id of an endpoint; for unknown numbers, that of one that is gone."""
        return self.pods[number].endpoint_id if number < len(self.pods) else f"{number:08X}-9999"

    def observation(self, *, installed: str = "containerd", **more: CallResult) -> Observation:
        """Return the results for the calls of the module hns.facts, with two observations."""
        calls: dict[str, CallResult] = {
            "services": result([{"Name": installed, "Status": "Running"}, {"Name": "kubelet", "Status": "Running"}]),
            "service-keys": result([]),
            "cni-content": result([]),
            "cni-state": result([]),
            "cni-folders": result([]),
            "files": result([]),
            "port-pools": result([{"reserved": 0, "ranges": []}]),
        }
        for prefix in ("1.", "2."):
            for kind, items in self.listed(prefix == "1.").items():
                calls[prefix + kind] = result(items)
            pods = [pod for pod in self.pods if pod.kind == "live"]
            making = [pod for pod in self.pods if pod.kind == "creating"]
            listed = [
                {
                    "id": pod.sandbox,
                    "metadata": {"name": f"web-{pod.number}", "namespace": "default"},
                    "state": "SANDBOX_READY",
                }
                for pod in pods
            ]
            ids = "".join(f"{pod.sandbox}\n" for pod in pods)
            leased = ids + "".join(f"{pod.sandbox}\n" for pod in making) if self.leases else ""
            calls[f"{prefix}pods"] = CallResult(ok=True, exit_code=0, stdout=json.dumps({"items": listed}))
            calls[f"{prefix}containers"] = CallResult(ok=True, exit_code=0, stdout="")
            calls[f"{prefix}ctr"] = CallResult(ok=True, exit_code=0, stdout=ids)
            calls[f"{prefix}leases"] = CallResult(ok=True, exit_code=0, stdout=leased)
        return Observation(calls={**calls, **more})


def result(output: t.Sequence[t.Any]) -> CallResult:
    """Return the result of a call that returned objects."""
    return CallResult(ok=True, output=tuple(output))


@st.composite
def models(draw: st.DrawFn, max_pods: int = 12) -> Model:
    """Return nodes with any mix of endpoints."""
    pods = []
    for number in range(draw(st.integers(0, max_pods))):
        isolated = draw(st.booleans())
        pods.append(
            Pod(
                number=number,
                kind=draw(st.sampled_from(KINDS)),
                network=draw(st.sampled_from(NETWORKS)),
                isolated=isolated,
                # An isolated pod's endpoint without a name is not recognizable: for HNS it would be the host's.
                named=True if isolated else draw(st.booleans()),
                born=draw(st.booleans()) or draw(st.booleans()),
            )
        )
    policies = draw(st.lists(st.lists(st.integers(0, len(pods) + 2), max_size=4, unique=True), max_size=6))
    return Model(pods=pods, policies=policies, orphans=draw(st.integers(0, 2)), leases=draw(st.booleans()))
