# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renders containerd's configuration for Windows, in format version 2, 3 or 4, depending on containerd's version."""

from __future__ import annotations

import dataclasses

from ..values.versions import Version, containerd_line, nearest_containerd_line
from . import toml


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerdConfig:
    """The settings of containerd that the collection sets. All other settings keep containerd's defaults."""

    sandbox_image: str
    """Reference of the pause image. It is always set, because the defaults of containerd 1.6 to 2.2 are outdated."""
    cni_bin_dir: str
    cni_conf_dir: str
    registry_config_dir: str
    """Folder with a file HOST\\hosts.toml for each registry."""
    root: str
    state: str
    discard_unpacked_layers: bool = True
    """Whether to delete compressed layers once they are unpacked, which makes machine images gigabytes smaller."""


def render(version: str, settings: ContainerdConfig, *, unsupported: bool = False) -> str:
    """Return the content of containerd's `config.toml`.

    Args:
        version: containerd's version, such as `2.3.7`.
        settings: the settings that the collection sets.
        unsupported: whether to treat an unknown version like the nearest known version.

    Raises:
        ValueError: the version is malformed, or unknown while `unsupported` is false, or a setting cannot be written.
    """
    parsed = Version.parse(version)
    line = nearest_containerd_line(parsed) if unsupported else containerd_line(parsed)
    if line is None:
        raise ValueError(f"containerd {version} is not supported")
    minor = parsed.minor_version
    return toml.render(
        "containerd-config.toml.j2",
        version=str(parsed),
        minor=minor if minor in line["minors"] else line["minors"][-1],
        config_version=line["config_version"],
        **dataclasses.asdict(settings),
    )
