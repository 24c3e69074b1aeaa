# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate `calico-node.exe -startup`, which prepares the node's data, the cluster's defaults and the HNS network.

The migration from etcd and the check that no two nodes have the same address are not modelled.

Sources: node/pkg/lifecycle/startup/startup.go and startup_windows.go, libcalico-go/lib/clientv3/client.go
(EnsureInitialized).
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api.client import Client, KubeconfigError
from simulator.kubernetes_node.cni.calico import autodetection, hns_network
from simulator.kubernetes_node.cni.calico.datastore import Datastore, DatastoreError, Object
from simulator.kubernetes_node.cni.calico.environment import CalicoError, Output, in_cluster, pause
from simulator.kubernetes_node.cni.calico.ipam import Ipam, IpamError
from simulator.kubernetes_node.cni.calico.releases import CalicoRelease
from simulator.machine.objects import Invocation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

PREFIX = "projectcalico.org"
_DEFAULT_POOL = "192.168.0.0/16"


class Startup:
    """One run of `calico-node.exe -startup`.

    Args:
        machine: the machine that the program runs on.
        run: the invocation of the program.
        output: the program's output.
        complete: True to set the node's NetworkUnavailable condition to false at the end, as `-complete-startup` does.
    """

    def __init__(self, machine: Machine, run: Invocation, output: Output, *, complete: bool) -> None:
        self._machine, self._run, self._output, self._complete = machine, run, output, complete
        self._name = run.variable("NODENAME").strip() or machine.name.lower()

    def start(self) -> None:
        """Run all steps of the startup.

        Raises:
            CalicoError: a step failed and the error was logged, so the program ends with exit code 1.
            StoppedError: the program has to end, because its container is being stopped.
        """
        self._output.log("INFO", f"Starting node {self._name} with version v{self._run.version}")
        datastore = self._connect()
        try:
            self._prepare(datastore)
            if self._complete and self._run.variable("CALICO_NETWORKING_BACKEND") != "none":
                self._mark_available(datastore)
        finally:
            datastore.close()

    def _prepare(self, datastore: Datastore) -> None:
        try:
            node = datastore.node(self._name)
        except DatastoreError as error:
            raise self._terminate("Failed to read Node from datastore", error) from error
        self._set_address(datastore, node)
        self._ensure_pools(datastore)
        try:
            self._ensure_defaults(datastore)
        except DatastoreError as error:
            raise self._terminate("Unable to set global default configuration", error) from error
        self._output.log("INFO", f"Using node name: {self._name}")
        try:
            self._ensure_network(datastore)
        except (CalicoError, IpamError, DatastoreError) as error:
            raise self._terminate("Unable to ensure network for os", error) from error

    def _terminate(self, message: str, error: Exception | str) -> CalicoError:
        self._output.log("ERROR", message, error=error)
        self._output.log("WARNING", "Terminating")
        return CalicoError(f"{message}: {error}")

    def _connect(self) -> Datastore:
        """Return a connection to the datastore. If WAIT_FOR_DATASTORE is `true`, wait for the API server first."""
        self._output.log("INFO", "Checking datastore connection")
        while True:
            try:
                datastore = Datastore(Client(self._machine, in_cluster(self._machine, self._run), timeout=5.0))
                datastore.node("foo")
            except KubeconfigError as error:
                raise self._terminate("Failed to create clientset", error) from error
            except DatastoreError as error:
                if error.kind == "missing":
                    break
                if error.kind == "unauthorized":
                    raise self._terminate("Connection to the datastore is unauthorized", error) from error
                self._wait(error)
            except OSError as error:
                self._wait(error)
            else:
                break
        self._output.log("INFO", "Datastore connection verified")
        return datastore

    def _wait(self, error: Exception) -> None:
        self._output.log("INFO", "Hit error connecting to datastore - retry", error=error)
        if self._run.variable("WAIT_FOR_DATASTORE") != "true":
            raise self._terminate("Failed to read Node from datastore", error)
        pause(self._machine, self._run, 1.0)

    def _set_address(self, datastore: Datastore, node: Object) -> None:
        method, given = self._run.variable("IP_AUTODETECTION_METHOD"), self._run.variable("IP")
        known = (node["metadata"].get("annotations") or {}).get(f"{PREFIX}/IPv4Address", "")
        address = known
        if given == "autodetect" or (not given and not known):
            try:
                address = autodetection.detect(self._machine, method, node)
            except CalicoError as error:
                if not known:
                    text = "Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection"
                    self._output.log("WARNING", f"{text} method. Otherwise provide an explicit address.")
                    raise self._terminate("Unable to set node resource configuration", error) from error
        elif given and given != "none":
            address = autodetection.local(self._machine, given)
        annotations: dict[str, str | None] = {f"{PREFIX}/IPv4Address": address or None}
        if number := self._run.variable("AS"):
            annotations[f"{PREFIX}/ASNumber"] = number
        if CalicoRelease(self._run.version).has("interfaces") and given not in ("", "none"):
            annotations[f"{PREFIX}/Interfaces"] = autodetection.published(self._machine)
        try:
            datastore.annotate_node(self._name, annotations)
        except DatastoreError as error:
            raise self._terminate("Unable to set node resource configuration", error) from error

    def _ensure_pools(self, datastore: Datastore) -> None:
        """Create a default IP pool if there is none, unless NO_DEFAULT_POOLS is set."""
        if self._run.variable("NO_DEFAULT_POOLS").lower() == "true":
            self._output.log("INFO", "Skipping IP pool configuration")
            return
        try:
            if datastore.all("ippools"):
                return
            cidr = self._run.variable("CALICO_IPV4POOL_CIDR") or self._kubeadm_network(datastore) or _DEFAULT_POOL
            modes = {"ipipMode": "Never", "vxlanMode": self._run.variable("CALICO_IPV4POOL_VXLAN") or "Never"}
            spec = {"blockSize": 26, "cidr": cidr, "natOutgoing": True, "nodeSelector": "all()", **modes}
            datastore.create("ippools", "default-ipv4-ippool", spec)
        except DatastoreError as error:
            if error.kind != "exists":
                raise self._terminate("Failed to create default IPv4 IP pool", error) from error

    def _kubeadm(self, datastore: Datastore) -> Object | None:
        try:
            return datastore.request("GET", "/api/v1/namespaces/kube-system/configmaps/kubeadm-config", "ConfigMap")
        except DatastoreError as error:
            if error.kind in ("missing", "unauthorized"):
                return None
            raise

    def _kubeadm_network(self, datastore: Datastore) -> str:
        text = str(((self._kubeadm(datastore) or {}).get("data") or {}).get("ClusterConfiguration") or "")
        found = re.search(r"podSubnet: *([0-9./]+)", text)
        return found[1] if found else ""

    def _ensure_defaults(self, datastore: Datastore) -> None:
        kinds = [self._run.variable("CLUSTER_TYPE"), "kubeadm" if self._kubeadm(datastore) else "", "win"]
        self._ensure_information(datastore, [item for text in kinds for item in text.split(",") if item])
        known = datastore.find("felixconfigurations", "default")
        defaults = {"reportingInterval": "0s", "logSeverityScreen": "Info"}
        if known is None:
            datastore.create("felixconfigurations", "default", defaults)
        elif missing := {name: value for name, value in defaults.items() if not known["spec"].get(name)}:
            datastore.update("felixconfigurations", known, {**known["spec"], **missing})

    def _ensure_information(self, datastore: Datastore, kinds: list[str]) -> None:
        version = f"v{self._run.version}"
        known = datastore.find("clusterinformations", "default")
        if known is None:
            spec: dict[str, Any] = {"clusterGUID": uuid.uuid4().hex, "datastoreReady": True}
            datastore.create(
                "clusterinformations", "default", {**spec, "calicoVersion": version, "clusterType": ",".join(kinds)}
            )
            return
        spec = dict(known["spec"])
        parts = [item for item in str(spec.get("clusterType") or "").split(",") if item]
        spec["clusterType"] = ",".join(dict.fromkeys([*parts, *kinds]))
        spec["calicoVersion"] = version
        spec.setdefault("datastoreReady", True)
        if spec != known["spec"]:
            datastore.update("clusterinformations", known, spec)

    def _ensure_network(self, datastore: Datastore) -> None:
        backend = self._run.variable("CALICO_NETWORKING_BACKEND")
        if backend == "none":
            self._output.log("INFO", "Backend networking is none, no network setup needed.")
            return
        if backend not in ("vxlan", "windows-bgp"):
            self._output.log("ERROR", "Invalid backend networking type", backend=backend)
            raise CalicoError("invalid backend configuration")
        block = Ipam(datastore, self._name).ensure_block()
        self._output.log("INFO", f"Host's block '{block}'")
        log = self._output.log
        if backend == "windows-bgp":
            log("INFO", "Backend networking is windows-bgp, ensure l2bridge network.")
            hns_network.ensure(self._machine, "windows-bgp", block, 0, log)
        else:
            log("INFO", "Backend networking is vxlan, ensure vxlan network.")
            text = self._run.variable("VXLAN_VNI")
            if not re.fullmatch(r"[+-]?\d+", text):
                raise CalicoError(f'strconv.ParseInt: parsing "{text}": invalid syntax')
            hns_network.ensure(self._machine, "vxlan", block, int(text), log)
            tunnel = {
                f"{PREFIX}/IPv4VXLANTunnelAddr": str(block[1]),
                f"{PREFIX}/VXLANTunnelMACAddr": hns_network.ROUTER_MAC.replace("-", ":").lower(),
            }
            datastore.annotate_node(self._name, tunnel)
        log("INFO", "Ensure network is done.")

    def _mark_available(self, datastore: Datastore) -> None:
        condition = {
            "type": "NetworkUnavailable",
            "status": "False",
            "reason": "CalicoIsUp",
            "message": "Calico is running on this node",
        }
        path = f"/api/v1/nodes/{self._name}"
        try:
            datastore.patch_status(path, f"Node({self._name})", {"status": {"conditions": [condition]}})
        except DatastoreError as error:
            raise self._terminate("Unable to set NetworkUnavailable to False", error) from error
        self._output.log("INFO", "Calico started successfully")
