# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

function Read-File($With) {
    foreach ($path in $With['paths']) {
        $found = [ordered]@{ path = $path; exists = (Test-Item $path); type = $null; size = $null }
        $found['sha256'] = $found['content'] = $found['sddl'] = $found['link'] = $found['modified'] = $null
        if ($found['exists']) { $found['modified'] = [System.IO.File]::GetLastWriteTimeUtc($path) }
        if ([System.IO.Directory]::Exists($path)) { $found['type'] = 'directory' }
        elseif ($found['exists']) {
            $found['type'] = 'file'
            $found['size'] = [System.IO.FileInfo]::new($path).Length
            if ($With['hash']) { $found['sha256'] = Get-Sha $path }
            if ($With['content']) {
                $limit = if ($null -eq $With['limit']) { 65536 } else { [int]$With['limit'] }
                $raw = $With['encoding'] -eq 'base64'
                # A character has at most four bytes.
                $room = if ($raw) { [long]$limit } else { [long]4 * $limit }
                $offset = [Math]::Min($found['size'], [long]$With['offset'])
                $bytes = [byte[]]::new([Math]::Min($found['size'] - $offset, $room))
                $stream = Open-Shared $path
                try {
                    $null = $stream.Seek($offset, 'Begin')
                    for ($read = 0; $read -lt $bytes.Length; $read += $count) {
                        $count = $stream.Read($bytes, $read, $bytes.Length - $read)
                        if ($count -eq 0) { break }
                    }
                }
                finally { $stream.Dispose() }
                $text = [System.Text.Encoding]::UTF8.GetString($bytes, 0, $read)
                $found['content'] = $text.Substring(0, [Math]::Min($text.Length, $limit))
                if ($raw) { $found['content'] = [Convert]::ToBase64String($bytes, 0, $read) }
            }
        }
        if ($With['acl']) { $found['link'] = Get-Link $path }
        if ($With['acl'] -and $found['exists']) {
            $found['sddl'] = (Get-Acl -LiteralPath $path).GetSecurityDescriptorSddlForm('Access, Owner')
        }
        $found
    }
}

function Write-File($With) {
    $path = [string]$With['path']
    $content = [string]$With['content']
    if ($With['encoding'] -eq 'base64') { $bytes = [Convert]::FromBase64String($content) }
    else { $bytes = [System.Text.Encoding]::UTF8.GetBytes($content) }
    Add-Parent $path
    Remove-Leftover ([System.IO.Path]::GetDirectoryName($path))
    $id = [guid]::NewGuid().ToString('N').Substring(0, 8)
    $part = "$path~$id.part"
    $stream = $note = $null
    try {
        $note = Open-Note $id $part
        # Open until it is complete, so that no other writer deletes it as a leftover.
        $stream = [System.IO.File]::Open($part, 'CreateNew', 'Write', 'None')
        if ($With['sddl']) {
            Set-Sddl $part $With['sddl']
            if ([System.IO.File]::Exists($path)) { Set-Sddl $path $With['sddl'] }
        }
        $stream.Write($bytes, 0, $bytes.Length)
        $stream.Flush($true)
        $stream.Dispose()
        Invoke-FileAction 'replace' $part -Destination $path
    }
    finally {
        if ($stream) { $stream.Dispose() }
        try { Invoke-FileAction 'delete' $part } catch { $null = 'the sweep of keys takes it' }
        Close-Note $note -Part $part
    }
    return [ordered]@{ path = $path; sha256 = (Get-ShaOfBytes $bytes); size = $bytes.Length }
}

function Get-Expected($With, [string]$Algorithm) {
    if ($With['sha256']) { return ([string]$With['sha256']).ToLowerInvariant() }
    if (-not $With['checksum_path']) { return $null }
    Assert-Item $With['checksum_path']
    $length = if ($Algorithm -eq 'SHA512') { 128 } else { 64 }
    $bare = $null
    $lines = @((Read-SharedText $With['checksum_path']) -split '\r\n|\r|\n' -notmatch '^[ \t]*$')
    foreach ($line in $lines) {
        if ($line -notmatch "^[ \t]*([0-9a-fA-F]{$length})(?:[ \t]+[*]?([^ \t].*?))?[ \t]*`$") { continue }
        $hash = $Matches[1].ToLowerInvariant()
        if (-not $Matches[2]) { $bare = $hash }
        elseif (($Matches[2] -split '[\\/]')[-1] -eq $With['checksum_name']) { return $hash }
    }
    if ($bare -and $lines.Count -eq 1) { return $bare }
    $message = "$($With['checksum_path']) holds no $Algorithm checksum of $($With['checksum_name'])"
    throw (New-Failure 'InvalidData' 'ChecksumNotFound' $message)
}

function Submit-File($With) {
    $path = [string]$With['path']
    $destination = [string]$With['destination']
    Assert-Item $path
    $algorithm = 'SHA256'
    if ($With['algorithm'] -and -not $With['sha256']) { $algorithm = ([string]$With['algorithm']).ToUpperInvariant() }
    if ($algorithm -notin 'SHA256', 'SHA512') {
        throw (New-Failure 'InvalidArgument' 'UnknownAlgorithm' "unknown algorithm: $algorithm")
    }
    $expected = Get-Expected $With $algorithm
    $actual = Get-Sha $path $algorithm
    if ($expected -and $expected -ne $actual) {
        $fate = 'was deleted'
        try { Invoke-FileAction 'delete' $path } catch { $fate = 'could not be deleted' }
        $message = "wrong $algorithm of ${path}: expected $expected, but it has $actual; the file $fate"
        throw (New-Failure 'InvalidData' 'ChecksumMismatch' $message)
    }
    $sha256 = if ($algorithm -eq 'SHA256') { $actual } else { Get-Sha $path }
    Assert-Apart $path $destination
    Add-Parent $destination
    Invoke-FileAction 'replace' $path -Destination $destination
    $size = [System.IO.FileInfo]::new($destination).Length
    if ($null -ne $With['manifest']) {
        $told = $With['manifest']
        $told['sha256'] = $sha256; $told['size'] = $size; $told['time'] = [datetime]::UtcNow.ToString('s') + 'Z'
        $null = Write-File @{ path = "$destination.manifest.json"; content = (ConvertTo-Json $told -Compress) }
    }
    return [ordered]@{
        destination = $destination; sha256 = $sha256; size = $size; algorithm = $algorithm; expected = $expected
    }
}

function Open-Key([string]$Path, [bool]$Writable = $false) {
    $hive, $name = $Path -split ':?\\', 2
    $root = @{ HKLM = 'LocalMachine'; HKCU = 'CurrentUser'; HKU = 'Users'; HKCR = 'ClassesRoot' }[$hive]
    if (-not $root) {
        throw (New-Failure 'ObjectNotFound' 'DriveNotFound' "'$Path' is in none of HKLM, HKCU, HKU, HKCR")
    }
    return [Microsoft.Win32.RegistryKey]::OpenBaseKey($root, 'Registry64').OpenSubKey($name, $Writable)
}

function Read-Value($Key, [string]$Name) {
    $value = $Key.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
    # .NET returns signed integers, and another type for a wrong size.
    if ($value -is [int]) { $value = [BitConverter]::ToUInt32([BitConverter]::GetBytes($value), 0) }
    if ($value -is [long]) { $value = [BitConverter]::ToUInt64([BitConverter]::GetBytes($value), 0) }
    return [ordered]@{ value = $value; kind = "$($Key.GetValueKind($Name))" }
}

function Read-Registry($With) {
    foreach ($entry in $With['values']) {
        $name = $entry['name']
        $key = Open-Key $entry['path']
        $there = $null -ne $key
        $found = [ordered]@{ path = $entry['path']; name = $name; exists = $there; key_exists = $there }
        $names = @(if ($there) { $key.GetValueNames() })
        if ($null -ne $name) {
            $found['value'] = $found['kind'] = $null
            $found['exists'] = $names -contains $name
            if ($found['exists']) {
                $read = Read-Value $key $name
                $found['value'] = $read['value']
                $found['kind'] = $read['kind']
            }
        }
        else {
            $found['values'] = [ordered]@{}
            foreach ($each in $names) { $found['values'][$each] = Read-Value $key $each }
            $found['subkeys'] = @(if ($there) { $key.GetSubKeyNames() })
        }
        if ($there) { $key.Dispose() }
        $found
    }
}

function Write-Environment($With) {
    $name = [string]$With['name']
    $key = Open-Key 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment' $true
    if ($null -eq $With['value']) { $key.DeleteValue($name, $false) }
    else {
        $kind = if ($With['kind']) { $With['kind'] } else { 'String' }
        $key.SetValue($name, [string]$With['value'], $kind)
    }
    $key.Dispose()
    # Removing a variable that does not exist only broadcasts the change.
    [Environment]::SetEnvironmentVariable('WINKUBE_BROADCAST', [NullString]::Value, 'Machine')
    $value = [Environment]::GetEnvironmentVariable($name, 'Machine')
    if ($name -eq 'Path') {
        $value = @($value, [Environment]::GetEnvironmentVariable($name, 'User')).Where({ $null -ne $_ }) -join ';'
    }
    # $null would be passed as '', to which .NET 9 and later set the variable.
    if ($null -eq $value) { $value = [NullString]::Value }
    [Environment]::SetEnvironmentVariable($name, $value, 'Process')
}

function Test-Port([System.Net.IPAddress]$Address, [int]$Port) {
    $client = $null
    try {
        # .NET Framework's default is IPv4 only.
        $client = [System.Net.Sockets.TcpClient]::new($Address.AddressFamily)
        return $client.ConnectAsync($Address, $Port).Wait(1000)
    }
    catch { return $false }
    finally { if ($client) { $client.Dispose() } }
}

function Wait-Port($With, [double]$Timeout) {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    if ($null -ne $With['timeout']) { $Timeout = $With['timeout'] }
    do {
        try {
            $looking = [System.Net.Dns]::GetHostAddressesAsync([string]$With['host'])
            $addresses = @(if ($looking.Wait(1000)) { $looking.Result })
            foreach ($address in $addresses) {
                if (Test-Port $address $With['port']) { return [ordered]@{ open = $true } }
            }
        }
        catch { $null = 'nobody knows the name yet' }
        Start-Sleep -Milliseconds 250
    } while ($clock.Elapsed.TotalSeconds -lt $Timeout)
    return [ordered]@{ open = $false }
}

function Move-Path($With) {
    $path = [string]$With['path']
    $destination = [string]$With['destination']
    Assert-Item $path
    Assert-Apart $path $destination
    Add-Parent $destination
    $now = [DateTime]::UtcNow.ToString('yyyyMMddHHmmss', [cultureinfo]::InvariantCulture)
    $old = "$destination.$now-" + [guid]::NewGuid().ToString('N') + '.old'
    $replaced = Test-Item $destination
    if ($replaced) { Invoke-FileAction 'move' $destination -Destination $old }
    try { Invoke-FileAction 'move' $path -Destination $destination }
    catch {
        if ($replaced) { Invoke-FileAction 'move' $old -Destination $destination }
        throw
    }
    try { if ($replaced) { Invoke-FileAction 'remove' $old } }
    catch { Write-Warning "what was at $destination could not be deleted; it is at ${old}: $_" }
    return [ordered]@{ path = $path; destination = $destination }
}

function Copy-Newest($With) {
    foreach ($file in $With['files']) {
        $done = [ordered]@{ path = $file['path']; size = $null; copied = 0; error = $null }
        $source = $target = $null
        try {
            Add-Parent $file['destination']
            $source = Open-Shared $file['path']
            $done['size'] = $left = $source.Length
            Assert-Apart $file['path'] $file['destination']
            if ($null -ne $file['tail']) { $left = [Math]::Min($left, [long]$file['tail']) }
            $null = $source.Seek(-$left, 'End')
            $target = [System.IO.File]::Open($file['destination'], 'Create', 'Write')
            $buffer = [byte[]]::new(1048576)
            while ($left -gt 0) {
                $count = $source.Read($buffer, 0, [Math]::Min($left, $buffer.Length))
                if ($count -eq 0) { break }
                $target.Write($buffer, 0, $count)
                $left -= $count
                $done['copied'] += $count
            }
        }
        catch { $done['error'] = $_.Exception.GetBaseException().Message }
        foreach ($stream in @($target, $source)) { if ($stream) { $stream.Dispose() } }
        $done
    }
}

function Assert-Length($With) {
    if ($PSVersionTable.PSVersion.Major -ge 6) { return }
    $paths = @($With['path'], $With['destination'], $With['checksum_path']) + @($With['paths'])
    foreach ($file in $With['files']) { $paths += $file['path'], $file['destination'] }
    foreach ($path in $paths) {
        if ("$path".Length -lt 260) { continue }
        $message = "Windows PowerShell reaches paths of up to 259 characters; this one has $("$path".Length): $path"
        $exception = [System.IO.PathTooLongException]::new($message)
        throw (New-Failure 'InvalidArgument' 'PathTooLongException' $message $exception)
    }
}

function Invoke-Verb([string]$Verb, $With, $Objects, [double]$Timeout) {
    Assert-Length $With
    switch ($Verb) {
        '@read-file' { Read-File $With }
        '@write-file' { Write-File $With }
        '@commit-file' { Submit-File $With }
        '@read-registry' { Read-Registry $With }
        '@set-environment' { Write-Environment $With }
        '@wait-port' { Wait-Port $With $Timeout }
        '@stop-if' { $Objects.Count }
        '@barrier' { }
        '@fail' { throw (New-Failure 'OperationStopped' 'Failed' ([string]$With['message'])) }
        '@move-path' { Move-Path $With }
        '@copy-file' { Copy-Newest $With }
        '@set-acl' { Assert-Item $With['path']; Set-Sddl $With['path'] $With['sddl'] }
        '@make-directory' { New-Folder $With['path'] $With['sddl'] $With['existing'] }
        '@free-space' {
            $drive = [System.IO.DriveInfo]::new([System.IO.Path]::GetPathRoot($With['path']))
            [ordered]@{ free = $drive.AvailableFreeSpace; total = $drive.TotalSize }
        }
        '@port-pools' {
            $ranges = [System.Collections.Generic.List[object]]::new()
            foreach ($line in netsh.exe interface ipv4 show excludedportrange protocol=tcp) {
                if ($line -match '^\s*(\d+)\s+(\d+)\s*$' -and [int]$Matches[2] - [int]$Matches[1] -eq 63) {
                    $ranges.Add("$($Matches[1])-$($Matches[2])")
                }
            }
            [ordered]@{ reserved = $ranges.Count; ranges = $ranges }
        }
    }
}

$export = @{ Function = 'Invoke-Verb' }
Export-ModuleMember @export
