# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Access to the Kubernetes API for the programs on a node.

Start reading with `client.py`. `cluster_access.py` finds the API server for a program, from a kubeconfig or from the
service account of its pod.
"""
