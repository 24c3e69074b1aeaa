# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Between the host's plain values and psrpcore's PSRP messages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from psrpcore import ServerPipeline
from psrpcore.types import (
    CommandOrigin,
    CommandTypes,
    ErrorCategory,
    ErrorCategoryInfo,
    ErrorRecord,
    HostMethodIdentifier,
    InvocationInfo,
    NETException,
    PSInvocationState,
    SessionStateEntryVisibility,
)

from simulator.transport.host import Pipeline, PipelineCommand, ScriptError, ScriptResult


def read_pipeline(pipeline: Any) -> Pipeline:
    """Return what a client asks for, from psrpcore's PowerShell."""
    return Pipeline(
        tuple(
            PipelineCommand(
                command.command_text,
                bool(command.is_script),
                tuple((name, plain_value(value)) for name, value in command.parameters),
            )
            for command in pipeline.commands
        )
    )


def read_metadata_request(request: Any) -> Pipeline:
    """Return what implicit remoting asks for, from psrpcore's GetMetadata: PowerShell runs Get-Command for it."""
    return Pipeline((PipelineCommand("Get-Command", False, (("Name", plain_value(request.name)),)),))


def plain_value(value: Any) -> object:
    """Return psrpcore's subclasses of str, int and the like as the plain values that they are; others unchanged."""
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
    """Write what a script left behind, and end the pipeline: Completed, or Failed with its terminating error."""
    for text in result.verbose:
        pipeline.write_verbose(text)
    for text in result.warnings:
        pipeline.write_warning(text)
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
        # psrpcore has no public way to fail a pipeline (stop() always says PipelineStopped).
        pipeline._change_state(PSInvocationState.Failed, error=_error_record(result.failure))


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
