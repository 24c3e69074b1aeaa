# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Host Networking Service: networks, endpoints, namespaces and policy lists.

Start with `service.py`, the operations on the objects of a machine. `cmdlets.py` implements the PowerShell cmdlets.
"""

from __future__ import annotations

from simulator.kubernetes_node.hns.objects import Dns, HnsError, Network, PolicyList, State, Wiring
from simulator.kubernetes_node.hns.service import Store, new_id, store

__all__ = ["Dns", "HnsError", "Network", "PolicyList", "State", "Store", "Wiring", "new_id", "store"]
