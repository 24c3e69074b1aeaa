# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What runs on a Windows node: containerd, kubelet, kubeadm, kube-proxy, flanneld, CNI plugins, HNS, pods."""
