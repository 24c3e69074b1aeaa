# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Worlds of simulated servers for the integration tests, on addresses that no other worker uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from integration import actions
from integration.networks import free_network
from integration.playbooks import Site, describe

from simulator.cluster.cluster import real_unavailable
from simulator.machine.calls import detached
from simulator.world import World

SiteFactory = Callable[..., Site]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a cluster on the one in memory, and on a real control plane where there is one.

    Each kind is a group of its own, so that two workers share the work.
    """
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "cluster_kind" in metafunc.fixturenames and "cluster_kind" not in own:
        module = metafunc.module.__name__.rpartition(".")[2]
        kinds = [
            pytest.param("memory", marks=pytest.mark.xdist_group(f"{module}-memory")),
            pytest.param(
                "real",
                marks=[
                    pytest.mark.control_plane,
                    pytest.mark.xdist_group(f"{module}-real"),
                    pytest.mark.skipif(bool(real_unavailable()), reason=real_unavailable()),
                ],
            ),
        ]
        metafunc.parametrize("cluster_kind", kinds, scope="module")


@pytest.fixture(autouse=True)
def spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions in this process collect no garbage after each command; what a playbook's workers do stays as it is."""
    actions.spare_time_not_memory(monkeypatch)


@pytest.fixture
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks a simulated machine for a key that a broken link kept from it hears so after one second, not five.

    A process that was detached there claims its key at once; one that comes late all the same never runs twice.
    """
    monkeypatch.setattr(detached, "UNCLAIMED", 1.0)


@pytest.fixture(scope="module")
def start_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteFactory]:
    """A function that starts a world: `start_site({"name": "win22", "windows": "2022"}, …, cluster={"kind": …})`.

    Further keywords are variables of all hosts. Worlds are stopped after the module's tests.
    """
    with contextlib.ExitStack() as stack:

        def start(*nodes: Mapping[str, object], cluster: Mapping[str, object] | None = None, **variables: Any) -> Site:
            folder = tmp_path_factory.mktemp("site")
            world = stack.enter_context(World(describe(nodes, free_network(), cluster), folder / "fleet"))
            return Site(world, folder / "controller", variables)

        yield start


SWEEPS = {
    "hns_faults": "hns_cleanup",
    "image_faults": "container_images",
    "artifact_faults": "artifacts",
    "bundle_faults": "bundles",
}
"""What a sweep is called in the summary, by the property in which its test reports [injected, converged]."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many faults the sweeps have injected, also where other processes ran them."""
    counts: dict[str, list[list[int]]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name in SWEEPS and report.when == "call":
                    counts.setdefault(name, []).append(value)
    for name, found in counts.items():
        injected, converged = (sum(column) for column in zip(*found, strict=True))
        terminalreporter.write_line(f"{SWEEPS[name]}: faults injected {injected}, converged {converged}")
