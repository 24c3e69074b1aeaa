# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reports about many hosts: tables, pages and documents, with a module for each report. Start reading at run.py."""
