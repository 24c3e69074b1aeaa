# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' cmdlets and programs. Each family of them is a module or package in layer.py. README.md describes them."""
