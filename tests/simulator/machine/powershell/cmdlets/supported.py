# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The modelled parameters of cmdlets. A script that uses any other parameter of one of these cmdlets is rejected."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.contract import COMMON
from simulator.machine.objects import NotModelled

_ANY = frozenset(
    name.casefold() for name in ("ErrorAction", "WarningAction", "InformationAction", "OutVariable", "ErrorVariable")
)
_MODELLED = {
    "Add-Content": "Path LiteralPath Value Encoding NoNewline PassThru Force WhatIf",
    "Add-Member": "InputObject MemberType Name Value Force PassThru "
    "NotePropertyName NotePropertyValue NotePropertyMembers",
    "Clear-Content": "Path LiteralPath Force",
    "Compare-Object": "ReferenceObject DifferenceObject IncludeEqual ExcludeDifferent PassThru SyncWindow Property",
    "ConvertFrom-Csv": "InputObject Delimiter Header",
    "ConvertFrom-Json": "InputObject",
    "ConvertTo-Csv": "InputObject Delimiter NoTypeInformation",
    "ConvertTo-Json": "InputObject Depth Compress",
    "Copy-Item": "Path LiteralPath Destination Recurse Force PassThru WhatIf",
    "Export-Csv": "InputObject Path LiteralPath Delimiter NoTypeInformation Append Encoding Force",
    "ForEach-Object": "InputObject Begin Process End RemainingScripts MemberName ArgumentList",
    "Format-List": "InputObject Property",
    "Format-Table": "InputObject Property AutoSize HideTableHeaders",
    "Get-Alias": "Name Definition",
    "Get-ChildItem": "Path LiteralPath Filter Include Exclude Recurse Depth Force Name Directory File",
    "Get-Command": "Name",
    "Get-Content": "Path LiteralPath TotalCount Tail Raw Encoding Force",
    "Get-Date": "Date Year Month Day Hour Minute Second Format UFormat",
    "Get-Item": "Path LiteralPath Force Filter Include Exclude",
    "Get-Member": "InputObject Name MemberType",
    "Get-Random": "Minimum Maximum InputObject Count",
    "Get-Unique": "InputObject AsString",
    "Get-Variable": "Name ValueOnly Scope",
    "Group-Object": "InputObject Property NoElement AsHashTable AsString CaseSensitive",
    "Import-Csv": "Path LiteralPath Delimiter Header",
    "Invoke-Command": "ScriptBlock ArgumentList NoNewScope InputObject ComputerName Session",
    "Invoke-Expression": "Command",
    "Join-Path": "Path ChildPath Resolve",
    "Measure-Command": "Expression",
    "Measure-Object": "InputObject Property Sum Average Maximum Minimum Line Word Character",
    "Move-Item": "Path LiteralPath Destination Force PassThru WhatIf",
    "New-Alias": "Name Value Force",
    "New-Item": "Path Name ItemType Value Force WhatIf",
    "New-Object": "TypeName ArgumentList Property ComObject",
    "New-TimeSpan": "Start End Days Hours Minutes Seconds",
    "New-Variable": "Name Value Scope Force",
    "Out-Default": "InputObject",
    "Out-File": "FilePath LiteralPath InputObject Append Encoding NoNewline Force",
    "Out-Host": "InputObject",
    "Out-Null": "InputObject",
    "Out-String": "InputObject Stream",
    "Remove-Item": "Path LiteralPath Filter Include Exclude Recurse Force WhatIf DeleteKey",
    "Remove-Variable": "Name Scope Force",
    "Rename-Item": "Path LiteralPath NewName Force PassThru WhatIf",
    "Select-Object": "InputObject Property ExcludeProperty ExpandProperty Unique Last First Skip SkipLast Wait Index",
    "Select-String": "InputObject Pattern Path LiteralPath SimpleMatch CaseSensitive Quiet NotMatch AllMatches List",
    "Set-Alias": "Name Value",
    "Set-Content": "Path LiteralPath Value Encoding NoNewline PassThru Force WhatIf",
    "Set-StrictMode": "Version Off",
    "Set-Variable": "Name Value Scope",
    "Sort-Object": "InputObject Property Descending Unique CaseSensitive",
    "Split-Path": "Path LiteralPath Qualifier NoQualifier Parent Leaf IsAbsolute",
    "Tee-Object": "InputObject Variable FilePath LiteralPath",
    "Test-Path": "Path LiteralPath PathType IsValid Include Exclude Filter",
    "Where-Object": "",
    "Write-Error": "Message Exception ErrorRecord Category ErrorId TargetObject CategoryActivity",
    "Write-Host": "Object NoNewline Separator ForegroundColor BackgroundColor",
    "Write-Information": "MessageData",
    "Write-Output": "InputObject NoEnumerate",
    "Write-Verbose": "Message Verbose",
    "Write-Debug": "Message",
    "Write-Warning": "Message",
}
MODELLED: Mapping[str, frozenset[str]] = {
    command: frozenset(names.casefold().split()) for command, names in _MODELLED.items()
}
_COMMON = frozenset(name.casefold() for name in COMMON)
# Switches that have no effect if they are off.
_OFF = frozenset(("confirm", "verbose", "debug", "force", "whatif"))


def check(command: str, values: Mapping[str, object]) -> None:
    """Reject parameters that are not modelled. If MODELLED does not contain the cmdlet, check only common parameters.

    Raises:
        NotModelled: a parameter is not modelled.
    """
    known = MODELLED.get(command)
    for name, value in values.items():
        lower = name.casefold()
        if lower in _ANY or (lower in _OFF and value is False):
            continue
        if known is None:
            if lower in _COMMON and lower not in ("verbose", "debug", "warningvariable"):
                raise NotModelled(f"the parameter -{name} of {command}")
            continue
        if lower in known or (command == "Where-Object" and lower not in _COMMON):
            continue
        raise NotModelled(f"the parameter -{name} of {command}")
