# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate `kubeadm join` on Windows, with its phases, files and messages. See real.py for joins by a real kubeadm.

For every version, standard output is that of kubeadm 1.34.4, without the advice that it prints after a failure. The
errors are those of the simulated version. Sources: kubernetes cmd/kubeadm/app/cmd/join.go and
cmd/phases/join/kubelet.go.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, ServerAccess, read_kubeconfig
from simulator.kubernetes_node.kubeadm import preflight
from simulator.kubernetes_node.kubeadm.discovery import DiscoveryError, discover
from simulator.kubernetes_node.kubeadm.join_configuration import JoinConfiguration
from simulator.kubernetes_node.kubelet import health, node_status
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.flags import duration
from simulator.machine.objects import Invocation, ProcessEndedError
from simulator.machine.services import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KUBERNETES = preflight.KUBERNETES
BOOTSTRAP = f"{KUBERNETES}\\bootstrap-kubelet.conf"
KUBELET_CONF = f"{KUBERNETES}\\kubelet.conf"
CA = f"{KUBERNETES}\\pki\\ca.crt"
KUBELET = r"C:\var\lib\kubelet"
_PAUSE = {"1.30": "3.9", "1.31": "3.10", "1.32": "3.10", "1.33": "3.10"}


class JoinError(Exception):
    """A join that failed.

    Args:
        phase: the phase of `kubeadm join` that failed.
        code: kubeadm's exit code.
    """

    def __init__(self, phase: str, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.phase = phase
        self.code = code


@dataclass
class Joiner:
    """One run of `kubeadm join`."""

    machine: Machine
    invocation: Invocation
    join: JoinConfiguration
    version: str
    printed: list[str] = field(default_factory=list)
    complained: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Run the join.

        Raises:
            JoinError: a phase of the join fails.
        """
        self._say("[preflight] Running pre-flight checks")
        warnings, errors = preflight.check(self.machine, self.join, self.version, self.invocation.environment)
        self.complained += warnings
        if errors:
            raise JoinError("preflight", preflight.fatal(errors), 2)
        try:
            server, authority = discover(self.machine, self.join.discovery, self.join.discovery_timeout, self._pause)
        except DiscoveryError as error:
            raise JoinError("preflight", str(error)) from error
        client = Client(self.machine, ServerAccess(server, ca=authority, token=self.join.bootstrap_token))
        try:
            configuration = self._cluster(client)
            self._check_name(client)
        finally:
            client.close()
        self._write(server, authority, configuration)
        try:
            self._start()
            self._wait()
        except JoinError:
            self._forget()
            raise
        # A process that is killed (ProcessEndedError) leaves the file behind.
        self._forget()
        if not contracts.at_least(self.version, "1.34"):
            self.annotate()
        self._say(
            "\nThis node has joined the cluster:\n* Certificate signing request was sent to apiserver and a response "
            "was "
            "received.\n* The Kubelet was informed of the new secure connection details.\n\nRun 'kubectl get nodes' "
            "on the "
            "control-plane to see this node join the cluster.\n"
        )

    def _forget(self) -> None:
        if self.machine.files.exists(BOOTSTRAP):
            self.machine.files.delete(BOOTSTRAP)

    def _say(self, text: str) -> None:
        self.printed.append(text)

    def _say_file(self, what: str, name: str) -> None:
        path = f"{KUBELET[2:]}\\{name}".replace("\\", "\\\\")
        self._say(f'[kubelet-start] Writing kubelet {what} to file "{path}"')

    def _pause(self, seconds: float) -> bool:
        return not self.invocation.stop.wait(seconds)

    def _cluster(self, client: Client) -> str:
        """Return the kubelet configuration of the cluster.

        Raises:
            JoinError: the ConfigMaps cannot be read, or this kubeadm does not support the version of the control plane.
        """
        self._say('[preflight] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...')
        self._say(
            "[preflight] Use 'kubeadm init phase upload-config kubeadm --config your-config-file' to re-upload it."
        )
        path = "/api/v1/namespaces/kube-system/configmaps"
        try:
            cluster = client.get(f"{path}/kubeadm-config")["data"]["ClusterConfiguration"]
            data = client.get(f"{path}/kubelet-config")["data"]
        except (ApiError, OSError) as error:
            message = f"unable to fetch the kubeadm-config ConfigMap: failed to get config map: {error}"
            raise JoinError("preflight", message) from error
        if wrong := preflight.control_plane_problem(yaml.safe_load(cluster), self.version):
            raise JoinError("preflight", f"unable to fetch the kubeadm-config ConfigMap: {wrong}")
        return str(data["kubelet"])

    def _check_name(self, client: Client) -> None:
        name = self.join.node_name
        try:
            found = client.find(f"/api/v1/nodes/{name}")
        except (ApiError, OSError) as error:
            raise JoinError("kubelet-start", f'cannot get Node "{name}": {error}') from error
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        if any(item["type"] == "Ready" and item["status"] == "True" for item in conditions):
            raise JoinError(
                "kubelet-start",
                f'a Node with name "{name}" and status "Ready" already exists in the cluster. You must delete the '
                f"existing Node "
                "or change the name of this new joining Node",
            )

    def _write(self, server: str, authority: str, configuration: str) -> None:
        files = self.machine.files
        for folder in (f"{KUBERNETES}\\pki", f"{KUBERNETES}\\manifests", KUBELET):
            files.make_directory(folder)
        files.write_text(BOOTSTRAP, _bootstrap_kubeconfig(server, authority, self.join.bootstrap_token))
        files.write_text(CA, authority)
        stop_kubelet(self.machine)
        self._say_file("configuration", "config.yaml")
        local = contracts.at_least(self.version, "1.34")
        endpoint = {"containerRuntimeEndpoint": self.join.cri_socket} if local else {}
        files.write_text(f"{KUBELET}\\config.yaml", windows_configuration(configuration, endpoint))
        if local:
            files.write_text(
                f"{KUBELET}\\instance-config.yaml",
                "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                f"containerRuntimeEndpoint: {self.join.cri_socket}\nkind: KubeletConfiguration\n",
            )
        self._say_file("environment file with flags", "kubeadm-flags.env")
        files.write_text(f"{KUBELET}\\kubeadm-flags.env", f'KUBELET_KUBEADM_ARGS="{" ".join(self._flags(local))}"\n')

    def _flags(self, local: bool) -> list[str]:
        found: dict[str, str] = {}
        if not local:
            found["container-runtime-endpoint"] = self.join.cri_socket
        if self.join.node_name != node_status.host_name(self.machine):
            found["hostname-override"] = self.join.node_name
        if not contracts.at_least(self.version, "1.35"):
            pause = _PAUSE.get(contracts.minor_of(self.version), "3.10.1")
            found["pod-infra-container-image"] = f"registry.k8s.io/pause:{pause}"
        if self.join.taints:
            found["register-with-taints"] = ",".join(
                f"{item['key']}={item.get('value', '')}:{item['effect']}" for item in self.join.taints
            )
        return [f"--{name}={value}" for name, value in sorted({**found, **self.join.extra_args}.items())]

    def _start(self) -> None:
        self._say("[kubelet-start] Starting the kubelet")
        start_kubelet(self.machine, self.complained)

    def _wait(self) -> None:
        port = 10248
        url = f"http://127.0.0.1:{port}/healthz"
        self._say(
            f"[kubelet-check] Waiting for a healthy kubelet at {url}. This can take up to "
            f"{duration(self.join.health_timeout)}"
        )
        began = time.monotonic()
        while not health.healthy(self.machine, port):
            if time.monotonic() - began > self.join.health_timeout:
                self._say(f"[kubelet-check] The kubelet is not healthy after {duration(self.join.health_timeout)}")
                last = f'Get "{url}": context deadline exceeded'
                message = f"The HTTP call equal to 'curl -sSL {url}' returned error: {last}"
                raise self._failed_wait("the kubelet to start", message)
            self._check()
        self._say(f"[kubelet-check] The kubelet is healthy after {(time.monotonic() - began) * 1000:.3f}ms")
        self._say("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap")
        began = time.monotonic()
        while not self._bootstrapped():
            if time.monotonic() - began > self.join.bootstrap_timeout:
                raise self._failed_wait("TLS bootstrap", "context deadline exceeded")
            self._check()

    def _failed_wait(self, subject: str, message: str) -> JoinError:
        head = f"failed while waiting for {subject}: " if contracts.at_least(self.version, "1.34") else ""
        return JoinError(self._wait_phase(), head + message)

    def _wait_phase(self) -> str:
        """Return the name of the phase that waits for the kubelet.

        Before kubeadm 1.33, this is kubelet-start. Since 1.33, the feature gate ControlPlaneKubeletLocalMode is on by
        default and adds the phase kubelet-wait-bootstrap.
        """
        return "kubelet-wait-bootstrap" if contracts.at_least(self.version, "1.33") else "kubelet-start"

    def _check(self) -> None:
        if not self._pause(0.1):
            raise ProcessEndedError

    def _bootstrapped(self) -> bool:
        try:
            return bool(read_kubeconfig(self.machine, KUBELET_CONF).certificate)
        except KubeconfigError:
            return False

    def annotate(self) -> None:
        """Write the container runtime's endpoint to an annotation of the node, as kubeadm before 1.34 does.

        The error message changed in 1.32, with the feature gate NodeLocalCRISocket
        (github.com/kubernetes/kubernetes/pull/128031). kubeadm 1.30.4 contains the older text, 1.34.4 the newer one.

        Raises:
            JoinError: the annotation could not be written within the time limit of the TLS bootstrap.
        """
        new = contracts.at_least(self.version, "1.32")
        failed = "error writing CRISocket for this node" if new else "error uploading crisocket"
        client = Client(self.machine, read_kubeconfig(self.machine, KUBELET_CONF))
        metadata = {"annotations": {"kubeadm.alpha.kubernetes.io/cri-socket": self.join.cri_socket}}
        began = time.monotonic()
        try:
            while True:
                try:
                    client.patch(f"/api/v1/nodes/{self.join.node_name}", {"metadata": metadata})
                    return
                except (ApiError, OSError) as error:
                    if time.monotonic() - began > self.join.bootstrap_timeout:
                        raise JoinError(self._wait_phase(), f"{failed}: {error}") from error
                    self._check()
        finally:
            client.close()


def stop_kubelet(machine: Machine) -> None:
    """Stop the kubelet service if it is running."""
    service = machine.services.get("kubelet")
    if service is not None and service.state == "Running":
        machine.services.stop("kubelet", force=True)


def start_kubelet(machine: Machine, complained: list[str]) -> None:
    """Start the kubelet service, or restart it if it is running. If the start fails, kubeadm only warns."""
    stop_kubelet(machine)
    try:
        machine.services.start("kubelet")
    except ServiceError as error:
        complained.append(
            f'[kubelet-start] WARNING: unable to start the kubelet service: [couldn\'t start service: "{error.text}"]'
        )


def windows_configuration(text: str, instance: dict[str, str]) -> str:
    """Return the cluster's kubelet configuration as kubeadm.exe writes it (componentconfigs/kubelet_windows.go).

    Args:
        instance: the contents of instance-config.yaml for this node, which kubeadm applies as a patch.
    """
    document: dict[str, Any] = {**yaml.safe_load(text), **instance}
    document["resolvConf"] = ""
    if document.get("staticPodPath"):
        document["staticPodPath"] = _drive(str(document["staticPodPath"]))
    x509 = (document.get("authentication") or {}).get("x509") or {}
    if x509.get("clientCAFile"):
        x509["clientCAFile"] = _drive(str(x509["clientCAFile"]))
    return str(yaml.safe_dump(document, sort_keys=True))


def _drive(path: str) -> str:
    return "C:" + path.replace("/", "\\") if re.match(r"^[\\/]", path) else path


def _bootstrap_kubeconfig(server: str, authority: str, token: str) -> str:
    import base64

    data = base64.b64encode(authority.encode()).decode()
    user = "tls-bootstrap-token-user"
    context = f"{user}@kubernetes"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": {"certificate-authority-data": data, "server": server}}],
        "contexts": [{"name": context, "context": {"cluster": "kubernetes", "user": user}}],
        "current-context": context,
        "users": [{"name": user, "user": {"token": token}}],
    }
    return str(yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=True))
