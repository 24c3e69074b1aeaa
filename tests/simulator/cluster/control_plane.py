# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real Kubernetes control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as child processes.

The environment variable `KUBEBUILDER_ASSETS` names the folder with the programs, as in controller-runtime's envtest.
kubeadm creates certificates, kubeconfigs, the join data and the add-ons, as in any kubeadm cluster.
"""

from __future__ import annotations

import base64
import functools
import os
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from .options import ADVERTISED, ClusterOptions
from .processes import ProcessError, ProgramGroup, free_port, minimal_environment, run, wait_until

_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm", "kubectl")
_KUBECONFIGS = ("admin", "super-admin", "controller-manager", "scheduler")


def assets_folder() -> Path | None:
    """Return the folder in `KUBEBUILDER_ASSETS`, or None if the variable is not set or the folder lacks a program."""
    named = os.environ.get("KUBEBUILDER_ASSETS", "")
    folder = Path(named).expanduser()
    return folder if named and all((folder / name).exists() for name in _PROGRAMS) else None


@functools.cache
def assets_version(folder: Path) -> str:
    """Return the version of the programs in a folder, as kubeadm reports it; the result is cached.

    Returns:
        A version such as "1.37.1".
    """
    with tempfile.TemporaryDirectory() as home:
        printed = run([str(folder / "kubeadm"), "version", "-o", "short"], minimal_environment(Path(home)))
    return printed.strip().removeprefix("v")


def _kubeadm_configuration(options: ClusterOptions, pki: str, server: str, port: int) -> str:
    names = dict.fromkeys([options.address, "127.0.0.1", "localhost", *options.extra_sans])
    sans = "".join(f'\n    - "{name}"' for name in names)
    return f"""\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: {ADVERTISED}
  bindPort: {port}
nodeRegistration:
  name: control-plane
  criSocket: unix:///run/containerd/containerd.sock
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v{options.version}
clusterName: {options.cluster_name}
certificatesDir: {pki}
controlPlaneEndpoint: {server}
encryptionAlgorithm: ECDSA-P256
networking:
  podSubnet: {options.pod_cidr}
  serviceSubnet: {options.service_cidr}
  dnsDomain: {options.dns_domain}
apiServer:
  certSANs:{sans}
"""


class ControlPlane:
    """One running control plane in a private folder, which `stop` removes."""

    def __init__(self, assets: Path, options: ClusterOptions) -> None:
        """Start the control plane, which takes about 9 seconds.

        Args:
            assets: the folder with the programs.
            options: the cluster's options; `version` must be the version of the programs.

        Raises:
            ProcessError: a program failed or was not ready in time, or no port is free. Everything was cleaned up.
            subprocess.TimeoutExpired: kubeadm or kubectl exceeded its time limit. Everything was cleaned up.
        """
        self.port = options.port or free_port(options.address)
        self.server = f"https://{options.address}:{self.port}"
        self._assets = assets
        self._options = options
        self.folder = Path(tempfile.mkdtemp(prefix="simulator-control-plane-"))
        self._pki = self.folder / "pki"
        # Collect garbage less often: this saves 0.6 of a start's 3.8 CPU seconds, and costs 130 MB of memory.
        self._environment = {**minimal_environment(self.folder), "GOGC": "400"}
        self._processes = ProgramGroup(self.folder, self._environment)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (group system:masters)."""
        return self.folder / "super-admin.conf"

    @property
    def ca_file(self) -> Path:
        """The path of the cluster's CA certificate in PEM."""
        return self._pki / "ca.crt"

    def stop(self) -> None:
        """Stop the control plane's programs, and remove their private folder."""
        self._processes.stop(seconds=0)  # their data is not kept, and kube-apiserver would stop slowly
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        etcd = self._start_etcd()
        self._make_certificates_and_kubeconfigs()
        self._start_api_server(etcd)
        self._wait(lambda: self._answers("/readyz"), "kube-apiserver is ready", 60)
        self._start_controllers()
        self._upload_join_data()
        account = "/api/v1/namespaces/default/serviceaccounts/default"  # pods cannot be created before it exists
        self._wait(lambda: self._answers(account), "the default service account exists", 30)

    def _wait(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        def ready_or_dead() -> bool:
            self._processes.check()
            return ready()

        wait_until(ready_or_dead, what, seconds)

    def _kubeadm(self, pki: str, *arguments: str) -> None:
        """Run a phase of `kubeadm init` with `pki` as the folder for certificates."""
        text = _kubeadm_configuration(self._options, pki, self.server.removeprefix("https://"), self.port)
        file = self.folder / f"kubeadm-{arguments[0]}-{arguments[1]}.yaml"
        file.write_text(text)
        run([str(self._assets / "kubeadm"), "init", "phase", *arguments, "--config", str(file)], self._environment)

    def _make_certificates_and_kubeconfigs(self) -> None:
        self._kubeadm(str(self._pki), "certs", "all")

        self._kubeadm(str(self._pki), "kubeconfig", "all", "--kubeconfig-dir", str(self.folder))
        for name in _KUBECONFIGS:
            file = self.folder / f"{name}.conf"
            # Replace the advertised address, which kubeadm writes into two of the kubeconfigs, each on one line.
            lines = file.read_text().splitlines()
            changed = [f"    server: {self.server}" if line.startswith("    server: ") else line for line in lines]
            file.write_text("\n".join(changed) + "\n")
            file.chmod(0o600)

    def _start_etcd(self) -> str:
        client, peer = (f"http://127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2))
        self._processes.start([
            str(self._assets / "etcd"), "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        ])  # fmt: skip
        return client

    def _start_api_server(self, etcd: str) -> None:
        pki, options = self._pki, self._options
        self._processes.start([
            str(self._assets / "kube-apiserver"), "--etcd-servers", etcd,
            "--advertise-address", ADVERTISED, "--bind-address", options.address, "--secure-port", str(self.port),
            "--authorization-mode", "Node,RBAC", "--enable-bootstrap-token-auth", "--allow-privileged",
            "--enable-admission-plugins", "NodeRestriction", "--service-cluster-ip-range", options.service_cidr,
            "--client-ca-file", f"{pki}/ca.crt",
            "--tls-cert-file", f"{pki}/apiserver.crt", "--tls-private-key-file", f"{pki}/apiserver.key",
            "--kubelet-client-certificate", f"{pki}/apiserver-kubelet-client.crt",
            "--kubelet-client-key", f"{pki}/apiserver-kubelet-client.key",
            "--service-account-issuer", f"https://kubernetes.default.svc.{options.dns_domain}",
            "--service-account-key-file", f"{pki}/sa.pub", "--service-account-signing-key-file", f"{pki}/sa.key",
        ])  # fmt: skip

    def _start_controllers(self) -> None:
        pki, options, folder = self._pki, self._options, self.folder
        self._processes.start([
            str(self._assets / "kube-controller-manager"), "--kubeconfig", f"{folder}/controller-manager.conf",
            "--leader-elect=false", "--secure-port", "0", "--use-service-account-credentials",
            # At the default of 20 requests per second, creating all controllers' service accounts takes five seconds.
            "--kube-api-qps", "500", "--kube-api-burst", "1000",
            "--controllers", "*,bootstrapsigner,tokencleaner", "--cluster-name", options.cluster_name,
            "--allocate-node-cidrs", "--cluster-cidr", options.pod_cidr,
            "--service-cluster-ip-range", options.service_cidr,
            "--node-monitor-grace-period", f"{options.node_grace_period:g}s",
            "--root-ca-file", f"{pki}/ca.crt", "--service-account-private-key-file", f"{pki}/sa.key",
            "--cluster-signing-cert-file", f"{pki}/ca.crt", "--cluster-signing-key-file", f"{pki}/ca.key",
            "--cluster-signing-duration", f"{options.client_certificate_seconds:.0f}s",
        ])  # fmt: skip
        self._processes.start([
            str(self._assets / "kube-scheduler"), "--kubeconfig", f"{folder}/scheduler.conf",
            "--leader-elect=false", "--secure-port", "0",
        ])  # fmt: skip

    def _upload_join_data(self) -> None:
        kubeconfig = ("--kubeconfig", str(self.kubeconfig))
        # Joining nodes read the folder of the certificates from this configuration. Upload kubeadm's default folder.
        usual = "/etc/kubernetes/pki"
        phases = (("upload-config", "all"), ("bootstrap-token",), ("addon", "all"))
        with ThreadPoolExecutor(len(phases) + 1) as pool:
            # `kubeadm init` creates this binding outside of its phases. Without it, admin.conf has no rights.
            name = "kubeadm:cluster-admins"
            binding = ("create", "clusterrolebinding", name, "--clusterrole", "cluster-admin", "--group", name)
            bound = pool.submit(run, [str(self._assets / "kubectl"), *kubeconfig, *binding], self._environment)
            list(pool.map(lambda phase: self._kubeadm(usual, *phase, *kubeconfig), phases))
            bound.result()

    def _answers(self, path: str) -> bool:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        context.load_cert_chain(self._admin_pem())
        try:
            with urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
            ).open(self.server + path, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _admin_pem(self) -> Path:
        """Return the path of a PEM file with the administrator's certificate and key. Create the file if needed."""
        file = self.folder / "super-admin.pem"
        if not file.exists():
            user = yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]
            file.touch(0o600)
            parts = (user["client-certificate-data"], user["client-key-data"])
            file.write_bytes(b"".join(base64.b64decode(part) for part in parts))
        return file


__all__ = ["ControlPlane", "ProcessError", "assets_folder", "assets_version"]
