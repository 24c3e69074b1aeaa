# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the network of a node's pods: CNI plugins, flanneld and kube-proxy.

Start reading with `plugins.py`, which adds a pod to the network by calling the plugins in the other modules. flanneld
creates the HNS network that its plugins use, and kube-proxy creates the load balancers of services.
"""
