# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compress batches, because Ansible encodes a module's arguments in base64 twice. docs/wire.md describes the format."""

from __future__ import annotations

import base64
import gzip


def compressed(batch: str) -> str:
    """Return a batch in the form in which it is sent.

    Args:
        batch: the batch as JSON.

    Returns:
        The same JSON, compressed with gzip and encoded in base64, or unchanged if that is shorter.
    """
    # Without a time stamp, equal batches have equal texts.
    packed = base64.b64encode(gzip.compress(batch.encode("utf-8"), mtime=0)).decode("ascii")
    return min(packed, batch, key=len)
