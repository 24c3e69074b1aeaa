# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Microsoft's plugins sdnbridge and sdnoverlay."""

from __future__ import annotations

import typing as t

from .rules import NetworkRules
from .unfinished import NOT_SUPPORTED


class SdnBridge(NetworkRules):
    """sdnbridge. Only its data file exists yet."""

    unusable: t.ClassVar[str] = NOT_SUPPORTED


class SdnOverlay(NetworkRules):
    """sdnoverlay. Only its data file exists yet."""

    unusable: t.ClassVar[str] = NOT_SUPPORTED
