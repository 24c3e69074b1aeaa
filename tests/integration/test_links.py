# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The same list of resources over all kinds of connections: winrm and psrp, HTTP and HTTPS, basic and NTLM."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, link_variables

from simulator.windows.system.tasks import Tasks

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("links")]

LINKS = {"-".join(link): link for link in itertools.product(("winrm", "psrp"), ("http", "https"), ("basic", "ntlm"))}
VERSIONS = itertools.cycle(("2019", "2022", "2025"))
# Characters that break if text is interpreted as code, or converted to a code page.
HOSTILE = "'; exit 9 #`$(exit 9)\" \u00e4\u20ac\U0001f600 %PATH% \u2019"
KEY = r"HKLM:\SOFTWARE\Example\Über 'alles'"
ENVIRONMENT = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
RESOURCES: list[dict[str, Any]] = [
    {"type": "WindowsFeature", "name": "Containers"},
    {"type": "Directory", "name": r"C:\example folder\inner"},
    {"type": "File", "name": r"C:\example folder\héllo.txt", "content": f"{HOSTILE}\nline 2\n"},
    {"type": "Registry", "key": KEY, "value_name": "text", "value": HOSTILE},
    {"type": "Registry", "key": KEY, "value_name": "list", "value": ["a b", "c"], "value_type": "MultiString"},
    {"type": "Registry", "key": KEY, "value_name": "number", "value": 4294967295, "value_type": "DWord"},
    {"type": "Environment", "name": "EXAMPLE", "value": HOSTILE},
    {"type": "Environment", "name": "PATH", "path_entries": [r"C:\example folder"]},
    {
        "type": "Service",
        "name": "BITS",
        "start_mode": "auto",
        "state": "running",
        "environment": {"EXAMPLE": "a b"},
        "recovery": {"reset_seconds": 3600, "actions": [{"action": "restart", "delay_seconds": 7}]},
    },
    {"type": "FirewallRule", "name": "example", "protocol": "TCP", "local_ports": ["30000-32767", "8080"]},
    {
        "type": "ScheduledTask",
        "name": r"\example\clean up",
        "execute": "cmd.exe",
        "arguments": '/c "echo hello"',
        "triggers": [{"on": "weekly", "at": "03:30", "days": ["Monday"]}],
    },
]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server for each kind of connection."""
    nodes = [{"name": name, "windows": windows} for name, windows in zip(LINKS, VERSIONS, strict=False)]
    site = start_site(*nodes)
    site.host_variables = {name: link_variables(*link) for name, link in LINKS.items()}
    return site


@pytest.fixture(scope="module")
def planned(site: Site) -> PlayRun:
    """Return a dry run with --diff."""
    run = site.converge(RESOURCES, "--check", "--diff", "--forks", "4").expect()
    for host in LINKS:
        assert not site.machine(host).files.exists(r"C:\example folder")
        assert not site.machine(host).registry.key_exists(KEY)
        assert site.machine(host).power.boots == 1
    return run


@pytest.fixture(scope="module")
def first(site: Site, planned: PlayRun) -> PlayRun:
    """Return the first run."""
    return site.converge(RESOURCES, "--forks", "4").expect()


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun) -> PlayRun:
    """Return the second run."""
    return site.converge(RESOURCES, "--forks", "4").expect()


def titles() -> list[str]:
    """Return the resources as reports name them."""
    return [f"{item['type']} {item.get('name') or item['key'] + chr(92) + item['value_name']}" for item in RESOURCES]


@pytest.mark.parametrize("host", LINKS)
def test_a_dry_run_reports_everything_and_changes_nothing(site: Site, planned: PlayRun, host: str) -> None:
    assert planned.changes(host) == titles()
    assert planned.commands(host) == 1


def test_the_difference_is_shown(planned: PlayRun) -> None:
    # Once for each server.
    for text in (
        "+++ after: File C:\\example folder\\héllo.txt",
        "--- before: Service BITS",
        "+++ after: WindowsFeature Containers",
    ):
        assert planned.output.count(text) == len(LINKS), text


@pytest.mark.parametrize("host", LINKS)
def test_the_final_state_is_as_requested(site: Site, first: PlayRun, host: str) -> None:
    assert first.changes(host) == titles()
    machine = site.machine(host)
    status: Any = site.node(host).status()
    assert status["features"]["Containers"] == "Installed"
    assert machine.power.boots == 2
    assert machine.files.is_directory(r"C:\example folder\inner")
    text = machine.files.read_bytes(r"C:\example folder\héllo.txt").decode("utf-8")
    assert text.replace("\r\n", "\n") == f"{HOSTILE}\nline 2\n"
    assert machine.registry.data(KEY, "text") == HOSTILE
    assert machine.registry.data(KEY, "list") == ["a b", "c"]
    assert machine.registry.data(KEY, "number") == 4294967295
    assert machine.registry.data(ENVIRONMENT, "EXAMPLE") == HOSTILE
    assert str(machine.registry.data(ENVIRONMENT, "Path")).endswith(r";C:\example folder")
    bits = machine.services.get("BITS")
    assert bits is not None
    assert (bits.start_mode, bits.state, bits.environment) == ("Automatic", "Running", {"EXAMPLE": "a b"})
    assert status["firewall"]["example"]["local_port"] == ["30000-32767", "8080"]
    (task,) = machine.part(Tasks).tasks.values()
    assert (task.path, task.name) == ("\\example\\", "clean up")


@pytest.mark.parametrize("host", LINKS)
def test_a_second_run_changes_nothing(site: Site, second: PlayRun, host: str) -> None:
    assert second.recap[host]["changed"] == 0
    assert second.changes(host) == []
    assert second.commands(host) == 1
    assert site.counters(host)["remote_commands"] == 1
