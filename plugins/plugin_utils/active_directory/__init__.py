# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Active Directory: joining a machine to a domain (read join.py first), and credential specs of gMSAs."""
