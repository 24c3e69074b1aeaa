# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

<#
.SYNOPSIS
    Installs other versions from the cache of an image, before the machine joins a cluster.
.DESCRIPTION
    User data runs this script before kubeadm. The build of the image has stored one batch of calls for each version.
    The script runs these batches with the collection's own module, invoke_calls.ps1, which is in the same folder. It
    contacts no other machine. If a version is not available, the script changes nothing, and its exit code is 1. After
    an interruption, run it again with the same versions. It logs to install-cached-versions.log in the same folder.
.PARAMETER Kubernetes
    The version of Kubernetes, such as 1.37.1. Without a parameter, the version of the image stays.
.PARAMETER Runtime
    The version of the container runtime.
.PARAMETER Network
    The version of the network's program, or PROGRAM=VERSION, separated by commas if the network has several programs.
#>
[CmdletBinding()]
param([string] $Kubernetes, [string] $Runtime, [string] $Network)

# A 32-bit process would read and write other registry keys and folders. Only such a process has the folder Sysnative.
if ([Environment]::Is64BitOperatingSystem -and -not [Environment]::Is64BitProcess) {
    $given = @(
        if ($Kubernetes) { '-Kubernetes', $Kubernetes }
        if ($Runtime) { '-Runtime', $Runtime }
        if ($Network) { '-Network', $Network }
    )
    $options = '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $PSCommandPath
    & "$env:SystemRoot\Sysnative\WindowsPowerShell\v1.0\powershell.exe" $options $given
    exit $LASTEXITCODE
}

# The parts of the module see only global preferences.
Set-Variable -Scope Global -Name ErrorActionPreference -Value 'Stop'

function Write-Log([string] $Text) {
    $time = "$([DateTime]::UtcNow.ToString('s'))Z"
    $log = "$PSScriptRoot\install-cached-versions.log"
    # Another program may have the log open.
    try { Add-Content -LiteralPath $log -Value "$time $Text" -Encoding UTF8 } catch { $null = 'it goes on without' }
}

function Get-Version($Index, [string] $Parameter, [string] $Text) {
    # The requested versions by component.
    $found = @{}
    $names = @($Index.components | Where-Object { $_.parameter -eq $Parameter } | ForEach-Object { $_.name })
    foreach ($word in @($Text -split '[,\s]+' | Where-Object { $_ })) {
        $name, $version = $word -split '=', 2
        if ($null -eq $version -and $names.Count -eq 1) { $name, $version = $names[0], $word }
        $version = "$version" -replace '^v', ''
        if (-not $version -or $names -notcontains $name) {
            throw "-${Parameter}: expected NAME=VERSION with a name of $($names -join ', '), got $word"
        }
        if ($found.ContainsKey($name)) { throw "-${Parameter}: expected each name once, got $name twice" }
        $found[$name] = $version
    }
    $found
}

function Get-Installed($Component) {
    # What was unpacked last. A playbook may have installed it.
    if (-not (Test-Path -LiteralPath $Component.record)) { return 'an unknown version' }
    $archive = (Get-Content -LiteralPath $Component.record -Raw -Encoding UTF8 | ConvertFrom-Json).path
    foreach ($one in $Component.versions) { if ($one.archive -eq $archive) { return $one.version } }
    $archive
}

function Get-Change($Component, [string] $Version) {
    # The version to install, if it is not installed yet. Throws if it cannot be installed.
    $title = $Component.title
    # A file marks a version whose installation has begun. Its name contains the version, because the content of a file
    # that was written just before a power failure may be lost.
    $mark = "installing.$($Component.name)."
    $begun = ''
    foreach ($file in @(Get-ChildItem -LiteralPath $PSScriptRoot -Filter "$mark*")) {
        $begun = $file.Name.Substring($mark.Length)
    }
    if (-not $Version -and -not $begun) { return }
    $entry = @($Component.versions | Where-Object { $_.version -eq $Version })
    if ($Version -and $entry.Count -eq 0) {
        $cached = @($Component.versions | ForEach-Object { $_.version }) -join ', '
        throw "$title $Version is not cached in this image; cached: $cached"
    }
    if ($begun -and $begun -ne $Version) {
        $choice = "-$($Component.parameter) $($Component.name)=$begun"
        throw "the installation of $title $begun was interrupted; run this again with $choice"
    }
    if (-not $begun) {
        $installed = Get-Installed $Component
        if ($installed -eq $Version) { return }
        if ($installed -ne $Component.image) {
            throw "$title $Version can only replace $($Component.image), the version of the image, got $installed"
        }
    }
    $archive = $entry[0].archive
    if (-not (Test-Path -LiteralPath $archive -PathType Leaf)) {
        throw "$title ${Version}: expected its archive $archive in the cache, got nothing"
    }
    $drives = @($env:SystemDrive, $Component.record | ForEach-Object { $_.Substring(0, 1) } | Select-Object -Unique)
    @{ Title = "$title $Version"; Entry = $entry[0]; Mark = "$PSScriptRoot\$mark$Version"; Drives = $drives }
}

function Install-Version($Change) {
    $title = $Change.Title
    Write-Log "installing $title"
    $text = Get-Content -LiteralPath "$PSScriptRoot\$($Change.Entry.batch)" -Raw -Encoding UTF8
    $begun = Test-Path -LiteralPath $Change.Mark
    Set-Content -LiteralPath $Change.Mark -Value '' -Encoding ASCII
    # invoke_calls.ps1 reads its argument from this variable, as Ansible sets it.
    Set-Variable -Name complex_args -Value @{ batch = $text }
    $answer = @(& "$PSScriptRoot\invoke_calls.ps1")[-1] | ConvertFrom-Json
    $stopped = $answer.observation.stopped
    # The batch was refused, or its first call has found a different archive. So this run has changed nothing.
    $unchanged = $answer.failed -or ($stopped -and $stopped.id -eq 'cached.archive')
    if ($unchanged -and -not $begun) { Remove-Item -LiteralPath $Change.Mark -Force }
    if ($answer.failed) { throw "${title}: $($answer.msg)" }
    if ($stopped) {
        # A call with secrets has no message. Its output may contain secrets as well, so it is never logged.
        $problem = $answer.observation.calls.($stopped.id).error
        $resource = $Change.Entry.changes.(($stopped.id -split '\.')[0])
        throw "${title}: $resource ($($stopped.id)): $($problem.category) $($problem.id) $($problem.message)"
    }
    # The removal of the mark may be on the disk before the content of the programs.
    try { Write-VolumeCache -DriveLetter $Change.Drives -ErrorAction Stop }
    catch { Write-Log "${title}: not written to the disk yet: $_" }
    Remove-Item -LiteralPath $Change.Mark -Force
    Write-Log "installed $title"
}

try {
    $index = Get-Content -LiteralPath "$PSScriptRoot\index.json" -Raw -Encoding UTF8 | ConvertFrom-Json
    $requested = @{}
    foreach ($pair in @(@('Kubernetes', $Kubernetes), @('Runtime', $Runtime), @('Network', $Network))) {
        $requested += Get-Version $index -Parameter $pair[0] -Text $pair[1]
    }
    # Nothing changes before all versions have been checked.
    $changes = @(foreach ($component in $index.components) { Get-Change $component $requested[$component.name] })
    $joined = @($index.joined | Where-Object { Test-Path -LiteralPath $_ })
    if ($changes.Count -gt 0 -and $joined.Count -gt 0) {
        $names = @($changes | ForEach-Object { $_.Title }) -join ', '
        throw "expected a machine that has not joined a cluster, got $($joined[0]); not installed: $names"
    }
    if ($changes.Count -gt 0) {
        foreach ($part in @(Get-ChildItem -LiteralPath $PSScriptRoot -Filter '*.psm1')) {
            # Names of Ansible's functions do not begin with approved verbs.
            Import-Module -Name $part.FullName -Scope Global -DisableNameChecking
        }
    }
    foreach ($change in $changes) { Install-Version $change }
} catch {
    $problem = "$_"
    [Console]::Error.WriteLine("install-cached-versions: $problem")
    Write-Log $problem
    exit 1
}
exit 0
