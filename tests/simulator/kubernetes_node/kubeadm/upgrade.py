# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate `kubeadm upgrade node` on a worker, with its files and messages. See real.py for upgrades by a real kubeadm.

Sources: kubernetes cmd/kubeadm/app/cmd/upgrade/node.go, phases/upgrade/postupgrade.go and
cmd/phases/upgrade/postupgrade.go, and runs of kubeadm 1.34.4, 1.35.4, 1.36.3 and 1.37.1 on Linux. For versions older
than 1.34.4, the simulator prints what 1.34.4 prints. An upgrade never restarts the kubelet.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.kubeadm import join, preflight
from simulator.kubernetes_node.programs import contracts

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

TEMPORARY = f"{join.KUBERNETES}\\tmp"
_CONFIG = f"{join.KUBELET}\\config.yaml"
_INSTANCE = f"{join.KUBELET}\\instance-config.yaml"
_FLAGS = f"{join.KUBELET}\\kubeadm-flags.env"
_ENDPOINT = "container-runtime-endpoint"
_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_SKIPPED = (
    "[upgrade/preflight] Skipping prepull. Not a control plane node.",
    "[upgrade/control-plane] Skipping phase. Not a control plane node.",
    "[upgrade/kubeconfig] Skipping phase. Not a control plane node.",
)


class UpgradeError(Exception):
    """A failure of `kubeadm upgrade node`. The text is kubeadm's message."""


@dataclass
class Upgrader:
    """One run of `kubeadm upgrade node`."""

    machine: Machine
    version: str
    kubeconfig: str = join.KUBELET_CONF
    printed: list[str] = field(default_factory=list)
    complained: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Upgrade the kubelet's configuration.

        Raises:
            UpgradeError: a phase of the upgrade fails.
        """
        try:
            client = Client(self.machine, read_kubeconfig(self.machine, self.kubeconfig))
        except KubeconfigError as error:
            shown = self.kubeconfig[2:]
            raise UpgradeError(
                f'couldn\'t create a Kubernetes client from file "{shown}": failed to load admin kubeconfig: {error}'
            ) from error
        try:
            kubelet = self._cluster(client)
        finally:
            client.close()
        self._say("[upgrade/preflight] Running pre-flight checks")
        self.printed += _SKIPPED
        self._back_up()
        self._write(kubelet)
        self._say("[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!")
        for addon in ("coredns", "kube-proxy"):
            self._say(f"[upgrade/addon] Skipping the addon/{addon} phase. Not a control plane node.")
        if contracts.minor_of(self.version) == "1.35":
            self._drop("pod-infra-container-image")

    def _say(self, text: str) -> None:
        self.printed.append(text)

    def _cluster(self, client: Client) -> str:
        """Return the kubelet configuration of the cluster.

        Raises:
            UpgradeError: the ConfigMaps cannot be read, or kubeadm does not support the control plane's version.
        """
        self._say('[upgrade] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...')
        self._say("[upgrade] Use 'kubeadm init phase upload-config kubeadm --config your-config-file' to re-upload it.")
        try:
            cluster = client.get(f"{_MAPS}/kubeadm-config")["data"]["ClusterConfiguration"]
            kubelet = str(client.get(f"{_MAPS}/kubelet-config")["data"]["kubelet"])
        except (ApiError, OSError) as error:
            raise UpgradeError(
                f"unable to fetch the kubeadm-config ConfigMap: failed to get config map: {error}"
            ) from error
        if wrong := preflight.control_plane_problem(yaml.safe_load(cluster), self.version):
            raise UpgradeError(f"unable to fetch the kubeadm-config ConfigMap: {wrong}")
        return kubelet

    def _temporary(self, name: str) -> str:
        """Create a folder for backups, and return its path.

        Since kubeadm 1.35, the folder's name ends with the date and the time (to the second).

        Raises:
            UpgradeError: the folder exists already.
        """
        stamp = self.machine.clock.now().strftime("-%Y-%m-%d-%H-%M-%S")
        timed = contracts.at_least(self.version, "1.35")
        folder = f"{TEMPORARY}\\{name}{stamp if timed else str(uuid.uuid4().int)[:10]}"
        if self.machine.files.is_directory(folder):
            raise UpgradeError(
                "error execution phase kubelet-config: could not create timestamp directory: mkdir "
                f"{folder[2:]}: Cannot create a file when that file already exists."
            )
        self.machine.files.make_directory(folder)
        return folder

    def _back_up(self) -> None:
        folder = self._temporary("kubeadm-kubelet-config")
        self._say(f"[upgrade] Backing up kubelet config file to {folder[2:]}\\config.yaml")
        if not self.machine.files.is_file(_CONFIG):
            raise UpgradeError(
                "error execution phase kubelet-config: error backing up the kubelet config file: CreateFile "
                f"{_CONFIG[2:]}: The system cannot find the file specified."
            )
        self.machine.files.write_bytes(f"{folder}\\config.yaml", self.machine.files.read_bytes(_CONFIG))

    def _write(self, kubelet: str) -> None:
        files = self.machine.files
        local = contracts.at_least(self.version, "1.34")
        if local and not files.is_file(_INSTANCE):
            endpoint = self._take_endpoint()
            self._say_file("configuration", "instance-config.yaml")
            files.write_text(
                _INSTANCE,
                "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                f'containerRuntimeEndpoint: "{endpoint}"\nkind: KubeletConfiguration\n',
            )
        instance: dict[str, str] = {}
        if local:
            found = yaml.safe_load(files.read_text(_INSTANCE)) or {}
            instance = {"containerRuntimeEndpoint": str(found.get("containerRuntimeEndpoint") or "")}
            patch = 'patch of type "application/strategic-merge-patch+json" to target "kubeletconfiguration"'
            self._say(f"[patches] Applied {patch}")
        self._say_file("configuration", "config.yaml")
        files.write_text(_CONFIG, join.windows_configuration(kubelet, instance))

    def _take_endpoint(self) -> str:
        """Remove the container runtime's endpoint from the kubelet's flags.

        Return the endpoint, or an empty string if the flag is missing.

        Raises:
            UpgradeError: the file with the kubelet's flags does not exist.
        """
        if not self.machine.files.is_file(_FLAGS):
            raise UpgradeError(
                f"error execution phase kubelet-config: error reading kubeadm flags file: open {_FLAGS[2:]}: The "
                "system cannot find the file specified."
            )
        found = re.search(rf"--{_ENDPOINT}=(\S*?)(?=[\s\"]|$)", self.machine.files.read_text(_FLAGS))
        if found is None:
            return ""
        self._rewrite(_ENDPOINT)
        return found[1]

    def _drop(self, flag: str) -> None:
        """Back up the file with the kubelet's flags, and then remove a flag from the original (post-upgrade phase).

        If the file does not contain the flag, nothing is changed.
        """
        if not self.machine.files.is_file(_FLAGS) or f"--{flag}=" not in self.machine.files.read_text(_FLAGS):
            return
        folder = f"{TEMPORARY}\\kubeadm-kubelet-env{str(uuid.uuid4().int)[:10]}"
        self._say(f"[upgrade] Backing up kubelet env file to {folder[2:]}\\kubeadm-flags.env")
        self.machine.files.make_directory(folder)
        self.machine.files.write_bytes(f"{folder}\\kubeadm-flags.env", self.machine.files.read_bytes(_FLAGS))
        self._rewrite(flag)

    def _rewrite(self, without: str) -> None:
        text = self.machine.files.read_text(_FLAGS)
        words = text.strip().partition("=")[2].strip('"').split()
        kept = [word for word in words if not word.startswith(f"--{without}=")]
        self._say_file("environment file with flags", "kubeadm-flags.env")
        self.machine.files.write_text(_FLAGS, f'KUBELET_KUBEADM_ARGS="{" ".join(kept)}"\n')

    def _say_file(self, what: str, name: str) -> None:
        path = f"{join.KUBELET[2:]}\\{name}".replace("\\", "\\\\")
        self._say(f'[kubelet-start] Writing kubelet {what} to file "{path}"')
