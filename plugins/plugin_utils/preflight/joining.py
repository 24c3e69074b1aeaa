# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables for the join: programs that run before and after kubeadm, and labels, annotations and taints."""

from __future__ import annotations

import typing as t

from ..lifecycle import join_commands
from ..node_config import node_labels
from ..values.errors import ResourceError
from .variables import Problem

_COMMANDS = (
    *("node_join_pre_kubeadm_commands", "node_join_post_kubeadm_commands"),
    *("kubernetes_node_pre_kubeadm_commands", "kubernetes_node_post_kubeadm_commands"),
)
_LABELS, _ANNOTATIONS, _TAINTS = "node_join_node_labels", "node_join_node_annotations", "node_join_node_taints"


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problems with the variables of the join. Values of the wrong type are reported elsewhere.

    Args:
        values: templated values of the roles' variables; variables that are not set may be missing.
    """
    return [
        *(problem for name in _COMMANDS for problem in _command_problems(name, values.get(name))),
        *_label_problems(values.get(_LABELS)),
        *_annotation_problems(values.get(_ANNOTATIONS)),
        *_taint_problems(values.get(_TAINTS)),
        *_token_problems(values),
    ]


def _command_problems(name: str, listed: object) -> t.Iterator[Problem]:
    for index, entry in enumerate(listed if isinstance(listed, (list, tuple)) else ()):
        if isinstance(entry, t.Mapping):
            continue  # checked by its type
        line = (entry,) if isinstance(entry, str) else tuple(map(str, entry or ()))
        try:
            join_commands.of_entry(line, f"{name}[{index}]")
        except ResourceError as error:
            yield Problem(error.where, error.value, error.expected, error.hint)


def _label_problems(labels: object) -> t.Iterator[Problem]:
    for key, value in labels.items() if isinstance(labels, t.Mapping) else ():
        where = f"{_LABELS}.{key}"
        if not node_labels.is_key(str(key)):
            yield Problem(where, str(key), node_labels.KEY)
        elif node_labels.is_reserved(str(key)):
            hint = "The kubelet or this collection sets this label itself."
            yield Problem(where, value, "expected a different label", hint)
        elif not node_labels.is_value(str(value)):
            yield Problem(where, value, node_labels.VALUE)


def _annotation_problems(annotations: object) -> t.Iterator[Problem]:
    for key in annotations if isinstance(annotations, t.Mapping) else ():
        if not node_labels.is_key(str(key)):
            yield Problem(f"{_ANNOTATIONS}.{key}", str(key), node_labels.KEY)


def _taint_problems(taints: object) -> t.Iterator[Problem]:
    for index, taint in enumerate(taints if isinstance(taints, (list, tuple)) else ()):
        if not isinstance(taint, t.Mapping):
            continue
        key, value = str(taint.get("key") or ""), str(taint.get("value") or "")
        if not node_labels.is_key(key):
            yield Problem(f"{_TAINTS}[{index}].key", key, node_labels.KEY)
        if not node_labels.is_value(value):
            yield Problem(f"{_TAINTS}[{index}].value", value, node_labels.VALUE)


def _token_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    if values.get("node_join_token_source") == "control_plane" and not values.get("node_join_control_plane"):
        hint = "kubeadm token create runs on this host, because node_join_token_source is control_plane."
        expected = "expected the name of a host of the control plane"
        yield Problem("node_join_control_plane", None, expected, hint)
