# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate install-cni, which installs Calico's CNI plugins, their kubeconfig and the CNI configuration.

TLS files for etcd, a second installation folder, and waiting after the installation (`SLEEP=true`) are not modelled.

Sources: cni-plugin/pkg/install/install.go and install_windows.go, node/pkg/cni/token_watch.go.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, ServerAccess
from simulator.kubernetes_node.cni.calico.environment import CalicoError, Output, host_path, in_cluster
from simulator.machine.objects import Invocation, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ACCOUNT = "calico-cni-plugin"
_VALIDITY = 24 * 3600
_BIN, _NET = "/host/opt/cni/bin", "/host/etc/cni/net.d"
_TEMPLATE = {
    "name": "Calico",
    "cniVersion": "0.3.1",
    "plugins": [
        {
            "type": "calico",
            "name": "Calico",
            "windows_use_single_network": True,
            "mode": "__MODE__",
            "vxlan_mac_prefix": "__MAC_PREFIX__",
            "vxlan_vni": "@__VNI__@",
            "mtu": "@__CNI_MTU__@",
            "policy": {"type": "k8s"},
            "log_level": "__LOG_LEVEL__",
            "log_file_path": "__LOG_FILE_PATH__",
            "windows_loopback_DSR": "__DSR_SUPPORT__",
            "capabilities": {"dns": True},
            "DNS": {"Nameservers": ["@__KUBERNETES_DNS_SERVERS__@"], "Search": ["svc.cluster.local"]},
            "nodename": "__KUBERNETES_NODE_NAME__",
            "nodename_file": "__NODENAME_FILE__",
            "nodename_file_optional": True,
            "datastore_type": "__DATASTORE_TYPE__",
            "kubernetes": {"kubeconfig": "__KUBECONFIG_FILEPATH__"},
            "ipam": {"type": "__IPAM_TYPE__", "subnet": "usePodCidr"},
            "policies": [
                {
                    "Name": "EndpointPolicy",
                    "Value": {"Type": "OutBoundNAT", "ExceptionList": ["@__KUBERNETES_SERVICE_CIDRS__@"]},
                },
                "@__KUBERNETES_ROUTE_POLICIES__@",
            ],
        }
    ],
}


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate install.exe, or `calico.exe component cni install`."""
    output = Output(machine, invocation, "install-cni")
    try:
        _install(machine, invocation, output)
    except (CalicoError, OSError) as error:
        output.log("FATAL", str(error))
        return ProgramResult(1, output.text())
    output.log("INFO", "Done configuring CNI.  Sleep= false")
    return ProgramResult(0, output.text())


def _install(machine: Machine, run: Invocation, output: Output) -> None:
    token = host_path(run, "/var/run/secrets/kubernetes.io/serviceaccount/token")
    access = None
    if machine.files.is_file(token):
        output.log("INFO", "Running as a Kubernetes pod")
        try:
            access = in_cluster(machine, run)
        except KubeconfigError as error:
            raise CalicoError(str(error)) from error
    _copy(machine, run, output)
    if access:
        _write_kubeconfig(machine, run, access)
    _write_configuration(machine, run, output)


def _copy(machine: Machine, run: Invocation, output: Output) -> None:
    target, source = host_path(run, _BIN), host_path(run, "/opt/cni/bin")
    if not machine.files.is_directory(target):
        output.log("INFO", f"{target} is not writeable, skipping")
        raise CalicoError("found no writeable directory, exiting")
    for entry in machine.files.listing(source):
        if entry.is_directory or entry.name == "install.exe":
            continue
        data = machine.files.read_bytes(entry.path)
        path = f"{target}\\{entry.name}"
        if not machine.files.is_file(path) or machine.files.read_bytes(path) != data:
            machine.files.write_bytes(path, data)
        output.log("INFO", f"Installed {path}")
    output.log("INFO", f"Wrote Calico CNI binaries to {target}")
    output.log("INFO", f"CNI plugin version: v{run.version}")


def request_token(machine: Machine, run: Invocation, access: ServerAccess) -> str:
    """Request a token for the CNI plugin's service account in this pod's namespace.

    Raises:
        CalicoError: the API server refuses the token.
        OSError: the API server is not reachable.
    """
    path = host_path(run, "/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    namespace = machine.files.read_text(path).strip() if machine.files.is_file(path) else "kube-system"
    account = run.variable("CALICO_CNI_SERVICE_ACCOUNT") or ACCOUNT
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": _VALIDITY},
    }
    client = Client(machine, access)
    try:
        answer = client.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", body)
    except ApiError as error:
        raise CalicoError(f"Unable to create token for CNI kubeconfig error={error}") from error
    finally:
        client.close()
    return str(answer["status"]["token"])


def _write_kubeconfig(machine: Machine, run: Invocation, access: ServerAccess) -> None:
    write_kubeconfig(machine, run, access, request_token(machine, run, access))


def write_kubeconfig(machine: Machine, run: Invocation, access: ServerAccess, token: str) -> None:
    """Write the calico-kubeconfig file. The API server's address comes from the container's environment variables.

    Raises:
        OSError: the folder for CNI configurations does not exist.
    """
    host, port = run.variable("KUBERNETES_SERVICE_HOST"), run.variable("KUBERNETES_SERVICE_PORT")
    authority = base64.b64encode((access.ca or "").encode()).decode()
    server = f"https://{host}:{port}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "calico", "user": {"token": token}}],
        "contexts": [{"name": "calico-context", "context": {"cluster": "local", "user": "calico"}}],
        "current-context": "calico-context",
    }
    folder = host_path(run, _NET)
    if not machine.files.is_directory(folder):
        raise OSError(f"open {folder}\\calico-kubeconfig: The system cannot find the path specified.")
    machine.files.write_text(f"{folder}\\calico-kubeconfig", json.dumps(document, indent=1))


def _write_configuration(machine: Machine, run: Invocation, output: Output) -> None:
    text = run.variable("CNI_NETWORK_CONFIG")
    if text:
        output.log("INFO", "Using CNI config template from CNI_NETWORK_CONFIG environment variable.")
    text = _filled(machine, run, text or _default_template())
    try:
        json.loads(text)
    except ValueError as error:
        raise CalicoError(f"{text} is not a valid json object\nerror: {error}") from error
    name = run.variable("CNI_CONF_NAME") or "10-calico.conflist"
    folder = host_path(run, _NET)
    if not machine.files.is_directory(folder):
        raise OSError(f"open {folder}\\{name}: The system cannot find the path specified.")
    machine.files.write_text(f"{folder}\\{name}", text)
    output.log("INFO", f"Created {folder}\\{name}")
    output.write(text)


def _default_template() -> str:
    text = json.dumps(_TEMPLATE, indent=2)
    return text.replace('"@', "").replace('@"', "")


def _quoted(text: str) -> list[str]:
    return [json.dumps(item.strip()) for item in text.split(",")]


def _filled(machine: Machine, run: Invocation, text: str) -> str:
    """Return a template with its placeholders replaced.

    Raises:
        CalicoError: VXLAN is configured without calico-ipam.
    """
    services = _quoted(run.variable("KUBERNETES_SERVICE_CIDRS") or "10.96.0.10")
    kind = run.variable("ROUTE_TYPE") or "SDNROUTE"
    routes = [
        f'{{"Name": "EndpointPolicy", "Value": {{"Type": "{kind}", "DestinationPrefix": {item}, "NeedEncap": true}}}}'
        for item in services
    ]
    backend = run.variable("CALICO_NETWORKING_BACKEND") or "vxlan"
    ipam = run.variable("CNI_IPAM_TYPE") or "calico-ipam"
    if backend == "vxlan" and ipam != "calico-ipam":
        raise CalicoError(f"Calico VXLAN requires IPAM type calico-ipam, not {ipam}")
    folder = run.variable("CNI_NET_DIR") or "/etc/cni/net.d"
    if not folder.casefold().startswith("c:"):
        folder = f"c:{folder}"
    values = {
        "__KUBECONFIG_FILEPATH__": f"{folder}/calico-kubeconfig".replace("\\", "/"),
        "__LOG_FILE_PATH__": run.variable("LOG_FILE_PATH") or "c:/var/log/calico/cni/cni.log",
        "__KUBERNETES_SERVICE_CIDRS__": ",".join(services),
        "__KUBERNETES_ROUTE_POLICIES__": ",\n".join(routes),
        "__ROUTE_TYPE__": kind,
        "__VNI__": run.variable("VXLAN_VNI") or "4096",
        "__MAC_PREFIX__": run.variable("MAC_PREFIX") or "0E-2A",
        "__NODENAME_FILE__": run.variable("CALICO_NODENAME_FILE") or "c:/var/run/calico/nodename",
        "__KUBERNETES_DNS_SERVERS__": ",".join(_quoted(run.variable("KUBERNETES_DNS_SERVERS") or "10.96.0.10")),
        "__MODE__": "windows-bgp" if backend.lower() in ("bird", "bgp") else backend,
        "__IPAM_TYPE__": ipam,
        '"__DSR_SUPPORT__"': "true" if supports_dsr(machine) else "false",
        "__LOG_LEVEL__": run.variable("LOG_LEVEL") or "info",
        "__DATASTORE_TYPE__": run.variable("DATASTORE_TYPE") or "kubernetes",
        "__KUBERNETES_NODE_NAME__": run.variable("KUBERNETES_NODE_NAME") or machine.name.lower(),
        "__CNI_MTU__": run.variable("CNI_MTU") or "1500",
        "__KUBERNETES_SERVICE_HOST__": run.variable("KUBERNETES_SERVICE_HOST"),
        "__KUBERNETES_SERVICE_PORT__": run.variable("KUBERNETES_SERVICE_PORT"),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def supports_dsr(machine: Machine) -> bool:
    """Return whether Windows supports direct server return.

    Version 1809 needs an update from 2020. Versions since 1903 support it without updates.
    """
    return machine.windows.build >= 18317 or machine.windows.ubr >= 1432
