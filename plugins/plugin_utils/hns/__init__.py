# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Inspection and cleanup of Windows' Host Networking Service (docs/hns.md). Start with cleanup/cleanup.py."""
