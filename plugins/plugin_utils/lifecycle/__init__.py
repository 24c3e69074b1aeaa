# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a machine reports of its join (join_state.py), maintenance (maintenance.py), and images (sysprep.py)."""
