# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Containerd's configuration for Windows, in the format of its version (2, 3 or 4)."""

from __future__ import annotations

import dataclasses

from ..values.versions import Version, containerd_line
from . import toml


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
    return toml.render(
        "containerd-config.toml.j2",
        version=str(parsed),
        minor=parsed.minor_version,
        config_version=line["config_version"],
        **dataclasses.asdict(settings),
    )
