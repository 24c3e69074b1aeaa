# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define additional sources of files, which have their own settings."""

from __future__ import annotations

import dataclasses
import typing as t

from .curl import DownloadRoute


@dataclasses.dataclass(frozen=True, kw_only=True)
class Site:
    """An additional source of an artifact, which is tried before the artifact's `urls`."""

    url: str = dataclasses.field(metadata={"help": "URL of the file at this source.", "secret": True})
    checksum_url: str | None = dataclasses.field(
        default=None, metadata={"help": "URL of the checksum file at this source.", "secret": True}
    )
    headers: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict,
        metadata={"help": "Secret headers. If set, they replace the artifact's headers.", "secret": True},
    )
    proxy: str | None = dataclasses.field(
        default=None,
        metadata={"help": "URL of a proxy that replaces the artifact's proxy; empty: no proxy.", "secret": True},
    )
    no_proxy: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "List that replaces the artifact's `no_proxy`, unless it is empty."}
    )
    ignore_revocation: bool = dataclasses.field(
        default=False,
        metadata={"help": "With `true`, the artifact's `ignore_revocation` counts as true for this source."},
    )

    def route(self, own: DownloadRoute) -> DownloadRoute:
        """Return the options with which a node connects to this source.

        Args:
            own: the options for the artifact's own URLs. The settings of this source take precedence.
        """
        return dataclasses.replace(
            own,
            proxy=own.proxy if self.proxy is None else self.proxy or None,
            no_proxy=self.no_proxy or own.no_proxy,
            headers=self.headers or own.headers,
            ignore_revocation=self.ignore_revocation or own.ignore_revocation,
        )
