#!powershell

# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Runs a batch of calls: docs/wire.md. Reasons and parts: docs/powershell_module.md.

#AnsibleRequires -PowerShell ..module_utils._CallAccess
#AnsibleRequires -PowerShell ..module_utils._CallChecks
#AnsibleRequires -PowerShell ..module_utils._CallFiles
#AnsibleRequires -PowerShell ..module_utils._CallJson
#AnsibleRequires -PowerShell ..module_utils._CallKeys
#AnsibleRequires -PowerShell ..module_utils._CallObjects
#AnsibleRequires -PowerShell ..module_utils._CallParts
#AnsibleRequires -PowerShell ..module_utils._CallPrograms
#AnsibleRequires -PowerShell ..module_utils._CallRuns
#AnsibleRequires -PowerShell ..module_utils._CallVerbs

$ErrorActionPreference = 'Stop'
Set-Variable -Scope Global -Name ProgressPreference -Value 'SilentlyContinue'
Set-Variable -Scope Global -Name ConfirmPreference -Value 'None'

function Invoke-Cmdlet($Call, $Objects) {
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

function Invoke-Attempt($Call, $Objects, $Program = $null) {
    $attempt = @{ Warnings = @(); Program = $null; Failure = $null }
    $attempt.Objects = [System.Collections.Generic.List[object]]::new()
    $timeout = Get-Timeout $Call
    $name = $Call['command']
    try {
        if ($name -like '*.exe') {
            if ($null -ne $Program) { $ended = Close-Program $Program } else { $ended = Invoke-Program $Call $timeout }
            $attempt.Program = $ended
            $attempt.Objects.Add($ended)
            $codes = @(0)
            if ($null -ne $Call['success_codes']) { $codes = $Call['success_codes'] }
            if ($null -eq $ended['exit_code']) {
                $message = "$name did not end within $timeout s"
                throw (New-Failure 'OperationTimeout' 'ProgramTimeout' $message ([TimeoutException]::new($message)))
            }
            if ($codes -notcontains $ended['exit_code']) {
                $message = "$name ended with exit code $($ended['exit_code'])"
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
                $said = @(foreach ($entry in $Call['until'].GetEnumerator()) { "$($entry.Key) = $($entry.Value)" })
                $said = $said -join ', '
                $message = "no output object of $name met $said"
                throw (New-Failure 'OperationTimeout' 'UntilNotMet' $message ([TimeoutException]::new($message)))
            }
        }
    }
    catch { $attempt.Failure = ConvertTo-Failure $_ $name }
    return $attempt
}

function Invoke-Call($Call, $Known) {
    $run = New-Run $Call $Known
    $run.Clock.Start()
    while (-not $run.Done) {
        Add-Attempt $run (Invoke-Attempt $Call $run.Objects) $Known
        if (-not $run.Done) { Start-Sleep -Milliseconds ([int]($run.Delay * 1000)) }
    }
    return $run
}

function Invoke-Group($Batch, $Calls, [int]$Index, $Known) {
    $runs = @(foreach ($call in $Calls) { New-Run $call $Known })
    $places = $runs.Count
    foreach ($call in $Calls) { $places = [int][Math]::Min($places, [long]$call['parallel']) }
    # Threads of the pool read the pipes; above this minimum, .NET adds new ones slowly.
    $null = [System.Threading.ThreadPool]::SetMinThreads(4 * $places + 8, 4 * $places + 8)
    $news = $true
    try {
        while ($true) {
            $working = [System.Collections.Generic.List[object]]::new()
            foreach ($run in $runs) {
                if ($null -eq $run.Program) { continue }
                if (-not (Test-Program $run.Program 0)) { $working.Add($run.Call); continue }
                $program = $run.Program
                $run.Program = $null
                Add-Attempt $run (Invoke-Attempt $run.Call $run.Objects -Program $program) $Known
                $news = $true
            }
            $done = 0
            foreach ($run in $runs) {
                if ($run.Done) { $done++; continue }
                if ($null -ne $run.Program -or $working.Count -ge $places) { continue }
                if ($run.Next -gt [datetime]::UtcNow) { continue }
                $run.Clock.Start()
                $run.Program = Open-Program $run.Call (Get-Timeout $run.Call)
                $working.Add($run.Call)
                $news = $true
            }
            if ($done -eq $runs.Count) { return $runs }
            if ($news) { $news = -not (Save-Progress $Batch $working -Done ($Index + $done)) }
            Start-Sleep -Milliseconds 100
        }
    }
    finally {
        foreach ($run in $runs) {
            if ($null -eq $run.Program) { continue }
            try { $null = Close-Program $run.Program } catch { $null = 'it never started' }
        }
    }
}

function Invoke-Batch($Batch) {
    $known = [hashtable]::new([StringComparer]::Ordinal)
    $texts = [System.Collections.Generic.List[string]]::new()
    $stopped = $null
    $group = $null
    for ($index = 0; $index -lt $Batch['calls'].Count; $index += $group.Count) {
        $group = Get-Group $Batch['calls'] $index
        $calls = [System.Collections.Generic.List[object]]::new()
        foreach ($call in $group) { if ($null -eq $stopped -or $call['always']) { $calls.Add($call) } }
        if ($calls.Count -eq 0) { continue }
        if ($calls.Count -gt 1) { $runs = Invoke-Group $Batch $calls -Index $index -Known $known }
        else {
            $null = Save-Progress $Batch $calls -Done $index
            $runs = Invoke-Call $calls[0] $known
        }
        foreach ($run in $runs) {
            $call = $run.Call
            $result = $run.Result
            $texts.Add((ConvertTo-BatchJson $call['id']) + ':' + (ConvertTo-BatchJson $result))
            $reason = $null
            $counted = $result['attempts'] -and $run.Objects.Count
            if ($call['command'] -eq '@stop-if' -and $counted) { $reason = 'barrier' }
            elseif ($null -ne $result['error'] -and $call['on_error'] -ne 'continue') { $reason = 'error' }
            if ($null -eq $stopped -and $reason) { $stopped = [ordered]@{ id = $call['id']; reason = $reason } }
        }
    }
    return New-Observation 'finished' $boot -Calls ($texts -join ',') -Stopped $stopped
}

$refusal = $null
try { $batch = Read-Batch $complex_args.batch } catch { $refusal = "$_" }
if ($refusal) { $answer = '{"changed":false,"failed":true,"msg":' + (ConvertTo-BatchJson $refusal) + '}' }
else {
    $boot = Get-Boot
    foreach ($key in $batch['forget']) { Remove-Key $key }
    if ($batch['mode'] -eq 'collect') { $observation = Wait-Key $batch['key'] $batch['wait'] -Boot $boot }
    elseif (-not $batch['key']) { $observation = Invoke-Batch $batch }
    elseif (-not (Add-Claim $batch['key'] $boot)) { $observation = New-Observation 'known' $boot }
    else {
        $path = Get-KeyPath $batch['key'] '.json'
        $observation = New-Observation 'lost' $boot
        try { $observation = Invoke-Batch $batch }
        finally {
            [System.IO.File]::WriteAllText("$path.part", $observation)
            Invoke-FileAction 'replace' "$path.part" -Destination $path
        }
    }
    $answer = '{"changed":false,"observation":' + $observation + '}'
}
$answer
