# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What each role makes a node have: lists of resources, built from the role's variables.

Each role has a module of its name. It holds a dataclass of the variables that the role reads, and a function that
returns its resources. `variables.py` fills the dataclasses; the lookup plugin `node_resources` calls the functions.
Read `kubernetes_node.py` first.
"""
