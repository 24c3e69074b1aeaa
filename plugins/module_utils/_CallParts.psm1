# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Part files and their notes: docs/wire.md, "Detached batches".

function Get-BatchFolder { return [System.IO.Path]::Combine($env:ProgramData, 'winkube', 'batches') }

function Open-Shared([string]$Path) { return [System.IO.File]::Open($Path, 'Open', 'Read', 'ReadWrite, Delete') }

function Test-Note([string]$Id) {
    $note = [System.IO.Path]::Combine((Get-BatchFolder), "$Id.note")
    if (-not [System.IO.File]::Exists($note)) { return $false }
    try { [System.IO.File]::Open($note, 'Open', 'Read', 'None').Dispose() } catch { return $true }
    return $false
}

function Remove-Part([string]$Path) {
    if ($Path -notmatch '(~([0-9a-f]{8})|\.[0-9a-f]{32})\.part$') { return }
    if ($Matches[2] -and (Test-Note $Matches[2])) { return }
    try { [System.IO.File]::Delete($Path) } catch { $null = 'it is being written' }
}

function Remove-Leftover([string]$Folder) {
    try { foreach ($path in [System.IO.Directory]::GetFiles($Folder, '*.part')) { Remove-Part $path } }
    catch { $null = 'it cannot be listed' }
}

function Open-Note([string]$Id, [string]$Path) {
    $folder = Get-BatchFolder
    if (-not [System.IO.Directory]::Exists($folder)) { return }
    try {
        $note = [System.IO.File]::Open([System.IO.Path]::Combine($folder, "$Id.note"), 'CreateNew', 'Write', 'Read')
        $bytes = [System.Text.Encoding]::UTF8.GetBytes($Path)
        $note.Write($bytes, 0, $bytes.Length)
        $note.Flush()
        return $note
    }
    catch { $null = 'whoever writes there next finds it all the same' }
}

function Close-Note($Note, [string]$Part) {
    if ($null -eq $Note) { return }
    $Note.Dispose()
    if ([System.IO.File]::Exists($Part)) { return }
    try { [System.IO.File]::Delete($Note.Name) } catch { $null = 'the sweep of keys takes it' }
}

function Clear-Note {
    $notes = @()
    try { $notes = [System.IO.Directory]::GetFiles((Get-BatchFolder), '*.note') } catch { $null = 'none, or no rights' }
    foreach ($note in $notes) {
        try {
            $stream = [System.IO.File]::Open($note, 'Open', 'Read', 'None')
            try { $path = [System.IO.StreamReader]::new($stream).ReadToEnd() } finally { $stream.Dispose() }
            Remove-Part $path
            if (-not [System.IO.File]::Exists($path)) { [System.IO.File]::Delete($note) }
        }
        catch { $null = 'its writer is at work' }
    }
}

$export = @{
    Function = 'Get-BatchFolder', 'Open-Shared', 'Remove-Leftover', 'Open-Note', 'Close-Note', 'Clear-Note'
}
Export-ModuleMember @export
