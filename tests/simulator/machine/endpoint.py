# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connect a simulated machine to the WinRM server: implement `simulator.transport.host.Host` for a `Machine`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simulator.machine import accounts, ansible_actions, ansible_wrapper, faults, status, winrm_settings
from simulator.machine.core.cmd import run_line
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, NotModelled, ProcessEndedError, ProgramResult
from simulator.machine.powershell.host import RemoteCommand, Runspace, run_script
from simulator.machine.powershell.running.streams import HostText
from simulator.machine.processes import StopSignal
from simulator.machine.session import Session
from simulator.transport.host import (
    Execution,
    Information,
    LogonAccount,
    NodePorts,
    PipelineRequest,
    ProcessResult,
    ScriptError,
    ScriptResult,
    WinrmSettings,
)


@dataclass
class Runspaces:
    """Maps the shell id of each open runspace pool to its runspace, whose variables live as long as the pool."""

    by_shell: dict[str, Runspace] = field(default_factory=dict)


class MachineHost:
    """A `Host` that runs WinRM requests on a simulated machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._runspaces = Runspaces()

    @property
    def name(self) -> str:
        """The computer name of the machine."""
        return self.machine.name

    @property
    def build(self) -> int:
        """The build number of the machine's Windows."""
        return self.machine.windows.build

    @property
    def powershell(self) -> str:
        """The version of the machine's PowerShell."""
        return self.machine.windows.powershell

    def attach(self, ports: NodePorts) -> None:
        """Store the object through which the machine controls the node's network and shells."""
        self.machine.network.attach(ports)

    def accounts(self) -> Mapping[str, LogonAccount]:
        """Return {user name: account} for the administrator, or an empty mapping if the account does not exist."""
        settings = self.machine.settings
        expired = self.machine.part(faults.Accounts).expired
        account = accounts.find(self.machine, settings.user, "User")
        if account is None:
            return {}
        password = account.password or settings.password
        return {settings.user: LogonAccount(password, password_expired=expired, disabled=not account.enabled)}

    def winrm(self) -> WinrmSettings:
        """Return the machine's WinRM settings."""
        return winrm_settings.wire_settings(self.machine)

    def run_process(self, command_line: str, stdin: bytes, execution: Execution) -> ProcessResult:
        """Run a WinRS command line with cmd.exe, which finds powershell.exe like any other program."""
        session = self._session("winrshost.exe", execution)
        try:
            with self.machine.acting.as_account(session.user):
                result = run_line(session, command_line, execution.console or stdin)
        except ProcessEndedError:
            result = ProgramResult(1)
        except Exception as error:  # the client must see errors of the simulator
            result = ProgramResult(1, "", f"the simulator failed: {error}\r\n{traceback.format_exc()}")
        finally:
            self.machine.processes.end(session.process)
        return ProcessResult(result.stdout.encode(), result.stderr.encode(), result.exit_code)

    def run_script(self, pipeline: PipelineRequest, execution: Execution) -> ScriptResult:
        """Run a PowerShell pipeline that was received through PSRP."""
        session = self._session("wsmprovhost.exe", execution)
        try:
            with self.machine.acting.as_account(session.user):
                return self._script(session, pipeline, execution.shell_id)
        except ProcessEndedError:
            return ScriptResult(failure=ScriptError("The pipeline has been stopped.", "OperationStopped"))
        except Exception as error:  # the client must see errors of the simulator
            message = f"the simulator failed: {error}\n{traceback.format_exc()}"
            return ScriptResult(failure=ScriptError(message, "NotSpecified"))
        finally:
            self.machine.processes.end(session.process)

    def _script(self, session: Session, pipeline: PipelineRequest, shell_id: str) -> ScriptResult:
        first = pipeline.commands[0]
        if first.is_script and ansible_wrapper.is_bootstrap(first.text):
            lines = [str(item) for item in pipeline.input or ()]
            result = ansible_actions.run(session, [part for line in lines for part in line.split("\n")])
            errors = [ScriptError(result.stderr.strip())] if result.stderr else []
            # Every line is an object, as in the output of the scripts themselves.
            output = result.stdout.removesuffix("\r\n").split("\r\n") if result.stdout else []
            return ScriptResult(output, errors, exit_code=result.exit_code)
        runspace = self._runspaces.by_shell.setdefault(shell_id, Runspace())
        runspace.enter(session)
        outcome = run_script(
            session,
            pipeline.script,
            list(pipeline.input or ()),
            runspace=runspace,
            commands=[
                RemoteCommand(command.text, command.is_script, command.arguments, command.ends_statement)
                for command in pipeline.commands
            ],
        )
        runspace.leave(session)
        try:
            objects = outcome.serializable()
        except NotModelled as error:
            return ScriptResult(failure=_error(error))
        return ScriptResult(
            objects,
            [_error(error) for error in outcome.errors],
            exit_code=outcome.exit_code,
            failure=_error(outcome.failure) if outcome.failure else None,
            warnings=outcome.warnings,
            verbose=outcome.verbose,
            debug=outcome.debug,
            information=[self._information(item, session.user) for item in outcome.information],
        )

    def _information(self, item: HostText, user: str) -> Information:
        from_host = item.source == "Write-Host"
        return Information(item.text, user, self.name, shown=item.shown, from_host=from_host, newline=item.newline)

    def shell_closed(self, shell_id: str) -> None:
        """Discard the runspace of a closed runspace pool, with its variables."""
        self._runspaces.by_shell.pop(shell_id, None)

    def set_fault(self, fault: Mapping[str, object]) -> Callable[[], None] | None:
        """Inject a fault into the machine. Return an action to run after the response, or None if none is needed."""
        return faults.set_fault(self.machine, fault)

    def status(self) -> dict[str, object]:
        """Return the machine's state as JSON data."""
        return status.describe(self.machine)

    def _session(self, name: str, execution: Execution) -> Session:
        process = self.machine.processes.begin(name, execution.user, StopSignal(execution.stopped))
        return Session(
            self.machine, process, execution.user, dict(execution.environment), execution.working_directory or ""
        )


def _error(error: CmdletError) -> ScriptError:
    kind = error.exception_type
    return ScriptError(error.message, error.category, error.error_id, kind, reason=kind.rsplit(".", 1)[-1])
