# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' own vocabulary: versions, paths, the registry, access lists, command lines. Begin with windows_info.py."""
