# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows updates: the catalog, files, installation, DISM and wusa.exe. Read `update_catalogue.py` first."""
