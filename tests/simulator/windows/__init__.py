# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' cmdlets and programs. layer.py lists the modules and packages that simulate them. See README.md."""
