# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fsutil.exe program, and the cmdlets for disks, partitions and volumes.

Each drive of the machine is a partition of a separate disk. The `unallocated_gb` setting is the size of the
unallocated space on the disk of drive C, for example because an image of 30 GB was written to a larger disk.
Source: https://learn.microsoft.com/powershell/module/storage/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.files import GIGABYTE
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
)
from simulator.machine.wildcards import any_match
from simulator.windows.common import cim, objects

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMESPACE = "root/Microsoft/Windows/Storage"
_SMALLEST = 16 * GIGABYTE


def unallocated(machine: Machine) -> int:
    """Return the size of the unallocated space on the first disk, in bytes."""
    configured = machine.settings.option("unallocated_gb", 0)
    total = int(float(configured) * GIGABYTE) if isinstance(configured, (int, float)) else 0
    return max(0, total - (machine.files.size() - machine.files.capacity))


def _letters(machine: Machine) -> list[str]:
    return [letter for letter in "CDEFGHIJ" if machine.files.drive_exists(f"{letter}:\\")]


def _selected_drives(machine: Machine, bound: Bound, command: str) -> list[str]:
    """Return the drive letters that the parameters of a cmdlet select.

    Raises:
        CmdletError: the parameters name drives, and none of them exists.
    """
    given = [str(item.get("DriveLetter")) for item in objects(bound, "InputObject", "Partition", "Volume")]
    names = given or bound.texts("DriveLetter")
    found = [letter for letter in _letters(machine) if not names or any_match(names, letter)]
    if names and not found:
        class_name = "MSFT_Volume" if "Volume" in command else "MSFT_Partition"
        raise CmdletError(
            "ObjectNotFound",
            f"CmdletizationQuery_NotFound_DriveLetter,{command}",
            f"No {class_name} objects found with property 'DriveLetter' equal to '{names[0]}'.  "
            "Verify the value of the property and retry.",
            "Microsoft.PowerShell.Cmdletization.Cim.CimJobException",
        )
    return found


def get_volume(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Volume."""
    for letter in _selected_drives(machine, bound, "Get-Volume"):
        properties: dict[str, object] = {
            "DriveLetter": letter,
            "FileSystemLabel": "Windows" if letter == "C" else "Temporary Storage",
            "FileSystem": "NTFS",
            "FileSystemType": Enumeration("NTFS", 14),
            "DriveType": Enumeration("Fixed", 3),
            "HealthStatus": Enumeration("Healthy", 0),
            "Size": machine.files.size(letter),
            "SizeRemaining": machine.files.free_space(letter),
        }
        yield cim("MSFT_Volume", properties, _NAMESPACE)


def get_partition(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Partition."""
    for letter in _selected_drives(machine, bound, "Get-Partition"):
        properties: dict[str, object] = {
            "DiskNumber": _letters(machine).index(letter),
            "PartitionNumber": 4 if letter == "C" else 1,
            "DriveLetter": letter,
            "Offset": 1 << 20,
            "Size": machine.files.size(letter),
            "Type": "Basic",
            "IsBoot": letter == "C",
            "IsSystem": False,
        }
        yield cim("MSFT_Partition", properties, _NAMESPACE)


def get_supported_size(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-PartitionSupportedSize."""
    for letter in _selected_drives(machine, bound, "Get-PartitionSupportedSize"):
        most = machine.files.size(letter) + (unallocated(machine) if letter == "C" else 0)
        properties: dict[str, object] = {"SizeMin": min(_SMALLEST, most), "SizeMax": most}
        yield PSObject("Microsoft.Management.Infrastructure.CimInstance", properties)


def resize_partition(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Resize-Partition."""
    for letter in _selected_drives(machine, bound, "Resize-Partition"):
        size, now = bound.number("Size"), machine.files.size(letter)
        most = now + (unallocated(machine) if letter == "C" else 0)
        if size == now:
            raise _storage_error(
                "StorageWMI 4,Resize-Partition", "The size of the extent is less than the minimum of 1MB."
            )
        if size > most or size < min(_SMALLEST, now):
            raise _storage_error("StorageWMI 4097,Resize-Partition", "Size Not Supported")
        machine.files.grow(size - now)
    return []


def _storage_error(error_id: str, message: str) -> CmdletError:
    return CmdletError("NotSpecified", error_id, message, "Microsoft.Management.Infrastructure.CimException")


def get_disk(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Disk."""
    for number, letter in enumerate(_letters(machine)):
        if "Number" in bound and str(number) not in bound.texts("Number"):
            continue
        properties: dict[str, object] = {
            "Number": number,
            "DiskNumber": number,
            "FriendlyName": "Msft Virtual Disk",
            "Size": machine.files.size(letter) + (unallocated(machine) if letter == "C" else 0),
            "AllocatedSize": machine.files.size(letter),
            "PartitionStyle": Enumeration("GPT", 2),
            "OperationalStatus": Enumeration("Online", 53264),
            "HealthStatus": Enumeration("Healthy", 0),
            "IsBoot": letter == "C",
        }
        yield cim("MSFT_Disk", properties, _NAMESPACE)


def optimize_volume(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Optimize-Volume, which has no visible effect."""
    _selected_drives(machine, bound, "Optimize-Volume")
    return []


def write_volume_cache(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-VolumeCache, which has no visible effect, because the machine never loses written files."""
    _selected_drives(machine, bound, "Write-VolumeCache")
    return []


def fsutil(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate fsutil.exe volume diskfree and fsutil.exe file createnew."""
    words = [argument.casefold() for argument in run.argv[:2]]
    if words == ["volume", "diskfree"] and len(run.argv) == 3:
        free, total = machine.files.free_space(run.argv[2]), machine.files.size(run.argv[2])
        lines = (f"Total free bytes        : {free:,}", f"Total bytes             : {total:,}")
        return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))
    if words == ["file", "createnew"] and len(run.argv) == 4 and run.argv[3].isdigit():
        if machine.files.exists(run.argv[2]):
            return ProgramResult(1, "Error:  The file exists.\r\n")
        machine.files.write_bytes(run.argv[2], bytes(int(run.argv[3])))
        return ProgramResult(0, f"File {run.argv[2]} is created\r\n")
    return ProgramResult(1, f"the simulator does not model fsutil {' '.join(run.argv[:2])}\r\n")


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-Volume": get_volume,
    "Get-Partition": get_partition,
    "Get-PartitionSupportedSize": get_supported_size,
    "Resize-Partition": resize_partition,
    "Get-Disk": get_disk,
    "Optimize-Volume": optimize_volume,
    "Write-VolumeCache": write_volume_cache,
}
PROGRAMS: Mapping[str, Program] = {"fsutil.exe": fsutil}
