# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Paths and named pipes of nodes, for use in several packages of this collection.

kubeadm and the kubelet use Linux paths on the system drive: `/etc/kubernetes` is `C:\etc\kubernetes`.
Sources: kubernetes/kubernetes, cmd/kubeadm/app/constants; kubernetes.io, "Installing kubeadm", "Path to Windows named
pipe".
"""

from __future__ import annotations

POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
"""Path of Windows PowerShell 5.1."""

# The collection's own paths.
PROGRAM_DATA = "C:\\ProgramData\\winkube"
"""Folder of the collection's state on a node, such as the artifact cache and records of earlier runs."""
TRUSTED_FOLDER = "C:\\Windows\\winkube"
"""Folder of verified files that are used later. Only administrators can create or change files in this folder. In
ProgramData, all users may create folders, and so could replace a file after it was verified."""
CACHED_VERSIONS = f"{TRUSTED_FOLDER}\\cached-versions"
"""Folder of the script that installs cached versions of components on a machine that starts from an image."""
CACHED_VERSIONS_INDEX = f"{CACHED_VERSIONS}\\index.json"
"""File that lists the cached versions of each component, such as containerd."""
JOIN_CONFIGURATION = f"{PROGRAM_DATA}\\join.yaml"
"""kubeadm's configuration with the bootstrap token. The batch that runs kubeadm always removes this file."""
JOIN_RECORD = f"{PROGRAM_DATA}\\join-commands.txt"
"""File with the number of the user's post-join programs that have ended. It exists only until all have ended."""
NETWORK_RECORD = f"{PROGRAM_DATA}\\cni.json"
"""File that records which pod network the node has. If another is configured, the recorded one must be removed."""

# Paths of kubeadm, the kubelet and CNI plugins.
KUBERNETES = "C:\\etc\\kubernetes"
KUBELET_CONF = f"{KUBERNETES}\\kubelet.conf"
"""The kubelet's kubeconfig. It is created when a machine joins, and `kubeadm reset` removes it."""
BOOTSTRAP_KUBELET_CONF = f"{KUBERNETES}\\bootstrap-kubelet.conf"
"""The kubelet's kubeconfig with the bootstrap token, until the kubelet has a certificate."""
KUBELET_DROPINS = f"{KUBERNETES}\\kubelet.conf.d"
KUBELET_DROPIN = f"{KUBELET_DROPINS}\\50-windows.conf"
"""Drop-in file with the part of the kubelet's configuration that the kubernetes_node role writes."""
KUBELET = "C:\\var\\lib\\kubelet"
KUBELET_CONFIG = f"{KUBELET}\\config.yaml"
KUBELET_PKI = f"{KUBELET}\\pki"
LAUNCHER_SCRIPT = "kubelet-launcher.ps1"
"""Name of the script that runs the kubelet on a machine that joins without a controller. It is next to kubelet.exe."""
LAUNCHER_RECORD = f"{KUBELET}\\winkube-join-commands.txt"
"""File with the number of the user's post-join programs that have ended on a machine that joined without a controller.
The file exists only until all have ended. `kubeadm reset` empties the folder of this file."""
CNI_STATE = "C:\\var\\lib\\cni"
HOST_LOCAL_ADDRESSES = f"{CNI_STATE}\\networks"
"""Folder in which the host-local CNI plugin records the addresses of pods, in one subfolder for each network."""

# Paths and named pipes of containerd and Docker.
CONTAINERD_DATA = "C:\\ProgramData\\containerd"
DOCKER_DATA = "C:\\ProgramData\\docker"
CONTAINERD_REGISTRIES = "C:\\Program Files\\containerd\\certs.d"
"""Default folder of containerd's settings for container registries, with a subfolder for each registry."""
CONTAINERD_PIPE = "npipe:////./pipe/containerd-containerd"
CRI_DOCKERD_PIPE = "npipe:////./pipe/cri-dockerd"
DOCKER_PIPE = "npipe:////./pipe/docker_engine"
