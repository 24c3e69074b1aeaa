# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Kubernetes cluster in memory: its HTTPS API server and controllers run as threads of this process."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import os
import shutil
import tempfile
import threading
from pathlib import Path

import yaml

from .memory import join_data
from .memory.api import ClusterApi
from .memory.authentication import ServiceAccountTokens
from .memory.certificates import Authority
from .memory.controllers import ControllerLoop, all_controllers
from .memory.http_server import ApiServer, server_context
from .memory.resources import type_of_kind
from .memory.store import ObjectStore
from .options import ClusterOptions
from .processes import free_port


class MemoryCluster:
    """A running cluster with an API server and controllers. Its `stop` method removes the whole cluster."""

    def __init__(self, options: ClusterOptions) -> None:
        """Start the cluster, and wait until it is ready, which takes less than a second."""
        self.folder = Path(tempfile.mkdtemp(prefix="simulator-memory-cluster-"))
        self._authority = Authority("kubernetes")
        self._store = ObjectStore()
        port = options.port or free_port(options.address)
        self.server = f"https://{options.address}:{port}"
        self.kubeconfig = self.folder / "super-admin.conf"
        self.ca_file = self.folder / "ca.crt"
        try:
            self._write_files(options)
            tokens = ServiceAccountTokens(f"https://kubernetes.default.svc.{options.dns_domain}")
            endpoint = self.server.removeprefix("https://")
            api = ClusterApi(self._store, tokens, options.version, endpoint, options.service_cidr)
            self._authenticator = api.authenticator
            self._create_objects(api, options)
            self._controllers = ControllerLoop(
                self._store,
                all_controllers(api.objects, self._authority, tokens, options),
            )
            self._controllers.step()  # creates the service accounts before the first request
            tls = server_context(self.folder / "apiserver.crt", self.folder / "apiserver.key", self.ca_file)
            self._http = ApiServer(options.address, port, tls, api)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), name="api-server", daemon=True)
        self._thread.start()
        self._controllers.start()

    def set_clock(self, seconds: float) -> None:
        """Set how many seconds the API server's clock is ahead of this machine's.

        This affects only the check of client certificates.
        """
        self._authenticator.ahead = datetime.timedelta(seconds=seconds)

    def stop(self) -> None:
        """Stop the cluster's threads, and remove its folder."""
        self._store.close()
        self._http.close()
        self._thread.join(10)
        self._controllers.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _create_objects(self, api: ClusterApi, options: ClusterOptions) -> None:
        for obj in join_data.objects(options, self.server, self._authority.pem):
            kind = type_of_kind(obj["apiVersion"], obj["kind"])
            if kind is None:
                raise LookupError(f"no resource type has apiVersion {obj['apiVersion']} and kind {obj['kind']}")
            api.objects.create(kind, obj["metadata"].get("namespace", ""), obj)

    def _write_files(self, options: ClusterOptions) -> None:
        domain, services = options.dns_domain, ipaddress.IPv4Network(options.service_cidr)
        inside = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{domain}"]
        sans = [options.address, "127.0.0.1", "localhost", *inside, str(services[1]), *options.extra_sans]
        certificate, key = self._authority.server("kube-apiserver", sans)
        self.ca_file.write_text(self._authority.pem)
        (self.folder / "apiserver.crt").write_bytes(certificate)
        _write_private(self.folder / "apiserver.key", key)
        certificate, key = self._authority.client("kubernetes-super-admin", ["system:masters"])
        config = _kubeconfig(options.cluster_name, self.server, self._authority.pem.encode(), certificate, key)
        _write_private(self.kubeconfig, config.encode())


def _write_private(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
        handle.write(content)


def _kubeconfig(cluster: str, server: str, ca: bytes, certificate: bytes, key: bytes) -> str:
    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    user = "kubernetes-super-admin"
    context = f"{user}@{cluster}"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"certificate-authority-data": text(ca), "server": server}}],
            "users": [
                {"name": user, "user": {"client-certificate-data": text(certificate), "client-key-data": text(key)}}
            ],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
            "current-context": context,
        }
    )
