# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs of ansible-playbook in forks are like those in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from integration import forked_runs
from integration.playbooks import Site

from simulator.fleet import FleetFile
from simulator.world import World

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("forked_runs")]

SHOWN = ("{{ lookup('env', 'SHOWN') }}", "{{ lookup('pipe', 'pwd') }}", "{{ lookup('config', 'DEFAULT_FORKS') }}")
PLAY: dict[str, Any] = {
    "hosts": "localhost",
    "gather_facts": False,
    "tasks": [
        {"name": "Show what depends on the run", "ansible.builtin.debug": {"msg": ",".join(SHOWN)}},
        {"name": "Run a module", "ansible.builtin.stat": {"path": "."}},
        {"name": "Fail", "ansible.builtin.fail": {"msg": "on purpose"}},
    ],
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a controller without servers, whose folder contains a configuration."""
    return Site(World(FleetFile((), None, None, {}), tmp_path / "fleet"), tmp_path / "controller")


def test_they_print_the_same_and_end_with_the_same_code(site: Site) -> None:
    variables = site.environment() | {"SHOWN": "a value"}
    command = site.command([PLAY], "--diff")
    assert forked_runs.can_run(command, variables)
    forked = forked_runs.server().run(command, site.folder, variables, 60)
    assert forked == forked_runs.own_process(command, site.folder, variables, 60)
    assert forked[0] == 2
    assert f"a value,{site.folder},5" in forked[1]


def test_each_run_reads_its_own_configuration(site: Site) -> None:
    """Neither the server's configuration nor that of an earlier run applies."""
    outputs = []
    for name in ("one", "two"):
        variables = site.environment() | {"ANSIBLE_HOME": str(site.folder / name)}
        outputs.append(forked_runs.server().run(site.command([PLAY]), site.folder, variables, 60)[1])
        assert list((site.folder / name / "tmp").iterdir()) == [], "a run left its temporary files"
    assert outputs[0] == outputs[1]


def test_a_run_that_takes_too_long_is_killed(site: Site) -> None:
    play = {**PLAY, "tasks": [{"ansible.builtin.pause": {"seconds": 60}}]}
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        forked_runs.server().run(site.command([play]), site.folder, site.environment(), 5)
    assert b"PLAY [localhost]" in (caught.value.stdout or b"")


def test_other_runs_have_processes_of_their_own(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    command, variables = site.command([PLAY]), site.environment()
    plain = {name: value for name, value in variables.items() if name not in forked_runs.SHARED}
    assert forked_runs.can_run(command, plain)
    assert not forked_runs.can_run([sys.executable, "-c", ""], variables)
    assert not forked_runs.can_run(command, variables | {"PYTHONPATH": "/elsewhere"})
    assert not forked_runs.can_run(command, variables | {"ANSIBLE_STRATEGY": "free"})
    monkeypatch.setenv(forked_runs.CHOICE, "all")
    assert not forked_runs.can_run(command, variables)
