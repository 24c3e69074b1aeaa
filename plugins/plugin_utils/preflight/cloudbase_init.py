# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables of cloudbase-init (no I/O). A mistake would otherwise appear only when a new machine boots."""

from __future__ import annotations

import re
import typing as t

from ..node_resources import cloudbase_configuration as configuration
from .variables import Problem

_ROLE = "cloudbase_init"
_LISTS = ("metadata_services", "plugins", "unattend_metadata_services", "unattend_plugins")
_VALUE = "expected a single-line string, a number, true, false, or a list whose items contain no commas"
_SERIAL = re.compile(r"COM[1-9][0-9]?,[0-9]{3,6},[NEOMS],[5-8]", re.ASCII)
_ACCOUNT = re.compile(r"[^\"/\\\[\]:;|=,+*?<>@\s](?:[^\"/\\\[\]:;|=,+*?<>@\r\n\t]{0,18}[^\"/\\\[\]:;|=,+*?<>@\s.])?")
"""Pattern for names of local accounts. Source:
learn.microsoft.com/windows-server/administration/windows-commands/net-user."""


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each variable of cloudbase-init whose value cannot be used.

    Args:
        values: templated values of all role options that are set.
    """
    if values.get(f"{_ROLE}_enabled") is not True:
        return []
    return [*_platform(values), *_classes(values), *_account(values), *_options(values)]


def _platform(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    names = [f"{_ROLE}_{one}" for one in ("platform", "metadata_services", "unattend_metadata_services")]
    if configuration.lacks_services(*map(values.get, names)):
        expected = f"{configuration.expected_platform()}, because {_ROLE}_enabled is true"
        yield Problem(names[0], None, expected, configuration.PURPOSE)
    if values.get("sysprep_cloudbase_init") is False:
        hint = "The service is disabled while the image is built, and sysprep makes it start at the first boot."
        expected = f"expected true, because {_ROLE}_enabled is true"
        yield Problem("sysprep_cloudbase_init", False, expected, hint)


def _classes(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for name in (f"{_ROLE}_{one}" for one in _LISTS):
        classes = values.get(name) or ()
        for number, one in enumerate(classes if isinstance(classes, (list, tuple)) else ()):
            if not configuration.CLASS.fullmatch(str(one)):
                expected = "expected the full name of a class, such as cloudbaseinit.plugins.common.mtu.MTUPlugin"
                yield Problem(f"{name}[{number}]", one, expected)


def _account(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    name = f"{_ROLE}_username"
    if isinstance(values.get(name), str) and not _ACCOUNT.fullmatch(values[name]):
        yield Problem(name, values[name], "expected the name of a local account, at most 20 characters")
    groups = values.get(f"{_ROLE}_groups") or ()
    for number, one in enumerate(groups if isinstance(groups, (list, tuple)) else ()):
        if not str(one).strip() or re.search(r"[,\r\n]", str(one)):
            yield Problem(f"{_ROLE}_groups[{number}]", one, "expected the name of a local group")
    port = f"{_ROLE}_serial_port"
    if values.get(port) and not _SERIAL.fullmatch(str(values[port])):
        yield Problem(port, values[port], "expected port, baud rate, parity and bits, such as COM1,115200,N,8")


def _options(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for variable in (f"{_ROLE}_settings", f"{_ROLE}_unattend_settings"):
        settings = values.get(variable)
        for name, value in settings.items() if isinstance(settings, t.Mapping) else ():
            section = value if isinstance(value, t.Mapping) else {name: value}
            where = f"{variable}.{name}" if isinstance(value, t.Mapping) else variable
            names = [name, *section] if isinstance(value, t.Mapping) else [name]
            yield from (
                Problem(where, one, "expected the name of an option of cloudbase-init")
                for one in names
                if not configuration.OPTION.fullmatch(str(one))
            )
            yield from (
                Problem(f"{where}.{option}", given, _VALUE) for option, given in section.items() if not _is_value(given)
            )


def _is_value(value: t.Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_value(one) and not isinstance(one, (list, tuple)) and "," not in str(one) for one in value)
    return isinstance(value, (int, float)) or (isinstance(value, str) and not re.search(r"[\r\n]", value))
