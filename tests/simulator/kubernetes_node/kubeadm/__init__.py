# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm: join and reset.

Start with `program.py`. `join.py` contains the phases of a join, and `real.py` runs a real kubeadm where one is
installed.
"""
