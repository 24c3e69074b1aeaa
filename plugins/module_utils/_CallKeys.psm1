# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Batches with a key: who claimed it, how far it is, what is kept of it.

function Get-KeyPath([string]$Key, [string]$Suffix = '') {
    return [System.IO.Path]::Combine((Get-BatchFolder), $Key + $Suffix)
}

function Remove-Key([string]$Key) {
    # The folder is that of Ansible's async wrapper. What cannot be deleted now is swept later.
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

# Whether the key was free. Sweeps what nobody forgot, and what killed processes left.
function Add-Claim([string]$Key, $Boot) {
    $claim = Get-KeyPath $Key '.claim'
    $folder = [System.IO.Path]::GetDirectoryName($claim)
    $null = [System.IO.Directory]::CreateDirectory($folder)
    # The owner, too: anybody may make folders in ProgramData.
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

# Whether the process that claimed a key is still there.
function Test-Claim([string]$Path, $Boot) {
    $claim = Read-Json $Path
    # Made, but not yet written.
    if ($null -eq $claim) { return [System.IO.File]::GetLastWriteTimeUtc($Path) -gt [datetime]::UtcNow.AddSeconds(-60) }
    try { $process = [System.Diagnostics.Process]::GetProcessById($claim['process']) } catch { return $false }
    # Another user's process may not tell when it started.
    try { return "$($process.StartTime.ToFileTimeUtc())" -eq $claim['started'] }
    catch { return (ConvertTo-BatchJson $Boot).Trim('"') -eq $claim['boot'] }
}

# Where a batch is, with the sizes of the files that fill.
function Read-Progress([string]$Key) {
    $progress = Read-Json (Get-KeyPath $Key '.progress')
    if ($null -eq $progress) { return $null }
    foreach ($item in $progress['running']) {
        $item['size'] = $null
        # A folder's entry lags behind a file that is being written: only the open file tells its size.
        # https://devblogs.microsoft.com/oldnewthing/20111226-00/?p=8813
        try {
            $stream = Open-Shared $item['watch']
            try { $item['size'] = $stream.Length } finally { $stream.Dispose() }
        }
        catch { $null = 'none to watch, or not there yet' }
        $item.Remove('watch')
    }
    return $progress
}

# Whether it could be kept where the batch is: somebody may be reading the last one.
function Save-Progress($Batch, $Calls, [int]$Done) {
    if (-not $Batch['key'] -or $Calls.Count -eq 0) { return $true }
    $running = @(foreach ($call in $Calls) { [ordered]@{ id = $call['id']; watch = $call['watch'] } })
    $progress = [ordered]@{ id = $running[0]['id']; done = $Done; total = $Batch['calls'].Count; running = $running }
    $path = Get-KeyPath $Batch['key'] '.progress'
    try { [System.IO.File]::WriteAllText($path, (ConvertTo-BatchJson $progress)) } catch { return $false }
    return $true
}

$export = @{ Function = 'Get-KeyPath', 'Remove-Key', 'Add-Claim', 'Test-Claim', 'Read-Progress', 'Save-Progress' }
Export-ModuleMember @export
