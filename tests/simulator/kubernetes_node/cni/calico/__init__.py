# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico's programs for Windows nodes, from the calico/cni-windows and calico/node-windows images.

The `install` module simulates install-cni. `node_service` and `confd` simulate the scripts of the other containers.
`startup` and `felix` simulate parts of calico-node.exe, and `plugin` simulates the CNI plugin. These modules use
`datastore` (Calico's objects in the API server), `ipam` and `hns_network`. The docstrings name files of
projectcalico/calico v3.31.5.
"""
