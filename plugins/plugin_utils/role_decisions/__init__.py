# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values that roles compute from variables, results of earlier tasks and other hosts; table.py lists all of them.

Each module has pure functions and a mapping, DECISIONS, from the name of each decided variable to a function that
computes its value. The function reads the host's variables and calls a pure function. The role defines the variable as
`lookup('winkube.node.role_decision', NAME)`, in `vars/main.yml`, or in `defaults/main.yml` if users may set it. The
value is therefore computed only when a task or another decision needs it. Read `windows_patches.py` first.
"""
