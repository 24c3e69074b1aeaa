# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""container_images with the real registry (Debian's docker-registry): manifest lists by OS version, tags, digests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.imaging import PAUSE, Machines, converge, ctr, names, statuses

from simulator.kubernetes_node.images.upstream import BUILDS, Blobs
from simulator.kubernetes_node.registry.real import RealRegistry, unavailable

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("real_registry")]

WINDOWS = ("2019", "2022", "2025")
NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"


@pytest.fixture(scope="module")
def upstream() -> Blobs:
    found = Blobs()
    found.add(PAUSE, WINDOWS, linux=True, programs={"pause.exe": "pause"})
    found.add(NANO, ["2022"])
    return found


@pytest.fixture(scope="module")
def real(upstream: Blobs) -> Iterator[RealRegistry]:
    if reason := unavailable():
        pytest.skip(reason)
    with RealRegistry() as found:
        found.fill(upstream)
        yield found


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(3, each=lambda number: {"windows": WINDOWS[number]}) as found:
        yield found


def test_each_windows_takes_its_own_build_and_nothing_twice(
    machines: Machines, real: RealRegistry, upstream: Blobs
) -> None:
    registries = {host: {"mirrors": [real.url]} for host in ("registry.k8s.io", "mcr.microsoft.com")}
    digest = real.digest("pause", "3.10.2")
    for windows in WINDOWS:
        machine = machines.next()
        first = converge(machine, [PAUSE, f"{PAUSE.rpartition(':')[0]}@{digest}"], registries=registries)
        assert not first.get("failed"), first.get("msg")
        assert {item["digest"] for item in first["images"]} == {digest} == {upstream.tags[PAUSE]}
        assert PAUSE in names(machine)
        blobs = ctr(machine, "content", "list", "-q").split()
        # Index, manifest and configuration. The layer is deleted after unpacking.
        assert len(blobs) == 3, windows
        assert any(BUILDS[windows] in ctr(machine, "content", "get", blob) for blob in blobs)
        second = converge(machine, [PAUSE], registries=registries)
        assert (second["changed"], second["remote_commands"]) == (False, 1)
        assert set(statuses(second).values()) == {"present"}
        if windows == "2019":
            wrong = converge(machine, [NANO], registries=registries)
            assert wrong["failed"]
            assert NANO in wrong["msg"]
