# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's join (join.py), maintenance (maintenance.py), reset (reset.py), and image (generalization.py)."""
