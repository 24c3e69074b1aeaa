#!powershell

# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Runs a batch of calls and returns an observation, as docs/wire.md says. Private to the collection: see node_state.
# For Windows PowerShell 5.1 and PowerShell 7. Values are data: they are splatted or quoted, never made into code.
# Ansible.Basic is left out on purpose: its C# would be compiled at every execution.

#AnsibleRequires -PowerShell ..module_utils._CallJson
#AnsibleRequires -PowerShell ..module_utils._CallObjects
#AnsibleRequires -PowerShell ..module_utils._CallPrograms
#AnsibleRequires -PowerShell ..module_utils._CallVerbs

$ErrorActionPreference = 'Stop'
Set-Variable -Scope Global -Name ProgressPreference -Value 'SilentlyContinue'
# Nobody is there to answer a prompt.
Set-Variable -Scope Global -Name ConfirmPreference -Value 'None'

# --- Calls.

function Invoke-Cmdlet($Call, $Objects) {
    # By name only, and only what is a command: no alias, no script, no wildcard.
    $command = $ExecutionContext.InvokeCommand.GetCommand($Call['command'], 'Cmdlet, Function')
    if ($null -eq $command) { throw (New-NotFound $Call['command']) }
    $parameters = ConvertTo-Argument $Call['parameters']
    if ($null -eq $parameters) { $parameters = @{} }
    if (-not $parameters.ContainsKey('ErrorAction') -and $command.Parameters.ContainsKey('ErrorAction')) {
        $parameters['ErrorAction'] = 'Stop'
    }
    $source = $Call['input']
    $piped = $null -ne $source -and $null -eq $source['parameter']
    if ($null -ne $source -and -not $piped) { $parameters[$source['parameter']] = Get-Bound $Objects }
    if ($null -ne $Call['timeout']) {
        return Invoke-Limited $command.Name $parameters @(if ($piped) { $Objects }) ([double]$Call['timeout'])
    }
    if ($piped) { return $Objects | & $command @parameters 2>&1 3>&1 4>$null 5>$null 6>$null }
    return & $command @parameters 2>&1 3>&1 4>$null 5>$null 6>$null
}

function Get-Bound($Objects) {
    if ($Objects.Count -eq 1) { return , $Objects[0] }
    return , $Objects.ToArray()
}

# One attempt: what came out, and why it failed if it did.
function Invoke-Attempt($Call, $Objects) {
    $attempt = @{ Warnings = @(); Program = $null; Failure = $null }
    $attempt.Objects = [System.Collections.Generic.List[object]]::new()
    $timeout = 600.0
    if ($null -ne $Call['timeout']) { $timeout = [double]$Call['timeout'] }
    $name = $Call['command']
    try {
        if ($name -like '*.exe') {
            $program = $attempt.Program = Invoke-Program $Call $timeout
            $attempt.Objects.Add($program)
            $codes = @(0)
            if ($null -ne $Call['success_codes']) { $codes = $Call['success_codes'] }
            if ($null -eq $program['exit_code']) {
                $message = "$name did not end within $timeout s"
                throw (New-Failure 'OperationTimeout' 'ProgramTimeout' $message ([TimeoutException]::new($message)))
            }
            if ($codes -notcontains $program['exit_code']) {
                $message = "$name ended with exit code $($program['exit_code'])"
                $exception = [System.Management.Automation.RemoteException]::new($message)
                throw (New-Failure 'FromStdErr' 'NativeCommandError' $message $exception)
            }
        }
        else {
            if ($name.StartsWith('@')) {
                $with = [ordered]@{}
                if ($null -ne $Call['parameters']) {
                    foreach ($entry in $Call['parameters'].GetEnumerator()) { $with[$entry.Key] = $entry.Value }
                }
                if ($null -ne $Call['input'] -and $Call['input']['parameter']) {
                    $with[$Call['input']['parameter']] = Get-Bound $Objects
                }
                $records = @(Invoke-Verb $name $with $Objects $timeout 3>&1)
            }
            else { $records = @(Invoke-Cmdlet $Call $Objects) }
            foreach ($record in $records) {
                if ($record -is [System.Management.Automation.WarningRecord]) { $attempt.Warnings += $record.Message }
                elseif ($record -is [System.Management.Automation.ErrorRecord]) { $attempt.Warnings += "$record" }
                else { $attempt.Objects.Add($record) }
            }
        }
        if ($null -ne $Call['until']) {
            $met = $false
            $wanted = ConvertTo-Wanted $Call['until']
            foreach ($object in $attempt.Objects) { if (Test-Object $object $wanted) { $met = $true } }
            if (-not $met) {
                $said = @(foreach ($path in $Call['until'].Keys) { "$path = $($Call['until'][$path])" }) -join ', '
                $message = "no output object of $name met $said"
                throw (New-Failure 'OperationTimeout' 'UntilNotMet' $message ([TimeoutException]::new($message)))
            }
        }
    }
    catch { $attempt.Failure = ConvertTo-Failure $_ }
    return $attempt
}

function Select-Input($Source, $Known) {
    $objects = [System.Collections.Generic.List[object]]::new()
    $wanted = ConvertTo-Wanted $Source['where']
    foreach ($id in $Source['from']) {
        if (-not $Known.ContainsKey($id)) { continue }
        foreach ($object in $Known[$id].Objects) {
            if (-not (Test-Object $object $wanted)) { continue }
            if ($Source['property']) { $objects.Add((Get-ObjectProperty $object $Source['property'])) }
            else { $objects.Add($object) }
        }
    }
    return , $objects
}

function Select-Output($Objects, $Paths) {
    $output = [System.Collections.Generic.List[object]]::new()
    foreach ($object in $Objects) {
        if ($null -eq $Paths) { $output.Add($object); continue }
        if ($Paths.Count -eq 0) { continue }
        $selected = [ordered]@{}
        foreach ($path in $Paths) { $selected[$path] = Get-ObjectProperty $object $path }
        $output.Add($selected)
    }
    return , $output
}

function Get-Tail([string]$Text, $Limit) {
    if ($null -eq $Limit) { $Limit = 16384 }
    return $Text.Substring([Math]::Max(0, $Text.Length - $Limit))
}

# Runs a call with its attempts, and keeps in $Known what later calls may ask for.
function Invoke-Call($Call, $Known) {
    $result = [ordered]@{ ok = $false; seconds = 0.0; attempts = 0 }
    $missing = @(foreach ($id in $Call['needs']) { if (-not ($Known.ContainsKey($id) -and $Known[$id].Ok)) { $id } })
    if ($missing.Count) { $result['skipped'] = "needs $($missing -join ', ')"; return $result }
    $objects = [System.Collections.Generic.List[object]]::new()
    if ($null -ne $Call['input']) { $objects = Select-Input $Call['input'] $Known }
    $isCmdlet = -not $Call['command'].StartsWith('@') -and $Call['command'] -notlike '*.exe'
    $why = $null
    if ($null -ne $Call['input'] -and $objects.Count -eq 0 -and $isCmdlet) { $why = 'no input' }
    foreach ($id in $Call['unless']) { if ($Known.ContainsKey($id) -and $Known[$id].Ok) { $why = "unless $id" } }
    if ($why) {
        $result['ok'] = $true
        $result['skipped'] = $why
        $result['output'] = @()
        $Known[$Call['id']] = @{ Ok = $true; Objects = @() }
        return $result
    }
    $delay = 1.0
    if ($null -ne $Call['delay']) { $delay = [double]$Call['delay'] }
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $result['attempts']++
        $attempt = Invoke-Attempt $Call $objects
        if ($null -eq $attempt.Failure -or $result['attempts'] -gt [int]$Call['retries']) { break }
        Start-Sleep -Milliseconds ([int]($delay * 1000))
    }
    $result['ok'] = $null -eq $attempt.Failure
    $result['seconds'] = [Math]::Round($clock.Elapsed.TotalSeconds, 3)
    $Known[$Call['id']] = @{ Ok = $result['ok']; Objects = $attempt.Objects }
    $program = $attempt.Program
    if ($null -ne $program) { $result['exit_code'] = $program['exit_code'] }
    if ($Call['secret']) {
        if ($attempt.Failure) {
            $result['error'] = @{ category = $attempt.Failure['category']; id = $attempt.Failure['id'] }
        }
        return $result
    }
    if ($null -ne $program) {
        $result['stdout'] = Get-Tail $program['stdout'] $Call['output_limit']
        $result['stderr'] = Get-Tail $program['stderr'] $Call['output_limit']
    }
    elseif ($Call['command'] -notlike '*.exe') { $result['output'] = Select-Output $attempt.Objects $Call['select'] }
    if ($attempt.Warnings.Count) { $result['warnings'] = $attempt.Warnings }
    if ($attempt.Failure) { $result['error'] = $attempt.Failure }
    return $result
}

# --- Batches and their keys.

function New-Observation([string]$State, [string]$Calls = '', $Stopped = $null, $Progress = $null) {
    $rest = [ordered]@{ state = $State; stopped = $Stopped }
    if ($null -ne $Progress) { $rest['progress'] = $Progress }
    $rest['boot'] = $boot
    $rest['time'] = [datetime]::UtcNow
    $rest['version'] = "$($PSVersionTable.PSVersion)"
    return '{"calls":{' + $Calls + '},' + (ConvertTo-BatchJson $rest).Substring(1)
}

function Get-KeyPath([string]$Key, [string]$Suffix = '') {
    if ($Key -cnotmatch '^[a-z0-9-]{8,64}$') { throw "not a key of a batch: $Key" }
    return [System.IO.Path]::Combine($env:ProgramData, 'winkube', 'batches', $Key + $Suffix)
}

function Remove-Key([string]$Key) {
    # The folder is that of Ansible's async wrapper. What cannot be deleted now is swept later.
    try {
        Remove-Item -Path "$(Get-KeyPath $Key)", "$(Get-KeyPath $Key).*" -Recurse -Force -ErrorAction SilentlyContinue
    }
    catch { $null = 'it is in use' }
}

# Writes whole or not at all: readers never see half of it.
function Save-Text([string]$Path, [string]$Text) {
    [System.IO.File]::WriteAllText("$Path.part", $Text)
    [System.IO.File]::Move("$Path.part", $Path)
}

function Read-Json([string]$Path) {
    try { return ConvertFrom-BatchJson ([System.IO.File]::ReadAllText($Path)) } catch { return $null }
}

# Whether the key was free. Sweeps what nobody forgot.
function Add-Claim([string]$Key) {
    $claim = Get-KeyPath $Key '.claim'
    $folder = [System.IO.Path]::GetDirectoryName($claim)
    $null = [System.IO.Directory]::CreateDirectory($folder)
    # The owner, too: anybody may make folders in ProgramData.
    if ($env:OS -eq 'Windows_NT') { Set-Sddl $folder 'O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' 'Owner, Access' }
    foreach ($old in Get-ChildItem -LiteralPath $folder -Filter '*.claim' -Force) {
        if ($old.LastWriteTimeUtc -lt [datetime]::UtcNow.AddDays(-7)) { Remove-Key $old.BaseName }
    }
    $process = [System.Diagnostics.Process]::GetCurrentProcess()
    $started = "$($process.StartTime.ToFileTimeUtc())"
    $text = ConvertTo-BatchJson @{ process = $process.Id; started = $started; boot = $boot }
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
function Test-Claim([string]$Path) {
    $claim = Read-Json $Path
    # Made, but not yet written.
    if ($null -eq $claim) { return [System.IO.File]::GetLastWriteTimeUtc($Path) -gt [datetime]::UtcNow.AddSeconds(-60) }
    try { $process = [System.Diagnostics.Process]::GetProcessById($claim['process']) } catch { return $false }
    # Another user's process may not tell when it started.
    try { return "$($process.StartTime.ToFileTimeUtc())" -eq $claim['started'] }
    catch { return (ConvertTo-BatchJson $boot).Trim('"') -eq $claim['boot'] }
}

# The observation of a key's batch; waits for it.
function Wait-Key([string]$Key, [double]$Wait) {
    $result = Get-KeyPath $Key '.json'
    $claim = Get-KeyPath $Key '.claim'
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        # In this order: a batch that ends in between is not taken for a lost one.
        $claimed = [System.IO.File]::Exists($claim)
        $alive = $claimed -and (Test-Claim $claim)
        if ([System.IO.File]::Exists($result)) { return [System.IO.File]::ReadAllText($result) }
        $waited = $clock.Elapsed.TotalSeconds
        # A detached process needs a moment before it claims its key.
        if (-not $claimed -and $waited -ge [Math]::Min($Wait, 5)) { return New-Observation 'unknown' }
        if ($claimed -and (-not $alive -or $waited -ge $Wait)) { break }
        Start-Sleep -Milliseconds 250
    }
    $state = if ($alive) { 'running' } else { 'lost' }
    return New-Observation $state '' $null (Read-Json (Get-KeyPath $Key '.progress'))
}

function Invoke-Batch($Batch) {
    $known = @{}
    $texts = [System.Collections.Generic.List[string]]::new()
    $stopped = $null
    $number = 0
    foreach ($call in $Batch['calls']) {
        if ($null -eq $stopped -or $call['always']) {
            if ($Batch['key']) {
                $progress = [ordered]@{ id = $call['id']; done = $number; total = $Batch['calls'].Count }
                # Somebody may be reading the last one.
                $path = Get-KeyPath $Batch['key'] '.progress'
                try { [System.IO.File]::WriteAllText($path, (ConvertTo-BatchJson $progress)) }
                catch { $null = 'the next one will do' }
            }
            $result = Invoke-Call $call $known
            $texts.Add((ConvertTo-BatchJson $call['id']) + ':' + (ConvertTo-BatchJson $result))
            $reason = $null
            if ($call['command'] -eq '@stop-if' -and $result['ok'] -and $result['output'][0]) { $reason = 'barrier' }
            elseif ($null -ne $result['error'] -and $call['on_error'] -ne 'continue') { $reason = 'error' }
            if ($null -eq $stopped -and $reason) { $stopped = [ordered]@{ id = $call['id']; reason = $reason } }
        }
        $number++
    }
    return New-Observation 'finished' ($texts -join ',') $stopped
}

$boot = $null
try { $boot = (Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime).LastBootUpTime }
catch { $null = 'not Windows, or its management service is down' }
$batch = ConvertFrom-BatchJson ([string]$complex_args.batch)
if ($null -eq $batch) { throw 'the argument batch has to be a string of JSON' }
foreach ($key in $batch['forget']) { Remove-Key $key }
if ($batch['mode'] -eq 'collect') { $observation = Wait-Key $batch['key'] $batch['wait'] }
elseif (-not $batch['key']) { $observation = Invoke-Batch $batch }
elseif (-not (Add-Claim $batch['key'])) { $observation = New-Observation 'known' }
else {
    $path = Get-KeyPath $batch['key'] '.json'
    $observation = $null
    $lost = New-Observation 'lost'
    try { $observation = Invoke-Batch $batch }
    finally {
        # Also when the session is ended in the middle, while its process lives on.
        if ($null -ne $observation) { Save-Text $path $observation }
        else { [System.IO.File]::WriteAllText($path, $lost) }
    }
}
'{"changed":false,"observation":' + $observation + '}'
