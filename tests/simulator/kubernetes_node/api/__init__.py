# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Kubernetes API as the programs of a node use it.

Start with `client.py`. `cluster_access.py` finds the API for a program that has a kubeconfig or a service account.
"""
