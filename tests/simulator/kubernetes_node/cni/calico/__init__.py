# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico's programs for Windows nodes, from the images calico/cni-windows and calico/node-windows.

`install` is install-cni, `node_service` and `confd` contain the scripts of the other containers, `startup` and `felix`
are parts of calico-node.exe, and `plugin` is the CNI plugin. They use `datastore` (the API server), `ipam` and
`hns_network`. The docstrings name files of projectcalico/calico v3.31.5.
"""
