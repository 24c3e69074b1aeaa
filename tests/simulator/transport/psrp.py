# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""PSRP runspace pools over WSMan: psrpcore implements the protocol, and this module runs the pipelines."""

from __future__ import annotations

import base64
import logging
import threading
import uuid
from collections import deque
from dataclasses import dataclass, field

from psrpcore import (
    CreatePipelineEvent,
    EndOfPipelineInputEvent,
    GetAvailableRunspacesEvent,
    GetCommandMetadataEvent,
    PipelineInputEvent,
    PSRPPayload,
    ResetRunspaceStateEvent,
    ServerPipeline,
    ServerRunspacePool,
    SetMaxRunspacesEvent,
    SetMinRunspacesEvent,
    StreamType,
)
from psrpcore.types import PSInvocationState, PSVersion

from simulator.transport import psrp_records, wsman
from simulator.transport.host import Execution, PipelineRequest, ScriptError, ScriptResult
from simulator.transport.shells import (
    Shell,
    ShellContext,
    desired_command,
    input_stream,
    payload_limit,
    signal_code,
    state_xml,
    stream_xml,
)
from simulator.transport.wsman import WsmanRequest

log = logging.getLogger(__name__)

# The size in bytes of PowerShell's message fragments.
FRAGMENT_SIZE = 32768


@dataclass
class RunningPipeline:
    """A pipeline of a pool, with its input and the output that has not been sent yet."""

    pipeline: ServerPipeline
    execution: Execution
    request: PipelineRequest | None = None
    takes_input: bool = False
    input: list[object] = field(default_factory=list)
    outgoing: deque[bytes] = field(default_factory=deque)
    done: bool = False


class PsrpPool(Shell):
    """A PSRP runspace pool. Its resource URI ends with the name of an endpoint such as `Microsoft.PowerShell`."""

    def __init__(self, shell_id: str, request: WsmanRequest, context: ShellContext) -> None:
        super().__init__(shell_id, request.resource_uri, context)
        versions = {"PSVersion": PSVersion(context.host.powershell), "PSEdition": "Desktop"}
        self._pool = ServerRunspacePool(application_private_data={"PSVersionTable": versions})
        self._pipelines: dict[str, RunningPipeline] = {}
        self._outgoing: deque[bytes] = deque()
        creation = next((item for item in request.body.iter() if item.tag.endswith("}creationXml")), None)
        if creation is None:
            raise wsman.invalid_parameter("The request for a new runspace pool has no creationXml element.")
        with self.changed:
            self._take_in(base64.b64decode(creation.text or ""), None)

    def command(self, request: WsmanRequest) -> str:
        """Create a pipeline from the PSRP fragment in the request. The pipeline starts when its input has ended."""
        line = request.find("CommandLine")
        arguments = request.find("CommandLine/Arguments")
        if line is None or arguments is None:
            raise wsman.invalid_parameter("The Command request has no CommandLine or no Arguments element.")
        command_id = (line.get("CommandId") or str(uuid.uuid4())).upper()
        with self.changed:
            self.require_open()
            execution = Execution(command_id, self.id, self.user)
            running = RunningPipeline(ServerPipeline(self._pool, uuid.UUID(command_id)), execution)
            self._pipelines[command_id] = running
            self._take_in(base64.b64decode(arguments.text or ""), running)
        return f"<rsp:CommandResponse><rsp:CommandId>{command_id}</rsp:CommandId></rsp:CommandResponse>"

    def send(self, request: WsmanRequest) -> None:
        """Process further PSRP fragments that the client sends for a pipeline or for the pool."""
        command_id, data, _ = input_stream(request)
        with self.changed:
            self._take_in(data, self._pipeline(command_id) if command_id else None)

    def signal(self, request: WsmanRequest) -> None:
        """Stop a pipeline if it is running, and remove it."""
        command_id, _ = signal_code(request)
        with self.changed:
            running = self._pipeline(command_id)
            self._stop(running)
            del self._pipelines[command_id]
            running.pipeline.close()
            self.forget_receiver(command_id)
            self.changed.notify_all()

    def receive(self, request: WsmanRequest) -> bytes:
        """Wait for output fragments of a pipeline or of the pool, and return them in a response body."""
        command_id = desired_command(request)
        with self.changed:
            running = self._pipeline(command_id) if command_id else None
        outgoing = running.outgoing if running else self._outgoing

        def take() -> str | None:
            if not outgoing:
                return None
            data = _take_fragments(outgoing, payload_limit(request))
            parts = stream_xml("stdout", data, command_id)
            if running is not None:
                over = running.done and not outgoing
                parts += state_xml(command_id, "Done", 0) if over else state_xml(command_id, "Running")
            return f"<rsp:ReceiveResponse>{parts}</rsp:ReceiveResponse>"

        return self.receive_when(
            request, command_id, take, lambda: bool(command_id) and command_id not in self._pipelines
        )

    def stop_all(self) -> None:
        """Stop every pipeline of the pool."""
        for running in self._pipelines.values():
            running.execution.stopped.set()

    def _pipeline(self, command_id: str) -> RunningPipeline:
        running = self._pipelines.get(command_id)
        if running is None:
            raise wsman.command_not_found()
        return running

    def _take_in(self, data: bytes, running: RunningPipeline | None) -> None:
        self._pool.receive_data(
            PSRPPayload(data, StreamType.default, running.pipeline.pipeline_id if running else None)
        )
        while (event := self._pool.next_event()) is not None:
            if isinstance(event, CreatePipelineEvent) and running is not None:
                running.request = psrp_records.read_pipeline(event.pipeline)
                running.takes_input = not event.pipeline.no_input
                if not running.takes_input:
                    self._start(running)
            elif isinstance(event, GetCommandMetadataEvent) and running is not None:
                running.request = psrp_records.read_metadata_request(event.pipeline)
                self._start(running)
            elif isinstance(event, PipelineInputEvent) and running is not None:
                running.input.append(psrp_records.plain_value(event.data))
            elif isinstance(event, EndOfPipelineInputEvent) and running is not None:
                self._start(running)
            elif isinstance(event, GetAvailableRunspacesEvent):
                self._pool.runspace_availability_response(event.ci, self._pool.max_runspaces)
            elif isinstance(event, (SetMaxRunspacesEvent, SetMinRunspacesEvent, ResetRunspaceStateEvent)):
                self._pool.runspace_availability_response(event.ci, True)
        self._move_out()

    def _start(self, running: RunningPipeline) -> None:
        if running.request is None or running.pipeline.state != PSInvocationState.NotStarted:
            return
        # start() would notify the client. PowerShell only sends final states (ServerPowerShellDriver of
        # PowerShell/PowerShell), and an additional message would sometimes cause an additional Receive.
        running.pipeline._change_state(PSInvocationState.Running, emit=False)
        request = running.request
        if running.takes_input:
            request = PipelineRequest(request.commands, tuple(running.input))
            running.input.clear()
        self.context.counters.add(remote_commands=1)
        name = f"psrp-{running.execution.id}"
        threading.Thread(target=self._run, args=(running, request), name=name, daemon=True).start()

    def _run(self, running: RunningPipeline, request: PipelineRequest) -> None:
        try:
            result = self.context.host.run_script(request, running.execution)
        except Exception as error:
            # The client must see errors of the simulator, and the pipeline must end.
            log.exception("pipeline %s", running.execution.id)
            failure = ScriptError(f"simulator: {type(error).__name__}: {error}", fully_qualified_error_id="Simulator")
            result = ScriptResult(failure=failure)
        with self.changed:
            if running.pipeline.state == PSInvocationState.Running and not self.closed:
                try:
                    psrp_records.write_result(running.pipeline, result)
                except Exception as error:
                    psrp_records.write_result(running.pipeline, _not_serialized(error))
                running.done = True
                self._move_out()

    def _stop(self, running: RunningPipeline) -> None:
        running.execution.stopped.set()
        if running.pipeline.state == PSInvocationState.Running:
            running.pipeline.stop()
            self._move_out()

    def _move_out(self) -> None:
        """Queue the fragments from psrpcore for the pipelines and the pool, and wake the waiting requests."""
        while (payload := self._pool.data_to_send(FRAGMENT_SIZE)) is not None:
            running = self._pipelines.get(str(payload.pipeline_id).upper()) if payload.pipeline_id else None
            (running.outgoing if running else self._outgoing).append(payload.data)
        self.changed.notify_all()


def _not_serialized(error: Exception) -> ScriptResult:
    return ScriptResult(failure=ScriptError(f"simulator: cannot serialize the result: {error}"))


def _take_fragments(outgoing: deque[bytes], limit: int) -> bytes:
    """Remove the first payloads from a queue, up to a number of bytes but at least one payload, and return them."""
    taken = bytearray(outgoing.popleft())
    while outgoing and len(taken) + len(outgoing[0]) <= limit:
        taken += outgoing.popleft()
    return bytes(taken)
