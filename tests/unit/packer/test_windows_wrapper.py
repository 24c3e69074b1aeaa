# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Packer on Windows runs Ansible in WSL: arguments, environment and exit status are passed on."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from unit.packer.packer_templates import TEMPLATES

FOLDER = TEMPLATES / "windows"
SCRIPT, COMMAND = FOLDER / "ansible_playbook.py", FOLDER / "ansible-playbook.cmd"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packer_windows_ansible_playbook", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRAPPER = load()


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (r"C:\Users\A B\image.yml", "/mnt/c/Users/A B/image.yml"),
        ("d:/images/image.yml", "/mnt/d/images/image.yml"),
        (r"@C:\images\roles.yml", "@/mnt/c/images/roles.yml"),
        (r"--inventory=C:\hosts", "--inventory=/mnt/c/hosts"),
        ("C:\\", "/mnt/c/"),
        (r"\\wsl$\Ubuntu\home\user\image.yml", "/home/user/image.yml"),
        (r"\\wsl.localhost\Ubuntu\home\user", "/home/user"),
        (r"@\\wsl.localhost\Ubuntu\roles.yml", "@/roles.yml"),
        # Not paths.
        ("-e", "-e"),
        ('packer_build_name="windows"', 'packer_build_name="windows"'),
        ("packer_http_addr=192.0.2.1:8080", "packer_http_addr=192.0.2.1:8080"),
        ("ansible_password=in_environment", "ansible_password=in_environment"),
        (r"folder=C:\k", r"folder=C:\k"),
        ("C:relative", "C:relative"),
        ("windows_patches,sysprep", "windows_patches,sysprep"),
        ("https://example.org/x", "https://example.org/x"),
    ],
)
def test_paths_of_windows_become_paths_of_linux(argument: str, expected: str) -> None:
    assert WRAPPER.translate(argument, "/mnt/") == expected


def test_a_network_share_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a path on a drive .* Map it to a drive"):
        WRAPPER.translate(r"@\\server\share\roles.yml", "/mnt/")


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("", "/mnt/"),
        ("[automount]\nroot = /\n", "/"),
        ('[automount]\nroot = "/windows"\noptions = "metadata"\n', "/windows/"),
        ("[network]\ngenerateHosts = false\n", "/mnt/"),
    ],
)
def test_the_root_of_the_drives_is_that_of_wsl(tmp_path: Path, text: str, root: str) -> None:
    configuration = tmp_path / "wsl.conf"
    configuration.write_text(text)
    assert WRAPPER.mount_root(configuration) == root
    assert WRAPPER.mount_root(tmp_path / "none") == "/mnt/"


def test_ansible_gets_arguments_environment_and_a_private_inventory(tmp_path: Path) -> None:
    program = tmp_path / "ansible-playbook"
    # What it was called with, and the mode of its inventory.
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "inventory = sys.argv[sys.argv.index('-i') + 1]\n"
        "print(json.dumps([sys.argv[1:], oct(os.stat(inventory).st_mode)[-3:], open(inventory).read(),"
        " os.environ['WINKUBE_BUILD_PASSWORD']]))\nsys.exit(4)\n"
    )
    program.chmod(0o755)
    inventory = tmp_path / "packer-provisioner-ansible123"
    inventory.write_text("builder ansible_host=192.0.2.7\n")
    inventory.chmod(0o777)
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "-e", r"@C:\roles.yml", "-i", str(inventory), r"C:\image.yml"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WINKUBE_BUILD_PASSWORD": "s3cret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 4, ended.stderr
    arguments, mode, content, password = json.loads(ended.stdout)
    assert arguments[:3] == ["-e", f"@{WRAPPER.mount_root()}c/roles.yml", "-i"]
    assert arguments[4:] == [f"{WRAPPER.mount_root()}c/image.yml"]
    assert (mode, content, password) == ("600", inventory.read_text(), "s3cret")
    assert not Path(arguments[3]).exists()


def test_a_missing_ansible_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    assert WRAPPER.main([]) == 1
    assert "Expected ansible-playbook on PATH in WSL" in capsys.readouterr().err


def test_wsl_hands_over_every_variable_of_the_template() -> None:
    text = (TEMPLATES / "build.pkr.hcl").read_text(encoding="utf-8")
    proxies = re.findall(r"(\w+_proxy) *= var\.", re.findall(r"^  proxies += \{.*$", text, re.MULTILINE)[0])
    names = {*re.findall(r'"(WINKUBE_\w+)=', text), *proxies, *(name.upper() for name in proxies)}
    assert len(names) == 10
    lines = COMMAND.read_text(encoding="utf-8").splitlines()
    handed_over = next(line for line in lines if line.startswith('set "WSLENV=')).removeprefix('set "WSLENV=%WSLENV%:')
    assert {entry.removesuffix("/u") for entry in handed_over.rstrip('"').split(":")} == names


def test_the_command_returns_the_exit_status() -> None:
    lines = COMMAND.read_text(encoding="utf-8").splitlines()
    # git stores LF, with which cmd.exe loses labels and blocks.
    assert not [line for line in lines if line.startswith(":") or line.endswith("(")]
    assert lines[-2:] == ['wsl.exe --exec python3 "%script%" %*', "exit /b %ERRORLEVEL%"]
