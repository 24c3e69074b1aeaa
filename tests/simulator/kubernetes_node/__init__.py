# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The programs and services on a Windows node of a Kubernetes cluster, and the registries from which it pulls.

Start with `kubelet`: it shows how a node and its pods are created.
"""
