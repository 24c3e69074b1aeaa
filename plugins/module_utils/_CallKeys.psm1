# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

function Get-KeyPath([string]$Key, [string]$Suffix = '') {
    return [System.IO.Path]::Combine((Get-BatchFolder), $Key + $Suffix)
}

function Remove-Key([string]$Key) {
    $folder = Get-KeyPath $Key
    $parent = [System.IO.Path]::GetDirectoryName($folder)
    if (-not [System.IO.Directory]::Exists($parent)) { return }
    $files = @()
    try { $files = [System.IO.Directory]::GetFiles($parent, "$Key.*") } catch { $null = 'it cannot be listed' }
    foreach ($path in @($folder) + $files) {
        try { Remove-Item -LiteralPath $path -Recurse -Force -ErrorAction SilentlyContinue }
        catch { $null = 'it is in use' }
    }
}

function Read-Json([string]$Path) {
    try { return ConvertFrom-BatchJson ([System.IO.File]::ReadAllText($Path)) } catch { return $null }
}

function Add-Claim([string]$Key, $Boot) {
    $claim = Get-KeyPath $Key '.claim'
    $folder = [System.IO.Path]::GetDirectoryName($claim)
    $null = [System.IO.Directory]::CreateDirectory($folder)
    # Also sets the owner: every user can create folders in ProgramData.
    if ($env:OS -eq 'Windows_NT') { Set-Sddl $folder 'O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' }
    foreach ($old in Get-ChildItem -LiteralPath $folder -Filter '*.claim' -Force) {
        if ($old.LastWriteTimeUtc -lt [datetime]::UtcNow.AddDays(-7)) { Remove-Key $old.BaseName }
    }
    Clear-Note
    $process = [System.Diagnostics.Process]::GetCurrentProcess()
    $started = "$($process.StartTime.ToFileTimeUtc())"
    $text = ConvertTo-BatchJson @{ process = $process.Id; started = $started; boot = $Boot }
    $bytes = [System.Text.Encoding]::UTF8.GetBytes($text)
    try { $stream = [System.IO.File]::Open($claim, 'CreateNew', 'Write', 'Read') }
    catch {
        if ([System.IO.File]::Exists($claim)) { return $false }
        throw
    }
    try { $stream.Write($bytes, 0, $bytes.Length) } finally { $stream.Dispose() }
    return $true
}

function Test-Claim([string]$Path, $Boot) {
    $claim = Read-Json $Path
    # Created, but not yet written.
    if ($null -eq $claim) { return [System.IO.File]::GetLastWriteTimeUtc($Path) -gt [datetime]::UtcNow.AddSeconds(-60) }
    try { $process = [System.Diagnostics.Process]::GetProcessById($claim['process']) } catch { return $false }
    # The start time of another user's process may be unreadable.
    try { return "$($process.StartTime.ToFileTimeUtc())" -eq $claim['started'] }
    catch { return (ConvertTo-BatchJson $Boot).Trim('"') -eq $claim['boot'] }
}

function Read-Progress([string]$Key) {
    $progress = Read-Json (Get-KeyPath $Key '.progress')
    if ($null -eq $progress) { return $null }
    foreach ($item in $progress['running']) {
        $item['size'] = $null
        # The folder's entry lags behind while a file is being written.
        try {
            $stream = Open-Shared $item['watch']
            try { $item['size'] = $stream.Length } finally { $stream.Dispose() }
        }
        catch { $null = 'none to watch, or not there yet' }
        $item.Remove('watch')
    }
    return $progress
}

function Save-Progress($Batch, $Calls, [int]$Done) {
    if (-not $Batch['key'] -or $Calls.Count -eq 0) { return $true }
    $running = @(foreach ($call in $Calls) { [ordered]@{ id = $call['id']; watch = $call['watch'] } })
    $progress = [ordered]@{ id = $running[0]['id']; done = $Done; total = $Batch['calls'].Count; running = $running }
    $path = Get-KeyPath $Batch['key'] '.progress'
    try { [System.IO.File]::WriteAllText($path, (ConvertTo-BatchJson $progress)) } catch { return $false }
    return $true
}

function Get-Boot {
    try { return (Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime).LastBootUpTime }
    catch { $null = 'not Windows, or its management service is down' }
}

function New-Observation([string]$State, $Boot, [string]$Calls = '', $Stopped = $null, $Progress = $null) {
    $rest = [ordered]@{ state = $State; stopped = $Stopped }
    if ($null -ne $Progress) { $rest['progress'] = $Progress }
    $rest['boot'] = $Boot
    $rest['time'] = [datetime]::UtcNow
    $rest['version'] = "$($PSVersionTable.PSVersion)"
    return '{"calls":{' + $Calls + '},' + (ConvertTo-BatchJson $rest).Substring(1)
}

function Wait-Key([string]$Key, [double]$Wait, $Boot) {
    $result = Get-KeyPath $Key '.json'
    $claim = Get-KeyPath $Key '.claim'
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        # Check the claim before the result: a batch that ends in between is not lost.
        $claimed = [System.IO.File]::Exists($claim)
        $alive = $claimed -and (Test-Claim $claim $Boot)
        if ([System.IO.File]::Exists($result)) { return [System.IO.File]::ReadAllText($result) }
        $waited = $clock.Elapsed.TotalSeconds
        if (-not $claimed -and $waited -ge [Math]::Min($Wait, 5)) { return New-Observation 'unknown' $Boot }
        if ($claimed -and (-not $alive -or $waited -ge $Wait)) { break }
        Start-Sleep -Milliseconds 250
    }
    $state = if ($alive) { 'running' } else { 'lost' }
    return New-Observation $state $Boot -Progress (Read-Progress $Key)
}

$export = @{
    Function = 'Get-Boot', 'Get-KeyPath', 'Remove-Key', 'Add-Claim', 'Save-Progress', 'New-Observation', 'Wait-Key'
}
Export-ModuleMember @export
