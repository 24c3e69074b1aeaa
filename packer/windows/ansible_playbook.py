# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs ansible-playbook in WSL with the arguments that Packer on Windows passes to ansible-playbook.cmd.

Paths of Windows become paths of Linux, by the rules of WSL's wslpath. Packer's inventory is copied to a private file,
because WSL shows every file of Windows as executable, and Ansible runs an executable inventory.
"""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

WSL_CONFIGURATION = Path("/etc/wsl.conf")
PROGRAM = "ansible-playbook"
_PACKERS_INVENTORY = "packer-provisioner-ansible"
# A path may follow the @ of a file with variables, or the name of an option.
_DRIVE = re.compile(r"^(?P<before>(?:--?[\w-]+=)?@?)(?P<letter>[A-Za-z]):[\\/](?P<rest>.*)$", re.DOTALL)
_SHARE = re.compile(r"^(?P<before>(?:--?[\w-]+=)?@?)\\\\(?P<host>[^\\]+)\\(?P<share>[^\\]+)(?P<rest>.*)$", re.DOTALL)
_WSL_HOSTS = ("wsl$", "wsl.localhost")


def mount_root(configuration: Path = WSL_CONFIGURATION) -> str:
    """Return the folder below which WSL mounts the drives of Windows, `/mnt/` unless its configuration says otherwise.

    Args:
        configuration: the file wsl.conf, which need not exist.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    if configuration.is_file():
        parser.read(configuration, encoding="utf-8")
    root = parser.get("automount", "root", fallback="/mnt/").strip("\"' ")
    return root if root.endswith("/") else f"{root}/"


def translate(argument: str, root: str) -> str:
    r"""Return an argument with a Linux path instead of a Windows path. Other arguments stay as they are.

    Args:
        argument: an argument, such as `C:\images\image.yml`, `@C:\images\vars.yml` or `--inventory=C:\hosts`.
        root: the folder below which the drives are mounted.

    Raises:
        ValueError: the path is on a network share, which WSL does not mount.
    """
    if drive := _DRIVE.match(argument):
        return f"{drive['before']}{root}{drive['letter'].lower()}/{_slashes(drive['rest'])}"
    if share := _SHARE.match(argument):
        if share["host"].lower() not in _WSL_HOSTS:
            raise ValueError(
                f"{argument}: expected a path on a drive or in the Linux distribution, got a network share. "
                "Map it to a drive, and mount the drive in WSL."
            )
        return f"{share['before']}{_slashes(share['rest']) or '/'}"
    return argument


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def private_copies(arguments: Sequence[str], folder: Path) -> list[str]:
    """Return the arguments with a private copy in a folder instead of the inventory that Packer has written."""
    found = []
    for argument in arguments:
        path = Path(argument)
        if path.name.startswith(_PACKERS_INVENTORY) and path.is_file():
            copy = folder / path.name
            shutil.copyfile(path, copy)
            copy.chmod(0o600)
            argument = str(copy)
        found.append(argument)
    return found


def main(arguments: Sequence[str]) -> int:
    """Run ansible-playbook, and return its exit status.

    Args:
        arguments: the arguments of ansible-playbook, with paths of Windows.
    """
    try:
        translated = [translate(argument, mount_root()) for argument in arguments]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if shutil.which(PROGRAM) is None:
        print(
            f"Expected {PROGRAM} on PATH in WSL, got none. Install Ansible and this collection there.", file=sys.stderr
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="packer-") as folder:
        command = [PROGRAM, *private_copies(translated, Path(folder))]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
