# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures for testinfra, which connects to the hosts in molecule's inventory through its winrm backend."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from testinfra.host import Host
from testinfra.utils.ansible_runner import AnsibleRunner

PowerShell = Callable[[str], str]


def inventory() -> dict[str, dict[str, Any]]:
    """Return the variables of each host in molecule's inventory, as written there: templates are not rendered.

    WINKUBE_TEST_HOSTS is a pattern of the hosts to test, for inventories with machines that are off. The module
    image_tests passes the variables of its host in WINKUBE_TEST_VARIABLES instead.
    """
    if given := os.environ.get("WINKUBE_TEST_VARIABLES"):
        return dict(json.loads(given))
    # Molecule names one file, but the whole inventory is the folder that contains this file.
    runner = AnsibleRunner(str(Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent))
    names = runner.get_hosts(os.environ.get("WINKUBE_TEST_HOSTS", "all"))
    return {name: runner.get_variables(name) for name in names}


def host_specification(variables: dict[str, Any]) -> str:
    """Return the URL by which testinfra reaches a host. testinfra's backend always authenticates with NTLM.

    Parameters:
        variables: the host's ansible_host, ansible_port, ansible_user, ansible_password and ansible_winrm_* variables.
    """
    user, password = (quote(variables[f"ansible_{name}"], safe="") for name in ("user", "password"))
    # As for Ansible's connection plugin winrm.
    plain = "http" if str(variables.get("ansible_port")) == "5985" else "https"
    http = variables.get("ansible_winrm_scheme", plain) == "http"
    port = variables.get("ansible_port", 5985 if http else 5986)
    unchecked = variables.get("ansible_winrm_server_cert_validation") == "ignore"
    options = [name for name, wanted in (("no_ssl", http), ("no_verify_ssl", unchecked)) if wanted]
    query = "&".join(f"{name}=true" for name in options)
    return f"winrm://{user}:{password}@{variables['ansible_host']}:{port}?{query}"


HOSTS = pytest.StashKey[dict[str, dict[str, Any]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give testinfra the hosts, as its option --hosts would."""
    config.stash[HOSTS] = inventory()
    config.option.hosts = ",".join(host_specification(variables) for variables in config.stash[HOSTS].values())


@pytest.fixture(scope="module")
def variables(host: Host, pytestconfig: pytest.Config) -> dict[str, Any]:
    """The host's variables in the inventory, from which the tests take what they expect."""
    address = host.backend.get_hostname()
    return next(found for found in pytestconfig.stash[HOSTS].values() if found["ansible_host"] == address)


@pytest.fixture(scope="module")
def powershell(host: Host) -> PowerShell:
    """A function that runs a script in Windows PowerShell and returns its output, or fails if the script fails.

    `host.run` passes a command to cmd.exe, as WinRM does, so the command has to start PowerShell explicitly.
    testinfra's `host.service` and `host.file` do not start PowerShell, or quote for a different shell, so they do not
    work over WinRM (https://github.com/pytest-dev/pytest-testinfra/issues/330 and /pull/808).
    """

    def run(script: str) -> str:
        complete = f"$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; {script}"
        encoded = base64.b64encode(complete.encode("utf-16-le")).decode("ascii")
        return host.check_output(f"powershell.exe -NoProfile -NonInteractive -EncodedCommand {encoded}")

    return run
