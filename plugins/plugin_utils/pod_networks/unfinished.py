# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The refusal of networks whose modules are not complete yet. Remove this file with its last use."""

from __future__ import annotations

NOT_SUPPORTED = "expected another network or none, because this network is not supported yet"
