# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_tests: see plugins/modules/image_tests.yml."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing as t

from ..module_utils.redaction.texts import Redaction
from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.reports import junit
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.values.printable import printable

_PSRP = {
    "ansible_psrp_protocol": "ansible_winrm_scheme",
    "ansible_psrp_cert_validation": "ansible_winrm_server_cert_validation",
}
"""Maps variables of the psrp connection plugin to their equivalents for winrm, which testinfra uses to connect."""
_NAMES = ("ansible_host", "ansible_port", "ansible_user", "ansible_password", *_PSRP.values())
_EXPECTED = ("container_runtime_install_dir", "verify_image_max_fill_percent")
"""Ansible variables whose values the test suite compares with the state of the machine."""
_LAST = 4000
"""Maximum length of the returned output in characters; the beginning of a longer output is cut off."""


def _as_printed(password: str) -> set[str]:
    """Return the forms in which output may contain a password: unchanged, as in Python literals, and as in JSON."""
    return {password, repr(password)[1:-1], json.dumps(password)[1:-1]}


class ActionModule(ControllerAction):
    """Runs a testinfra suite on the controller, and passes the machine's password to it in an environment variable."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "suite": {"type": "path", "required": True},
        "release_notes": {"type": "path", "required": True},
        "directory": {"type": "path", "required": True},
        "timeout": {"type": "int", "default": 1800},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        suite = pathlib.Path(options["suite"]).resolve()
        if not suite.is_dir():
            raise ResourceError("suite", options["suite"], "expected a folder that contains tests")
        if self._task.check_mode:
            return {"changed": False, "rc": 0, "output": ""}
        known = self._connection_variables(variables)
        expected = {name: self._templar.template(variables[name]) for name in _EXPECTED if name in variables}
        hosts = {str(variables["inventory_hostname"]): known | expected}
        environment = {
            **os.environ,
            "WINKUBE_TEST_VARIABLES": json.dumps(hosts),
            "WINKUBE_RELEASE_NOTES": str(pathlib.Path(options["release_notes"]).resolve()),
        }
        redaction = Redaction(_as_printed(str(known.get("ansible_password") or "")))
        # Others cannot read this folder. Failures may contain variables of fixtures, so only a redacted copy is kept.
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "junit_testinfra.xml"
            code, output = self._run(self._command(suite, file), environment, options["timeout"])
            junit.copy_redacted(file, pathlib.Path(options["directory"]).resolve() / file.name, redaction.text)
        return {"changed": False, "rc": code, "output": printable(redaction.text(output))[-_LAST:]}

    @staticmethod
    def _command(suite: pathlib.Path, file: pathlib.Path) -> list[str]:
        """Return pytest's command line. It excludes conftest.py files that are more than two levels above the suite.

        It selects short tracebacks, because long ones print the arguments of functions, which may contain the password.
        """
        root = suite.parent.parent
        options = ["-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}", "--import-mode=importlib"]
        # If pytest-ansible is installed, it and testinfra both define the option --ansible-inventory.
        plugins = ["-p", "no:pytest-ansible", "-p", "no:cacheprovider"]
        shown = ["-q", "--tb=short", f"--junitxml={file}"]
        return [sys.executable, "-m", "pytest", *shown, *options, *plugins, str(suite)]

    @staticmethod
    def _run(command: list[str], environment: dict[str, str], timeout: int) -> tuple[int, str]:
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return 124, f"the tests did not end within {timeout} seconds"
        return done.returncode, done.stdout

    def _connection_variables(self, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the variables with which testinfra connects to the machine over WinRM."""
        settings = {name: self._templar.template(variables[name]) for name in (*_PSRP, *_NAMES) if name in variables}
        if str(self._templar.template(variables.get("ansible_connection", ""))).endswith("psrp"):
            settings |= {ours: settings[theirs] for theirs, ours in _PSRP.items() if theirs in settings}
        # testinfra always defaults to https; the default of Ansible's connection plugins depends on the port.
        if str(settings.get("ansible_port")) == "5985":
            settings.setdefault("ansible_winrm_scheme", "http")
        host = settings.get("ansible_host") or variables["inventory_hostname"]
        return {name: settings[name] for name in _NAMES if name in settings} | {"ansible_host": str(host)}
