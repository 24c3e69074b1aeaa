# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the windows_patches role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..patches.entry import PatchEntry
from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsPatchesVariables:
    """The variables `windows_patches_*`."""

    public: tuple[str | PatchEntry, ...]
    private: tuple[PatchEntry, ...]
    source: str = dataclasses.field(metadata=SECRET)
    update_server: t.Literal["default", "wsus", "windows_update", "none"]
    test_signing: bool
    allowed_signers: tuple[str, ...]
    reboot: bool
    max_reboots: int
    settle_timeout: int
    timeout: int
    reboot_timeout: int
    reconnect_timeout: int
    contact_timeout: int
    proxy: str = dataclasses.field(metadata=SECRET)
    no_proxy: str | tuple[str, ...]
    ignore_revocation: bool
