# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm: join, upgrade and reset.

Read `program.py` first. `join.py` and `upgrade.py` contain the phases of a join and of an upgrade, and `real.py` runs a
real kubeadm where one is installed.
"""
