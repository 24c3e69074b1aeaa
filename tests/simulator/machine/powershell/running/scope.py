# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables and functions: scopes, automatic variables, `$env:` and `$function:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.machine.objects import CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.members.reflection import HOST
from simulator.machine.powershell.parsing.syntax import Block
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.types.convert import cast, metadata_error, version
from simulator.machine.powershell.types.kinds import EMPTY, ArrayList, Hashtable
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.session import Session
from simulator.machine.windows_paths import normalise

# Variables that only PowerShell 7 has, or whose value is not modelled.
_NOT_MODELLED = frozenset(
    [
        "iswindows",
        "islinux",
        "ismacos",
        "iscoreclr",
        "psstyle",
        "enabledexperimentalfeatures",
        "profile",
        "myinvocation",
        "stacktrace",
        "event",
        "eventargs",
        "eventsubscriber",
        "sender",
        "foreach",
        "switch",
        "psnativecommanduseerroractionpreference",
        "psedition",
    ]
)
_NAMESPACES = ("global", "script", "local", "private", "variable")


@dataclass
class FunctionInfo:
    """A function or filter: its name as capitalized in its definition, and its script block."""

    name: str
    block: Block
    is_filter: bool = False


@dataclass
class VariableScope:
    """The variables, functions and strict mode of a function, a script or the runspace.

    `script` is the scope of `$script:`. `top` is this scope itself if it was created for a script file, otherwise None.
    """

    parent: VariableScope | None = None
    variables: dict[str, object] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    strict: float | None = None
    top: VariableScope | None = None

    @property
    def script(self) -> VariableScope:
        """The scope of the running script."""
        scope = self
        while scope.parent is not None and scope.top is None:
            scope = scope.parent
        return scope


@dataclass
class Runspace:
    """The state of a runspace: global variables, functions, aliases and errors.

    `modules` contains the paths of the module files that were imported, in lower case.
    """

    scope: VariableScope = field(default_factory=VariableScope)
    aliases: dict[str, str] = field(default_factory=dict)
    errors: ArrayList = field(default_factory=ArrayList)
    last_exit_code: int | None = None
    directory: str = ""
    environment: dict[str, str] | None = None
    modules: set[str] = field(default_factory=set)

    def enter(self, session: Session) -> None:
        """Start a pipeline with the current folder and the environment of the previous pipeline.

        The first pipeline starts in the Documents folder if this folder exists.

        See HandleRunspaceCreated in ServerRunspacePoolDriver.cs of PowerShell/PowerShell.
        """
        documents = session.variable("USERPROFILE", "C:") + "\\Documents"
        exists = session.machine.files.is_directory(documents)
        session.directory = self.directory or (documents if exists else session.directory)
        if self.environment is not None:
            session.environment = dict(self.environment)

    def leave(self, session: Session) -> None:
        """Save the current folder and the environment at the end of a pipeline, for the next pipeline."""
        self.directory, self.environment = session.directory, dict(session.environment)

    @property
    def variables(self) -> dict[str, object]:
        """The global variables."""
        return self.scope.variables


class VisibleVariables:
    """The variables that are visible to a running script. `scope` is the current scope."""

    def __init__(self, session: Session, runspace: Runspace) -> None:
        self.session = session
        self.runspace = runspace
        self.scope = runspace.scope
        self.success = True

    def _place(self, name: str) -> tuple[str, str]:
        """Split a name such as `env:Path` into its namespace (which may be empty) and the rest, both in lower case."""
        drive, colon, rest = name.partition(":")
        if not colon:
            return "", name.casefold()
        return drive.casefold(), rest.casefold()

    def _chain(self, space: str) -> list[VariableScope]:
        if space == "global":
            return [self.runspace.scope]
        if space == "script":
            return [self.scope.script]
        if space in ("local", "private"):
            return [self.scope]
        scopes: list[VariableScope] = []
        scope: VariableScope | None = self.scope
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return scopes

    def get(self, name: str) -> object:
        """Return a variable's value, or None if the variable is not set."""
        found = self.raw(name)
        return None if found is EMPTY else found

    def raw(self, name: str) -> object:
        """Return a variable's value.

        The value is EMPTY if the variable was assigned the output of a command that returned nothing.
        """
        space, lower = self._place(name)
        if space == "env":
            return self.session.variable(name.partition(":")[2]) or None
        if space == "function":
            known = self.function(lower)
            return ScriptBlock(known.block, known.block.text) if known else self._built_in(lower)
        if space and space not in _NAMESPACES:
            raise NotModelled(f"the namespace of the variable ${name}")
        for scope in self._chain(space):
            if lower in scope.variables:
                return scope.variables[lower]
        return self._automatic(lower)

    @staticmethod
    def _built_in(name: str) -> object:
        if name == "prompt":
            return ScriptBlock(Block(()), "'PS> '")
        raise NotModelled(f"the function {name}")

    def exists(self, name: str) -> bool:
        """Return whether a variable has been set, or is an automatic variable with a value."""
        space, lower = self._place(name)
        if space == "env":
            return bool(self.session.variable(lower))
        known = any(lower in scope.variables for scope in self._chain(space))
        return known or lower in ("null", "?") or self._automatic(lower) is not None

    def set(self, name: str, value: object, *, kind: str | None = None) -> None:
        """Set a variable in the current scope, or in the scope that a prefix of `name` selects, such as `global:`.

        If `kind` is given, this value and all later values of the variable are converted to this type.
        """
        space, lower = self._place(name)
        if space == "env":
            self._set_environment(name.partition(":")[2], value)
            return
        if space == "function":
            raise NotModelled("an assignment to $function:")
        if space and space not in _NAMESPACES:
            raise NotModelled(f"the namespace of the variable ${name}")
        if lower == "null":
            return
        if lower in ("true", "false", "?", "host", "pid", "home", "pshome", "error", "psversiontable"):
            message = f"Cannot overwrite variable {lower} because it is read-only or constant."
            raise failure(message, "VariableNotWritable", "WriteError")
        scope = self._chain(space)[0]
        requested = kind if kind is not None else scope.types.get(lower)
        if kind is not None:
            scope.types[lower] = kind
        scope.variables[lower] = self._typed(requested, value) if requested else value

    @staticmethod
    def _typed(kind: str, value: object) -> object:
        try:
            return cast(kind, None if value is EMPTY else value)
        except NotModelled:
            raise
        except CmdletError as error:
            raise metadata_error(error) from None

    def remove(self, name: str) -> bool:
        """Remove a variable from the current scope or an outer scope, and return whether it existed."""
        space, lower = self._place(name)
        for scope in self._chain(space):
            if lower in scope.variables:
                del scope.variables[lower]
                scope.types.pop(lower, None)
                return True
        return False

    def _set_environment(self, name: str, value: object) -> None:
        kept = {key: item for key, item in self.session.environment.items() if key.casefold() != name.casefold()}
        self.session.environment = kept
        if value is not None and value is not EMPTY and value != "":
            self.session.environment[name] = to_text(value)

    def function(self, name: str) -> FunctionInfo | None:
        """Return a function that a script has defined, or None if no such function exists."""
        space, lower = self._place(name)
        for scope in self._chain(space if space in _NAMESPACES else ""):
            if lower in scope.functions:
                return scope.functions[lower]
        return None

    def define(self, name: str, block: Block, *, is_filter: bool) -> None:
        """Define a function in the current scope, unless `name` has a scope prefix such as `global:`."""
        space, lower = self._place(name)
        bare = name.rpartition(":")[2]
        self._chain(space)[0].functions[lower] = FunctionInfo(bare, block, is_filter)

    @property
    def strict(self) -> float:
        """The version of strict mode, or 0 if strict mode is off."""
        scope: VariableScope | None = self.scope
        while scope is not None:
            if scope.strict is not None:
                return scope.strict
            scope = scope.parent
        return 0

    def _automatic(self, name: str) -> object:
        if name in ("true", "false"):
            return name == "true"
        if name == "?":
            return self.success
        if name == "error":
            return self.runspace.errors
        if name == "lastexitcode":
            return self.runspace.last_exit_code
        if name in _NOT_MODELLED:
            raise NotModelled(f"the variable ${name}")
        if name == "psversiontable":
            return self._versions()
        if name == "pwd":
            directory = self.session.directory
            return PSObject("System.Management.Automation.PathInfo", {"Path": directory}, directory)
        if name == "executioncontext":
            return self._context()
        fixed: Mapping[str, object] = {
            "erroractionpreference": "Continue",
            "warningpreference": "Continue",
            "progresspreference": "Continue",
            "verbosepreference": "SilentlyContinue",
            "debugpreference": "SilentlyContinue",
            "informationpreference": "SilentlyContinue",
            "confirmpreference": "High",
            "whatifpreference": False,
            "home": self.session.variable("USERPROFILE"),
            "pid": self.session.process.id,
            "pshome": "C:\\Windows\\System32\\WindowsPowerShell\\v1.0",
            "psculture": "en-US",
            "psuiculture": "en-US",
            "psscriptroot": "",
            "pscommandpath": "",
            "shellid": "Microsoft.PowerShell",
            "nestedpromptlevel": 0,
            "host": self._host(),
            "outputencoding": PSObject("System.Text.ASCIIEncoding", {"WebName": "us-ascii"}),
        }
        if name in ("args", "input", "psboundparameters"):
            return Hashtable() if name == "psboundparameters" else []
        return fixed.get(name)

    def _host(self) -> PSObject:
        """Return `$Host`, which represents the console or a remote client."""
        remote = self.session.process.name.casefold() == "wsmprovhost.exe"
        name = "ServerRemoteHost" if remote else "ConsoleHost"
        return PSObject(HOST, {"Name": name, "Version": version(self.session.machine.windows.powershell)})

    def _context(self) -> PSObject:
        """Return `$ExecutionContext`. Only its functions for paths are modelled."""

        def full_path(text: object) -> str:
            path = to_text(text)
            if path.startswith("~") or "::" in path or (":" in path and path[1:2] != ":"):
                raise NotModelled(f"the provider path of {path}")
            return normalise(self.session.absolute(path))

        prefix = "System.Management.Automation."
        path = PSObject(f"{prefix}PathIntrinsics", {"GetUnresolvedProviderPathFromPSPath": full_path})
        state = PSObject(f"{prefix}SessionState", {"Path": path})
        return PSObject(f"{prefix}EngineIntrinsics", {"SessionState": state})

    def _versions(self) -> object:
        windows = self.session.machine.windows
        entries = {
            "PSVersion": version(windows.powershell),
            "PSEdition": "Desktop",
            "BuildVersion": version(f"10.0.{windows.build}.{windows.ubr}"),
            "CLRVersion": version("4.0.30319.42000"),
        }
        return Hashtable(entries)
