# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Runs a module as ansible-core's module_wrapper.ps1 does: its utilities imported globally, its arguments in
# $complex_args, errors terminating. The stubs are those that tests/simulator/contracts/powershell-behaviour.json names.

param([string]$Module, [string]$Utilities, [string]$BatchPath)

$ErrorActionPreference = 'Stop'

function global:Get-Stub {
    [CmdletBinding(DefaultParameterSetName = 'None')]
    param(
        [Parameter(Mandatory)][Alias('N')][string]$Name,
        [int]$Count,
        [ValidateSet('Auto', 'Manual')][string]$Mode,
        [System.DayOfWeek]$Day,
        [string[]]$List,
        [switch]$Flag,
        [bool]$Yes,
        [hashtable]$Map,
        [TimeSpan]$Span,
        [datetime]$When,
        [guid]$Id,
        [ipaddress]$Addr,
        [version]$Ver,
        [ValidateRange(1, 10)][int]$Range,
        [ValidatePattern('^\S+$')][string]$Pat,
        [Parameter(ParameterSetName = 'A')][object]$SetA,
        [Parameter(ParameterSetName = 'B')][object]$SetB
    )
    $result = [ordered]@{}
    foreach ($key in $PSBoundParameters.Keys) {
        if ($key -eq 'ErrorAction') { continue }
        $result[$key] = $PSBoundParameters[$key]
        $result["$key.type"] = $PSBoundParameters[$key].GetType().FullName
    }
    [pscustomobject]$result
}

function global:Use-Stub {
    [CmdletBinding()]
    param([Parameter(Mandatory, ValueFromPipeline)][object]$InputObject)
    process { [pscustomobject]@{ got = $InputObject.Name; count = $InputObject.Count } }
}

function global:Get-Empty { [CmdletBinding()] param() }
function global:Get-Warn {
    [CmdletBinding()] param()
    Write-Warning 'careful'
    Write-Verbose 'chatter' -Verbose
    Write-Information 'noise' -InformationAction Continue
    'out'
}
function global:Get-NonTerm {
    [CmdletBinding()] param()
    Write-Error 'nt'
    'after'
}
function global:Get-Throw {
    [CmdletBinding()] param()
    throw 'boom'
}
function global:Get-ThrowTyped {
    [CmdletBinding()] param()
    throw [System.IO.IOException]::new('disk full')
}
function global:Get-Counted {
    [CmdletBinding()] param([string]$Path)
    [System.IO.File]::AppendAllText($Path, 'x')
    [pscustomobject]@{ State = if ([System.IO.FileInfo]::new($Path).Length -ge 3) { 'Ready' } else { 'Waiting' } }
}
function global:Get-Sample {
    [CmdletBinding()] param()
    [pscustomobject]@{
        Enum = [System.DayOfWeek]::Friday; When = [datetime]::new(2026, 11, 21, 1, 2, 3, [System.DateTimeKind]::Utc); One = @('x'); None = @()
        Bytes = [byte[]](1, 2); Span = [timespan]::FromSeconds(90); Nothing = $null; Text = "a$([char]0xE9)`n`"\$([char]::ConvertFromUtf32(0x1F600))"
        Deep = @{ a = @{ b = @{ c = @{ d = 1 } } } }; Big = [long]::MaxValue; Half = 0.5; Name = 'n'
    }
}

$standIns = [System.IO.Path]::Combine($PSScriptRoot, 'stand_ins.ps1')
New-Module -Name 'StandIns' -ScriptBlock ([scriptblock]::Create([System.IO.File]::ReadAllText($standIns))) |
    Import-Module -Scope Global
foreach ($path in $Utilities.Split([System.IO.Path]::PathSeparator)) {
    $code = [scriptblock]::Create([System.IO.File]::ReadAllText($path))
    New-Module -Name ([System.IO.Path]::GetFileNameWithoutExtension($path)) -ScriptBlock $code |
        Import-Module -WarningAction SilentlyContinue -Scope Global
}
Set-Variable -Scope Global -Name complex_args -Value @{ batch = [System.IO.File]::ReadAllText($BatchPath) }
& $Module
