# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of each role, built from the role's variables.

Each role has a module of the same name, with a dataclass of the variables that the role reads and a function that
returns its resources. `variables.py` fills the dataclasses; the lookup plugin `node_resources` calls the functions.
Read `kubernetes_node.py` first.
"""
