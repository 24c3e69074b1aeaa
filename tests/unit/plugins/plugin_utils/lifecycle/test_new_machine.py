# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a hook may return about a new machine, and what is refused without showing secrets."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import new_machine
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.new_machine import BadMachine

SECRET = "hook-s3cret"
OTHERS = {"win1": "10.0.0.1", "spare": "spare.example"}


def read(document: t.Any) -> dict[str, t.Any]:
    return new_machine.connection_variables(document, "win1-g2", OTHERS)


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::7", "win1-g2.example.com"])
def test_an_address_is_sufficient(address: str) -> None:
    assert read({"address": address}) == {"ansible_host": address}


def test_connection_variables_are_used() -> None:
    variables = {
        "ansible_user": "me",
        "ansible_password": SECRET,
        "ansible_port": 5986,
        "ansible_connection": "winrm",
        "ansible_winrm_transport": "ntlm",
    }
    document = {"name": "win1-g2", "address": "10.0.0.7", "variables": variables}
    assert read(document) == {"ansible_host": "10.0.0.7", **variables}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (None, "the hook returned a value of the wrong type (null)"),
        ([SECRET], "the hook returned a value of the wrong type (list)"),
        ({}, "address of the new machine: expected an IP address or a DNS name, got nothing"),
        (
            {"address": "10.0.0.7", SECRET[:4]: SECRET},
            "the hook returned unknown keys: 'hook'. Allowed keys: name, address, variables",
        ),
        ({"address": "10.0.0.7", "name": "other"}, "name of the new machine: expected win1-g2, got 'other'"),
        ({"address": "-oProxyCommand=x"}, "address of the new machine"),
        ({"address": "10.0.0.7 x"}, "address of the new machine"),
        ({"address": "{{ x }}"}, "address of the new machine"),
        ({"address": 7}, "address of the new machine"),
        ({"address": "10.0.0.1"}, "win1 has this address"),
        ({"address": "SPARE.example"}, "spare has this address"),
        ({"address": "a", "variables": [SECRET]}, "variables of the new machine: expected a mapping, got list"),
        (
            {"address": "a", "variables": {"ansible_winrm_kinit_cmd": SECRET}},
            "ansible_winrm_kinit_cmd: expected one of",
        ),
        ({"address": "a", "variables": {"ansible_shell_executable": SECRET}}, "expected one of ansible_connection"),
        ({"address": "a", "variables": {"ansible_password": [SECRET]}}, "password: expected a string, got list"),
        ({"address": "a", "variables": {"ansible_port": True}}, "ansible_port: expected a number, got true or false"),
        *(
            (
                {"address": "a", "variables": {"ansible_port": port}},
                "ansible_port of the new machine: expected a number from 1 to 65535",
            )
            for port in (SECRET, "0", 65536, "99999", "5986x", -1)
        ),
        ({"address": "a", "variables": {"ansible_connection": "local"}}, "expected psrp, winrm or ssh, got 'local'"),
        (
            {"address": "a", "variables": {"ansible_user": 5000 * "x"}},
            "ansible_user: expected at most 4096 characters, got 5000",
        ),
    ],
)
def test_other_documents_are_refused(document: t.Any, text: str) -> None:
    with pytest.raises(BadMachine) as caught:
        read(document)
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_command_prints_json() -> None:
    assert new_machine.of_command({"rc": 0, "stdout": json.dumps({"address": "a"})}, "hook") == {"address": "a"}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"rc": 0, "stdout": f"password {SECRET}"}, "its output is not JSON"),
        ({"rc": 0, "stdout": 70000 * " "}, "expected output of at most 65536 characters, got 70000"),
        ({"rc": 2, "stderr": f"no quota, password={SECRET}"}, "ended with 2: no quota, password=***"),
        ({"failed": True, "msg": "No such file"}, "did not end: No such file"),
        ({}, "did not end"),
    ],
)
def test_a_command_that_fails_is_shown_without_secrets(result: dict[str, t.Any], text: str) -> None:
    with pytest.raises(BadMachine) as caught:
        new_machine.of_command(result, "my_hook")
    assert str(caught.value).startswith("my_hook")
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "must_delete", "problem"),
    [
        ({"create_command": ["up"]}, False, ""),
        ({"create_tasks": "/up.yml", "delete_tasks": "/down.yml"}, True, ""),
        (
            {},
            False,
            "image_create_command, image_create_tasks: expected exactly one of them, to create the new machine, got",
        ),
        (
            {"create_command": ["up"], "create_tasks": "/up.yml"},
            False,
            "exactly one of them, to create the new machine, got 'image_create_command and image_create_tasks'",
        ),
        (
            {"create_command": ["up"]},
            True,
            "image_delete_command, image_delete_tasks: expected one of them, to delete the machine, got nothing",
        ),
        (
            {"create_command": ["up"], "delete_command": ["down"], "delete_tasks": "/down.yml"},
            True,
            "expected at most one of them",
        ),
    ],
)
def test_hooks_are_checked_before_they_are_called(given: dict[str, t.Any], must_delete: bool, problem: str) -> None:
    empty = {"create_command": [], "create_tasks": "", "delete_command": [], "delete_tasks": ""}
    values = {f"image_{name}": value for name, value in {**empty, **given}.items()}
    found = new_machine.hooks_problem(values, "image", must_delete=must_delete)
    assert problem in found
    assert bool(problem) == bool(found)
