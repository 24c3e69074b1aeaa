# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Paths and named pipes on a node that several packages use.

kubeadm and the kubelet use Linux paths on the system drive: `/etc/kubernetes` is `C:\etc\kubernetes`.
Sources: kubernetes/kubernetes cmd/kubeadm/app/constants; kubernetes.io: Installing kubeadm ("Path to Windows named
pipe").
"""

from __future__ import annotations

POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
"""Windows PowerShell 5.1."""

# The collection's own paths.
PROGRAM_DATA = "C:\\ProgramData\\winkube"
"""Folder of the collection's state: batches, the artifact cache, records of earlier runs."""
TRUSTED_FOLDER = "C:\\Windows\\winkube"
"""Folder of files that later calls use. Only administrators can create or change files in this folder. In ProgramData,
all users may create folders, and so could replace a file after it was verified."""
CACHED_VERSIONS = f"{TRUSTED_FOLDER}\\cached-versions"
"""Folder of the script that installs cached versions on a machine started from an image, and of its files."""
CACHED_VERSIONS_INDEX = f"{CACHED_VERSIONS}\\index.json"
"""File that lists the versions of each component."""
JOIN_CONFIGURATION = f"{PROGRAM_DATA}\\join.yaml"
"""kubeadm's configuration with the token; the batch that runs kubeadm always removes this file."""
JOIN_RECORD = f"{PROGRAM_DATA}\\join-commands.txt"
"""File with the number of the user's post-join programs that have ended. It exists only while more have to run."""
NETWORK_RECORD = f"{PROGRAM_DATA}\\cni.json"
"""The node's record of its network. If it differs from the new record, the previous network must be removed."""

# Paths of kubeadm, the kubelet and CNI plugins.
KUBERNETES = "C:\\etc\\kubernetes"
KUBELET_CONF = f"{KUBERNETES}\\kubelet.conf"
"""kubeadm creates this file when a machine joins, and `kubeadm reset` removes it."""
BOOTSTRAP_KUBELET_CONF = f"{KUBERNETES}\\bootstrap-kubelet.conf"
"""The kubelet's kubeconfig with the bootstrap token, until the kubelet has a certificate."""
KUBELET_DROPINS = f"{KUBERNETES}\\kubelet.conf.d"
KUBELET_DROPIN = f"{KUBELET_DROPINS}\\50-windows.conf"
"""The part of the kubelet's configuration that the role kubernetes_node writes."""
KUBELET = "C:\\var\\lib\\kubelet"
KUBELET_CONFIG = f"{KUBELET}\\config.yaml"
KUBELET_PKI = f"{KUBELET}\\pki"
LAUNCHER_SCRIPT = "kubelet-launcher.ps1"
"""Name of the launcher, a script next to kubelet.exe that runs the kubelet of a machine that joins on its own."""
LAUNCHER_RECORD = f"{KUBELET}\\winkube-join-commands.txt"
"""File with the number of the user's post-join programs that have ended on a machine that joined on its own. The
file exists only while more have to run. `kubeadm reset` empties its folder."""
CNI_STATE = "C:\\var\\lib\\cni"
HOST_LOCAL_ADDRESSES = f"{CNI_STATE}\\networks"
"""Folder in which the CNI plugin host-local records the addresses of pods, in one subfolder for each network."""

# Paths and named pipes of containerd and Docker.
CONTAINERD_DATA = "C:\\ProgramData\\containerd"
DOCKER_DATA = "C:\\ProgramData\\docker"
CONTAINERD_REGISTRIES = "C:\\Program Files\\containerd\\certs.d"
"""Default folder of containerd's registry settings, with a subfolder for each registry."""
CONTAINERD_PIPE = "npipe:////./pipe/containerd-containerd"
CRI_DOCKERD_PIPE = "npipe:////./pipe/cri-dockerd"
DOCKER_PIPE = "npipe:////./pipe/docker_engine"
