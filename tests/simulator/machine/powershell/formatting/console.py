# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The conversion of output objects to the text that powershell.exe prints on the console."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta

from simulator.machine.conversion import net_type
from simulator.machine.objects import CUSTOM_OBJECT, ErrorRecord, NotModelled, PSObject
from simulator.machine.powershell.formatting.dates import long_date
from simulator.machine.powershell.formatting.file_table import FileItem, file_table
from simulator.machine.powershell.formatting.tables import listing, rows_of, table
from simulator.machine.powershell.members.objects import ScriptMember
from simulator.machine.powershell.types.convert import VERSION
from simulator.machine.powershell.types.kinds import SwitchValue, TypeValue
from simulator.machine.powershell.types.plain_text import to_text

# The columns of types that have their own view in PowerShell (Get-FormatData).
VIEWS: dict[str, tuple[str, ...]] = {
    "System.ServiceProcess.ServiceController": ("Status", "Name", "DisplayName"),
    VERSION: ("Major", "Minor", "Build", "Revision"),
    "System.Guid": ("Guid",),
    "System.Collections.DictionaryEntry": ("Name", "Value"),
}
# Types that are always shown as a list, as in the examples of Microsoft's pages on the DISM cmdlets.
_LISTED = ("Microsoft.Dism.Commands.ImageObject",)
# Types whose views are not modelled.
_NO_VIEW = (
    "System.Diagnostics.Process",
    "Microsoft.Windows.ServerManager.Commands.Feature",
    "System.IO.FileInfo",
    "System.IO.DirectoryInfo",
    "System.Uri",
    "System.Net.IPAddress",
    "Microsoft.PowerShell.Commands.GenericMeasureInfo",
    "Microsoft.PowerShell.Commands.TextMeasureInfo",
    "Microsoft.PowerShell.Commands.GroupInfo",
    "Microsoft.PowerShell.Commands.MatchInfo",
    "Microsoft.PowerShell.Commands.MemberDefinition",
    "System.Text.RegularExpressions.Regex",
    "System.Text.RegularExpressions.Match",
    "System.Text.RegularExpressions.Group",
    "System.Management.Automation.PSVariable",
    "System.Management.Automation.AliasInfo",
    "System.Management.Automation.CmdletInfo",
    "System.Management.Automation.FunctionInfo",
    "System.Management.Automation.ApplicationInfo",
    "System.Management.Automation.PathInfo",
    "System.Management.Automation.InvocationInfo",
    "System.Management.Automation.ErrorCategoryInfo",
    "System.Management.Automation.PSObject",
)
TABLE_COLUMNS = 4


def lines(objects: Sequence[object]) -> list[str]:
    """Return the lines that a console shows for objects.

    Raises:
        NotModelled: the view of a type is not modelled, or other output follows a table or list of properties.
    """
    found: list[str] = []
    flat = list(_flattened(objects))
    position, shown, ended = 0, False, False
    while position < len(flat):
        item = flat[position]
        columns = () if isinstance(item, FileItem) else columns_of(item)
        if columns is None:
            if shown and item is not None:
                ended = True
            found += _plain(item)
            position += 1
            continue
        if shown:
            raise NotModelled("objects of several kinds in the same console output")
        group: list[PSObject] = []
        if isinstance(item, FileItem):
            items = list(itertools.takewhile(lambda each: isinstance(each, FileItem), flat[position:]))
            found += file_table([each for each in items if isinstance(each, FileItem)])
            position, shown = position + len(items), True
            continue
        while position < len(flat) and _alike(flat[position], item):
            following = flat[position]
            assert isinstance(following, PSObject)
            group.append(following)
            position += 1
        shown = True
        as_table = len(columns) <= TABLE_COLUMNS and group[0].type_name not in _LISTED
        found += table(group, columns) if as_table else listing(group, columns)
    if ended:
        raise NotModelled("text after a table or list of properties in the same console output")
    return found


def _flattened(objects: Sequence[object]) -> Sequence[object]:
    found: list[object] = []
    for item in objects:
        if isinstance(item, dict):
            found += rows_of(item)
        elif isinstance(item, (list, tuple)):
            found += _flattened(item)
        elif isinstance(item, (bytes, bytearray)):
            found += list(item)
        else:
            found.append(item)
    return found


def _alike(item: object, first: object) -> bool:
    if not isinstance(item, PSObject) or not isinstance(first, PSObject) or item.type_name != first.type_name:
        return False
    return columns_of(item) is not None


def text(objects: Sequence[object]) -> str:
    """Return the text that a console shows for objects. Each line has a line ending."""
    return "".join(f"{line}\r\n" for line in lines(objects))


def columns_of(item: object) -> tuple[str, ...] | None:
    """Return the names of the properties that a console shows for a value, or None for a value that is shown as text.

    Raises:
        NotModelled: the view of the type is not modelled.
    """
    if isinstance(item, SwitchValue):
        return ("IsPresent",)
    if not isinstance(item, PSObject):
        return None
    if item.type_name in VIEWS:
        return VIEWS[item.type_name]
    if item.type_name in _NO_VIEW:
        raise NotModelled(f"{item.type_name} on the console")
    if item.text is not None and item.type_name != CUSTOM_OBJECT:
        return None
    names = [name for name, value in item.properties.items() if not callable(value)]
    if any(isinstance(item.properties[name], ScriptMember) for name in names):
        raise NotModelled("the display of an object with script properties on the console")
    return tuple(names) or None


def _plain(item: object) -> list[str]:
    if item is None:
        return []
    if isinstance(item, datetime):
        return ["", long_date(item), ""]
    if isinstance(item, (timedelta, TypeValue, ErrorRecord)):
        raise NotModelled(f"{net_type(item)} on the console")
    if isinstance(item, PSObject) and item.type_name.endswith("Exception"):
        raise NotModelled(f"{item.type_name} on the console")
    if isinstance(item, str):
        return item.split("\n") if "\r\n" not in item else item.replace("\r\n", "\n").split("\n")
    return [to_text(item)]
