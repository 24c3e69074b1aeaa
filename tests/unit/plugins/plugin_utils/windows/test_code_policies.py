# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Policies that block programs and scripts: reported before any change, with what to allow."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.windows import code_policies
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

FOLDER = [{"type": "Directory", "name": "C:\\k"}]
APPLOCKER = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\SrpV2\Exe"
SCRIPTS = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\PowerShell"


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> t.Iterator[Machine]:
    options = getattr(request, "param", {})
    made = Machine(
        MachineSettings.read({"name": "node-1", "address": "127.0.0.11", "time_scale": 0.001, **options}), tmp_path
    )
    made.power_on()
    yield made
    made.power.power_off()


def registry(machine: Machine, path: str, name: str, value: str | int) -> None:
    machine.registry.set(path, name, value, "String" if isinstance(value, str) else "DWord")


def run(machine: Machine, **options: t.Any) -> Convergence:
    work = Convergence(NodeSession(DirectNode(machine)), load(FOLDER), **options)
    work.run()
    return work


def test_an_ordinary_server_is_changed_without_a_word(machine: Machine) -> None:
    work = run(machine)
    assert (len(work.outcome.changes), work.outcome.warnings) == (1, [])
    assert work.outcome.remote_commands == 2


def test_enforced_applocker_stops_before_the_first_change(machine: Machine) -> None:
    registry(machine, APPLOCKER, "EnforcementMode", 1)
    with pytest.raises(NodeError, match=r"nothing was changed: AppLocker enforces.*Exe.*C:\\k.*applocker\]"):
        run(machine)
    assert not machine.files.exists("C:\\k")
    looked = run(machine, check_mode=True)
    assert "AppLocker" in looked.outcome.warnings[0]
    assert len(run(machine, allowed_code_policies=["applocker"]).outcome.changes) == 1
    # Correct values are not reported.
    assert run(machine).outcome.changes == []


def test_applocker_in_audit_mode_blocks_nothing(machine: Machine) -> None:
    registry(machine, APPLOCKER, "EnforcementMode", 0)
    assert len(run(machine).outcome.changes) == 1


@pytest.mark.parametrize("machine", [{"user_mode_code_integrity": 2}], indirect=True)
def test_enforced_code_integrity_stops_before_the_first_change(machine: Machine) -> None:
    with pytest.raises(NodeError, match=r"nothing was changed: App Control for Business \(WDAC\) is enforced.*wdac\]"):
        run(machine)
    assert not machine.files.exists("C:\\k")
    assert len(run(machine, allowed_code_policies=["wdac"]).outcome.changes) == 1


@pytest.mark.parametrize("machine", [{"user_mode_code_integrity": 1}], indirect=True)
def test_code_integrity_in_audit_mode_blocks_nothing(machine: Machine) -> None:
    assert len(run(machine).outcome.changes) == 1


def test_an_execution_policy_for_signed_scripts_is_a_warning(machine: Machine) -> None:
    registry(machine, SCRIPTS, "EnableScripts", 1)
    registry(machine, SCRIPTS, "ExecutionPolicy", "AllSigned")
    work = run(machine)
    assert len(work.outcome.changes) == 1
    assert "AllSigned" in work.outcome.warnings[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Cannot invoke method. Method invocation is supported only on core types in this language mode.",
            "constrained language mode",
        ),
        ("FullyQualifiedErrorId : MethodInvocationNotSupportedInConstrainedLanguage", "constrained language mode"),
        ("This program is blocked by group policy. For more information, contact", "blocked a program: allow"),
        ("An Application Control policy has blocked this file.", "blocked a program: allow"),
        ("x.ps1 is not digitally signed. You cannot run this script", "RemoteSigned"),
        ("running scripts is disabled on this system", "RemoteSigned"),
        ("Access is denied", ""),
    ],
)
def test_a_blocked_module_names_what_to_allow(text: str, words: str) -> None:
    explained = code_policies.explained(text)
    assert words in explained
    assert bool(explained) == bool(words)
