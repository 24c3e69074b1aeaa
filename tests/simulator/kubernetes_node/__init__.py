# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the programs and services of a Windows node in a Kubernetes cluster, and the image registries.

Start reading with the `kubelet` package, which shows how a node and its pods are created.
"""
