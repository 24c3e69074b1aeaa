# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a simulated server runs a batch of calls: a second, independent implementation of docs/wire.md.

Read `module.py` first. Simulated servers find this layer by the entry point in ../wire_provider-0.dist-info.
"""

from __future__ import annotations

from simulator.machine.families import Layer

LAYER = Layer(("wire_provider.ansible_module",), needs=("core",))
