# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that are no services by themselves, run as services by nssm.exe: what it reads of them from the registry.

cri-dockerd.exe and flanneld.exe do not speak with Windows' service manager
(Mirantis/cri-dockerd main.go and cmd/server.go; flannel-io/flannel main.go); Microsoft's guide wraps flanneld so
(learn.microsoft.com: Kubernetes components as Windows services). nssm reads its settings from the service's own key
(nssm's README.txt and nssm.cc/usage), so that no command line of its own is needed and a changed setting is seen.
"""

from __future__ import annotations

import typing as t

from ..windows import command_line

_KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\{service}\\Parameters"


def parameters(
    service: str,
    *,
    application: str,
    arguments: t.Sequence[str],
    log_dir: str,
    environment: t.Mapping[str, str] | None = None,
    log_max_mb: int = 50,
    restart: bool = True,
) -> list[dict[str, t.Any]]:
    """Registry resources of a service of nssm; they come before its Service resource.

    Args:
        service: the service's name, also that of its log files.
        application: Windows path of the program.
        arguments: quoted by the Win32 rules.
        log_dir: folder of `SERVICE.log` (standard error, where Go programs log) and `SERVICE.out.log`.
        environment: added to the machine's; not for secrets, since every user can read services' keys.
        log_max_mb: at which size, in MiB, a log is set aside; 0: never.
        restart: whether a change restarts the service; otherwise its Service resource has to see to that.
    """
    folder = application.rpartition("\\")[0]
    values: dict[str, tuple[str, t.Any]] = {
        "Application": ("ExpandString", application),
        "AppDirectory": ("ExpandString", folder),
        "AppParameters": ("ExpandString", _arguments(arguments)),
        # Without it services of 2.24 may fail to start since Windows 10's Creators Update (nssm.cc/download).
        "AppNoConsole": ("DWord", 1),
        # Two files: rotation of one that both write has hung.
        "AppStderr": ("ExpandString", f"{log_dir}\\{service}.log"),
        "AppStdout": ("ExpandString", f"{log_dir}\\{service}.out.log"),
        "AppRotateFiles": ("DWord", 1 if log_max_mb else 0),
        "AppRotateOnline": ("DWord", 1 if log_max_mb else 0),
        "AppRotateBytes": ("DWord", log_max_mb * 1024 * 1024),
    }
    if environment:
        pairs = [f"{name}={value}" for name, value in sorted(environment.items())]
        values["AppEnvironmentExtra"] = ("MultiString", pairs)
    key = _KEY.format(service=service)
    return [
        {
            "type": "Registry",
            "key": key,
            "value_name": name,
            "value_type": kind,
            "value": value,
            "restarts": [service] if restart else [],
        }
        for name, (kind, value) in values.items()
    ]


def _arguments(arguments: t.Sequence[str]) -> str:
    """The arguments as one line: what a program gets back by CommandLineToArgvW."""
    for argument in arguments:
        if "%" in argument:
            # nssm expands %NAME% in it, and knows no way around.
            raise ValueError(f"argument {argument!r}: % is not accepted, since nssm expands environment variables")
    return " ".join(command_line.quote(argument) for argument in arguments)
