# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_replace role."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeReplaceVariables:
    """The variables `node_replace_*`."""

    generation: str
    name: str
    surge: str
    create_command: tuple[str, ...]
    create_tasks: str
    connect_timeout: int
    verify_command: tuple[str, ...]
    old: t.Literal["auto", "reset", "shutdown", "none"]
    delete_command: tuple[str, ...]
    delete_tasks: str
    node_name: str
    kubeconfig: str
    kubeconfig_context: str
    delegate: str
