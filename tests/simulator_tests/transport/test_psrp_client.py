# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""pypsrp, which the psrp connection plugin uses, with a node."""

from __future__ import annotations

import pytest
from pypsrp.complex_objects import PSInvocationState
from pypsrp.exceptions import AuthenticationError
from pypsrp.host import PSHost, PSHostUserInterface
from pypsrp.powershell import PowerShell, RunspacePool
from pypsrp.shell import Process, WinRS
from simulator_tests.transport.clients import Node, run_psrp

from simulator.transport.host import PipelineCommand

TRANSPORTS = [(scheme, auth) for scheme in ("http", "https") for auth in ("basic", "ntlm", "negotiate")]


@pytest.mark.parametrize(("scheme", "auth"), TRANSPORTS)
def test_a_pipeline_gives_its_objects(node: Node, scheme: str, auth: str) -> None:
    with node.psrp(scheme, auth) as pool:
        assert run_psrp(pool, "hellö").output == ["echo=hellö"]
        assert run_psrp(pool, "anything", ["a", "\0\0"]).output == ['input=["a", "\\u0000\\u0000"]']
        objects = run_psrp(pool, "objects")
        assert objects.output == ["a", 1, True, "", {"k": [1, 2]}]
        assert [item.message for item in objects.streams.warning] == ["beware"]
    assert node.server.status()["open_shells"] == []


@pytest.mark.parametrize("auth", ["basic", "ntlm"])
def test_large_input_and_output_pass_in_fragments(node: Node, auth: str) -> None:
    lines = [f"{number}-" + "x" * 50_000 for number in range(20)]
    with node.psrp("http", auth) as pool:
        assert len(run_psrp(pool, "anything", lines).output[0]) > 1_000_000
        assert run_psrp(pool, "big 900000").output == ["x" * 900_000]
        assert run_psrp(pool, "hello " + "y" * 600_000).output == ["echo=hello " + "y" * 600_000]


def test_a_pool_tells_the_version_of_powershell(node: Node) -> None:
    with node.psrp() as pool:
        table = pool.application_private_data.data["PSVersionTable"]
    assert str(table["PSVersion"]) == node.host.powershell


def test_exit_reaches_the_host_of_the_client(node: Node) -> None:
    host = PSHost(None, None, False, "test", None, PSHostUserInterface(), "1.0")
    with RunspacePool(node.psrp().connection, host=host) as pool:
        shell = run_psrp(pool, "exit 3")
        assert (host.rc, shell.had_errors, shell.state) == (3, False, PSInvocationState.COMPLETED)


def test_errors_end_a_pipeline_or_not(node: Node) -> None:
    with node.psrp() as pool:
        failed, went_on = run_psrp(pool, "fail"), run_psrp(pool, "error")
    assert failed.state == PSInvocationState.FAILED
    assert went_on.state == PSInvocationState.COMPLETED
    assert went_on.output == ["before"]
    for shell in (failed, went_on):
        (error,) = shell.streams.error
        assert str(error) == "it went wrong"
        assert error.fq_error == "CommandNotFoundException"
        assert error.command_name == "Get-Nothing"
        assert error.message == "ObjectNotFound (nothing:String) [Get-Nothing], RuntimeException"
        assert error.invocation_position_message == "At line:1 char:1"


def test_arguments_and_several_commands_reach_the_machine(node: Node) -> None:
    with node.psrp() as pool:
        assert run_psrp(pool, "hello", None, "one", "two").output == ["echo=hello", "one", "two"]
        shell = PowerShell(pool)
        shell.add_cmdlet("Get-Item").add_parameter("Path", "C:\\").add_cmdlet("Out-String")
        shell.invoke()
    assert node.host.pipelines[-1].commands == (
        PipelineCommand("Get-Item", False, (("Path", "C:\\"),)),
        PipelineCommand("Out-String", False),
    )


def test_command_metadata_is_asked_of_the_machine(node: Node) -> None:
    with node.psrp() as pool:
        assert pool.get_command_metadata(["Get-Item", "Set-*"]) == []
    assert node.host.pipelines[-1].commands == (
        PipelineCommand("Get-Command", False, (("Name", ["Get-Item", "Set-*"]),)),
    )


def test_wrong_credentials_are_refused(node: Node) -> None:
    for auth in ("basic", "ntlm", "negotiate"):
        with pytest.raises(AuthenticationError):
            node.psrp(auth=auth, password="wrong").open()


def test_stopping_a_pipeline_stops_the_script(node: Node) -> None:
    with node.psrp() as pool:
        shell = PowerShell(pool)
        shell.add_script("sleep 30").begin_invoke()
        shell.stop()
        node.host.wait_for_stopped("sleep 30")
        assert run_psrp(pool, "hello").output == ["echo=hello"]


def test_closing_a_pool_stops_its_scripts(node: Node) -> None:
    pool = node.psrp()
    pool.open()
    PowerShell(pool).add_script("sleep 30").begin_invoke()
    pool.close()
    node.host.wait_for_stopped("sleep 30")


def test_a_pool_serves_pipelines_side_by_side(node: Node) -> None:
    with node.psrp() as pool:
        slow = PowerShell(pool)
        slow.add_script("sleep 1").begin_invoke()
        assert run_psrp(pool, "hello").output == ["echo=hello"]
        assert slow.end_invoke() == ["echo=sleep 1"]


def test_a_pool_reports_the_state_and_limits_of_its_runspaces(node: Node) -> None:
    pool = node.psrp()
    pool.open()
    assert pool.protocol_version == "2.3"
    assert pool.get_available_runspaces() == 1
    pool.reset_runspace_state()
    pool.exchange_keys()
    assert pool.is_alive()
    pool.connection.update_max_payload_size()
    assert pool.connection.max_envelope_size == 500 * 1024
    node.server.forget_shells()
    assert not pool.is_alive()


def test_pypsrp_runs_winrs_processes_too(node: Node) -> None:
    with WinRS(node.psrp().connection) as shell:
        process = Process(shell, "hello", ["there"])
        process.invoke()
        assert (process.rc, process.stdout) == (0, b"echo=hello there\r\n")


def test_an_error_of_the_machine_reaches_the_client(node: Node) -> None:
    with node.psrp() as pool:
        shell = run_psrp(pool, "raise")
    assert [str(error) for error in shell.streams.error] == ["simulator: RuntimeError: raised"]
