# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Join machines to Active Directory domains (read join.py first), and handle credential specs of gMSAs."""
