# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

#AnsibleRequires -PowerShell Ansible.ModuleUtils.ArgvParser

function Stop-Tree([System.Diagnostics.Process]$Process) {
    # .NET Framework's Kill leaves child processes running.
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        try { $Process.Kill($true) } catch { $null = 'it ended by itself' }
        return
    }
    $start = [System.Diagnostics.ProcessStartInfo]::new('taskkill.exe', "/T /F /PID $($Process.Id)")
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    # Its output would be mixed with our JSON.
    $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    $killer = [System.Diagnostics.Process]::Start($start)
    $null = $killer.StandardOutput.ReadToEndAsync()
    $null = $killer.StandardError.ReadToEndAsync()
    if ($killer.WaitForExit(10000)) { return }
    foreach ($hanging in $killer, $Process) { try { $hanging.Kill() } catch { $null = 'it ended by itself' } }
}

function Start-Program($Call) {
    $start = [System.Diagnostics.ProcessStartInfo]::new($Call['command'])
    if ($null -ne $Call['arguments'] -and $Call['arguments'].Count) {
        $start.Arguments = Argv-ToString -arguments $Call['arguments'].ToArray()
    }
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    if ($null -ne $Call['environment']) {
        foreach ($entry in $Call['environment'].GetEnumerator()) {
            $start.EnvironmentVariables[$entry.Key] = [string]$entry.Value
        }
    }
    # .NET Framework writes this encoding's byte-order mark to stdin.
    try { [Console]::InputEncoding = [System.Text.UTF8Encoding]::new($false) } catch { $null = 'there is no console' }
    try { return [System.Diagnostics.Process]::Start($start) }
    catch {
        $reason = $_.Exception.GetBaseException()
        if ($reason.NativeErrorCode -in 2, 3) { throw (New-NotFound $Call['command']) }
        $message = "Program '$($Call['command'])' failed to run: $($reason.Message)"
        $exception = [System.Management.Automation.ApplicationFailedException]::new($message)
        throw (New-Failure 'ResourceUnavailable' 'NativeCommandFailed' $message $exception)
    }
}

function Open-Program($Call, [double]$Timeout) {
    $program = @{ Clock = [System.Diagnostics.Stopwatch]::StartNew(); Timeout = $Timeout; Fed = $false }
    try { $process = $program.Process = Start-Program $Call }
    catch { $program.Failure = $_; return $program }
    # Both at once: a full pipe blocks the program.
    $program.Out = [System.IO.MemoryStream]::new()
    $program.Err = [System.IO.MemoryStream]::new()
    $program.Copies = [System.Threading.Tasks.Task[]]@(
        $process.StandardOutput.BaseStream.CopyToAsync($program.Out)
        $process.StandardError.BaseStream.CopyToAsync($program.Err)
    )
    $bytes = [System.Text.Encoding]::UTF8.GetBytes([string]$Call['stdin'])
    try { $program.Feed = $process.StandardInput.BaseStream.WriteAsync($bytes, 0, $bytes.Length) }
    catch { $program.Fed = $true }
    return $program
}

function Test-Program($Program, [int]$Wait) {
    if ($Program.Failure) { return $true }
    if (-not $Program.Fed) {
        try {
            $Program.Fed = $Program.Feed.Wait($Wait)
            if ($Program.Fed) { $Program.Process.StandardInput.Close() }
        }
        catch { $Program.Fed = $true }
    }
    return $Program.Process.WaitForExit($Wait) -or $Program.Clock.Elapsed.TotalSeconds -ge $Program.Timeout
}

function ConvertFrom-Output([byte[]]$Bytes) {
    $text = [System.Text.Encoding]::UTF8.GetString($Bytes)
    if ($text.IndexOf([char]0xFFFD) -lt 0 -or $text -match '[^\x00-\x7F\uFFFD]') { return $text }
    try {
        $pages = Get-ItemProperty -LiteralPath 'HKLM:\SYSTEM\CurrentControlSet\Control\Nls\CodePage' -ErrorAction Stop
        return [System.Text.Encoding]::GetEncoding([int]$pages.OEMCP).GetString($Bytes)
    }
    catch { return $text }
}

function Close-Program($Program) {
    if ($Program.Failure) { throw $Program.Failure }
    $process = $Program.Process
    try {
        $ended = $process.HasExited
        if (-not $ended) { Stop-Tree $process }
        # Child processes may keep the pipes open.
        try { $null = [System.Threading.Tasks.Task]::WaitAll($Program.Copies, 2000) } catch { $null = 'the pipe broke' }
        $said = [ordered]@{
            exit_code = $null
            stdout = ConvertFrom-Output ($Program.Out.ToArray())
            stderr = ConvertFrom-Output ($Program.Err.ToArray())
        }
        if ($ended) { $said['exit_code'] = $process.ExitCode }
        return $said
    }
    finally { $process.Dispose() }
}

function Invoke-Program($Call, [double]$Timeout) {
    $said = $null
    $program = Open-Program $Call $Timeout
    try { while (-not (Test-Program $program 100)) { $null = 'not yet' } }
    finally { $said = Close-Program $program }
    return $said
}

$script:space = $null

# A cmdlet that waits inside a service cannot be stopped (moby/moby#40699).
function Invoke-Limited([string]$Name, $Parameters, $Objects, [double]$Timeout) {
    if ($null -eq $script:space -or $script:space.RunspaceStateInfo.State -ne 'Opened') {
        $script:space = [runspacefactory]::CreateRunspace()
        $script:space.Open()
        $script:space.SessionStateProxy.SetVariable('ConfirmPreference', 'None')
    }
    $shell = [powershell]::Create()
    $shell.Runspace = $script:space
    $null = $shell.AddCommand($Name).AddParameters($Parameters)
    $given = [System.Management.Automation.PSDataCollection[psobject]]::new()
    foreach ($object in $Objects) { $given.Add($object) }
    $given.Complete()
    $running = $shell.BeginInvoke($given)
    if (-not $running.AsyncWaitHandle.WaitOne([int]($Timeout * 1000))) {
        $null = $shell.BeginStop($null, $null)
        $script:space = $null
        $message = "$Name did not end within $Timeout s"
        throw (New-Failure 'OperationTimeout' 'CommandTimeout' $message ([TimeoutException]::new($message)))
    }
    try { $shell.EndInvoke($running) }
    catch {
        $shell.Dispose()
        $reason = $_.Exception.InnerException
        if ($reason -is [System.Management.Automation.IContainsErrorRecord]) { throw $reason.ErrorRecord }
        throw
    }
    $shell.Streams.Warning
    $shell.Streams.Error
    $shell.Dispose()
}

$export = @{ Function = 'Open-Program', 'Test-Program', 'Close-Program', 'Invoke-Program', 'Invoke-Limited' }
Export-ModuleMember @export
