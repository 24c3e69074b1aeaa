# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connections that break, and power cuts in the middle of a run: the next run finishes the work."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, link_variables
from integration.states import configured

from simulator.transport.faults import TransportFault
from wire_provider import detached

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("broken_links")]

# The faults, with the request of the first run: observation, detached work, reboot, remaining work.
FAULTS = {
    "psrp": [("before", 1), ("during", 3), ("after", 5), ("before", 8), ("during", 12), ("after", 22), ("reboot", 14)],
    "winrm": [("before", 1), ("during", 3), ("after", 5), ("before", 9), ("during", 15), ("after", 21), ("reboot", 18)],
}
POINTS = {
    f"{connection}-{kind}-{request}": (connection, kind, request)
    for connection, faults in FAULTS.items()
    for kind, request in faults
}
UNHURT = {"psrp-unhurt": "psrp", "winrm-unhurt": "winrm"}
ARTIFACT = "github.com/containernetworking/plugins/releases/download/v1.9.0/cni-plugins-windows-amd64-v1.9.0.tgz"
PATH = r"C:\cache\cni-plugins-1.9.0.tgz"


def resources(site: Site) -> list[dict[str, Any]]:
    """Return short and long work, before and after a reboot."""
    assert site.world.artifacts is not None
    url = f"{site.world.artifacts.url}/{ARTIFACT}"
    return [
        {"type": "WindowsFeature", "name": "Containers"},
        {"type": "Artifact", "name": "plugins", "path": PATH, "urls": [url], "checksum_url": f"{url}.sha256"},
        {"type": "Archive", "name": r"C:\opt\cni\bin", "path": PATH, "check": ["host-local.exe"]},
        {"type": "File", "name": r"C:\etc\example.conf", "content": "a = 1\n"},
        {"type": "Environment", "name": "PATH", "path_entries": [r"C:\opt\cni\bin"]},
        {"type": "Registry", "key": r"HKLM:\SOFTWARE\Example", "value_name": "text", "value": "a b"},
        {"type": "Service", "name": "BITS", "start_mode": "auto", "state": "running"},
        {"type": "FirewallRule", "name": "example", "protocol": "TCP", "local_ports": ["8080"]},
    ]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server for each fault, and two servers without faults."""
    connections = {name: point[0] for name, point in POINTS.items()} | UNHURT
    # Long enough for the detached work to be in progress when the connection breaks.
    site = start_site(*({"name": name, "feature_seconds": 1.0} for name in connections))
    site.host_variables = {name: link_variables(connection) for name, connection in connections.items()}
    return site


@pytest.fixture(scope="module")
def broken(site: Site) -> PlayRun:
    """Return the run with the faults."""
    for name, (_, kind, request) in POINTS.items():
        server, power = site.node(name).server, site.machine(name).power
        fault = (
            TransportFault("call", request, callback=power.reboot)
            if kind == "reboot"
            else TransportFault(kind, request)
        )
        server.set_fault(fault)
    # As in the fixture `prompt`, whose scope is one test.
    with mock.patch.object(detached, "UNCLAIMED", 1.0):
        run = site.converge(resources(site), "--forks", "8")
    assert set(run.recap) == set(POINTS) | set(UNHURT)
    return run


@pytest.fixture(scope="module")
def finished(site: Site, broken: PlayRun) -> PlayRun:
    """Return the next run."""
    for name in POINTS:
        site.node(name).server.faults.clear()
    return site.converge(resources(site), "--forks", "8").expect()


@pytest.fixture(scope="module")
def last(site: Site, finished: PlayRun) -> PlayRun:
    """Return one more run."""
    return site.converge(resources(site), "--forks", "8").expect()


def test_every_fault_hit_the_first_run(site: Site, broken: PlayRun) -> None:
    assert not [name for name in POINTS if site.node(name).server.faults.pending()]


@pytest.mark.parametrize("host", POINTS)
def test_the_run_continues_or_reports_where_it_stopped(broken: PlayRun, host: str) -> None:
    if broken.recap[host]["failed"] or broken.recap[host]["unreachable"]:
        assert broken.messages(host).startswith(f"{host}: ")
    else:
        assert len(broken.changes(host)) > 0


@pytest.mark.parametrize("host", POINTS)
def test_the_next_run_finishes_the_work(site: Site, finished: PlayRun, host: str) -> None:
    expected = configured(site.machine(f"{POINTS[host][0]}-unhurt"))
    assert expected["files"]
    assert configured(site.machine(host)) == expected


def test_another_run_changes_nothing(last: PlayRun) -> None:
    assert {host: counters["changed"] for host, counters in last.recap.items()} == dict.fromkeys(last.recap, 0)


def test_no_process_of_the_collection_keeps_running(site: Site, last: PlayRun) -> None:
    for host in POINTS:
        names = [process.name for process in site.machine(host).processes.all()]
        assert not [name for name in names if name.startswith("powershell")], host
