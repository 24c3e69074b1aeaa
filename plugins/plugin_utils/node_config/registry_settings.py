# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check and convert the registry settings in `container_runtime_registries`, which users write (no I/O)."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..specification.convert import convert
from ..specification.describe import SECRET
from ..values.errors import ResourceError
from ..values.shown import AsItIs, kind

_HOST = re.compile(r"_default|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of one server: a registry's own server, or one of the registry's mirrors."""

    ca: tuple[str, ...] = ()
    username: str | None = dataclasses.field(default=None, metadata=SECRET)
    password: str | None = dataclasses.field(default=None, metadata=SECRET)
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=SECRET)
    capabilities: tuple[t.Literal["pull", "resolve", "push"], ...] = ()
    skip_verify: bool = False
    override_path: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class MirrorSettings(ServerSettings):
    """A mirror of a registry."""

    url: str = dataclasses.field(metadata={"expected": "a URL, such as https://mirror.example:5000"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistrySettings(ServerSettings):
    """A registry with its mirrors. The inherited fields are the settings of the registry's own server."""

    server: str = ""
    mirrors: tuple[str | MirrorSettings, ...] = ()


def settings(given: t.Mapping[str, t.Any]) -> dict[str, RegistrySettings]:
    """Validate the settings of registries, and return them by host.

    Args:
        given: the settings of each registry by host. Each value is a RegistrySettings or a mapping with its fields.

    Raises:
        ResourceError: a host or its settings are invalid.
    """
    if not isinstance(given, t.Mapping):
        raise ResourceError("registries", AsItIs(kind(given)), "expected a mapping of hosts to their settings")
    settings = {}
    for host, values in given.items():
        if not _HOST.fullmatch(str(host)):
            raise ResourceError("registries", str(host), "expected a host as in image references, without https://")
        settings[str(host)] = t.cast("RegistrySettings", convert(values, RegistrySettings, f"registries.{host}"))
    return settings
