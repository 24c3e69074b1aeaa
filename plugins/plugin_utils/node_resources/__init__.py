# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the roles, built from the roles' variables.

The node_resources lookup plugin calls the functions that `roles.py` lists. Each function returns the resources of one
role. Each of these roles has a module of the same name. `variables.py` fills dataclasses with the variables that the
roles read. Read `kubernetes_node.py` first.
"""
