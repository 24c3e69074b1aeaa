# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables that users set, one dataclass per role: types, accepted values, and which are secret.

They are the only source of these facts. Preflight and `node_resources` check and convert values by them, and
`docs/generate_argument_specs.py` writes them into the roles' argument specifications, which keep the descriptions. A
field stands for the variable ROLE_FIELD; its default is in the role's `defaults/main.yml`. Read `roles.py` first.
"""
