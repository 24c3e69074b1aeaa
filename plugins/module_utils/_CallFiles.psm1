# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# The Win32 code of an HRESULT 0x8007nnnn.
function Get-Win32Code($Exception) { return $Exception.HResult + 2147024896 }

function Test-Held($Exception) { return (Get-Win32Code $Exception) -in 32, 33, 1175, 1176, 1177 }

function Test-Item([string]$Path) { return [System.IO.File]::Exists($Path) -or [System.IO.Directory]::Exists($Path) }

function Assert-Item([string]$Path) {
    if (-not (Test-Item $Path)) {
        $message = "Cannot find path '$Path' because it does not exist."
        $exception = [System.Management.Automation.ItemNotFoundException]::new($message)
        throw (New-Failure 'ObjectNotFound' 'PathNotFound' $message $exception)
    }
}

# File.Replace deletes a file that replaces itself.
function Assert-Apart([string]$Path, [string]$Destination) {
    $from = [System.IO.Path]::GetFullPath($Path).TrimEnd([char]'\', [char]'/')
    $to = [System.IO.Path]::GetFullPath($Destination).TrimEnd([char]'\', [char]'/')
    if ($from -ne $to) { return }
    throw (New-Failure 'InvalidArgument' 'SameFile' "$Path and $Destination are the same file")
}

function Add-Parent([string]$Path) {
    $null = [System.IO.Directory]::CreateDirectory([System.IO.Path]::GetDirectoryName($Path))
}

function Get-Sha([string]$Path, [string]$Algorithm = 'SHA256') {
    # With a path, Get-FileHash fails while the file is open for writing.
    $stream = Open-Shared $Path
    try { return (Get-FileHash -InputStream $stream -Algorithm $Algorithm).Hash.ToLowerInvariant() }
    finally { $stream.Dispose() }
}

function Get-ShaOfBytes([byte[]]$Bytes) {
    $stream = [System.IO.MemoryStream]::new($Bytes)
    try { return (Get-FileHash -InputStream $stream -Algorithm SHA256).Hash.ToLowerInvariant() }
    finally { $stream.Dispose() }
}

function Read-SharedText([string]$Path) {
    $stream = Open-Shared $Path
    try { return [System.IO.StreamReader]::new($stream).ReadToEnd() } finally { $stream.Dispose() }
}

function Get-FileBelow([string]$Path) {
    try { return @([System.IO.Directory]::GetFiles($Path, '*', 'AllDirectories') | Select-Object -First 500) }
    catch { $null = 'it cannot be listed' }
}

function Get-Holder([string[]]$Paths) {
    try {
        $import = '[DllImport("rstrtmgr.dll", CharSet = CharSet.Unicode)] public static extern int'
        $native = Add-Type -Namespace 'Winkube' -Name 'RestartManager' -PassThru -MemberDefinition @(
            "$import RmStartSession([Out] int[] session, int flags, [Out] byte[] key);"
            "$import RmRegisterResources(int session, int n, string[] files, int n2, int[] a, int n3, string[] b);"
            "$import RmGetList(int session, [Out] int[] needed, [In, Out] int[] n, [Out] byte[] list, [Out] int[] a);"
            "$import RmEndSession(int session);"
        )
        $session = [int[]]::new(1)
        if ($native::RmStartSession($session, 0, [byte[]]::new(66))) { return }
        try {
            if ($native::RmRegisterResources($session[0], $Paths.Count, $Paths, 0, $null, 0, $null)) { return }
            # RM_PROCESS_INFO: 668 bytes; process id at 0, name (256 characters) at 12.
            $count = [int[]]@(16)
            $list = [byte[]]::new(16 * 668)
            if ($native::RmGetList($session[0], [int[]]::new(1), $count, $list, [int[]]::new(1))) { return }
            for ($at = 0; $at -lt 668 * $count[0]; $at += 668) {
                $name = [System.Text.Encoding]::Unicode.GetString($list, $at + 12, 512).Split([char]0)[0]
                "$name (process $([BitConverter]::ToInt32($list, $at)))"
            }
        }
        finally { $null = $native::RmEndSession($session[0]) }
    }
    catch { $null = 'nobody knows' }
}

function Invoke-FileAction([string]$Action, [string]$Path, [string]$Destination) {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    for ($pause = 100; $true; $pause = [Math]::Min(2 * $pause, 2000)) {
        try {
            if ($Action -eq 'delete') { [System.IO.File]::Delete($Path) }
            elseif ($Action -eq 'remove') { Remove-Item -LiteralPath $Path -Recurse -Force -ErrorAction Stop }
            # Also moves files.
            elseif ($Action -eq 'move') { [System.IO.Directory]::Move($Path, $Destination) }
            # Keeps the replaced file's access list. $null would be passed as ''.
            elseif ([System.IO.File]::Exists($Destination)) {
                [System.IO.File]::Replace($Path, $Destination, [NullString]::Value)
            }
            else { [System.IO.File]::Move($Path, $Destination) }
            return
        }
        catch {
            $reason = $_.Exception.GetBaseException()
            $below = $Action -eq 'move' -and (Get-Win32Code $reason) -eq 5 -and [System.IO.Directory]::Exists($Path)
            if (-not $below -and -not (Test-Held $reason)) { throw }
            if ($clock.Elapsed.TotalSeconds -ge 10) {
                $files = @(@($Path, $Destination) -ne '')
                $holders = @(if ($below) { Get-Holder @(Get-FileBelow $Path) } else { Get-Holder $files })
                if ($below -and -not $holders.Count) { throw }
                $who = if ($holders.Count) { $holders -join ', ' } else { 'another process' }
                $message = "$($files -join ' or ') is held open by ${who}: $($reason.Message)"
                throw (New-Failure 'ResourceBusy' 'FileInUse' $message)
            }
        }
        Start-Sleep -Milliseconds $pause
    }
}

$export = @{
    Function = @(
        'Get-Win32Code', 'Test-Held', 'Test-Item', 'Assert-Item', 'Assert-Apart', 'Add-Parent', 'Get-Sha'
        'Get-ShaOfBytes', 'Read-SharedText', 'Invoke-FileAction'
    )
}
Export-ModuleMember @export
