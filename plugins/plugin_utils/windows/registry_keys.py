# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registry keys that several packages read or write."""

from __future__ import annotations

CONTROL = "HKLM:\\SYSTEM\\CurrentControlSet\\Control"
COMPUTER_NAMES = f"{CONTROL}\\ComputerName"
"""Subkeys of this key contain the computer name that is in use, and the name that applies after the next boot."""
SESSION_MANAGER = f"{CONTROL}\\Session Manager"
ENVIRONMENT = f"{SESSION_MANAGER}\\Environment"
"""This key contains the environment variables of the machine."""
SERVICES = "HKLM:\\SYSTEM\\CurrentControlSet\\Services"
KUBELET_SERVICE = f"{SERVICES}\\kubelet"
SERVICING_REBOOT = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\RebootPending"
"""This key exists while an update or a feature waits for a reboot."""
