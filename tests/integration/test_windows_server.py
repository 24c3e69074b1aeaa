# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The wire on a server in WINKUBE_WINDOWS_INVENTORY (its first host); in the project's workflow this is a real server.

Only changes that a server in use can tolerate: one folder and one registry key, which are removed; no reboot, no
service.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

INVENTORY = os.environ.get("WINKUBE_WINDOWS_INVENTORY", "")
FOLDER = r"C:\ProgramData\winkube-test"
KEY = r"HKLM:\SOFTWARE\winkube-test"
# Characters that break if text is interpreted as code, or converted to a code page.
HOSTILE = "'; exit 9 #`$(exit 9)\"\r\n\u00e4\u20ac\U0001f600%PATH%\u2019"
# The certificate is not verified: NTLM encrypts its messages, and basic authentication stays on the machine.
SEALED = {
    "psrp": {"ansible_psrp_message_encryption": "always"},
    "winrm": {"ansible_winrm_message_encryption": "always"},
}
LINKS: dict[str, dict[str, Any]] = {
    "winrm-https-basic": {"ansible_connection": "winrm", "ansible_port": 5986, "ansible_winrm_transport": "basic"},
    "winrm-https-ntlm": {
        "ansible_connection": "winrm",
        "ansible_port": 5986,
        "ansible_winrm_transport": "ntlm",
        **SEALED["winrm"],
    },
    "winrm-http-ntlm": {"ansible_connection": "winrm", "ansible_port": 5985, "ansible_winrm_transport": "ntlm"},
    "psrp-https-basic": {"ansible_connection": "psrp", "ansible_port": 5986, "ansible_psrp_auth": "basic"},
    "psrp-https-ntlm": {
        "ansible_connection": "psrp",
        "ansible_port": 5986,
        "ansible_psrp_auth": "ntlm",
        **SEALED["psrp"],
    },
    "psrp-http-ntlm": {"ansible_connection": "psrp", "ansible_port": 5985, "ansible_psrp_auth": "ntlm"},
}

pytestmark = [
    pytest.mark.windows,
    pytest.mark.skipif(not INVENTORY, reason="WINKUBE_WINDOWS_INVENTORY names no inventory of a Windows server"),
]


def run_calls(link: str, *calls: dict[str, object]) -> dict[str, Any]:
    """Run a batch over a connection (a name in LINKS), and return the results of its calls by id."""
    arguments = {"batch": json.dumps({"calls": calls})}
    ansible = Path(sys.executable).with_name("ansible")
    command = [ansible, "all[0]", "-i", INVENTORY, "-m", "winkube.node.invoke_calls", "-a", json.dumps(arguments)]
    answer = subprocess.run(
        [*command, "-e", json.dumps(LINKS[link])], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    observation = json.loads(answer.stdout.partition("=>")[2])["observation"]
    assert observation["state"] == "finished"
    assert isinstance(observation["calls"], dict)
    return observation["calls"]


@pytest.fixture(params=sorted(LINKS))
def link(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a connection for a test that may use FOLDER and KEY."""
    yield request.param
    remove = {"command": "Remove-Item", "on_error": "continue"}
    run_calls(
        request.param,
        {"id": "folder", "parameters": {"LiteralPath": FOLDER, "Recurse": True, "Force": True}, **remove},
        {"id": "key", "parameters": {"LiteralPath": KEY, "Recurse": True, "Force": True}, **remove},
    )


def test_hostile_values_travel_as_data(link: str) -> None:
    path = rf"{FOLDER}\a 'quoted' name.txt"
    results = run_calls(
        link,
        {"id": "write", "command": "@write-file", "parameters": {"path": path, "content": HOSTILE}},
        {"id": "read", "command": "@read-file", "parameters": {"paths": [path], "hash": True, "content": True}},
        {"id": "key", "command": "New-Item", "parameters": {"Path": KEY, "Force": True}, "select": []},
        {
            "id": "value",
            "command": "New-ItemProperty",
            "parameters": {
                "LiteralPath": KEY,
                "Name": "a b",
                "Value": HOSTILE,
                "PropertyType": "String",
                "Force": True,
            },
            "select": [],
        },
        {"id": "registry", "command": "@read-registry", "parameters": {"values": [{"path": KEY, "name": "a b"}]}},
    )
    assert {name: result["ok"] for name, result in results.items()} == dict.fromkeys(results, True)
    (file,) = results["read"]["output"]
    assert file["content"] == HOSTILE
    assert file["sha256"].lower() == hashlib.sha256(HOSTILE.encode()).hexdigest()
    (value,) = results["registry"]["output"]
    assert (value["value"], value["kind"]) == (HOSTILE, "String")


def test_errors_come_back_structured_and_the_batch_goes_on(link: str) -> None:
    results = run_calls(
        link,
        {
            "id": "missing",
            "command": "Get-Service",
            "parameters": {"Name": "winkube-none"},
            "on_error": "continue",
            "select": ["Name"],
        },
        {"id": "program", "command": "cmd.exe", "arguments": ["/c", "exit 3"], "on_error": "continue"},
        {"id": "service", "command": "Get-Service", "parameters": {"Name": "WinRM"}, "select": ["Name", "Status"]},
    )
    assert results["missing"]["error"]["category"] == "ObjectNotFound"
    assert results["missing"]["error"]["id"].startswith("NoServiceFoundForGivenName")
    assert (results["program"]["ok"], results["program"]["exit_code"]) == (False, 3)
    assert results["service"]["output"] == [{"Name": "WinRM", "Status": "Running"}]
