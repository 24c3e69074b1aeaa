# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module cluster_objects: its options, and what it hides. The sets themselves are in test_object_sets.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.cluster_objects.run import ObjectSetError
from ansible_collections.winkube.node.plugins.modules.cluster_objects import (
    identity_texts,
    record_of,
    refuse_unlabelled,
)


@pytest.mark.parametrize("text", ["", "name", "/name", "kube-system/", "a/b/c"])
def test_the_record_needs_a_namespace_and_a_name(text: str) -> None:
    with pytest.raises(ObjectSetError, match=f"record: expected NAMESPACE/NAME, got '{text}'"):
        record_of(text)
    assert str(record_of("kube-system/record")) == "ConfigMap kube-system/record"


@pytest.mark.parametrize("metadata", [{}, {"labels": None}, {"labels": {"other": "x"}}])
def test_every_object_needs_the_label(metadata: dict[str, t.Any]) -> None:
    item = {"kind": "Namespace", "metadata": {"name": "web", **metadata}}
    with pytest.raises(ObjectSetError, match="Namespace web: expected the label part-of, got none"):
        refuse_unlabelled([item], "part-of")
    refuse_unlabelled([{**item, "metadata": {"name": "web", "labels": {"part-of": "site"}}}], "part-of")


def test_only_the_data_of_secret_objects_is_hidden() -> None:
    about = {"name": "logs", "namespace": "monitoring", "labels": {"part-of": "site"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": about, "data": {"a": "czNjcmV0"}}
    shown = identity_texts([secret])
    assert {"v1", "Secret", "Opaque", "logs", "monitoring", "site"} <= shown
    assert "czNjcmV0" not in shown
