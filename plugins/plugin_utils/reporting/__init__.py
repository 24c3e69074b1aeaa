# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What playbooks tell people and monitors about many hosts: tables, documents, problems that hosts share. Pure.

Private to the collection.
"""
