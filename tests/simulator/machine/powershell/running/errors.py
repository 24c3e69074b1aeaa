# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors of the language and of .NET, and the types of exceptions."""

from __future__ import annotations

from simulator.machine.objects import Approximate, CmdletError, NotModelled, PSObject

AUTOMATION = "System.Management.Automation."
RUNTIME = f"{AUTOMATION}RuntimeException"
METHOD = f"{AUTOMATION}MethodInvocationException"
EXCEPTION = "System.Exception"
SYSTEM = "System.SystemException"
ARGUMENT = "System.ArgumentException"
IO = "System.IO.IOException"

# The base class of each exception that the simulator raises: https://learn.microsoft.com/dotnet/api/
BASES = {
    SYSTEM: EXCEPTION,
    RUNTIME: SYSTEM,
    ARGUMENT: SYSTEM,
    IO: SYSTEM,
    "System.ApplicationException": EXCEPTION,
    "System.ArithmeticException": SYSTEM,
    "System.DivideByZeroException": "System.ArithmeticException",
    "System.OverflowException": "System.ArithmeticException",
    "System.ArgumentNullException": ARGUMENT,
    "System.ArgumentOutOfRangeException": ARGUMENT,
    "System.FormatException": SYSTEM,
    "System.IndexOutOfRangeException": SYSTEM,
    "System.InvalidCastException": SYSTEM,
    "System.InvalidOperationException": SYSTEM,
    "System.NotImplementedException": SYSTEM,
    "System.NotSupportedException": SYSTEM,
    "System.NullReferenceException": SYSTEM,
    "System.TimeoutException": SYSTEM,
    "System.UnauthorizedAccessException": SYSTEM,
    "System.Security.SecurityException": SYSTEM,
    "System.ComponentModel.Win32Exception": "System.Runtime.InteropServices.ExternalException",
    "System.Runtime.InteropServices.ExternalException": SYSTEM,
    "System.Collections.Generic.KeyNotFoundException": SYSTEM,
    "System.IO.FileNotFoundException": IO,
    "System.IO.DirectoryNotFoundException": IO,
    "System.IO.PathTooLongException": IO,
    "System.Net.WebException": "System.InvalidOperationException",
    "System.Net.Sockets.SocketException": "System.ComponentModel.Win32Exception",
    METHOD: RUNTIME,
    f"{AUTOMATION}CommandNotFoundException": RUNTIME,
    f"{AUTOMATION}ParameterBindingException": RUNTIME,
    f"{AUTOMATION}ParameterBindingValidationException": f"{AUTOMATION}ParameterBindingException",
    f"{AUTOMATION}ParameterBindingArgumentTransformationException": f"{AUTOMATION}ParameterBindingException",
    f"{AUTOMATION}SessionStateException": RUNTIME,
    f"{AUTOMATION}ItemNotFoundException": f"{AUTOMATION}SessionStateException",
    f"{AUTOMATION}DriveNotFoundException": f"{AUTOMATION}SessionStateException",
    f"{AUTOMATION}ProviderNotFoundException": f"{AUTOMATION}SessionStateException",
    f"{AUTOMATION}ParseException": RUNTIME,
    f"{AUTOMATION}PSInvalidCastException": "System.InvalidCastException",
    f"{AUTOMATION}PSArgumentException": ARGUMENT,
    f"{AUTOMATION}PSInvalidOperationException": "System.InvalidOperationException",
    f"{AUTOMATION}ActionPreferenceStopException": RUNTIME,
    f"{AUTOMATION}RemoteException": RUNTIME,
    "Microsoft.PowerShell.Commands.WriteErrorException": SYSTEM,
    "Microsoft.PowerShell.Commands.ServiceCommandException": SYSTEM,
    "Microsoft.PowerShell.Commands.ProcessCommandException": SYSTEM,
}
_FULL = {name.casefold(): name for name in (*BASES, EXCEPTION)}


def full_exception_name(name: str) -> str | None:
    """Return the full name of an exception type, or None for an unknown type. `name` may omit `System.`."""
    lower = name.casefold()
    return _FULL.get(lower) or _FULL.get(f"system.{lower}")


def inherits(actual: str, requested: str) -> bool:
    """Return whether an exception type is the same as another type or derives from it."""
    name: str | None = actual
    while name:
        if name.casefold() == requested.casefold():
            return True
        name = BASES.get(name, EXCEPTION if name != EXCEPTION else None)
    return False


def exception(kind: str, message: str, inner: PSObject | None = None) -> PSObject:
    """Return a .NET exception as an object."""
    properties: dict[str, object] = {"Message": message, "InnerException": inner}
    return PSObject(kind, properties, f"{kind}: {message}")


def failure(
    message: str,
    error_id: str = "RuntimeException",
    category: str = "InvalidOperation",
    kind: str = RUNTIME,
    inner: PSObject | None = None,
) -> CmdletError:
    """Return an error that the PowerShell language raises, as opposed to an error of a cmdlet.

    Examples are the errors of operators, conversions, variables and method calls.
    """
    error = CmdletError(category, error_id, message, kind)
    error.inner = inner
    return error


def divided_by_zero() -> CmdletError:
    """Return the error for a division by zero."""
    text = "Attempted to divide by zero."
    return failure(text, category="NotSpecified", inner=exception("System.DivideByZeroException", text))


# Messages that are the same in all versions of .NET.
_EXACT = (
    "Could not find file",
    "Could not find a part",
    "Collection was of a fixed size.",
    "Item has already been added",
)


def method_failure(name: str, count: int, kind: str, why: str) -> CmdletError:
    """Return the error for a .NET method that threw an exception."""
    exact = why.startswith(_EXACT) or why.endswith(" empty.")
    message = f'Exception calling "{name}" with "{count}" argument(s): "{why}"'
    inner = exception(kind, why if exact else Approximate(why))
    error = failure(message, kind.rsplit(".", 1)[-1], "NotSpecified", METHOD, inner)
    error.approximate = not exact
    return error


def null_method() -> CmdletError:
    """Return the error for a method call on null."""
    return failure("You cannot call a method on a null-valued expression.", "InvokeMethodOnNull")


def bad_cast(message: str, error_id: str = "InvalidCastFromStringToInteger") -> CmdletError:
    """Return the error for a value that cannot be converted."""
    exact = message.endswith(('was not in a correct format."', '32."', '64."', '16."', 'Byte."'))
    kind = f"{AUTOMATION}PSInvalidCastException"
    error = failure(message, error_id, "InvalidArgument", inner=exception(kind, message))
    error.approximate = not exact
    return error


def catches(requested: str, error: CmdletError) -> bool:
    """Return whether `catch [requested]` catches an error.

    Raises:
        NotModelled: the requested type is unknown, and the error does not have exactly this type.
    """
    full = full_exception_name(requested)
    actual = [error.exception_type]
    if isinstance(error.inner, PSObject):
        actual.append(error.inner.type_name)
    if full is None:
        if any(requested.casefold() == name.casefold() for name in actual):
            return True
        raise NotModelled(f"catch [{requested}]")
    if any(name not in BASES and name != EXCEPTION for name in actual) and full not in (EXCEPTION, SYSTEM):
        return any(name.casefold() == full.casefold() for name in actual)
    return any(inherits(name, full) for name in actual)
