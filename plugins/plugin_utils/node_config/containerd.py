# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Containerd's configuration for Windows, in the format of its version (2, 3 or 4)."""

from __future__ import annotations

import dataclasses
import re

import jinja2

from ..values.versions import DATA, Version, containerd_line


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerdConfig:
    """Settings of containerd; all others keep their defaults."""

    sandbox_image: str
    """Reference of the pause image; always set, because containerd 1.6 to 2.2 use older defaults."""
    cni_bin_dir: str
    cni_conf_dir: str
    registry_config_dir: str
    """Folder of HOST\\hosts.toml files."""
    root: str
    state: str
    discard_unpacked_layers: bool = True
    """Drop compressed layers once they are unpacked, which saves gigabytes in an image."""


_NOT_LITERAL = re.compile(r"['\x00-\x1f\x7f\ud800-\udfff]")


def literal(value: str) -> str:
    """Return a TOML literal string.

    Raises:
        ValueError: it contains a quote or a control character, which literal strings cannot (toml.io, v1.0.0: String).
    """
    if _NOT_LITERAL.search(value):
        raise ValueError(f"{value!r} cannot stand in containerd's configuration: no quotes or control characters")
    return f"'{value}'"


def render(version: str, settings: ContainerdConfig) -> str:
    """Return containerd's `config.toml`.

    Args:
        version: containerd's version, such as `2.3.7`.
        settings: the settings.

    Raises:
        ValueError: the version is unknown, or a setting cannot be written.
    """
    parsed = Version.parse(version)
    line = containerd_line(parsed)
    if line is None:
        raise ValueError(f"containerd {version} is not supported")
    environment = jinja2.Environment(  # noqa: S701 - the result is TOML, not HTML
        loader=jinja2.FileSystemLoader(DATA), trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["literal"] = literal
    return environment.get_template("containerd-config.toml.j2").render(
        version=str(parsed),
        minor=parsed.minor_version,
        config_version=line["config_version"],
        **dataclasses.asdict(settings),
    )
