# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables that users set, one dataclass per role: types, accepted values, and which variables are secret.

These dataclasses are the only source of these facts. Preflight, `node_resources` and `cluster_support` use them to
check and convert values, and `docs/generate_argument_specs.py` writes their types into the roles' argument
specifications, which contain the descriptions. A field represents the variable ROLE_FIELD, unless its metadata gives
another name as `variable`. A variable's default, if it has one, is in the role's `defaults/main.yml`. Read `roles.py`
first.
"""
