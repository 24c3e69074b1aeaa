# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Worlds of simulated servers for the integration tests, on addresses that no other worker uses."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from integration import forked_runs, sweeps
from integration.networks import free_network
from integration.playbooks import Site, describe
from integration.sweeps import Sweeps
from simulator_tests.cluster.node_client import Client, admin_client

from simulator.cluster import SimulatedCluster, start_cluster
from simulator.cluster.cluster import real_unavailable
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.world import World
from wire_provider import detached

SiteFactory = Callable[..., Site]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with a cluster on a real control plane if there is one, else on the one in memory.

    If there is a real one, the other one is a variant. Each kind is a separate group, so that two workers share the
    work.
    """
    if "cluster_kind" not in metafunc.fixturenames:
        return
    module = metafunc.module.__name__.rpartition(".")[2]
    unavailable = real_unavailable()
    memory = [pytest.mark.xdist_group(f"{module}-memory"), *([] if unavailable else [pytest.mark.variant])]
    real = [
        pytest.mark.control_plane,
        pytest.mark.xdist_group(f"{module}-real"),
        pytest.mark.skipif(bool(unavailable), reason=unavailable),
    ]
    kinds = [pytest.param("memory", marks=memory), pytest.param("real", marks=real)]
    metafunc.parametrize("cluster_kind", kinds, scope="module")


@pytest.fixture(scope="module")
def kubeadm(cluster_kind: str) -> Iterator[None]:
    """With the simulated cluster, use the simulated kubeadm, even if there is a real one."""
    if cluster_kind == "real":
        yield
        return
    with mock.patch.object(kubeadm_real, "find", return_value=None):
        yield


@pytest.fixture
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a simulated machine report after one second, instead of five, that it never got a key.

    A detached process on it claims its key at once. If it is late, it still never runs twice.
    """
    monkeypatch.setattr(detached, "UNCLAIMED", 1.0)


@pytest.fixture(scope="module")
def cluster(cluster_kind: str) -> Iterator[SimulatedCluster]:
    """Yield a cluster without servers, for tests whose nodes are only objects, and stay as they are for 15 minutes."""
    with start_cluster(cluster_kind, node_grace_period=900.0) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the module's tests."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture(scope="module")
def admin(cluster: SimulatedCluster, folder: Path) -> Client:
    """Return an administrator's connection to the cluster."""
    return admin_client(cluster, folder)


@pytest.fixture(scope="module")
def start_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteFactory]:
    """Yield a function that starts a world: `start_site({"name": "win22", "windows": "2022"}, …, cluster={"kind": …})`.

    Further keyword arguments are variables of all hosts. Worlds are stopped after the tests of the module.
    """
    with contextlib.ExitStack() as stack:

        def start(*nodes: Mapping[str, object], cluster: Mapping[str, object] | None = None, **variables: Any) -> Site:
            folder = tmp_path_factory.mktemp("site")
            world = stack.enter_context(World(describe(nodes, free_network(), cluster), folder / "fleet"))
            return Site(world, folder / "controller", variables)

        yield start


@pytest.fixture
def sweep(record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]) -> Sweeps:
    """Return an object that chooses the points of a sweep and reports its result; see integration/sweeps.py."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")

    return Sweeps(record_property, say)


def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed of the sweeps in xdist's controller, whose environment the workers inherit."""
    sweeps.fix_seed(os.environ)


def pytest_sessionfinish() -> None:
    """End the process that runs playbooks, if there is one."""
    forked_runs.stop()
