# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find symbolic links that Windows PowerShell's Remove-Item cannot remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.core.item_objects import Links
from simulator.machine.objects import CmdletError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def links_below(machine: Machine, path: str) -> list[str]:
    """Return the paths of the symbolic links below a folder that Remove-Item cannot remove.

    Windows PowerShell treats symbolic links to folders like junctions. See PowerShell/PowerShell#621 (fixed in
    PowerShell 6) and ansible/ansible#48327. In PowerShell 7, and for a folder that is itself a link, the list is empty.
    """
    real = machine.files.real(path)
    if machine.settings.powershell or real.is_symlink() or not real.is_dir():
        return []
    kinds = machine.part(Links).kinds
    below = [child for child in real.rglob("*") if child.is_symlink() and child.is_dir()]
    links = [machine.files.windows(child) for child in below]
    return [link for link in links if kinds.get(link.casefold()) != "Junction"]


def mismatch(path: str) -> CmdletError:
    """Return the error of Windows PowerShell's Remove-Item for a symbolic link that it cannot remove."""
    text = "There is a mismatch between the tag specified in the request and the tag present in the reparse point"
    message = f"Cannot remove item {path}: {text}"
    return CmdletError("WriteError", "RemoveItemIOError", message, "System.ComponentModel.Win32Exception")
