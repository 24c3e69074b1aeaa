# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Concepts of Windows, such as versions, paths, the registry and access lists. Read windows_info.py first."""
