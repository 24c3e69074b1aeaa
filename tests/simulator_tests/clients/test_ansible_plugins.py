# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ansible-core's own shell plugin and connection plugins, over winrm and psrp.

They are lib/ansible/plugins/shell/powershell.py and lib/ansible/plugins/connection/{winrm,psrp}.py of ansible-core.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError, AnsibleFileNotFound
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader, init_plugin_loader
from simulator_tests.clients.server import Server

TEMP = "C:\\Users\\Administrator\\AppData\\Local\\Temp"
OPTIONS = {
    "winrm": {"ansible_winrm_scheme": "http", "ansible_winrm_transport": "ntlm"},
    "psrp": {"ansible_psrp_protocol": "http", "ansible_psrp_auth": "ntlm"},
}


@pytest.fixture(params=["winrm", "psrp"])
def connection(request: pytest.FixtureRequest, server: Server) -> Iterator[Any]:
    """Yield a connected connection plugin; its shell plugin is `_shell`."""
    init_plugin_loader()
    found = connection_loader.get(request.param, PlayContext(), "/dev/null")
    place = {"ansible_host": server.machine.address, "ansible_port": 5985}
    account = {"ansible_user": server.user, "ansible_password": server.password}
    found.set_options(var_options={"_extras": {}, **place, **account, **OPTIONS[request.param]})
    found._connect()
    found._shell.set_options()
    yield found
    found.close()


def run(connection: Any, command: str, given: bytes | None = None) -> tuple[int, str]:
    """Run a command and return its exit code and output; fail if it writes to standard error."""
    code, stdout, stderr = connection.exec_command(command, in_data=given)
    assert stderr == b""
    return code, stdout.decode().removesuffix("\r\n")


def test_folders_for_temporary_files(connection: Any, server: Server) -> None:
    shell, machine = connection._shell, server.machine
    name = f"ansible-tmp-'{connection.transport}"
    path = shell.join_path(TEMP, name)
    assert run(connection, shell.mkdtemp(name, tmpdir="%TEMP%")) == (0, path)
    assert machine.files.is_directory(path)
    code, _, stderr = connection.exec_command(shell.mkdtemp(name, tmpdir="%TEMP%"))
    assert code == 1
    assert b"already exists" in stderr

    made = shell._mkdtemp2(f"two-{connection.transport}", tmpdir="%TEMP%")
    assert run(connection, made.command, made.input_data) == (0, f"{TEMP}\\two-{connection.transport}")

    machine.files.write_text(f"{path}\\x.txt", "x")
    assert run(connection, shell.remove(f"{path}\\x.txt")) == (0, "")
    assert not machine.files.exists(f"{path}\\x.txt")
    machine.files.write_text(f"{path}\\y.txt", "y")
    assert run(connection, shell.remove(path, recurse=True)) == (0, "")
    assert not machine.files.exists(path)


@pytest.mark.parametrize("path", ["~", "~\\x y", "C:\\it's here", "relative"])
def test_paths_of_users_are_expanded(connection: Any, path: str) -> None:
    shell = connection._shell
    home = "C:\\Users\\Administrator"
    # Ansible now calls _expand_user2, which uses USERPROFILE. The former expand_user uses the current folder, which is
    # Documents in a runspace.
    folder = home if connection.transport == "winrm" else f"{home}\\Documents"
    assert run(connection, shell.expand_user(path)) == (0, path.replace("~", folder))
    found = shell._expand_user2(path)
    assert run(connection, found.command, found.input_data) == (0, path.replace("~", home))


def test_files_are_copied_inspected_and_fetched(connection: Any, server: Server, tmp_path: Path) -> None:
    shell = connection._shell
    source, back = tmp_path / "source", tmp_path / "back"
    for size in (0, 10, 700_000):
        source.write_bytes(os.urandom(size))
        remote = f"C:\\Windows\\Temp\\put '{connection.transport} $x.bin"
        connection.put_file(str(source), remote)
        assert server.machine.files.read_bytes(remote) == source.read_bytes()
        connection.fetch_file(remote, str(back))
        assert back.read_bytes() == source.read_bytes()
    digest = hashlib.sha1(source.read_bytes(), usedforsecurity=False).hexdigest()
    assert run(connection, shell.checksum(remote)) == (0, digest)
    # The result of `exists` is its exit code. It prints the text `$res`, which the plugin puts in single quotes.
    assert run(connection, shell.exists(remote)) == (0, "$res")
    assert run(connection, shell.exists("C:\\Windows")) == (0, "$res")
    assert run(connection, shell.exists("C:\\nowhere")) == (1, "$res")
    assert run(connection, shell.checksum("C:\\Windows")) == (0, "3")
    assert run(connection, shell.checksum("C:\\nowhere")) == (0, "1")


def test_missing_files(connection: Any, tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match="failed to transfer file"):
        connection.fetch_file("C:\\nowhere", str(tmp_path / "x"))
    with pytest.raises(AnsibleFileNotFound):
        connection.put_file(str(tmp_path / "absent"), "C:\\Windows\\Temp\\x")
    with pytest.raises(AnsibleError):
        connection.put_file(__file__, "C:\\nowhere\\x")


@pytest.mark.parametrize(
    ("script", "strict", "code", "output"),
    [
        ("Write-Output x; cmd /c exit 4", False, 4, "x"),
        ("Write-Output x; cmd /c exit 0", True, 0, "x"),
        ("exit 7", True, 7, ""),
        ("Write-Output 'größe'", True, 0, "größe"),
        ("$PSVersionTable.PSVersion.Major", True, 0, "5"),
    ],
)
def test_encoded_scripts_keep_their_exit_code(
    connection: Any, script: str, strict: bool, code: int, output: str
) -> None:
    command = connection._shell._encode_script(script, strict_mode=strict)
    assert run(connection, command) == (code, output)


def test_a_script_file_gets_its_arguments(connection: Any, tmp_path: Path) -> None:
    """An uploaded script runs with -File and gets its arguments, but its exit code is lost.

    winrm runs the command line in another powershell.exe, which ends with 1 if its last command failed. psrp runs the
    script in its runspace, where `exit` only ends the script.
    """
    shell = connection._shell
    source = tmp_path / "x.ps1"
    source.write_text("param($a, [switch]$s)\n\"$a $s $PSScriptRoot\"\nWrite-Host 'host'\nexit 4\n")
    remote = f"{TEMP}\\{shell.get_remote_filename('x y')}"
    connection.put_file(str(source), remote)
    command = shell.build_module_command("", "#!powershell", f'"{remote}"', arg_path="b c")
    code, output = run(connection, command)
    assert output.splitlines() == [f"b c False {TEMP}", "host"]
    assert code == {"winrm": 1, "psrp": 0}[connection.transport]


def test_a_binary_module_and_raw_commands_run(connection: Any) -> None:
    shell = connection._shell
    assert run(connection, shell.build_module_command("", "", "C:\\Windows\\System32\\hostname.exe", "")) == (
        0,
        "win-a",
    )
    assert run(connection, shell.wrap_for_exec("hostname")) == (0, "win-a")
    assert run(connection, "hostname") == (0, "win-a")
