# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated Ansible modules for features, the firewall, downloads, packages, updates and domains.

Modules that need no other part of `simulator.windows` are in `simulator.machine.modules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.modules.arguments import Module
from simulator.windows.modules import domain_membership, downloads, features, firewall, packages, win_updates

MODULES: Mapping[str, Module] = {
    "membership": domain_membership.run,
    "win_feature": features.run,
    "win_firewall_rule": firewall.run,
    "win_get_url": downloads.run,
    "win_package": packages.run,
    "win_updates": win_updates.run,
}
