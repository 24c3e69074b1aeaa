# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# What is written beside its place (`NAME~XXXXXXXX.part`), and stays there when its process is killed. Each has a note,
# which its writer holds open: so the sweep of keys finds those where nobody writes again.

function Get-BatchFolder { return [System.IO.Path]::Combine($env:ProgramData, 'winkube', 'batches') }

# Whether a writer is at work: it holds its note open until what it wrote is in its place.
function Test-Note([string]$Id) {
    $note = [System.IO.Path]::Combine((Get-BatchFolder), "$Id.note")
    if (-not [System.IO.File]::Exists($note)) { return $false }
    try { [System.IO.File]::Open($note, 'Open', 'Read', 'None').Dispose() } catch { return $true }
    return $false
}

function Remove-Part([string]$Path) {
    # The second form is that of earlier versions.
    if ($Path -notmatch '(~([0-9a-f]{8})|\.[0-9a-f]{32})\.part$') { return }
    if ($Matches[2] -and (Test-Note $Matches[2])) { return }
    try { [System.IO.File]::Delete($Path) } catch { $null = 'it is being written' }
}

# Deletes what others left in a folder.
function Remove-Leftover([string]$Folder) {
    try { foreach ($path in [System.IO.Directory]::GetFiles($Folder, '*.part')) { Remove-Part $path } }
    catch { $null = 'it cannot be listed' }
}

# Notes where something is going to be written; not where there were no batches with keys, and so is no sweep.
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

# The note stays where what it is about could not be deleted: the sweep of keys takes both.
function Close-Note($Note, [string]$Part) {
    if ($null -eq $Note) { return }
    $Note.Dispose()
    if ([System.IO.File]::Exists($Part)) { return }
    try { [System.IO.File]::Delete($Note.Name) } catch { $null = 'the sweep of keys takes it' }
}

# Deletes what was noted by processes that are gone.
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

$export = @{ Function = 'Get-BatchFolder', 'Remove-Leftover', 'Open-Note', 'Close-Note', 'Clear-Note' }
Export-ModuleMember @export
