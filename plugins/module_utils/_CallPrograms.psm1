# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Programs of batches, through System.Diagnostics.Process, and cmdlets with a time limit. Private to the collection.

#AnsibleRequires -PowerShell Ansible.ModuleUtils.ArgvParser

function Stop-Tree([System.Diagnostics.Process]$Process) {
    # .NET Framework's Kill ends the process only, not what it started.
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        try { $Process.Kill($true) } catch { $null = 'it ended by itself' }
        return
    }
    $start = [System.Diagnostics.ProcessStartInfo]::new('taskkill.exe', "/T /F /PID $($Process.Id)")
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    # What it says would stand on our own output, in front of the JSON.
    $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    $killer = [System.Diagnostics.Process]::Start($start)
    $null = $killer.StandardOutput.ReadToEnd()
    $null = $killer.StandardError.ReadToEnd()
    $killer.WaitForExit()
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
    # .NET Framework writes this encoding's byte-order mark into the input as soon as the program starts.
    try { [Console]::InputEncoding = [System.Text.UTF8Encoding]::new($false) } catch { $null = 'there is no console' }
    try { return [System.Diagnostics.Process]::Start($start) }
    catch {
        $reason = $_.Exception.GetBaseException()
        # ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND
        if ($reason.NativeErrorCode -in 2, 3) { throw (New-NotFound $Call['command']) }
        $message = "Program '$($Call['command'])' failed to run: $($reason.Message)"
        $exception = [System.Management.Automation.ApplicationFailedException]::new($message)
        throw (New-Failure 'ResourceUnavailable' 'NativeCommandFailed' $message $exception)
    }
}

function Invoke-Program($Call, [double]$Timeout) {
    $utf8 = [System.Text.UTF8Encoding]::new($false)
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    $process = Start-Program $Call
    try {
        # Both at once: a full pipe would stop the program. Bytes, so that what came before a timeout is there.
        $out = [System.IO.MemoryStream]::new()
        $err = [System.IO.MemoryStream]::new()
        $copies = [System.Threading.Tasks.Task[]]@(
            $process.StandardOutput.BaseStream.CopyToAsync($out)
            $process.StandardError.BaseStream.CopyToAsync($err)
        )
        $bytes = $utf8.GetBytes([string]$Call['stdin'])
        $fed = $true
        try {
            $fed = $process.StandardInput.BaseStream.WriteAsync($bytes, 0, $bytes.Length).Wait([int]($Timeout * 1000))
            if ($fed) { $process.StandardInput.Close() }
        }
        catch { $null = 'it ended, or closed its input, without reading all of it' }
        while ($fed -and -not $process.WaitForExit(100)) {
            if ($clock.Elapsed.TotalSeconds -ge $Timeout) { break }
        }
        $ended = $process.HasExited
        if (-not $ended) { Stop-Tree $process }
        # What the program left running may hold its output open: that is not waited for.
        try { $null = [System.Threading.Tasks.Task]::WaitAll($copies, 2000) } catch { $null = 'the pipe broke' }
        $program = [ordered]@{
            exit_code = $null
            stdout = $utf8.GetString($out.ToArray())
            stderr = $utf8.GetString($err.ToArray())
        }
        if ($ended) { $program['exit_code'] = $process.ExitCode }
        return $program
    }
    finally {
        if (-not $process.HasExited) { Stop-Tree $process }
        $process.Dispose()
    }
}

# A cmdlet in a runspace of its own. One that waits inside a service cannot be ended (moby/moby#40699): it is left
# behind, and its thread ends with this process.
function Invoke-Limited([string]$Name, $Parameters, $Objects, [double]$Timeout) {
    $shell = [powershell]::Create()
    $null = $shell.AddCommand($Name).AddParameters($Parameters)
    $given = [System.Management.Automation.PSDataCollection[psobject]]::new()
    foreach ($object in $Objects) { $given.Add($object) }
    $given.Complete()
    $running = $shell.BeginInvoke($given)
    if (-not $running.AsyncWaitHandle.WaitOne([int]($Timeout * 1000))) {
        $null = $shell.BeginStop($null, $null)
        $message = "$Name did not end within $Timeout s"
        throw (New-Failure 'OperationTimeout' 'CommandTimeout' $message ([TimeoutException]::new($message)))
    }
    try { $shell.EndInvoke($running) }
    catch {
        $reason = $_.Exception.InnerException
        if ($reason -is [System.Management.Automation.IContainsErrorRecord]) { throw $reason.ErrorRecord }
        throw
    }
    $shell.Streams.Warning
    $shell.Streams.Error
    $shell.Dispose()
}

Export-ModuleMember -Function Invoke-Program
Export-ModuleMember -Function Invoke-Limited
