# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Concepts of Windows: versions, paths, the registry, access lists, command lines; start at windows_info.py."""
