# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pod networks that a node can have (no I/O). A pod network is a CNI plugin in one of its modes.

`catalogue.py` loads the facts about each network (data/networks), `settings.py` defines the settings that come from
variables, and each network has a module of its own, such as `flannel.py`. Read the class in `network.py` first: it is
what most other packages use.
"""
