# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_prepare role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class BundleVariables:
    """The variables of offline bundles, with which nodes are prepared in networks without internet access."""

    bundle_dir: str
    bundle_public_key: str
    bundle_max_age: int
    bundle_allow_older: bool
    bundle_push: bool
    bundle_bind: str
    bundle_port: int
    bundle_certificate: str
    bundle_certificate_key: str
    bundle_key: str
    bundle_key_passphrase: str = dataclasses.field(metadata=SECRET)
    bundle_windows: tuple[t.Literal["2019", "2022", "23H2", "2025"], ...]
    bundle_parallel: int
    bundle_refresh: bool
    bundle_prune: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodePrepareVariables(BundleVariables):
    """The variables `node_prepare_*`."""

    roles: tuple[str, ...]
    timeout: int
    reboot_timeout: int
    disk_limit_gib: int
    administrator_password: t.Literal["keep", "random"]
    administrator_password_file: str
