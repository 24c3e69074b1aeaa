# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Host Networking Service: networks, endpoints, namespaces and policy lists.

Read `service.py` first: it contains the operations on the HNS objects of a machine. `cmdlets.py` implements the
PowerShell cmdlets.
"""

from __future__ import annotations

from simulator.kubernetes_node.hns.objects import Dns, HnsError, HnsState, Network, PolicyList, Wiring
from simulator.kubernetes_node.hns.service import HnsStore, new_id, store

__all__ = ["Dns", "HnsError", "HnsState", "HnsStore", "Network", "PolicyList", "Wiring", "new_id", "store"]
