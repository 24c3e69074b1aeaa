# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert between plain Python values and the PSRP messages of psrpcore."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from psrpcore import ServerPipeline
from psrpcore.types import (
    CommandOrigin,
    CommandTypes,
    DebugRecord,
    ErrorCategory,
    ErrorCategoryInfo,
    ErrorRecord,
    HostMethodIdentifier,
    InvocationInfo,
    NETException,
    PSInvocationState,
    PSObject,
    PSRPMessageType,
    SessionStateEntryVisibility,
    VerboseRecord,
    WarningRecord,
    add_note_property,
)

from simulator.transport.host import Information, PipelineCommand, PipelineRequest, ScriptError, ScriptResult

_INFORMATIONAL = ["System.Management.Automation.InformationalRecord", "System.Object"]


def read_pipeline(pipeline: Any) -> PipelineRequest:
    """Convert a pipeline (an instance of psrpcore's class PowerShell) to a client's request."""
    return PipelineRequest(
        tuple(
            PipelineCommand(
                command.command_text,
                bool(command.is_script),
                tuple((name, plain_value(value)) for name, value in command.parameters),
                bool(command.end_of_statement) and position < len(pipeline.commands) - 1,
            )
            for position, command in enumerate(pipeline.commands)
        )
    )


def read_metadata_request(request: Any) -> PipelineRequest:
    """Convert a request for command metadata (implicit remoting) into a call of Get-Command, as PowerShell does."""
    return PipelineRequest((PipelineCommand("Get-Command", False, (("Name", plain_value(request.name)),)),))


def plain_value(value: Any) -> object:
    """Convert psrpcore's subclasses of str, bytes, int and float to plain values, also in lists.

    Other values stay unchanged.
    """
    if isinstance(value, bool):
        return value
    kinds: tuple[Any, ...] = (str, bytes, int, float)
    for kind in kinds:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return value


def write_result(pipeline: ServerPipeline, result: ScriptResult) -> None:
    """Write the result of a script, and end the pipeline as Completed or, if the script failed, as Failed."""
    for text in result.verbose:
        _write_record(pipeline, VerboseRecord, PSRPMessageType.VerboseRecord, text)
    for text in result.debug:
        _write_record(pipeline, DebugRecord, PSRPMessageType.DebugRecord, text)
    for text in result.warnings:
        _write_record(pipeline, WarningRecord, PSRPMessageType.WarningRecord, text)
    for item in result.information:
        _write_information(pipeline, item)
    for value in result.output:
        pipeline.write_output(value)
    for error in result.errors:
        record = _error_record(error)
        pipeline.write_error(
            record.Exception,
            category_info=record.CategoryInfo,
            fully_qualified_error_id=record.FullyQualifiedErrorId,
            invocation_info=record.InvocationInfo,
            script_stack_trace=record.ScriptStackTrace,
        )
    if result.exit_code is not None:
        pipeline.host_call(HostMethodIdentifier.SetShouldExit, [result.exit_code])
    if result.failure is None:
        pipeline.complete()
    else:
        # psrpcore has no public method to fail a pipeline (stop() always results in PipelineStopped).
        pipeline._change_state(PSInvocationState.Failed, error=_error_record(result.failure))


def _write_record(pipeline: ServerPipeline, kind: Any, message_type: PSRPMessageType, text: str) -> None:
    """Write a verbose, debug or warning record including its text. The methods of psrpcore omit the text."""
    record = kind.ToPSObjectForRemoting(kind(Message=text))
    record.PSObject.type_names = [f"System.Management.Automation.{kind.__name__}", *_INFORMATIONAL]
    record.PSObject.to_string = text
    pipeline.prepare_message(record, message_type=message_type)


def _write_information(pipeline: ServerPipeline, record: Information) -> None:
    """Write a record to the information stream, and to the client's host if `record.shown` is true.

    As in MshCommandRuntime.WriteInformation of PowerShell/PowerShell, the record goes to the stream unless the
    preference is Ignore. Records of Write-Host also go to the host, as do all records if the preference is
    Continue.
    """
    place: dict[str, Any] = {"user": record.user, "computer": record.computer, "process_id": 0, "native_thread_id": 0}
    if record.from_host:
        message = PSObject()
        add_note_property(message, "Message", record.text)
        add_note_property(message, "NoNewLine", not record.newline)
        message.PSObject.type_names = ["System.Management.Automation.HostInformationMessage", "System.Object"]
        message.PSObject.to_string = record.text
        pipeline.write_information(message, "Write-Host", tags=["PSHOST"], **place)
    else:
        pipeline.write_information(record.text, "Write-Information", **place)
    if record.shown:
        method = HostMethodIdentifier.WriteLine2 if record.newline else HostMethodIdentifier.Write1
        pipeline.host_call(method, [record.text])


def _error_record(error: ScriptError) -> ErrorRecord:
    exception = NETException(Message=error.message, HResult=-2146233087)
    exception.PSObject.type_names = [error.exception, *exception.PSTypeNames]
    record = ErrorRecord(
        Exception=exception,
        CategoryInfo=ErrorCategoryInfo(
            Category=ErrorCategory[error.category],
            Activity=error.activity,
            Reason=error.reason or error.exception.rpartition(".")[2],
            TargetName=error.target_name,
            TargetType=error.target_type,
        ),
        FullyQualifiedErrorId=error.fully_qualified_error_id,
        InvocationInfo=_invocation_info(error),
        ScriptStackTrace=error.stack_trace,
    )
    record.serialize_extended_info = record.InvocationInfo is not None
    return record


def _invocation_info(error: ScriptError) -> InvocationInfo | None:
    if error.position is None and error.command_name is None:
        return None
    command = None
    if error.command_name is not None:
        command = SimpleNamespace(
            CommandType=CommandTypes.Cmdlet,
            Name=error.command_name,
            Definition="",
            Visibility=SessionStateEntryVisibility.Public,
        )
    return InvocationInfo(
        BoundParameters={},
        CommandOrigin=CommandOrigin.Internal,
        ExpectingInput=False,
        HistoryId=1,
        InvocationName=error.command_name or "",
        Line="",
        MyCommand=command,
        OffsetInLine=0,
        PipelineLength=0,
        PipelinePosition=0,
        PositionMessage=error.position or "",
        ScriptLineNumber=0,
        UnboundArguments=[],
    )
