# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters of the node_maintenance role, which keeps a record of each host's maintenance."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.lifecycle import maintenance
from ..plugin_utils.values.ansible_data import plain


def maintenance_stage(record: t.Mapping[str, t.Any], stage: str, **values: t.Any) -> dict[str, t.Any]:
    """Return a copy of a node's maintenance record with a new stage and, if given, other values."""
    try:
        return maintenance.advance(plain(record), stage, time.time(), **plain(values))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def maintenance_selection(records: t.Sequence[t.Mapping[str, t.Any]], play_hosts: t.Sequence[str]) -> dict[str, t.Any]:
    """Return the hosts of a rollout in three lists: `chosen`, the hosts to work on, `failed` and `refused`.

    `refused` contains the failed hosts and those that are no longer in the play. None of them may be worked on.
    """
    return maintenance.select(plain(records), plain(play_hosts))._asdict()


def rebooted_nodes(
    drained: t.Mapping[str, t.Mapping[str, t.Any]], records: t.Sequence[t.Mapping[str, t.Any]]
) -> dict[str, t.Any]:
    """Return the results of the nodes_drain module for the nodes that were rebooted after they were drained."""
    return maintenance.of_rebooted(plain(drained), plain(records))


class FilterModule:
    """The filters of the role node_maintenance."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "maintenance_stage": maintenance_stage,
            "maintenance_selection": maintenance_selection,
            "rebooted_nodes": rebooted_nodes,
        }
