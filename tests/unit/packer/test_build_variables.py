# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables and the password reach Ansible from the templates, but not on its command line."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.packer.packer_templates import ROOT, TEMPLATES

SCRIPT = TEMPLATES / "ansible" / "build_variables.py"
PAGE = ROOT / "docs" / "images.md"


def run(value: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "WINKUBE_BUILD_VARIABLES": value}
    return subprocess.run([str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)


def encoded(variables: Any) -> str:
    return base64.b64encode(json.dumps(variables).encode()).decode()


def test_the_variables_are_those_of_the_group() -> None:
    variables = {"containerd_versions": ["2.3.7"], "http_proxy": "http://user:{{ x }}@proxy.example:3128"}
    ended = run(encoded(variables))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {"image_builders": {"vars": variables}, "_meta": {"hostvars": {}}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "expected the variables of a Packer build, got nothing"),
        ("s3cret", "expected JSON in Base64, got something else"),
        (base64.b64encode(b"s3cret").decode(), "expected JSON in Base64, got something else"),
        (encoded(["s3cret"]), "expected a JSON object, got list"),
    ],
)
def test_something_else_is_refused_and_not_shown(value: str, message: str) -> None:
    ended = run(value)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "s3cret" not in ended.stderr + ended.stdout


def test_the_password_comes_from_the_environment() -> None:
    document = yaml.safe_load((TEMPLATES / "ansible" / "build_account.yml").read_text(encoding="utf-8"))
    assert document == {"ansible_password": "{{ lookup('ansible.builtin.env', 'WINKUBE_BUILD_PASSWORD') }}"}


def test_the_collection_knows_every_variable_of_the_templates() -> None:
    text = (TEMPLATES / "build.pkr.hcl").read_text(encoding="utf-8")
    block = text[text.index("role_variables = merge(") : text.index("connection = {")]
    names = {line.split("=")[0].strip() for line in block.splitlines() if line.startswith("      ") and "=" in line}
    known = (ROOT / "docs" / "variables.md").read_text(encoding="utf-8")
    readmes = "".join(Path(path).read_text(encoding="utf-8") for path in ROOT.glob("roles/*/README.md"))
    assert len(names) > 20
    # No role has a setting for FTP, but programs on this machine may. The release is for the release notes.
    assert {name for name in names if f"`{name}`" not in known + readmes} <= {"ftp_proxy", "image_release"}
