# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A product that Windows Installer installs from a package (.msi)."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import create, objects, only, remove
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows import installer_codes
from ..windows.path_calls import remove_path
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Json, Results

_UNINSTALL = tuple(
    f"HKLM:\\SOFTWARE\\{part}Microsoft\\Windows\\CurrentVersion\\Uninstall" for part in ("", "WOW6432Node\\")
)
"""Registry keys under which Windows Installer records 64-bit and 32-bit products.
Source: learn.microsoft.com/windows/win32/msi/uninstall-registry-key."""
_TIMEOUT = 1800.0
_RETRIES = 20
"""Maximum number of retries while another installation runs, 15 seconds apart."""
_TAIL = 200
"""Number of lines that are read from the end of msiexec's log after a failure."""
_REASON = re.compile(r"\bError \d{4}\b|-- (?:Error|Installation failed)|\breturned actual error code\b")
"""Matches the lines of a verbose msiexec log that name the cause of a failure.
Source: learn.microsoft.com/windows/win32/msi/windows-installer-logging."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsInstallerPackage(Resource):
    """A product that Windows Installer installs from a package (`.msi`), without a user interface.

    If the installation or removal requires a reboot, the node reboots at the end of the batch.
    """

    type: t.ClassVar[str] = "Package"
    name: str = dataclasses.field(metadata={"help": "The product's name, for messages."})
    product_id: str = dataclasses.field(
        metadata={"help": "The product code of the package, a GUID in braces. It identifies the product."}
    )
    path: str | None = dataclasses.field(
        default=None, metadata={"help": "Path of the package on the node. Required to install the product."}
    )
    version: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The expected version. If Windows lists a different one, that version is uninstalled first."
            " Trailing zeros are ignored. If omitted, any version is accepted."
        },
    )
    properties: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "Public properties of the package, such as `ALLUSERS: '1'`."}
    )
    folder: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The folder of the product. Before the product is installed, and after it is uninstalled, this"
            " folder is removed with everything that is left in it."
        },
    )
    disables: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Services of the product that are disabled as soon as it is installed, so that a reboot does not"
            " start them."
        },
    )
    log_path: str = dataclasses.field(
        default="C:\\Windows\\Temp\\winkube-msi.log",
        metadata={"help": "Path of the log. It may contain the properties. After a failure, the message quotes it."},
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the product is installed."}
    )

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\{[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}", self.product_id):
            raise ResourceError("product_id", self.product_id, "expected a GUID in braces")
        if self.state == "present" and not self.path:
            raise ResourceError("path", self.path, "expected the path of the package")
        for name, value in self.properties.items():
            if not re.fullmatch(r"[A-Z_][A-Z0-9_.]*", name):
                raise ResourceError("properties", name, "expected the name of a public property, in upper case")
            # msiexec.exe has its own rules for quotation marks, which differ from those of other programs.
            if re.search(r'[\s"]', value):
                raise ResourceError("properties", value, "expected a value without spaces or quotation marks")

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [{"path": f"{key}\\{self.product_id}"} for key in _UNINSTALL]
        calls = [query("product", "@read-registry", {"values": values}, select=("key_exists", "values"))]
        if self.folder:
            calls.append(query("folder", "@read-file", {"paths": [self.folder]}, select=("exists",)))
        return tuple(calls)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        installed = self._installed(seen)
        leftover = self.folder is not None and bool(only(self, seen, "folder").get("exists"))
        if self.state == "absent":
            return self._remove(installed or "") if installed is not None else None
        if installed is not None:
            if self.version is None or _same_version(installed, self.version):
                return None
            return dataclasses.replace(
                self._remove(installed, f"version is {installed}, expected {self.version}"), observe_again=True
            )
        if leftover and self.folder:
            why = f"{self.folder} contains files of a product that is not installed"
            change = remove(self, {"folder": self.folder}, [remove_path(self.folder, "leftover")], why=why)
            return dataclasses.replace(change, observe_again=True)
        return self._install()

    def explain(self, call_id: str, result: CallResult) -> str | None:
        """Return an explanation of the exit code of msiexec.exe, or None if the call does not run msiexec.exe."""
        if call_id not in ("install", "uninstall"):
            return None
        return f"{installer_codes.explained(result.exit_code)}. The log is {self.log_path}"

    def failure(self, results: Results) -> str | None:
        """Return why msiexec.exe failed, with any log lines that name the cause, or None if there is no log."""
        failed = next((results[name] for name in ("install", "uninstall") if name in results), None)
        log = results.get("log")
        if failed is None or log is None or not log.ok or log.skipped:
            return None
        lines = [line.strip().rstrip(".") for line in map(str, log.output) if _REASON.search(line)][-3:]
        return ". ".join([installer_codes.explained(failed.exit_code), *lines, f"The log is {self.log_path}"])

    def _installed(self, seen: Results) -> str | None:
        """Return the installed version, an empty string if it is unknown, or None if the product is not installed."""
        for entry in objects(self, seen, "product"):
            if entry.get("key_exists"):
                values = {name.casefold(): value for name, value in (entry.get("values") or {}).items()}
                return str((values.get("displayversion") or {}).get("value") or "")
        return None

    def _install(self) -> Change:
        properties = (f"{name}={value}" for name, value in self.properties.items())
        calls = [
            *self._msiexec("install", "/i", self.path or "", *properties),
            *(
                action(f"disable-{number}", "sc.exe", arguments=("config", service, "start=", "disabled"))
                for number, service in enumerate(self.disables)
            ),
        ]
        change = create(self, {"version": self.version}, calls, why="is not installed")
        return dataclasses.replace(change, reboot_codes=installer_codes.REBOOT)

    def _remove(self, version: str, why: str = "is installed, expected absent") -> Change:
        calls = [*self._msiexec("uninstall", "/x", self.product_id)]
        if self.folder:
            parameters: dict[str, Json] = {"LiteralPath": self.folder, "Recurse": True, "Force": True}
            gone: dict[str, Json] = {**parameters, "ErrorAction": "SilentlyContinue"}
            calls.append(action("leftover", "Remove-Item", gone))
        change = remove(self, {"version": version}, calls, why=why)
        return dataclasses.replace(change, reboot_codes=installer_codes.REBOOT)

    def _msiexec(self, call_id: str, verb: str, target: str, *properties: str) -> t.Iterator[Call]:
        """Yield the call that runs msiexec.exe and the call that reads the log after a failure."""
        yield action(
            call_id,
            "msiexec.exe",
            arguments=(verb, target, "/qn", "/norestart", "/l*v", self.log_path, *properties),
            success_codes=installer_codes.SUCCESS,
            final_codes=installer_codes.final(),
            retries=_RETRIES,
            delay=15.0,
            timeout=_TIMEOUT,
            long=True,
        )
        parameters: dict[str, Json] = {"LiteralPath": self.log_path, "Tail": _TAIL}
        yield query("log", "Get-Content", parameters, unless=(call_id,), always=True)


def _same_version(installed: str, expected: str) -> bool:
    """Return whether two versions are equal apart from trailing zeros. Windows may show version 1.1.6 as 1.1.6.0."""
    return re.sub(r"(\.0)+$", "", installed) == re.sub(r"(\.0)+$", "", expected)
