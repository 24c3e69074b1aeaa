# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the Tigera operator, but only what it does for Windows nodes.

Sources: tigera/operator v1.40.8 pkg/controller/installation/{core,windows}_controller.go, validation.go and
pkg/controller/status. Everything for Linux nodes exists from the beginning, as after a successful installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from . import rendering
from .client import AdminClient, Object, RepeatingThread
from .objects import calico, cluster_information, documents, linux_nodes, pool
from .options import CalicoOptions
from .rendering import NAMESPACE, Rendered

_OPERATOR = "tigera-operator"
_INSTALLATION = "/apis/operator.tigera.io/v1/installations/default"
_ENDPOINT = f"/api/v1/namespaces/{_OPERATOR}/configmaps/kubernetes-services-endpoint"
_CRD = "/apis/crd.projectcalico.org/v1"


class _DegradedError(Exception):
    """An error that the operator reports in the Degraded condition.

    Args:
        reason: the condition's machine-readable reason.
        message: what the controller could not do.
        cause: the underlying error, if any.
    """

    def __init__(self, reason: str, message: str, cause: str = "") -> None:
        self.reason = reason
        super().__init__(f"{message}: {cause}" if cause else message)


def install(client: AdminClient, options: CalicoOptions) -> RepeatingThread:
    """Install Calico as the operator does, and start the operator.

    Returns:
        The thread that runs the operator. The caller must stop this thread.
    """
    client.apply_all(documents("calico-crds.yaml"))
    client.apply_all(documents("operator-crds.yaml"))
    client.apply_all(_objects(options))
    client.apply_all(linux_nodes(options))
    return RepeatingThread("tigera-operator", Operator(client, options.version).reconcile)


def _named(kind: str, name: str, namespace: str = "", version: str = "v1", **more: Any) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def _objects(options: CalicoOptions) -> list[Object]:
    found = [_named("Namespace", _OPERATOR), _named("Namespace", NAMESPACE)]
    for one in documents("kubespray.yaml"):
        name = one["metadata"]["name"]
        if name in ("calico-node", "calico-cni-plugin") and one["kind"] != "DaemonSet":
            found.append(_moved(one))
        if (one["kind"], name) == ("DaemonSet", "calico-node"):
            found.append(_moved(one))
    found += [
        _named("ConfigMap", "tigera-ca-bundle", NAMESPACE, data={"tigera-ca-bundle.crt": "-"}),
        _named("Secret", "node-certs", NAMESPACE, stringData={"tls.crt": "-", "tls.key": "-"}),
        _named(
            "Service",
            "calico-typha",
            NAMESPACE,
            spec={"ports": [{"name": "calico-typha", "port": 5473}], "selector": {"k8s-app": "calico-typha"}},
        ),
        calico("FelixConfiguration", "default", _felix(options)),
        pool(options, "default-ipv4-ippool"),
        cluster_information(options, "typha,kdd,k8s,operator"),
        _named("Installation", "default", version="operator.tigera.io/v1", spec=_spec(options)),
    ]
    if options.strict_affinity is not None:
        ipam = {"autoAllocateBlocks": True, "maxBlocksPerHost": 0, "strictAffinity": options.strict_affinity}
        found.append(calico("IPAMConfig", "default", ipam))
    if options.api_server:
        found.append(_named("APIServer", "default", version="operator.tigera.io/v1", spec={}))
    if options.services_endpoint:
        data = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": ""}
        found.append(_named("ConfigMap", "kubernetes-services-endpoint", _OPERATOR, data=data))
    return found


def _moved(one: Object) -> Object:
    """Change the namespace and containers of one of kubespray's objects to those that the operator would use."""
    if "namespace" in one["metadata"]:
        one["metadata"]["namespace"] = NAMESPACE
    for subject in one.get("subjects") or []:
        subject["namespace"] = NAMESPACE
    if one["kind"] == "DaemonSet":
        spec = one["spec"]["template"]["spec"]
        spec["initContainers"] = []
        spec["containers"][0]["env"] = [item for item in spec["containers"][0]["env"] if "valueFrom" not in item]
    return one


def _felix(options: CalicoOptions) -> dict[str, Any]:
    return {
        "bpfEnabled": options.bpf,
        "healthPort": 9099,
        "logSeverityScreen": "Info",
        "reportingInterval": "0s",
        "vxlanPort": options.vxlan_port,
        "vxlanVNI": options.vxlan_vni,
        "wireguardEnabled": options.wireguard,
    }


def _spec(options: CalicoOptions) -> dict[str, Any]:
    encapsulations = {"Always": "VXLAN", "CrossSubnet": "VXLANCrossSubnet"}
    modes = {"Always": "IPIP", "CrossSubnet": "IPIPCrossSubnet"}
    encapsulation = encapsulations.get(options.vxlan_mode) or modes.get(options.ipip_mode) or "None"
    network: dict[str, Any] = {
        "bgp": "Enabled" if options.backend == "bird" else "Disabled",
        "ipPools": [
            {
                "name": "default-ipv4-ippool",
                "cidr": str(options.pool),
                "encapsulation": encapsulation,
                "blockSize": options.block_size,
                "natOutgoing": "Enabled" if options.nat_outgoing else "Disabled",
                "nodeSelector": "all()",
            }
        ],
        "linuxDataplane": "BPF" if options.bpf else "Iptables",
        "windowsDataplane": "HNS" if options.windows else "Disabled",
        **({"mtu": options.mtu} if options.mtu else {}),
    }
    found: dict[str, Any] = {
        "variant": "Calico",
        "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
        "calicoNetwork": network,
    }
    if options.windows and options.service_cidrs:
        found["serviceCIDRs"] = [options.service_cidr]
    return found


class Operator:
    """The operator's controllers for Windows.

    Args:
        client: an administrator's connection.
        version: the version of Calico that the operator installs.
    """

    def __init__(self, client: AdminClient, version: str) -> None:
        self._client, self._version = client, version

    def reconcile(self) -> None:
        """Reconcile the cluster with the Installation once, and report the result in TigeraStatus objects."""
        installation = self._client.find(_INSTALLATION)
        if installation is None:
            return
        spec = installation["spec"]
        enabled = (spec.get("calicoNetwork") or {}).get("windowsDataplane") == "HNS"
        try:
            if not enabled and spec.get("windowsNodes"):
                text = "spec.WindowsNodes is not valid and should not be provided when Calico for Windows is disabled"
                raise _DegradedError(
                    "InvalidConfigurationError", "Invalid Installation provided", f"{self._first()} {text}"
                )
            if enabled:
                self._check_endpoint()
                self._validate(spec)
            self._complete(installation, enabled)
            self._report("calico", None)
        except _DegradedError as error:
            self._report("calico", error)
            if enabled:
                self._report("calico-windows", error)
            return
        if enabled:
            self._windows(spec)

    def _windows(self, spec: Mapping[str, Any]) -> None:
        try:
            rendered = self._check(spec)
        except _DegradedError as error:
            self._report("calico-windows", error)
            return
        self._apply(rendering.config_map(rendered))
        self._apply(rendering.daemon_set(rendered))
        self._report("calico-windows", None)

    def _first(self) -> str:
        """Return "installation" (before operator 1.40.8: "Installation"), the first word of some error messages."""
        modern = tuple(int(part) for part in self._version.split(".")) >= (3, 31, 5)
        return "installation" if modern else "Installation"

    def _endpoint(self) -> tuple[str, str]:
        data = (self._client.find(_ENDPOINT) or {}).get("data") or {}
        return str(data.get("KUBERNETES_SERVICE_HOST") or ""), str(data.get("KUBERNETES_SERVICE_PORT") or "")

    def _check_endpoint(self) -> None:
        if self._client.find(_ENDPOINT) is None:
            message = 'ConfigMap "kubernetes-services-endpoint" not found'
            raise _DegradedError("ResourceReadError", "Error reading services endpoint configmap", message)

    def _validate(self, spec: Mapping[str, Any]) -> None:
        """Check the Installation as the operator's validation.go does."""
        invalid = ("InvalidConfigurationError", "Invalid Installation provided")
        if not all(self._endpoint()):
            first = "services" if self._first()[0] == "i" else "Services"
            name = "'kubernetes-services-endpoint'"
            what = "does not have all required information for Calico Windows daemonset configuration"
            raise _DegradedError(*invalid, f"{first} endpoint configmap {name} {what}")
        if not spec.get("serviceCIDRs"):
            what = "spec.ServiceCIDRs must be provided when using Calico CNI on Windows"
            raise _DegradedError(*invalid, f"{self._first()} {what}")
        for one in (spec.get("calicoNetwork") or {}).get("ipPools") or []:
            kind = one.get("encapsulation")
            if ":" not in one["cidr"] and kind not in ("VXLAN", "None"):
                what = "is not supported by Calico for Windows"
                raise _DegradedError(*invalid, f"IPv4 IPPool encapsulation {kind} {what}")

    def _complete(self, installation: Mapping[str, Any], enabled: bool) -> None:
        """Write the Installation's defaults and status, as the core controller does."""
        if enabled and not installation["spec"].get("windowsNodes"):
            folders = {
                "cniBinDir": "/opt/cni/bin",
                "cniConfigDir": "/etc/cni/net.d",
                "cniLogDir": "/var/log/calico/cni",
            }
            self._client.merge(_INSTALLATION, {"spec": {"windowsNodes": folders}})
        if not installation.get("status"):
            status = {"variant": "Calico", "calicoVersion": f"v{self._version}", "mtu": 1450}
            self._client.merge(f"{_INSTALLATION}/status", {"status": status})

    def _check(self, spec: Mapping[str, Any]) -> Rendered:
        """Check the prerequisites that windows_controller.go checks, and return the values for rendering."""
        if not self._client.items("/apis/operator.tigera.io/v1/apiservers"):
            raise _DegradedError("ResourceNotReady", "Waiting for IPAMConfiguration watch to be established")
        ipam = self._client.find(f"{_CRD}/ipamconfigs/default") or {}
        if not (ipam.get("spec") or {}).get("strictAffinity"):
            must = "it must be set to 'true'"
            message = f"Invalid StrictAffinity, {must} when using Calico IPAM on Windows"
            where = "in the default IPAMConfiguration when using Calico IPAM on Windows"
            raise _DegradedError("ResourceReadError", message, f"StrictAffinity is false, {must} {where}")
        service = self._client.find("/api/v1/namespaces/kube-system/services/kube-dns")
        if service is None:
            raise _DegradedError("ResourceNotFound", "kube-dns service not found", 'Service "kube-dns" not found')
        felix = self._client.find(f"{_CRD}/felixconfigurations/default") or {}
        vni = (felix.get("spec") or {}).get("vxlanVNI")
        if vni is None:
            what = "VXLANVNI not specified in FelixConfigurationSpec"
            raise _DegradedError("ResourceReadError", "Error reading VXLANVNI from FelixConfiguration", what)
        host, port = self._endpoint()
        return Rendered(self._version, spec, host, port, tuple(service["spec"]["clusterIPs"]), int(vni))

    def _apply(self, document: Object) -> None:
        """Create an object, or replace the existing one unless it has all values in `document`. It may have others."""
        plural = {"ConfigMap": "/api/v1", "DaemonSet": "/apis/apps/v1"}[document["kind"]]
        metadata = document["metadata"]
        collection = f"{plural}/namespaces/{metadata['namespace']}/{document['kind'].lower()}s"
        known = self._client.find(f"{collection}/{metadata['name']}")
        if known is None:
            self._client.call("POST", collection, document)
        elif not _covers(known, document):
            self._client.apply(document)

    def _report(self, name: str, error: _DegradedError | None) -> None:
        path = f"/apis/operator.tigera.io/v1/tigerastatuses/{name}"
        known = self._client.find(path)
        if known is None:
            document = _named("TigeraStatus", name, version="operator.tigera.io/v1", spec={})
            known = self._client.call("POST", "/apis/operator.tigera.io/v1/tigerastatuses", document)
        before = {item["type"]: item for item in (known.get("status") or {}).get("conditions") or []}
        degraded = (error.reason, str(error)) if error else ("AllObjectsAvailable", "All Objects Available")
        conditions = []
        for kind, holds in (("Available", error is None), ("Progressing", False), ("Degraded", error is not None)):
            one = {"type": kind, "status": str(holds)}
            one |= {"reason": degraded[0], "message": degraded[1]} if holds else {}
            since = before.get(kind, {}).get("lastTransitionTime")
            if since is None or before[kind]["status"] != one["status"]:
                since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            conditions.append({**one, "lastTransitionTime": since})
        if conditions != list(before.values()):
            self._client.merge(f"{path}/status", {"status": {"conditions": conditions}})


def _covers(known: Any, wanted: Any) -> bool:
    """Return whether `known` contains all fields and values of `wanted`."""
    if isinstance(wanted, dict) and isinstance(known, dict):
        return all(name in known and _covers(known[name], value) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(known, list):
        return len(known) == len(wanted) and all(_covers(a, b) for a, b in zip(known, wanted, strict=True))
    return bool(known == wanted)
