# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs of ansible-playbook in forks are like those in processes of their own."""

from __future__ import annotations

import re
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
MODULE = """
import sys
from ansible.module_utils.basic import AnsibleModule
AnsibleModule({}).exit_json(imported="kubernetes.client" in sys.modules)
"""
PLAY: dict[str, Any] = {
    "hosts": "localhost",
    "gather_facts": False,
    "tasks": [
        {"name": "Show what depends on the run", "ansible.builtin.debug": {"msg": ",".join(SHOWN)}},
        {"name": "Run a module", "ansible.builtin.stat": {"path": "."}},
        {"name": "Run one in the background", "ansible.builtin.stat": {"path": "."}, "async": 30, "poll": 1},
        {"name": "Run one that fails", "ansible.builtin.stat": {}, "ignore_errors": True},
        {"name": "Fail", "ansible.builtin.fail": {"msg": "on purpose"}},
    ],
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a controller without servers, whose folder contains a configuration."""
    return Site(World(FleetFile((), None, None, {}), tmp_path / "fleet"), tmp_path / "controller")


def without_job(output: str) -> str:
    """Return the output of a run without the id of its background job, which is random."""
    return re.sub(r"jid=\S+", "jid", output)


def test_they_print_the_same_and_end_with_the_same_code(site: Site) -> None:
    variables = site.environment() | {"SHOWN": "a value"}
    command = site.command([PLAY], "--diff")
    assert forked_runs.can_run(command, variables)
    forked = forked_runs.server().run(command, site.folder, variables, 60)
    own = forked_runs.own_process(command, site.folder, variables, 60)
    assert (forked[0], without_job(forked[1])) == (own[0], without_job(own[1]))
    assert forked[0] == 2
    assert f"a value,{site.folder},5" in forked[1]


def test_modules_of_localhost_have_the_client_of_kubernetes(site: Site, tmp_path: Path) -> None:
    """The modules run in forks of the module server. The same interpreter runs other programs itself."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "imported.py").write_text(MODULE, encoding="utf-8")
    show = {"ansible.builtin.command": "{{ ansible_playbook_python }} -c 'import sys; print(len(sys.modules) > 500)'"}
    tasks = [
        {"imported": {}, "register": "module"},
        {**show, "register": "program"},
        {"ansible.builtin.debug": {"msg": "module {{ module.imported }}, program {{ program.stdout }}"}},
    ]
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    command = site.command([play], "--module-path", str(tmp_path / "library"))
    code, output = forked_runs.server().run(command, site.folder, site.environment(), 60)
    assert code == 0, output
    assert "module True, program False" in output


def test_each_run_reads_its_own_configuration(site: Site) -> None:
    """Neither the server's configuration nor that of an earlier run applies."""
    outputs = []
    for name in ("one", "two"):
        variables = site.environment() | {"ANSIBLE_HOME": str(site.folder / name)}
        outputs.append(forked_runs.server().run(site.command([PLAY]), site.folder, variables, 60)[1])
        assert list((site.folder / name / "tmp").iterdir()) == [], "a run left its temporary files"
    assert without_job(outputs[0]) == without_job(outputs[1])


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
