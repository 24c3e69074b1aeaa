# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What roles decide from their variables, from results of earlier tasks and from other hosts (table.py).

A module has pure functions and, below them, the mapping DECISIONS: by the name of a variable, a function that reads the
host's variables and calls a pure function. The role has a variable of that name with the value
`lookup('winkube.node.role_decision', NAME)`: in `vars/main.yml`, or in `defaults/main.yml` if users may set it. The
decision is made only when a task or another decision needs it. Read `windows_patches.py` first.
"""
