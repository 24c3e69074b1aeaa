# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registry settings of nssm.exe, which runs other programs as services.

cri-dockerd.exe and flanneld.exe cannot run as Windows services by themselves, and Microsoft's guide uses nssm for
flanneld. nssm reads its settings from the service's registry key, so this collection can set and compare them without
running nssm. Sources: Mirantis/cri-dockerd, main.go and cmd/server.go; flannel-io/flannel, main.go; learn.microsoft.com
(Kubernetes components as Windows services); nssm's README.txt; nssm.cc/usage.
"""

from __future__ import annotations

import typing as t

from ..values.errors import ResourceError
from ..windows import command_line

ARGUMENTS = "AppParameters"
"""The registry value with the arguments of a service's program."""
_KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\{service}\\Parameters"


def key(service: str) -> str:
    """Return the registry key of nssm's settings for a service.

    Args:
        service: name of the service.
    """
    return _KEY.format(service=service)


def parameters(
    service: str,
    *,
    application: str,
    arguments: t.Sequence[str] | None,
    log_dir: str,
    environment: t.Mapping[str, str] | None = None,
    log_max_mb: int = 50,
    restart: bool = True,
) -> list[dict[str, t.Any]]:
    """Return the registry resources of a service that nssm runs. They must precede the Service resource.

    Args:
        service: name of the service and of its log files.
        application: Windows path of the program.
        arguments: the program's arguments, not quoted; None if a resource of type NssmArguments sets them.
        log_dir: folder of `SERVICE.log` (standard error, where Go programs log) and `SERVICE.out.log`.
        environment: environment variables in addition to those of the machine. They must not be secret, because every
            user can read the registry keys of services.
        log_max_mb: size in MiB at which a log is rotated; 0 turns rotation off.
        restart: whether a change restarts the service. If false, the Service resource must restart it.

    Raises:
        ResourceError: an argument contains a character that nssm would expand.
    """
    folder = application.rpartition("\\")[0]
    values: dict[str, tuple[str, t.Any]] = {
        "Application": ("ExpandString", application),
        "AppDirectory": ("ExpandString", folder),
        **({} if arguments is None else {ARGUMENTS: ("ExpandString", arguments_line(arguments))}),
        # Since Windows 10 Creators Update, nssm 2.24 may fail to start a service that lacks this value
        # (nssm.cc/download).
        "AppNoConsole": ("DWord", 1),
        # Use two files, because nssm has hung while it rotated one shared file.
        "AppStderr": ("ExpandString", f"{log_dir}\\{service}.log"),
        "AppStdout": ("ExpandString", f"{log_dir}\\{service}.out.log"),
        "AppRotateFiles": ("DWord", 1 if log_max_mb else 0),
        "AppRotateOnline": ("DWord", 1 if log_max_mb else 0),
        "AppRotateBytes": ("DWord", log_max_mb * 1024 * 1024),
    }
    if environment:
        pairs = [f"{name}={value}" for name, value in sorted(environment.items())]
        values["AppEnvironmentExtra"] = ("MultiString", pairs)
    return [
        {
            "type": "Registry",
            "key": key(service),
            "value_name": name,
            "value_type": kind,
            "value": value,
            "restarts": [service] if restart else [],
        }
        for name, (kind, value) in values.items()
    ]


def arguments_line(arguments: t.Sequence[str]) -> str:
    """Return the arguments as one line that CommandLineToArgvW splits into the same arguments.

    Args:
        arguments: the arguments, not quoted.

    Raises:
        ResourceError: an argument contains a character that nssm would expand.
    """
    for argument in arguments:
        if "%" in argument:
            # nssm expands %NAME% and has no way to escape it.
            raise ResourceError("arguments", argument, "expected no %, because nssm expands environment variables")
    return " ".join(command_line.quote(argument) for argument in arguments)
