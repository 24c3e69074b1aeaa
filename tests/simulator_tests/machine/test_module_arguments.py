# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments of modules as Ansible.Basic checks them: its error messages, defaults, aliases, secrets."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.machine.module_runs import run_module

from simulator.machine.modules.argument_checks import ArgumentError, Checks, NoCheckModeError, masked
from simulator.machine.modules.specification import ModuleOption, Rules
from simulator.machine.session import Session


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (
            "win_service",
            {"name": "WinRM", "statte": "started"},
            "Unsupported parameters for (ansible.windows.win_service) module: statte. Supported parameters include: ",
        ),
        ("win_regedit", {"path": "HKLM:\\SOFTWARE\\x", "tipe": "dword"}, "win_regedit) module: tipe. Supported"),
        ("win_command", {"_raw_params": "hostname", "chdirr": "C:\\"}, "win_command) module: chdirr. Supported"),
        (
            "win_service",
            {"name": "WinRM", "state": "runing"},
            "value of state must be one of: started, stopped, restarted, absent, paused. Got no match for: runing",
        ),
        ("win_service", {"state": "started"}, "missing required arguments: name"),
        (
            "win_service",
            {"name": "WinRM", "password": "secret"},
            "missing parameter(s) required by 'password': username",
        ),
        ("win_command", {"cmd": "a", "argv": ["b"]}, "parameters are mutually exclusive: _raw_params, argv, cmd"),
        ("win_command", {}, "one of the following is required: _raw_params, argv, cmd"),
        (
            "win_service",
            {"name": "WinRM", "failure_actions": [{"type": "restart", "delayy": 1}]},
            "module: delayy found in failure_actions. Supported parameters include: delay_ms, type, delay",
        ),
        (
            "win_service",
            {"name": "WinRM", "failure_actions": [{"delay_ms": 1}]},
            "missing required arguments: type found in failure_actions",
        ),
        (
            "win_service",
            {"name": "WinRM", "failure_reset_period_sec": "soon"},
            "failure_reset_period_sec is of type System.String and we were unable to convert to delegate: ",
        ),
        ("win_stat", {"path": "C:\\", "follow": "maybe"}, "The value 'maybe' is not a valid boolean."),
        ("win_stat", {"path": "C:\\a|b"}, "string value contains invalid path characters, cannot convert to path"),
    ],
)
def test_arguments_are_refused_with_ansibles_messages(
    session: Session, module: str, options: dict[str, Any], message: str
) -> None:
    found = run_module(session, module, **options)
    assert found["failed"]
    assert message in found["msg"]


def test_a_legacy_module_ignores_what_it_does_not_ask_for(session: Session) -> None:
    assert run_module(session, "win_file", path="C:\\made", state="directory", statte="x")["changed"]


def test_an_option_that_is_not_modelled_fails_by_name(session: Session) -> None:
    found = run_module(session, "win_regedit", path="HKLM:\\SOFTWARE\\Demo", hive="C:\\hive")
    assert found["failed"]
    assert found["msg"] == "the simulator does not model win_regedit's option hive"
    assert not session.machine.registry.key_exists("HKLM:\\SOFTWARE\\Demo")


def test_aliases_and_defaults_and_the_invocation(session: Session) -> None:
    found = run_module(session, "win_stat", dest="%SystemDrive%\\Windows", get_size="no")
    assert found["stat"]["exists"]
    arguments = found["invocation"]["module_args"]
    assert arguments["path"] == "C:\\Windows"
    assert (arguments["get_size"], arguments["checksum_algorithm"]) == (False, "sha1")


def test_a_module_without_check_mode_is_skipped(session: Session) -> None:
    found = run_module(session, "win_command", check_mode=True, _raw_params="hostname")
    assert found["skipped"]
    assert found["msg"] == "remote module (ansible.windows.win_command) does not support check mode"


def test_secrets_stay_out_of_the_answer() -> None:
    rules = Rules({"word": ModuleOption(no_log=True), "other": ModuleOption()})
    checks = Checks("m", str)
    params = checks.run(rules, {"word": "s3cret", "other": "a s3cret here"})
    shown = masked(params, checks.secrets)
    assert shown == {"word": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER", "other": "a ******** here"}


def test_conditions_of_a_specification() -> None:
    rules = Rules(
        {
            "state": ModuleOption(default="here", choices=("here", "gone")),
            "a": ModuleOption(),
            "b": ModuleOption(),
            "c": ModuleOption(),
        },
        required_together=(("a", "b"),),
        required_if=(("state", "gone", ["a", "c"], True), ("state", "here", ["c"])),
    )

    def refused(**values: object) -> str:
        with pytest.raises(ArgumentError) as caught:
            Checks("m", str).run(rules, values)
        return str(caught.value)

    assert refused(a="1") == "parameters are required together: a, b"
    assert refused() == "state is here but all of the following are missing: c"
    assert refused(state="gone") == "state is gone but any of the following are missing: a, c"
    assert Checks("m", str).run(rules, {"STATE": "GONE", "c": 1})["c"] == "1"
    with pytest.raises(NoCheckModeError):
        Checks("m", str).run(Rules(), {"_ansible_check_mode": True})
