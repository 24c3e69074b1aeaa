# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

<#
.SYNOPSIS
    Enables WinRM over HTTPS for Ansible, with a certificate that the controller can validate.
.DESCRIPTION
    Creates a self-signed certificate with the names and addresses of this server, makes WinRM listen on HTTPS with it,
    requires channel binding tokens, allows only the controller through the firewall, and writes the certificate
    (without its private key) to a file. Copy that file to the controller, and set ansible_psrp_ca_cert or
    ansible_winrm_ca_trust_path to it. Run the script in an elevated Windows PowerShell. Running it again creates a new
    certificate.
.PARAMETER Controller
    Addresses or networks from which Ansible connects, such as 192.0.2.10 or 192.0.2.0/28.
.PARAMETER Name
    Additional DNS names at which the controller reaches this server (ansible_host).
.PARAMETER Address
    Additional addresses at which the controller reaches this server, such as a translated address (NAT).
.PARAMETER Path
    The file to which the certificate is written, in PEM.
.PARAMETER Days
    Number of days for which the certificate is valid.
.EXAMPLE
    .\Enable-WinRMOverHttps.ps1 -Controller 192.0.2.10 -Path C:\windows01.pem
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory = $true)]
    [string[]] $Controller,

    [string[]] $Name = @(),

    [string[]] $Address = @(),

    [string] $Path = "$env:SystemDrive\$env:COMPUTERNAME.pem",

    [ValidateRange(1, 825)]
    [int] $Days = 365
)

$ErrorActionPreference = 'Stop'

# The certificate must contain addresses as IP addresses, because clients refuse a DNS name that has the form of an
# address.
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$names = @($env:COMPUTERNAME)
if ($computer.PartOfDomain) { $names += "$env:COMPUTERNAME.$($computer.Domain)" }
$names += $Name
$addresses = @(Get-NetIPAddress |
    Where-Object { $_.InterfaceAlias -notlike 'Loopback*' -and $_.IPAddress -notlike '*%*' } |
    ForEach-Object { $_.IPAddress })
$addresses += $Address
$entries = @($names | Select-Object -Unique | ForEach-Object { "DNS=$_" })
$entries += @($addresses | Select-Object -Unique | ForEach-Object { "IPAddress=$_" })
$alternatives = $entries -join '&'

# The certificate has the form of those that winrm_certificate creates. The module recognizes them by the friendly name.
$unique = Get-Date -Format 'yyyyMMddHHmmss'
$certificate = New-SelfSignedCertificate -Subject "CN=$env:COMPUTERNAME,OU=winkube.node $unique" `
    -FriendlyName 'winkube.node WinRM HTTPS' -CertStoreLocation 'Cert:\LocalMachine\My' `
    -KeyAlgorithm RSA -KeyLength 3072 -KeyExportPolicy NonExportable -NotAfter (Get-Date).AddDays($Days) `
    -TextExtension @('2.5.29.37={text}1.3.6.1.5.5.7.3.1', "2.5.29.17={text}$alternatives")

Enable-PSRemoting -Force -SkipNetworkProfileCheck | Out-Null
$listener = @{ Transport = 'HTTPS'; Address = '*' }
$values = @{ CertificateThumbprint = $certificate.Thumbprint }
$existing = @(Get-WSManInstance -ResourceURI winrm/config/Listener -Enumerate |
    Where-Object { $_.Transport -eq 'HTTPS' -and $_.Address -eq '*' })
if ($existing.Count -gt 0) {
    Set-WSManInstance -ResourceURI winrm/config/Listener -SelectorSet $listener -ValueSet $values | Out-Null
}
else {
    New-WSManInstance -ResourceURI winrm/config/Listener -SelectorSet $listener -ValueSet $values | Out-Null
}

# Channel binding ties a logon to its TLS connection, so that it cannot be relayed.
Set-WSManInstance -ResourceURI winrm/config/service/auth -ValueSet @{ CbtHardeningLevel = 'Strict' } | Out-Null

$rule = 'winkube-winrm-https'
Remove-NetFirewallRule -Name $rule -ErrorAction SilentlyContinue
New-NetFirewallRule -Name $rule -DisplayName 'Windows Remote Management (HTTPS-In), controller' -Direction Inbound -Action Allow `
    -Protocol TCP -LocalPort 5986 -RemoteAddress $Controller | Out-Null

# Export-Certificate writes DER, but the controller needs PEM.
$der = "$env:TEMP\$($certificate.Thumbprint).cer"
Export-Certificate -Cert $certificate -FilePath $der | Out-Null
certutil.exe -f -encode $der $Path | Out-Null
Remove-Item -LiteralPath $der

Write-Output "WinRM listens on HTTPS with the certificate $($certificate.Thumbprint), valid for $Days days:"
$entries | ForEach-Object { Write-Output "  $_" }
Write-Output "Copy $Path to the controller."
