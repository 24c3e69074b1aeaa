# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The msiexec.exe program with `/i PACKAGE` or `/x PACKAGE|CODE`, without user input, and optionally with a log.

Installed products are recorded in the `Uninstall` registry key. Sources:
https://learn.microsoft.com/windows/win32/msi/standard-installer-command-line-options,
https://learn.microsoft.com/windows/win32/msi/error-codes and
https://learn.microsoft.com/windows/win32/msi/uninstall-registry-key
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine import accounts, executables
from simulator.machine.objects import IdleServiceProgram, Invocation, Program, ProgramResult, ServiceProgram
from simulator.machine.power import SESSION_MANAGER
from simulator.machine.programs import SYSTEM
from simulator.machine.rights.guard import AccessDeniedError
from simulator.windows.software import installer_package
from simulator.windows.software.installer_package import InstallerPackage

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

UNINSTALL = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall"
OK, FATAL, UNKNOWN_PRODUCT, CANNOT_OPEN, INVALID_PACKAGE, BAD_COMMAND_LINE = 0, 1603, 1605, 1619, 1620, 1639
OTHER_VERSION, REBOOT_REQUIRED = 1638, 3010


def package_of(machine: Machine, path: str) -> InstallerPackage | None:
    """Return the package in a file, or None if the file is not a package."""
    if not machine.files.is_file(path):
        return None
    return installer_package.read(machine.files.read_bytes(path))


def is_installed(machine: Machine, code: str) -> bool:
    """Return whether the product with a given ProductCode is installed."""
    return machine.registry.key_exists(f"{UNINSTALL}\\{code}")


def msiexec(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate msiexec.exe. Only unattended runs (/q, /qn, /qb, /quiet or /passive) are modelled."""
    words = list(run.argv)
    action, target, log, quiet = "", "", "", False
    properties: dict[str, str] = {}
    while words:
        word = words.pop(0)
        option = word.casefold().replace("-", "/", 1) if word[:1] in "-/" else ""
        if option in ("/i", "/package", "/x", "/uninstall") and words:
            action, target = option[:2].replace("/p", "/i").replace("/u", "/x"), words.pop(0)
        elif option.startswith("/l") and words:
            log = words.pop(0)
        elif option in ("/q", "/qn", "/quiet", "/passive", "/qb"):
            quiet = True
        elif option in ("/norestart", "/log"):
            continue
        elif not option and "=" in word:
            name, _, properties_value = word.partition("=")
            properties[name] = properties_value
        else:
            return ProgramResult(BAD_COMMAND_LINE)
    if not action or not quiet:
        return ProgramResult(BAD_COMMAND_LINE)
    package = package_of(machine, target) if action == "/i" and log else None
    code = _act(machine, action, target, properties)
    if log:
        lines = [*(package.errors if package else ()), f"MainEngineThread is returning {code}"]
        machine.files.write_bytes(log, "".join(f"{line}\r\n" for line in lines).encode("utf-16"))
    return ProgramResult(code)


def _act(machine: Machine, action: str, target: str, properties: Mapping[str, str]) -> int:
    """Open a package as the caller, install or remove it as SYSTEM, and return the exit code.

    If the caller is not an administrator, packages for all users fail with 1603 (errors 1925 and 1730).
    Source: https://learn.microsoft.com/windows/win32/msi/windows-installer-error-messages
    """
    try:
        package = package_of(machine, target)
    except AccessDeniedError:
        return CANNOT_OPEN
    caller = machine.acting.token
    permitted = caller is None or caller.administrative
    with machine.acting.as_account(SYSTEM):
        if action == "/x":
            code = package.product_code if package else target
            return _remove(machine, code) if permitted or not is_installed(machine, code) else FATAL
        if package is None:
            return INVALID_PACKAGE if machine.files.is_file(target) else CANNOT_OPEN
        return _install(machine, target, package, properties) if permitted else FATAL


def _install(machine: Machine, path: str, package: InstallerPackage, properties: Mapping[str, str]) -> int:
    known = machine.registry.data(f"{UNINSTALL}\\{package.product_code}", "DisplayVersion")
    if known not in (None, package.version):
        # A package with the code of an installed product, but with different contents.
        return OTHER_VERSION
    if package.exit_code not in (OK, REBOOT_REQUIRED):
        return package.exit_code
    as_system = bool(package.system_property and properties.get(package.system_property))
    for target, program in package.programs.items():
        machine.files.make_directory(target.rpartition("\\")[0])
        machine.files.write_bytes(target, executables.make(program, package.version))
    for target, text in {**package.texts, **package.generated}.items():
        machine.files.make_directory(target.rpartition("\\")[0])
        machine.files.write_text(target, text)
    for user in () if as_system else package.users:
        if accounts.find(machine, user) is None:
            accounts.add(machine, user, "User")
    for name, service in package.services.items():
        entries = {"DisplayName": service.display_name, "Start": 2}
        entries["ObjectName"] = "LocalSystem" if as_system else service.account
        if machine.services.exists(name):
            machine.services.configure(name, ImagePath=service.path, **entries)
        else:
            machine.services.create(name, service.path, **entries)
    machine.registry.write(
        f"{UNINSTALL}\\{package.product_code}",
        {
            "DisplayName": package.name,
            "DisplayVersion": package.version,
            "Publisher": package.publisher,
            "UninstallString": f"MsiExec.exe /X{package.product_code}",
            "WindowsInstaller": 1,
            # The folder in which Windows Installer keeps a copy of the package for its removal.
            "LocalPackage": _keep(machine, path, package),
        },
    )
    if package.exit_code == REBOOT_REQUIRED:
        # A file that was in use is deleted at the next boot.
        machine.registry.write(SESSION_MANAGER, {"PendingFileRenameOperations": [r"\??\C:\Config.Msi\1.rbf", ""]})
    return package.exit_code


def _keep(machine: Machine, path: str, package: InstallerPackage) -> str:
    machine.files.make_directory(r"C:\Windows\Installer")
    kept = rf"C:\Windows\Installer\{package.product_code[1:8].lower()}.msi"
    machine.files.copy(path, kept)
    return kept


def _remove(machine: Machine, code: str) -> int:
    kept = str(machine.registry.data(f"{UNINSTALL}\\{code}", "LocalPackage", ""))
    package = package_of(machine, kept)
    if package is None:
        return UNKNOWN_PRODUCT
    for name in package.services:
        if service := machine.services.get(name):
            if service.state == "Running":
                machine.services.stop(name, force=True)
            machine.services.delete(name)
    for path in (*package.programs, *package.texts):
        if machine.files.is_file(path):
            machine.files.delete(path)
    machine.files.delete(kept)
    machine.registry.delete_key(f"{UNINSTALL}\\{code}")
    return OK


PROGRAMS: Mapping[str, Program] = {"msiexec.exe": msiexec}
# An installed service whose program is not modelled runs without any effect.
SERVICES: Mapping[str, ServiceProgram] = {"installed-service": IdleServiceProgram()}
