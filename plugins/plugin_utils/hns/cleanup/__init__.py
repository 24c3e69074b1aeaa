# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Removal of the objects that a CNI left in Windows' Host Networking Service. Start with cleanup.py."""
