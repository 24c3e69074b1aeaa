# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the windows_features role."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsFeaturesVariables:
    """The variables `windows_features_*`."""

    names: tuple[str, ...]
    hyper_v: bool
    absent: tuple[str, ...]
