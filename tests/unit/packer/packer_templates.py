# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Packer templates, adapted to Debian's Packer 1.6.6, and running that Packer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = ROOT / "packer"
NEWER = Path(__file__).with_name("newer_arguments.yml")
PLUGINS = "plugins.pkr.hcl"
"""The file with `required_plugins`, which Packer 1.6.6 does not know."""


def _missing() -> str:
    if shutil.which("packer") is None:
        return "packer is not installed (Debian: apt-get install packer)"
    ended = subprocess.run(["packer", "version"], capture_output=True, text=True, check=False)
    # Later versions contain no plugins, and download them.
    return "" if "v1.6." in ended.stdout else f"expected Debian's Packer 1.6, got {ended.stdout.strip()}"


MISSING = _missing()
_SOURCE = re.compile(r'^source "([\w-]+)" "\w+" \{\n(.*?)^\}\n', re.MULTILINE | re.DOTALL)


def sources() -> dict[str, str]:
    """Return the body of each source block in the templates, by builder. The file sources are joined."""
    found: dict[str, str] = {}
    for path in sorted(TEMPLATES.glob("*.pkr.hcl")):
        for builder, body in _SOURCE.findall(path.read_text(encoding="utf-8")):
            found[builder] = found.get(builder, "") + body
    return found


def newer_arguments() -> dict[str, list[str]]:
    """Return the arguments and blocks that Packer 1.6.6 does not know, by builder."""
    document = yaml.safe_load(NEWER.read_text(encoding="utf-8"))
    return {builder: entry["arguments"] for builder, entry in document.items()}


def without(body: str, names: Sequence[str]) -> str:
    """Return the body of a source without these arguments and blocks.

    Raises:
        AssertionError: one of them is missing.
    """
    for name in names:
        body, removed = re.subn(rf"^  {name} *(=.*\n|\{{\n(?:    .*\n)*?  \}}\n)", "", body, flags=re.MULTILINE)
        assert removed == 1, f"{name}: expected once in the source, got {removed}"
    return body


class Packer:
    """Debian's Packer in a folder with a copy of the templates.

    Args:
        folder: the folder, which is also the working folder of all runs.
        remove_newer: whether arguments that are newer than this Packer are removed.
        ansible: whether the provisioner finds the real ansible-playbook. Asking it for its version takes a second.
    """

    def __init__(self, folder: Path, *, remove_newer: bool = True, ansible: bool = False) -> None:
        self.folder = folder
        self.templates = folder / "packer"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(TEMPLATES, self.templates)
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        (self.templates / PLUGINS).unlink()
        if remove_newer:
            self._remove_newer()
        self.programs = folder / "bin"
        self.programs.mkdir()
        if not ansible:
            program = self.programs / "ansible-playbook"
            program.write_text("#!/bin/sh\necho 'ansible-playbook [core 2.19.0]'\n", encoding="utf-8")
            program.chmod(0o755)

    def _remove_newer(self) -> None:
        newer = newer_arguments()
        for path in self.templates.glob("*.pkr.hcl"):
            text = path.read_text(encoding="utf-8")
            for builder, body in _SOURCE.findall(text):
                text = text.replace(body, without(body, newer.get(builder, [])))
            path.write_text(text, encoding="utf-8")

    def run(
        self,
        command: str,
        *options: str,
        variables: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> tuple[int, str]:
        """Run Packer on the templates.

        Args:
            command: `validate` or `build`.
            options: options of the command.
            variables: the variables of the templates.
            environment: the environment; by default the one of the tests, which it may override.
            timeout: the time limit in seconds.

        Returns:
            The exit code and everything that Packer printed.
        """
        file = self.folder / "variables.pkrvars.json"
        file.write_text(json.dumps(dict(variables)), encoding="utf-8")
        words = ["packer", command, *options, f"-var-file={file}", "packer"]
        return self.start(words, self.folder, environment=environment, timeout=timeout)

    def start(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> tuple[int, str]:
        """Run a command line in a folder, and return the exit code and the output."""
        inherited = os.environ | dict(environment or {})
        ended = subprocess.run(
            command,
            cwd=folder,
            env=inherited
            | {
                "PATH": f"{self.programs}{os.pathsep}{inherited['PATH']}",
                "PACKER_CONFIG_DIR": str(self.folder),
                "CHECKPOINT_DISABLE": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout,
        )
        return ended.returncode, ended.stdout

    def validate(self, source: str, variables: Mapping[str, Any]) -> str:
        """Return Packer's messages about one source, such as `azure-arm.windows`; empty if the source is valid."""
        code, output = self.run("validate", f"-only=image.{source}", variables=variables)
        assert (code == 0) == (not output), output
        return " ".join(output.split())

    def value(self, expression: str, variables: Mapping[str, Any]) -> Any:
        """Return the value of an expression in the templates, such as `local.tags`."""
        target = self.folder / "value.json"
        (self.templates / "value.pkr.hcl").write_text(
            f'source "file" "value" {{\n  content = jsonencode({expression})\n  target = "{target}"\n}}\n'
            'build {\n  name = "value"\n  sources = ["source.file.value"]\n}\n',
            encoding="utf-8",
        )
        code, output = self.run("build", "-only=value.*", variables=variables)
        assert code == 0, output
        return json.loads(target.read_text(encoding="utf-8"))
