# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the defaults of namespaces, services, secrets and certificate signing requests, and validate them."""

from __future__ import annotations

import base64
import binascii

from cryptography import x509

from ..errors import Cause, required, wrong
from ..resources import Object
from .context import Context

KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
_NODE_PORTS = range(30000, 32768)


def create_namespace(context: Context, obj: Object) -> None:
    """Set the label, finalizer and phase of a new namespace."""
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
    obj.setdefault("spec", {})["finalizers"] = ["kubernetes"]
    obj["status"] = {"phase": "Active"}


def default_secret(obj: Object) -> None:
    """Set the default type of a secret, and move `stringData` to `data`."""
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None) or {}
    for key, value in plain.items():
        obj.setdefault("data", {})[key] = base64.b64encode(str(value).encode()).decode()


def validate_secret(obj: Object, old: Object | None) -> list[Cause]:
    """Return the errors in a secret: a changed type, changed immutable data, or data that is not valid base64."""
    causes = []
    if old is not None and obj["type"] != old["type"]:
        causes.append(wrong("type", obj["type"], "field is immutable"))
    for key, value in (obj.get("data") or {}).items():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            causes.append(wrong(f"data[{key}]", "<secret contents redacted>", "illegal base64 data"))
    if old is not None and old.get("immutable") and obj.get("data") != old.get("data"):
        causes.append(Cause("data", "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"))
    return causes


def create_service(context: Context, obj: Object) -> None:
    """Set a service's defaults and, depending on its type, assign its cluster IP address and node ports."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    obj["status"] = {"loadBalancer": {}}
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec["clusterIP"] = spec.get("clusterIP") or _free_address(context)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
        _assign_node_ports(context, spec["ports"])


def _assign_node_ports(context: Context, ports: list[Object]) -> None:
    """Assign a node port to each service port that does not request a specific one.

    The port range is the default of kube-apiserver's --service-node-port-range flag.
    """
    services = context.store.peek_all("services")
    taken = {port.get("nodePort") for one in services for port in one["spec"].get("ports") or []}
    taken |= {port.get("nodePort") for port in ports}
    free = (number for number in _NODE_PORTS if number not in taken)
    for port in ports:
        if not port.get("nodePort"):
            port["nodePort"] = next(free)


def _free_address(context: Context) -> str:
    taken = {one["spec"].get("clusterIP") for one in context.store.peek_all("services")}
    # The first addresses are reserved for services that request a specific one (the API, the cluster's DNS).
    for offset in range(17, context.service_network.num_addresses - 1):
        address = str(context.service_network[offset])
        if address not in taken:
            return address
    raise ValueError(f"no free service address in {context.service_network}")


def validate_service(obj: Object, old: Object | None) -> list[Cause]:
    """Return the errors in a service: required ports are missing, or its cluster IP address has changed."""
    spec = obj["spec"]
    if old is not None and old["spec"].get("clusterIP") and spec.get("clusterIP") != old["spec"]["clusterIP"]:
        return [wrong("spec.clusterIPs[0]", spec.get("clusterIP", ""), "may not change once set")]
    if not spec.get("ports") and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        return [required("spec.ports")]
    return []


def create_signing_request(context: Context, obj: Object) -> None:
    """Record the user who creates a certificate signing request, in fields that clients cannot set."""
    user, spec = context.user, obj.setdefault("spec", {})
    spec["username"], spec["groups"] = user.name, list(user.groups)
    if user.uid:
        spec["uid"] = user.uid
    spec.pop("extra", None)
    obj["status"] = {}


def validate_signing_request(obj: Object, old: Object | None) -> list[Cause]:
    """Return the errors in a new certificate signing request's spec, or one error if an update changes the spec."""
    spec, causes = obj["spec"], []
    if old is not None:
        return [] if spec == old["spec"] else [wrong("spec", "", "field is immutable")]
    if not spec.get("signerName"):
        causes.append(required("spec.signerName"))
    if not spec.get("usages"):
        causes.append(required("spec.usages", "usages are required"))
    try:
        x509.load_pem_x509_csr(base64.b64decode(spec.get("request", "")))
    except ValueError:
        causes.append(wrong("spec.request", spec.get("request", ""), "PEM block type must be CERTIFICATE REQUEST"))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        causes.append(wrong("spec.expirationSeconds", seconds, text))
    return causes
