# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the host name, accounts and SSH keys as cloudbase-init does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.machine import accounts
from simulator.machine.machine import COMPUTER_NAME, TCPIP
from simulator.windows.cloudbase.configuration import CloudbaseRun

_LONGEST = 15


def set_host_name(run: CloudbaseRun, name: str) -> bool:
    """Set the host name, and return whether the change needs a reboot.

    Source: utils/hostname.py of cloudbase-init.
    """
    host = name.split(".", 1)[0]
    if len(host) > _LONGEST and run.configuration.flag("netbios_host_name_compatibility", True):
        run.log("WARNING", "utils.hostname", f"Truncating host name for Netbios compatibility. Old name: {host}, new"
                f" name: {host[:_LONGEST]}")  # fmt: skip
        host = host[:_LONGEST]
    host = re.sub(r"-$", "0", host)
    if run.machine.host_name.lower() == host.lower():
        return False
    run.log("INFO", "utils.hostname", f"Setting hostname: {host}")
    registry = run.machine.registry
    registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", host[:_LONGEST].upper())
    registry.set(TCPIP, "NV Hostname", host)
    return True


def add_account(run: CloudbaseRun, name: str, groups: Iterable[str]) -> None:
    """Create an account if it does not exist, create the folder of its profile, and add the account to groups."""
    machine = run.machine
    account = accounts.find(machine, name, "User")
    if account is None:
        account = accounts.add(machine, name, "User")
    machine.files.make_directory(rf"C:\Users\{name}")
    for group_name in groups:
        group = accounts.find(machine, group_name, "Group")
        if group is None:
            run.log("ERROR", "plugins.common.createuser", f'Cannot add user to group "{group_name}"')
        elif account.key not in group.members:
            accounts.join(machine, group, account.key)


def write_keys(run: CloudbaseRun, name: str, keys: Iterable[str]) -> None:
    """Write the SSH keys of an account to its authorized_keys file."""
    folder = rf"C:\Users\{name}\.ssh"
    run.machine.files.make_directory(folder)
    run.machine.files.write_text(rf"{folder}\authorized_keys", "".join(f"{key}\n" for key in keys))
