# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
#
# Runs as SYSTEM at the first boot of a machine that starts from an image (roles/sysprep/README.md). A scheduled task of
# the image starts it, and it removes that task at its end. If it fails, it runs again at the next boot.

$ErrorActionPreference = 'Stop'
$folder = 'C:\Windows\winkube\first-boot'
$setup = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State'
$settings = Get-Content -LiteralPath "$folder\settings.json" -Raw | ConvertFrom-Json

function Complete-FirstBoot {
    # The build disabled its accounts. If one is enabled, the new machine's answer file or its cloud uses it.
    foreach ($name in $settings.accounts) {
        $user = Get-LocalUser -Name $name -ErrorAction SilentlyContinue
        if ($user -and $user.Enabled) {
            continue
        }
        Get-CimInstance -ClassName Win32_UserProfile |
            Where-Object { $_.LocalPath -eq "C:\Users\$name" } |
            Remove-CimInstance
        if ($user) {
            Remove-LocalUser -Name $name
        }
    }

    # They are still there if the build machine restarted before it removed them.
    foreach ($thumbprint in $settings.certificates) {
        $path = "Cert:\LocalMachine\My\$thumbprint"
        if (Test-Path -LiteralPath $path) {
            Remove-Item -LiteralPath $path -DeleteKey -Force
        }
    }

    if ($settings.winrm_https) {
        Start-Service -Name WinRM
        $existing = @(Get-WSManInstance -ResourceURI winrm/config/Listener -Enumerate |
            Where-Object { $_.Transport -eq 'HTTPS' })
        if ($existing.Count -eq 0) {
            $certificate = New-SelfSignedCertificate -Subject "CN=$env:COMPUTERNAME" `
                -FriendlyName 'winkube.node WinRM HTTPS' -CertStoreLocation 'Cert:\LocalMachine\My' `
                -KeyAlgorithm RSA -KeyLength 3072 -KeyExportPolicy NonExportable -NotAfter (Get-Date).AddDays(365) `
                -TextExtension @('2.5.29.37={text}1.3.6.1.5.5.7.3.1', "2.5.29.17={text}DNS=$env:COMPUTERNAME")
            $listener = @{ Transport = 'HTTPS'; Address = '*' }
            $values = @{ CertificateThumbprint = $certificate.Thumbprint }
            New-WSManInstance -ResourceURI winrm/config/Listener -SelectorSet $listener -ValueSet $values | Out-Null
        }
    }

    # A volume that cannot grow must not keep the machine from the steps above.
    $drive = 'C'
    $size = Get-PartitionSupportedSize -DriveLetter $drive
    $partition = Get-Partition -DriveLetter $drive
    if (($size.SizeMax - $partition.Size) -gt 1048576) {
        Resize-Partition -DriveLetter $drive -Size $size.SizeMax
    }

    # Removing the task may end this process, so it comes last.
    if (Test-Path -LiteralPath $folder) {
        Remove-Item -LiteralPath $folder -Recurse -Force
    }
    Unregister-ScheduledTask -TaskName 'winkube-first-boot' -Confirm:$false
}

# Until Windows' setup is complete, it still names the machine and creates accounts.
while ((Get-ItemProperty -LiteralPath $setup).ImageState -ne 'IMAGE_STATE_COMPLETE') {
    Start-Sleep -Seconds 5
}

# At a first boot, the services that this script uses may start late. Each step runs again without harm.
for ($attempt = 1; $attempt -le 12; $attempt += 1) {
    try {
        Complete-FirstBoot
        exit 0
    }
    catch {
        if (Test-Path -LiteralPath $folder) {
            Set-Content -LiteralPath "$folder\error.txt" -Value "$_"
        }
    }
    Start-Sleep -Seconds 5
}
exit 1
