# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

<#
.SYNOPSIS
    Opens WinRM over HTTPS for Ansible, with a certificate that the controller can check.
.DESCRIPTION
    Makes a self-signed certificate with the names and addresses of this server, has WinRM listen on HTTPS with it, requires channel
    binding tokens, lets only the controller through the firewall, and writes the certificate (without its private key) to a file.
    Copy that file to the controller: the connection trusts it by ansible_psrp_ca_cert or ansible_winrm_ca_trust_path.
    Run it in an elevated Windows PowerShell. Running it again makes a new certificate.
.PARAMETER Controller
    Addresses or networks from which Ansible connects, such as 192.0.2.10 or 192.0.2.0/28.
.PARAMETER Name
    More DNS names and addresses by which the controller reaches this server (ansible_host).
.PARAMETER Path
    The file for the certificate, in PEM.
.PARAMETER Days
    How long the certificate is valid.
.EXAMPLE
    .\Enable-WinRMOverHttps.ps1 -Controller 192.0.2.10 -Path C:\windows01.pem
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory = $true)]
    [string[]] $Controller,

    [string[]] $Name = @(),

    [string] $Path = "$env:SystemDrive\$env:COMPUTERNAME.pem",

    [ValidateRange(1, 825)]
    [int] $Days = 365
)

$ErrorActionPreference = 'Stop'

# Names and addresses: an address has to be an IP address in the certificate, or clients refuse it.
$names = @([System.Net.Dns]::GetHostEntry('').HostName, $env:COMPUTERNAME) + $Name
$names += Get-NetIPAddress -AddressState Preferred |
    Where-Object { $_.InterfaceAlias -notlike 'Loopback*' -and $_.IPAddress -notlike '*%*' } |
    ForEach-Object { $_.IPAddress }
$entries = foreach ($each in ($names | Where-Object { $_ } | Select-Object -Unique)) {
    $address = $null
    if ([System.Net.IPAddress]::TryParse($each, [ref] $address)) { "IPAddress=$each" } else { "DNS=$each" }
}

# The same form as winrm_certificate makes: by its friendly name the module finds what it may delete later.
$unique = [guid]::NewGuid().ToString('N').Substring(0, 12)
$certificate = New-SelfSignedCertificate -Subject "CN=$env:COMPUTERNAME,OU=winkube.node $unique" `
    -FriendlyName 'winkube.node WinRM HTTPS' -CertStoreLocation 'Cert:\LocalMachine\My' `
    -KeyAlgorithm RSA -KeyLength 3072 -KeyExportPolicy NonExportable -NotAfter (Get-Date).AddDays($Days) `
    -TextExtension @('2.5.29.37={text}1.3.6.1.5.5.7.3.1', ('2.5.29.17={text}' + ($entries -join '&')))

Enable-PSRemoting -Force -SkipNetworkProfileCheck | Out-Null
$listener = @{ Transport = 'HTTPS'; Address = '*' }
$existing = Get-WSManInstance -ResourceURI winrm/config/Listener -Enumerate |
    Where-Object { $_.Transport -eq 'HTTPS' -and $_.Address -eq '*' }
$values = @{ CertificateThumbprint = $certificate.Thumbprint }
if ($existing) {
    Set-WSManInstance -ResourceURI winrm/config/Listener -SelectorSet $listener -ValueSet $values | Out-Null
}
else {
    New-WSManInstance -ResourceURI winrm/config/Listener -SelectorSet $listener -ValueSet $values | Out-Null
}

# A logon is bound to the TLS connection that it came over, so that nobody can relay it.
Set-Item -Path WSMan:\localhost\Service\Auth\CbtHardeningLevel -Value Strict

$rule = 'winkube-winrm-https'
Remove-NetFirewallRule -Name $rule -ErrorAction SilentlyContinue
New-NetFirewallRule -Name $rule -DisplayName 'Windows Remote Management (HTTPS-In), controller' -Direction Inbound -Action Allow `
    -Protocol TCP -LocalPort 5986 -RemoteAddress $Controller | Out-Null

$base64 = [System.Convert]::ToBase64String($certificate.RawData, [System.Base64FormattingOptions]::InsertLineBreaks)
$pem = "-----BEGIN CERTIFICATE-----`n" + $base64.Replace("`r", '') + "`n-----END CERTIFICATE-----`n"
[System.IO.File]::WriteAllText($Path, $pem)

Write-Output "WinRM listens on HTTPS. Certificate $($certificate.Thumbprint), valid until $($certificate.NotAfter):"
$entries | ForEach-Object { Write-Output "  $_" }
Write-Output "Copy $Path to the controller."
