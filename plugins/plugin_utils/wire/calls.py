# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The two common kinds of call: a query reads something from the node, and an action changes the node.

Construct `Call` directly only for the commands that control a batch: `@barrier`, `@stop-if` and `@fail`.
"""

from __future__ import annotations

import typing as t

from .messages import Call, Input, Json


class CallOptions(t.TypedDict, total=False):
    """The fields of `Call` that `query` and `action` accept as options."""

    arguments: tuple[str, ...]
    stdin: str | None
    environment: t.Mapping[str, str]
    input: Input | None
    success_codes: tuple[int, ...]
    output_limit: int
    on_error: t.Literal["stop", "continue"]
    retries: int
    delay: float
    final_codes: tuple[int, ...]
    until: t.Mapping[str, Json]
    timeout: float
    needs: tuple[str, ...]
    unless: tuple[str, ...]
    always: bool
    secret: bool
    parallel: int | None
    watch: str | None
    private: bool
    long: bool


def query(
    call_id: str,
    command: str,
    parameters: t.Mapping[str, Json] | None = None,
    *,
    select: tuple[str, ...] | None = None,
    **options: t.Unpack[CallOptions],
) -> Call:
    """Return a call that reads something from the node and changes nothing.

    If the call fails, its error is recorded and the batch continues. The code that reads the result decides what the
    error means. If later calls of the batch depend on a query, the query has `on_error="stop"`, or the later calls
    name it in `needs`.

    Args:
        call_id: id of the call, unique in its batch or resource.
        command: a cmdlet, a program (its name ends with `.exe`) or a verb of docs/wire.md.
        parameters: parameters of the cmdlet or verb.
        select: the properties that are returned. An empty tuple returns no objects, for queries whose objects only
            later calls use. None returns a verb's complete answer.
        options: other fields of the call.
    """
    options.setdefault("on_error", "continue")
    return Call(id=call_id, command=command, parameters=parameters or {}, select=select, **options)


def action(
    call_id: str,
    command: str,
    parameters: t.Mapping[str, Json] | None = None,
    *,
    select: tuple[str, ...] | None = (),
    **options: t.Unpack[CallOptions],
) -> Call:
    """Return a call that changes the node.

    If the call fails, the batch stops, because later calls rely on the change. By default, the call returns no objects,
    since the next observation shows the change. A change that is allowed to fail, such as a clean-up, has
    `on_error="continue"`.

    Args:
        call_id: id of the call, unique in its batch or resource.
        command: a cmdlet, a program (its name ends with `.exe`) or a verb of docs/wire.md.
        parameters: parameters of the cmdlet or verb.
        select: the properties that are returned. None returns a verb's complete answer. A program always returns its
            exit code and output.
        options: other fields of the call.
    """
    if not select and command.lower().endswith(".exe"):
        select = None
    return Call(id=call_id, command=command, parameters=parameters or {}, select=select, **options)
