# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links, power and controllers fail at all points of `site.yml`: servers become the same nodes as an unharmed one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from integration.fault_lives import PlaybookSweep, Subject, connections, host_failed
from integration.member_state import member_state
from integration.networks import free_network
from integration.playbooks import PlayRun, Site, describe, link_variables, node_name, token_expirations
from integration.sweeps import Sweeps

from simulator.world import World

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

REQUESTS = 60
QUICK = {"link_drop_seconds": 0.2, "time_scale": 0.02}


TOKEN_LIFE = timedelta(hours=1)
"""Longer than `node_join_token_ttl`, after which the tokens of a killed controller expire."""


def state(site: Site, host: str) -> Mapping[str, Any]:
    """Return the state of the server and its node."""
    return member_state(site, host, node_name(host))


def tokens_left(site: Site, killed: bool) -> list[str]:
    """Return the problems with the cluster's bootstrap tokens: a run must delete its own, even if hosts fail."""
    left = token_expirations(site)
    if not killed:
        return [f"a run left the bootstrap token {name}" for name in left]
    late = [name for name, end in left.items() if end > datetime.now(UTC) + TOKEN_LIFE]
    return [f"the bootstrap token {name} ends at {left[name]}" for name in late]


def gave_up(site: Site, run: PlayRun) -> set[str]:
    return {host for host in site.hosts() if host_failed(run, host)}


def changed(site: Site, run: PlayRun, host: str) -> list[str]:
    """Return the changes of a run on a host. Changes in the cluster for all hosts count for the first host."""
    first = host == next(name for name in site.hosts() if name in run.recap)
    return run.changes(host) or ([] if first or not run.recap[host]["changed"] else run.changed_tasks(host))


SITE = Subject("site.yml", state, gave_up, changed, tokens_left)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("connection", connections(0))
def test_nodes_join_wherever_the_run_is_hit(connection: str, sweep: Sweeps, tmp_path: Path) -> None:
    numbers = iter(range(1000))

    @contextlib.contextmanager
    def start(names: Sequence[str]) -> Iterator[Site]:
        file = describe([{"name": name, **QUICK} for name in names], free_network(), {"kind": "memory"})
        folder = tmp_path / str(next(numbers))
        with World(file, folder / "fleet") as world:
            site = Site(world, folder / "controller")
            site.host_variables = {name: link_variables(connection) for name in names}
            yield site

    PlaybookSweep(sweep, start, SITE, REQUESTS, connection).run(5)
