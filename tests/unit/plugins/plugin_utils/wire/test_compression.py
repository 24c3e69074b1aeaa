# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The compression of batches."""

from __future__ import annotations

import base64
import gzip
import json

import hypothesis
import hypothesis.strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.wire.compression import compressed


@hypothesis.given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_the_node_gets_the_same_batch(content: object) -> None:
    batch = json.dumps({"calls": content})
    sent = compressed(batch)
    assert len(sent) <= len(batch)
    if sent != batch:
        assert gzip.decompress(base64.b64decode(sent)).decode() == batch


def test_a_long_batch_is_compressed_and_a_short_one_is_not() -> None:
    # docs/wire.md: compressed data begins with H4sI, and no JSON does.
    batch = json.dumps({"calls": [{"id": f"call {number}", "command": "Get-Date"} for number in range(100)]})
    assert compressed(batch).startswith("H4sI")
    assert len(compressed(batch)) < len(batch) / 5
    assert compressed('{"calls":[]}') == '{"calls":[]}'
