# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Installation of update packages from files, as DISM, wusa.exe and Add-WindowsPackage -Online install them.

DISM, unlike wusa.exe, looks for checkpoint updates in the folder of the package.

Sources: https://learn.microsoft.com/powershell/module/dism/add-windowspackage and, for states and release types,
https://learn.microsoft.com/windows-hardware/manufacture/desktop/dism/
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import certificate_store
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.wildcards import any_match
from simulator.machine.windows_paths import normalise
from simulator.windows.updates import component_store, update_install, update_package
from simulator.windows.updates.component_store import Client, StoredUpdate, store_of
from simulator.windows.updates.update_install import OK, InstallationResult
from simulator.windows.updates.update_package import (
    SIGNERS,
    CorruptPackageError,
    NotAPackageError,
    UpdatePackage,
    UpdateSigner,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_DISM = "Microsoft.Dism.Commands"
_STATES = {"Installed": 4, "InstallPending": 5, "Superseded": 6}
_RELEASE_TYPES = {"SecurityUpdate": 4, "Update": 6}
_CBS = 0x800F
_SUFFIXES = (".msu", ".cab")
# "An .msu package is supported only when the target image is offline" (DISM's reference, and saltstack/salt#46580).
# From the first build with checkpoints on, DISM also accepts them for the running system. The error code of earlier
# builds is not documented.
_FIRST_WITH_MSU = 26100
MESSAGES = {
    update_install.FILE_NOT_FOUND: "The system cannot find the file specified.",
    update_install.INVALID_DATA: "The data is invalid.",
    update_install.NOT_SUPPORTED: "The request is not supported.",
    update_install.DISK_FULL: "There is not enough space on the disk.",
    update_install.FILE_CORRUPT: "The file or directory is corrupted and unreadable.",
    update_install.CBS_NOT_APPLICABLE: "The specified package is not applicable to this image.",
    update_install.CBS_SOURCE_MISSING: "The source files could not be found.",
    update_install.NO_SIGNATURE: "No signature was present in the subject.",
    update_install.UNTRUSTED_ROOT: "A certificate chain processed, but terminated in a root certificate which is not "
    "trusted by the trust provider.",
    update_install.INSTALL_RUNNING: "Another installation is already in progress. Complete that installation before "
    "proceeding with this install.",
}


def read_package(machine: Machine, path: str) -> UpdatePackage | int:
    """Return the package in a file on the machine, or the HRESULT of the error if the file cannot be read."""
    if not machine.files.is_file(path):
        return update_install.FILE_NOT_FOUND
    try:
        return update_package.parse(machine.files.read_bytes(path))
    except NotAPackageError:
        return update_install.INVALID_DATA
    except CorruptPackageError:
        return update_install.FILE_CORRUPT


def signature_problem(machine: Machine, signer: UpdateSigner | None) -> int:
    """Return 0 if the component store accepts the signature of a package, or else the HRESULT of the rejection.

    The store accepts every test signature. At the next boot, Windows decides whether to load the signed files.
    """
    if signer is None:
        return update_install.NO_SIGNATURE
    test = signer.root == SIGNERS["test"].root
    return OK if test or trusts(machine, signer) else update_install.UNTRUSTED_ROOT


def trusts(machine: Machine, signer: UpdateSigner) -> bool:
    """Return whether the chain of a signature ends in a root that the machine trusts."""
    if signer.trusted:
        return True
    return signer.root in {
        certificate_store.thumbprint(found) for found in certificate_store.certificates(machine, "Root")
    }


def add(machine: Machine, path: str, client: Client, stop: threading.Event) -> InstallationResult:
    """Install the package in a file, and return the result.

    Raises:
        ProcessEndedError: the event `stop` is set before the installation ends.
    """
    found = read_package(machine, path)
    if isinstance(found, int):
        return InstallationResult(found)
    if client == "DISM" and found.container == "msu" and machine.windows.build < _FIRST_WITH_MSU:
        return InstallationResult(update_install.NOT_SUPPORTED)
    problem = signature_problem(machine, found.signer)
    if problem:
        return InstallationResult(problem)
    checkpoints = _articles_in_folder(machine, path) if client == "DISM" else ()
    answer = component_store.verdict(machine, found.update, checkpoints)
    if answer == "applicable":
        return update_install.install(machine, found.update, client, stop)
    if answer in ("installed", "pending"):
        return InstallationResult(update_install.ALREADY_INSTALLED, answer == "pending")
    if answer == "needs_checkpoint":
        return InstallationResult(update_install.CBS_SOURCE_MISSING)
    return InstallationResult(update_install.CBS_NOT_APPLICABLE if client == "DISM" else update_install.NOT_APPLICABLE)


def _articles_in_folder(machine: Machine, path: str) -> tuple[str, ...]:
    """Return the KB articles of the other .msu packages in the folder that contains the given package."""
    own = normalise(path)
    folder = own.rpartition("\\")[0]
    names = [entry.path for entry in machine.files.listing(folder) if entry.name.casefold().endswith(".msu")]
    found = [read_package(machine, name) for name in names if name.casefold() != own.casefold()]
    return tuple(package.update.kb for package in found if isinstance(package, UpdatePackage))


def release_type(entry: StoredUpdate) -> str:
    """Return the release type that DISM shows for an update."""
    return "SecurityUpdate" if entry.update.category == "Security Updates" else "Update"


def get_package(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WindowsPackage -Online.

    The package name of a cumulative update contains the build number instead of the KB article.
    """
    if "Path" in bound or "PackagePath" in bound:
        raise NotModelled("Get-WindowsPackage for an image or a file")
    for entry in store_of(machine).entries.values():
        name = entry.update.package
        if not name or (bound.get("PackageName") and not any_match(bound.texts("PackageName"), name)):
            continue
        kind = release_type(entry)
        yield PSObject(
            f"{_DISM}.BasicPackageObject",
            {
                "PackageName": name,
                "PackageState": Enumeration(entry.state, _STATES[entry.state], f"{_DISM}.PackageFeatureState"),
                "ReleaseType": Enumeration(kind, _RELEASE_TYPES[kind], f"{_DISM}.ReleaseType"),
                # A pending package has no installation time yet.
                "InstallTime": None if entry.state == "InstallPending" else entry.installed_on,
                "Online": True,
            },
        )


def add_package(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Add-WindowsPackage -Online for one file, or for all packages in a folder."""
    if "Path" in bound:
        raise NotModelled("Add-WindowsPackage for an image")
    path = bound.text("PackagePath")
    outcomes = []
    for file in files_of(machine, path):
        if bound.flag("PreventPending") and component_store.pending(machine):
            # -PreventPending is set, and something is pending.
            outcome = InstallationResult(update_install.CBS_PENDING)
        else:
            outcome = add(machine, file, "DISM", bound.stop)
        if outcome.hresult not in (OK, update_install.ALREADY_INSTALLED):
            raise _failed(outcome.hresult)
        outcomes.append(outcome)
    restart = any(outcome.reboot for outcome in outcomes)
    properties: dict[str, object] = {"Path": "", "Online": True, "RestartNeeded": restart}
    return [PSObject(f"{_DISM}.ImageObject", properties)]


def files_of(machine: Machine, path: str) -> list[str]:
    """Return the files that a package path refers to: the packages in a folder, or the path itself."""
    if not machine.files.is_directory(path):
        return [path]
    entries = machine.files.listing(path)
    return [entry.path for entry in entries if entry.name.casefold().endswith(_SUFFIXES)]


def _failed(hresult: int) -> CmdletError:
    # Errors of CBS have no text: "Add-WindowsPackage failed. Error code = 0x800f081e" (OSDeploy/OSDSUS#3).
    unknown = f"Add-WindowsPackage failed. Error code = 0x{hresult:08x}"
    message = unknown if hresult >> 16 == _CBS else MESSAGES.get(hresult, unknown)
    return CmdletError(
        "NotSpecified",
        f"{_DISM}.AddWindowsPackageCommand",
        message,
        "System.Runtime.InteropServices.COMException",
    )


CMDLETS: Mapping[str, Cmdlet] = {"Get-WindowsPackage": get_package, "Add-WindowsPackage": add_package}
