# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The program, the working folder and the copied files that a container gets from its image.

Each HostProcess container has its own copy of the image's files, which is deleted together with the container.

Source for the program: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cri.mounts import Mount
from simulator.kubernetes_node.cri.shims import ContainerCommand
from simulator.kubernetes_node.images.store import ImageStore
from simulator.kubernetes_node.images.unpacking import REST

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ROOT = "%CONTAINER_SANDBOX_MOUNT_POINT%"


def complete(command: ContainerCommand, settings: Mapping[str, Any]) -> ContainerCommand:
    """Return a command, completed with the program, arguments and folder that the image defines.

    Args:
        command: the command in the pod's specification.
        settings: the `config` object in the image's configuration.
    """
    argv = command.argv
    if not command.replaces_entry_point:
        argv = (*(settings.get("Entrypoint") or ()), *(argv or settings.get("Cmd") or ()))
    folder = str(settings.get("WorkingDir") or "")
    directory = command.directory or (f"{_ROOT}{folder}" if folder.startswith("/") else folder)
    return replace(command, argv=tuple(str(word) for word in argv), directory=directory)


def settings_of(store: ImageStore, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `config` object of a manifest's image configuration, or an empty dictionary if there is none."""
    found: Mapping[str, Any] = store.document(str(manifest["config"]["digest"])).get("config") or {}
    return found


def mount(machine: Machine, command: ContainerCommand, root: str, scratch: str) -> ContainerCommand:
    """Copy an image's files for a HostProcess container, and add a mount of the copy at the container's root.

    Return the changed command, or the unchanged command for other containers and for images without files.

    Args:
        machine: the node.
        command: the container's command.
        root: the folder with the image's files.
        scratch: the folder for the copy.
    """
    files = machine.files
    if not command.host_process or not files.is_directory(root):
        return command
    source = files.real(root)
    found = [path for path in sorted(source.rglob("*")) if path.is_file() and path.name != REST]
    for path in found:
        target = f"{scratch}\\" + "\\".join(path.relative_to(source).parts)
        files.make_directory(target.rpartition("\\")[0])
        files.write_bytes(target, path.read_bytes())
    return replace(command, mounts=(*command.mounts, Mount(scratch, command.rootfs))) if found else command


def remove(machine: Machine, scratch: str) -> None:
    """Remove a container's copy of the image's files."""
    if machine.files.exists(scratch):
        machine.files.delete(scratch)
