# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""pywinrm, which the winrm connection plugin uses, with a node."""

from __future__ import annotations

import socket

import pytest
from simulator_tests.transport.clients import Node, run_winrm
from winrm.exceptions import InvalidCredentialsError, WSManFaultError

TRANSPORTS = [("http", "basic"), ("http", "ntlm"), ("https", "basic"), ("https", "ntlm")]


@pytest.mark.parametrize(("scheme", "auth"), TRANSPORTS)
def test_a_command_gives_streams_and_exit_code(node: Node, scheme: str, auth: str) -> None:
    client = node.winrm(scheme, auth)
    shell = client.open_shell()
    assert run_winrm(client, shell, "hello", "wörld") == ("echo=hello wörld\r\n".encode(), b"", 0)
    assert run_winrm(client, shell, "exit", "7") == (b"echo=exit 7\r\n", b"it failed\r\n", 7)
    client.close_shell(shell)
    assert node.server.status()["open_shells"] == []
    assert node.host.closed_shells == [shell]


@pytest.mark.parametrize(("scheme", "auth"), TRANSPORTS)
def test_large_input_and_output_pass_in_pieces(node: Node, scheme: str, auth: str) -> None:
    client = node.winrm(scheme, auth)
    shell = client.open_shell()
    command_id = client.run_command(shell, "big", ["400000"], console_mode_stdin=False)
    for piece in (b"a" * 200_000, b"b" * 200_000):
        client.send_command_input(shell, command_id, piece)
    client.send_command_input(shell, command_id, b"", end=True)
    stdout, _, _ = client.get_command_output(shell, command_id)
    assert stdout == b"x" * 400_000 + b"\r\nstdin=" + b"a" * 200_000 + b"b" * 200_000 + b"\r\n"


def test_ntlm_seals_messages_only_without_tls(node: Node) -> None:
    plain, tls = node.winrm("http", "ntlm"), node.winrm("https", "ntlm")
    for client in (plain, tls):
        client.close_shell(client.open_shell(), close_session=False)
    assert plain.transport.encryption is not None
    assert tls.transport.encryption is None


@pytest.mark.parametrize(("scheme", "auth"), TRANSPORTS)
def test_wrong_expired_and_unknown_credentials_are_refused(node: Node, scheme: str, auth: str) -> None:
    with pytest.raises(InvalidCredentialsError):
        node.winrm(scheme, auth, password="wrong").open_shell()
    with pytest.raises(InvalidCredentialsError):
        node.winrm(scheme, auth, user="nobody").open_shell()
    node.host.expire_password()
    with pytest.raises(InvalidCredentialsError):
        node.winrm(scheme, auth).open_shell()


@pytest.mark.parametrize("user", ["administrator", r"ECHO0\Administrator", r".\Administrator"])
@pytest.mark.parametrize("auth", ["basic", "ntlm"])
def test_an_account_has_several_spellings(node: Node, user: str, auth: str) -> None:
    client = node.winrm(auth=auth, user=user)
    assert client.open_shell()


def test_the_name_in_the_challenge_is_a_domain(node: Node) -> None:
    """go-ntlmssp, which Packer uses, sends this name back as the domain. It is the name of the simulator's host."""
    assert node.winrm("https", "ntlm", user=f"{socket.gethostname().upper()}\\Administrator").open_shell()
    with pytest.raises(InvalidCredentialsError):
        node.winrm("https", "ntlm", user="OTHER\\Administrator").open_shell()


def test_a_password_that_expires_ends_a_basic_session(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    node.host.expire_password()
    with pytest.raises(InvalidCredentialsError):
        client.run_command(shell, "hello")


def test_terminate_stops_the_command_and_forgets_it(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    command_id = client.run_command(shell, "sleep", ["30"])
    client.cleanup_command(shell, command_id)
    with pytest.raises(WSManFaultError) as raised:
        client.get_command_output(shell, command_id)
    assert raised.value.wsman_fault_code == 2150858843
    assert "command identifier that does not exist" in raised.value.response
    node.host.wait_for_stopped("sleep 30")


def test_deleting_a_shell_stops_its_commands(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    client.run_command(shell, "sleep", ["30"])
    client.close_shell(shell)
    node.host.wait_for_stopped("sleep 30")


def test_variables_and_folder_of_a_shell_reach_the_command(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell(env_vars={"A": "1"}, working_directory=r"C:\temp")
    run_winrm(client, shell, "hello")
    assert node.host.executions[-1].environment == {"A": "1"}
    assert node.host.executions[-1].working_directory == r"C:\temp"
    assert node.host.executions[-1].user == "Administrator"


def test_an_error_of_the_machine_reaches_the_client(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    _, stderr, code = run_winrm(client, shell, "raise")
    assert (stderr, code) == (b"simulator: RuntimeError: raised\r\n", 255)
