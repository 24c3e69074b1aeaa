# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated win_package module, for Windows Installer packages and for other installation programs.

It recognizes an installed program by its uninstall key in the registry, by a path or by a service.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

from simulator.machine import command_line
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled, ProgramResult
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.session import Session
from simulator.windows.modules.downloads import DownloadError, download, options
from simulator.windows.software import installer

_PROVIDERS = ("msi", "msix", "msp", "registry", "auto")
_OTHERS = (".appx", ".appxbundle", ".msix", ".msixbundle", ".msp")
# The module's own log, which the module deletes.
_LOG = r"%TEMP%\msiexec.log"
_UNINSTALL = (
    installer.UNINSTALL,
    r"HKLM:\SOFTWARE\Wow6432Node\Microsoft\Windows\CurrentVersion\Uninstall",
    r"HKCU:\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall",
)


@dataclass(frozen=True)
class _Status:
    """The provider that recognizes a product, the product's id, and whether the product is installed."""

    provider: str
    product: str
    installed: bool


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Install or remove a package."""
    state, path = arguments.text("state", default="present"), arguments.text("path", default="")
    product = arguments.text("product_id", default="")
    if state not in ("present", "absent"):
        raise ArgumentError(f"value of state must be one of: absent, present. Got no match for: {state}")
    provider = arguments.text("provider", default="auto")
    if provider not in _PROVIDERS:
        raise ArgumentError(f"value of provider must be one of: {', '.join(_PROVIDERS)}. Got no match for: {provider}")
    if state == "present" and not path:
        raise ArgumentError("state is present but all of the following are missing: path")
    if not path and not product:
        raise ArgumentError("state is absent but any of the following are missing: path, product_id")
    answer: dict[str, Any] = {"changed": False, "rc": 0, "reboot_required": False}
    try:
        return _converge(session, arguments, state, path, answer)
    except DownloadError as error:
        return error.answer


def _converge(
    session: Session, arguments: ModuleArguments, state: str, path: str, answer: dict[str, Any]
) -> dict[str, Any]:
    files, product = session.machine.files, arguments.text("product_id", default="")
    remote = path.casefold().startswith("http")
    status = _status(session, arguments, "", product) if remote and product else None
    temporary = ""
    try:
        if remote and not (status and status.installed):
            path = temporary = _fetched(session, arguments, path, answer)
        elif not remote and path and not files.exists(path) and not arguments.check_mode:
            raise ArgumentError(f"the file at the path '{path}' cannot be reached")
        if status is None or not status.installed:
            status = _status(session, arguments, path, product)
        answer["changed"] = (state == "present") != status.installed
        if answer["changed"] and not arguments.check_mode:
            _change(session, arguments, state, path, status, answer)
        return answer
    finally:
        if temporary and files.is_file(temporary):
            files.delete(temporary)


def _fetched(session: Session, arguments: ModuleArguments, url: str, answer: dict[str, Any]) -> str:
    failed = f"Failed to download the package from '{url}': "
    body = download(session, url, options(arguments), answer, failed).body
    name = url.partition("?")[0].rpartition("/")[2] or "package"
    folder = session.variable("TEMP", "C:\\Windows\\TEMP")
    path = f"{folder}\\ansible-{uuid.uuid4().hex}-{name}"
    session.machine.files.write_bytes(path, body)
    return path


def _status(session: Session, arguments: ModuleArguments, path: str, product: str) -> _Status:
    machine = session.machine
    provider = arguments.text("provider", default="auto")
    if path.casefold().endswith(_OTHERS) or provider in ("msix", "msp"):
        raise NotModelled(f"win_package with {path or provider}")
    package = installer.package_of(machine, path) if path else None
    if package is not None and provider in ("auto", "msi"):
        found = _Status("msi", package.product_code, installer.is_installed(machine, package.product_code))
    elif provider == "msi" and path:
        raise ArgumentError(
            f"failed to open the package '{path}': This installation package could not be opened (1620)"
        )
    else:
        known = bool(product) and any(machine.registry.key_exists(f"{key}\\{product}") for key in _UNINSTALL)
        windows_installer = known and machine.registry.data(f"{_UNINSTALL[0]}\\{product}", "WindowsInstaller") == 1
        found = _Status("msi" if windows_installer else "registry", product, known)
    if arguments.raw("creates_version") is not None:
        raise NotModelled("the option creates_version of win_package")
    if arguments.raw("creates_path") is not None:
        exists = machine.files.exists(arguments.path(session, "creates_path"))
        found = _Status(found.provider, found.product, exists)
    if arguments.raw("creates_service") is not None:
        found = _Status(found.provider, found.product, machine.services.exists(arguments.text("creates_service")))
    return found


def _change(
    session: Session, arguments: ModuleArguments, state: str, path: str, status: _Status, answer: dict[str, Any]
) -> None:
    if state == "present":
        _check(session, arguments, path, answer)
    line = _command(session, arguments, state, path, status)
    if arguments.raw("chdir"):
        session.directory = arguments.path(session, "chdir").rstrip("\\")
    is_file = session.machine.files.is_file
    program, rest = command_line.program_and_rest(line, lambda place: ":" in place and is_file(place))
    try:
        result = session.run_program(program, rest)
    except (ProgramNotFoundError, NotExecutableError) as error:
        raise ArgumentError(f"Failed to run: '{line}': {error}") from None
    log = session.expand(_LOG)
    if arguments.raw("log_path") is None and session.machine.files.is_file(log):
        session.machine.files.delete(log)
    expected = arguments.raw("expected_return_code", [0, 3010])
    codes = [int(code) for code in (expected if isinstance(expected, list) else [expected])]
    _finish(line, result, codes, answer)


def _check(session: Session, arguments: ModuleArguments, path: str, answer: dict[str, Any]) -> None:
    algorithm = arguments.text("checksum_algorithm", default="sha1")
    found = hashlib.new(algorithm, session.machine.files.read_bytes(path), usedforsecurity=False).hexdigest().upper()
    answer["checksum"] = found
    requested = arguments.text("checksum", default="")
    if requested and requested.upper() != found:
        raise ArgumentError(f"The checksum for {path} did not match '{requested}', it was '{found}'")


def _command(session: Session, arguments: ModuleArguments, state: str, path: str, status: _Status) -> str:
    """Return the command line that installs or removes the package."""
    given = arguments.raw("arguments", "")
    more = command_line.join([str(word) for word in given]) if isinstance(given, list) else str(given)
    if status.provider == "msi":
        log = arguments.path(session, "log_path", default=_LOG)
        action = ["/i", path] if state == "present" else ["/x", status.product]
        words = ["C:\\Windows\\System32\\msiexec.exe", *action, "/L*V", log, "/qn", "/norestart"]
        return f"{command_line.join(words)} {more}".strip()
    if state == "present":
        return f"{command_line.join([path])} {more}".strip()
    data = session.machine.registry.data
    keys = [f"{key}\\{status.product}" for key in _UNINSTALL]
    removal = next((data(key, "QuietUninstallString") or data(key, "UninstallString") for key in keys
                    if session.machine.registry.key_exists(key)), path)  # fmt: skip
    return f"{removal} {more}".strip()


def _finish(line: str, result: ProgramResult, expected: list[int], answer: dict[str, Any]) -> None:
    answer |= {"rc": result.exit_code, "reboot_required": result.exit_code == 3010}
    if result.exit_code not in expected:
        message = f"unexpected rc from '{line}': see rc, stdout, and stderr for more details"
        answer |= {"failed": True, "stdout": result.stdout, "stderr": result.stderr, "msg": message}
