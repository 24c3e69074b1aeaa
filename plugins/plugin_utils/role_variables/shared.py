# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables that several roles have, each role with its own prefix."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class DownloadVariables:
    """The variables that define the sources of a role's artifacts."""

    artifact_cache: str
    artifact_mirror: str = dataclasses.field(metadata=SECRET)
    artifact_sources: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceProxyVariables:
    """The variables that define the proxy for a role's services and downloads."""

    http_proxy: str = dataclasses.field(metadata=SECRET)
    https_proxy: str = dataclasses.field(metadata=SECRET)
