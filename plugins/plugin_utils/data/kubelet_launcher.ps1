# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

<#
.SYNOPSIS
    Runs the kubelet of a machine that joins a cluster by itself.
.DESCRIPTION
    nssm runs this script as the service kubelet. The script waits until the machine joins, adds the flags that kubeadm
    wrote to the kubelet's arguments, and runs the kubelet. While the kubelet runs, the script restores static addresses
    that a new virtual switch has reset, and runs the commands that follow a join. The settings are in
    kubelet-launcher.json, next to the script.
.PARAMETER PreCommands
    Runs the commands that precede a join, and ends. The user data of a machine calls the script in this way.
#>
[CmdletBinding()]
param([switch] $PreCommands)

$ErrorActionPreference = 'Stop'
$settings = Get-Content -LiteralPath "$PSScriptRoot\kubelet-launcher.json" -Raw -Encoding UTF8 | ConvertFrom-Json

function Write-Log([string] $Text) {
    # nssm writes this to kubelet.out.log.
    Write-Information "kubelet-launcher: $Text" -InformationAction Continue
}

function Start-Program([string] $Program, [string] $Arguments, $Environment, [bool] $Quiet) {
    $start = New-Object System.Diagnostics.ProcessStartInfo
    $start.FileName = $Program
    $start.Arguments = $Arguments
    # The program inherits the handles of this process, so its output reaches nssm's log.
    $start.UseShellExecute = $false
    $start.RedirectStandardOutput = $Quiet
    $start.RedirectStandardError = $Quiet
    if ($Environment) {
        foreach ($variable in $Environment.PSObject.Properties) {
            $start.EnvironmentVariables[$variable.Name] = [string] $variable.Value
        }
    }
    $process = [System.Diagnostics.Process]::Start($start)
    if ($Quiet) {
        # Without handlers, the output is discarded. A full pipe would block the program.
        $process.BeginOutputReadLine()
        $process.BeginErrorReadLine()
    }
    $process
}

function Get-KubeadmFlag {
    if (-not (Test-Path -LiteralPath $settings.flags_file)) { return }
    foreach ($line in @(Get-Content -LiteralPath $settings.flags_file -Encoding UTF8)) {
        $name, $value = $line.Trim() -split '=', 2
        if ($name.Trim() -ne $settings.flags_variable -or $null -eq $value) { continue }
        $value = $value.Trim()
        # kubeadm quotes the value as Go's %q does.
        if ($value -match '^"(.*)"$') { $value = $Matches[1] -replace '\\(.)', '$1' }
        return @($value -split '\s+' | Where-Object { $_ })
    }
}

function Get-KnownFlag {
    # The flags that this kubelet lists. It does not start with any other flag.
    $known = @{}
    foreach ($line in @(& $settings.kubelet '--help')) {
        if ($line -match '^\s+(?:-\w, )?--([\w-]+)') { $known[$Matches[1]] = $true }
    }
    $known
}

function Get-KubeletArgument {
    $known = Get-KnownFlag
    if ($known.Count -eq 0) { Write-Log 'the kubelet lists no flags; all flags that kubeadm wrote are used' }
    $names = @{}
    $added = @()
    $isKnown = $true
    foreach ($word in @(Get-KubeadmFlag)) {
        # A word without a hyphen is the value of the flag before it.
        if ($word -match '^-+([^=]+)') {
            # The kubelet reads underscores as hyphens.
            $name = $Matches[1].Replace('_', '-')
            $isKnown = $known.Count -eq 0 -or $known.ContainsKey($name)
            if ($isKnown) { $names[$name] = $true } else { Write-Log "this kubelet does not know --$name" }
        }
        if ($isKnown) { $added += $word }
    }
    # A flag that kubeadm wrote replaces the same flag. Labels of several flags add up.
    $own = @($settings.arguments | Where-Object {
            -not ($_ -match '^"?-+([^="]+)' -and $Matches[1] -ne 'node-labels' -and $names.ContainsKey($Matches[1]))
        })
    ($own + $added) -join ' '
}

function Invoke-JoinCommand([string] $Name, $Command) {
    # The output may repeat secrets, so it is not logged.
    $start = @{ Program = $Command.program; Arguments = $Command.arguments; Environment = $Command.environment }
    try { $process = Start-Program @start -Quiet $true } catch {
        Write-Log "${Name}: the program $($Command.program) does not exist or cannot be started"
        return $false
    }
    if (-not $process.WaitForExit(1000 * $Command.timeout)) {
        & "$env:SystemRoot\System32\taskkill.exe" /pid $process.Id /t /f | Out-Null
        Write-Log "${Name}: did not end within $($Command.timeout) seconds"
        return $false
    }
    if ($Command.success_codes -contains $process.ExitCode) { return $true }
    Write-Log "${Name}: exit code $($process.ExitCode)"
    $false
}

function Invoke-PostCommand {
    # The record contains how many commands have ended. The commands run after the machine has received its certificate,
    # and after kubeadm has ended.
    if (-not (Test-Path -LiteralPath $settings.record)) { return $true }
    foreach ($path in @($settings.kubeconfig, $settings.certificate)) {
        if (-not (Test-Path -LiteralPath $path)) { return $false }
    }
    if (Get-Process -Name kubeadm -ErrorAction SilentlyContinue) { return $false }
    $commands = @($settings.post_commands)
    $ended = [int] (Get-Content -LiteralPath $settings.record -TotalCount 1)
    while ($ended -lt $commands.Count) {
        if (-not (Invoke-JoinCommand "post_kubeadm_commands[$ended]" $commands[$ended])) { return $true }
        $ended += 1
        Set-Content -LiteralPath $settings.record -Value "$ended" -Encoding ASCII
    }
    Remove-Item -LiteralPath $settings.record -Force
    $true
}

function Test-Switch([string[]] $Mac) {
    # The virtual adapter of a switch has the MAC address of the physical adapter that it uses.
    @(Get-NetAdapter | Where-Object { -not $_.HardwareInterface -and $Mac -contains $_.MacAddress }).Count -gt 0
}

function Get-StaticAdapter {
    $physical = @(Get-NetAdapter | Where-Object { $_.HardwareInterface })
    if (Test-Switch @($physical | ForEach-Object { $_.MacAddress })) { return }
    foreach ($adapter in $physical) {
        $index = $adapter.ifIndex
        $interface = Get-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -ErrorAction SilentlyContinue
        if ($adapter.Status -ne 'Up' -or -not $interface -or "$($interface.Dhcp)" -ne 'Disabled') { continue }
        $addresses = @(Get-NetIPAddress -InterfaceIndex $index -ErrorAction SilentlyContinue |
                Where-Object { "$($_.PrefixOrigin)" -eq 'Manual' })
        if ($addresses.Count -eq 0) { continue }
        $routes = @(Get-NetRoute -InterfaceIndex $index -ErrorAction SilentlyContinue |
                Where-Object { @('0.0.0.0', '::') -notcontains $_.NextHop })
        $dns = @((Get-DnsClientServerAddress -InterfaceIndex $index -AddressFamily IPv4).ServerAddresses)
        [pscustomobject] @{ Mac = $adapter.MacAddress; Addresses = $addresses; Routes = $routes; Dns = $dns }
    }
}

function Restore-StaticAdapter($Saved) {
    # The adapter's own interface, or that of its virtual adapter.
    foreach ($adapter in @(Get-NetAdapter | Where-Object { $_.MacAddress -eq $Saved.Mac })) {
        $index = $adapter.ifIndex
        $interface = Get-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -ErrorAction SilentlyContinue
        if (-not $interface) { continue }
        # New-NetIPAddress refuses an interface with DHCP.
        if ("$($interface.Dhcp)" -ne 'Disabled') {
            Set-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -Dhcp Disabled
            Write-Log "$($Saved.Mac): the static address is restored"
        }
        $present = @(Get-NetIPAddress -InterfaceIndex $index -ErrorAction SilentlyContinue |
                ForEach-Object { $_.IPAddress })
        foreach ($one in $Saved.Addresses) {
            if ($present -contains $one.IPAddress) { continue }
            $address = @{ IPAddress = $one.IPAddress; PrefixLength = $one.PrefixLength }
            New-NetIPAddress -InterfaceIndex $index @address | Out-Null
        }
        $dns = @((Get-DnsClientServerAddress -InterfaceIndex $index -AddressFamily IPv4).ServerAddresses)
        if ($Saved.Dns.Count -gt 0 -and ($dns -join ' ') -ne ($Saved.Dns -join ' ')) {
            Set-DnsClientServerAddress -InterfaceIndex $index -ServerAddresses $Saved.Dns
        }
        # Routes come last, because Windows may refuse one of them.
        $present = @(Get-NetRoute -InterfaceIndex $index -ErrorAction SilentlyContinue |
                ForEach-Object { "$($_.DestinationPrefix) $($_.NextHop)" })
        foreach ($one in $Saved.Routes) {
            if ($present -contains "$($one.DestinationPrefix) $($one.NextHop)") { continue }
            $route = @{ DestinationPrefix = $one.DestinationPrefix; NextHop = $one.NextHop }
            New-NetRoute -InterfaceIndex $index -RouteMetric $one.RouteMetric @route | Out-Null
        }
    }
}

function Test-Join {
    # kubeadm writes the bootstrap kubeconfig first, then the kubelet's configuration and flags. Then it restarts the
    # service.
    $hasJoined = @($settings.kubeconfig, $settings.bootstrap_kubeconfig | Where-Object { Test-Path -LiteralPath $_ })
    $hasJoined.Count -gt 0 -and (Test-Path -LiteralPath $settings.configuration)
}

if ($PreCommands) {
    $commands = @($settings.pre_commands)
    for ($number = 0; $number -lt $commands.Count; $number += 1) {
        if (-not (Invoke-JoinCommand "pre_kubeadm_commands[$number]" $commands[$number])) { exit 1 }
    }
    exit 0
}

while (-not (Test-Join)) { Start-Sleep -Seconds 1 }

# A playbook that joins the machine writes this file before it runs kubeadm. The playbook guards addresses and runs the
# commands.
$isOwnJoin = -not (Test-Path -LiteralPath $settings.playbook)
if ($isOwnJoin -and @($settings.post_commands).Count -gt 0 -and -not (Test-Path -LiteralPath $settings.kubeconfig)) {
    if (-not (Test-Path -LiteralPath $settings.record)) {
        Set-Content -LiteralPath $settings.record -Value '0' -Encoding ASCII
    }
}
$static = @()
if ($isOwnJoin) {
    try { $static = @(Get-StaticAdapter) } catch { Write-Log "the network adapters cannot be read: $_" }
}

$kubelet = Start-Program -Program $settings.kubelet -Arguments (Get-KubeletArgument)
Write-Log "started the kubelet, process $($kubelet.Id)"
$commandsEnded = $false
$guardEnd = $null
while (-not $kubelet.WaitForExit(2000)) {
    # The kubelet keeps running if one of these fails.
    try {
        if (-not $commandsEnded) { $commandsEnded = Invoke-PostCommand }
        if ($static.Count -eq 0) { continue }
        if (-not $guardEnd -and (Test-Switch @($static | ForEach-Object { $_.Mac }))) {
            # Settings may be lost a moment after the switch appears.
            $guardEnd = (Get-Date).AddSeconds(60)
        }
        if ($guardEnd) {
            foreach ($one in $static) { Restore-StaticAdapter $one }
            if ((Get-Date) -gt $guardEnd) { $static = @() }
        }
    } catch {
        Write-Log "$_"
    }
}
Write-Log "the kubelet ended with exit code $($kubelet.ExitCode)"
exit $kubelet.ExitCode
