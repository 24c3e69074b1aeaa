# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the launcher, which runs the kubelet of a machine that can join by itself.

The launcher is the script data/kubelet_launcher.ps1, which nssm runs as the kubelet service. The service's command line
is always the same, because the script reads the kubelet's arguments from a file, and adds the flags that kubeadm wrote.
So a join does not change the service.

`kubelet --help` prints all flags to standard output, including deprecated flags. If the flag for node labels occurs
twice, the labels of both flags apply. When the script ends, nssm ends the kubelet, too. Sources: kubernetes/kubernetes,
cmd/kubelet/app/options/options.go (AddFlags) and cmd/kubelet/app/server.go (SetHelpFunc); k8s.io/component-base,
cli/flag/map_string_string.go; nssm.cc/usage (process tree).

Other projects also run the kubelet with a script under nssm: kubernetes-sigs/sig-windows-tools in
hostprocess/PrepareNode.ps1, which writes StartKubelet.ps1, and kubernetes-sigs/image-builder in
images/capi/ansible/windows/roles/kubernetes/templates/StartKubelet.ps1.
"""

from __future__ import annotations

import json
import typing as t

from ..lifecycle.join_commands import JoinCommand
from ..node_config import kubelet_certificate, nssm
from ..values.versions import DATA
from ..windows import node_paths
from ..windows.command_line import quote
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from .downloads import ResourceMapping

_SETTINGS = "kubelet-launcher.json"


class Commands(t.NamedTuple):
    """The user-defined programs that a machine runs before and after `kubeadm join`."""

    before: tuple[JoinCommand, ...] = ()
    after: tuple[JoinCommand, ...] = ()


def resources(
    folder: str,
    arguments: t.Sequence[str],
    flags: t.Mapping[str, str],
    commands: Commands,
    *,
    log_dir: str,
    log_mb: int,
) -> list[ResourceMapping]:
    """Return the resources of the launcher's script, its settings, and nssm's settings.

    The Service resource of the kubelet must come after them.

    Args:
        folder: folder of kubelet.exe and of the script.
        arguments: the kubelet's arguments, without the flags that kubeadm writes.
        flags: the file with the flags that kubeadm writes, and the name of the variable in that file, as properties of
            a Service resource.
        commands: programs that run before and after the join.
        log_dir: folder for the logs of the kubelet and the script.
        log_mb: size in MiB at which a log is rotated; 0 turns rotation off.
    """
    script = (DATA / "kubelet_launcher.ps1").read_text(encoding="utf-8")
    # The arguments of programs may contain secrets.
    secret = {"acl": ADMINISTRATORS_ONLY_FILE, "no_log": True} if any(commands) else {}
    content = json.dumps(_settings(folder, arguments, flags, commands), indent=1, sort_keys=True)
    path = f"{folder}\\{node_paths.LAUNCHER_SCRIPT}"
    arguments_of_nssm = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", path]
    restarts = {"restarts": ["kubelet"]}
    return [
        # Windows PowerShell reads a file without a byte-order mark in the system's code page, so it must be ASCII.
        {"type": "File", "name": path, "content": script, "line_ending": "crlf", **restarts},
        {"type": "File", "name": f"{folder}\\{_SETTINGS}", "content": content, **secret, **restarts},
        *nssm.parameters(
            "kubelet",
            application=node_paths.POWERSHELL,
            arguments=arguments_of_nssm,
            log_dir=log_dir,
            log_max_mb=log_mb,
        ),
    ]


def _settings(
    folder: str, arguments: t.Sequence[str], flags: t.Mapping[str, str], commands: Commands
) -> dict[str, t.Any]:
    return {
        "kubelet": f"{folder}\\kubelet.exe",
        "arguments": [quote(argument) for argument in arguments],
        "flags_file": flags["arguments_from_file"],
        "flags_variable": flags["arguments_variable"],
        "bootstrap_kubeconfig": node_paths.BOOTSTRAP_KUBELET_CONF,
        "kubeconfig": node_paths.KUBELET_CONF,
        "configuration": node_paths.KUBELET_CONFIG,
        "certificate": kubelet_certificate.CURRENT_CERTIFICATE,
        "playbook": node_paths.JOIN_CONFIGURATION,
        "record": node_paths.LAUNCHER_RECORD,
        "pre_commands": [_command(one) for one in commands.before],
        "post_commands": [_command(one) for one in commands.after],
    }


def _command(command: JoinCommand) -> dict[str, t.Any]:
    return {
        "program": command.program,
        "arguments": " ".join(quote(argument) for argument in command.arguments),
        "environment": dict(command.environment),
        "timeout": command.timeout,
        "success_codes": list(command.success_codes),
    }
