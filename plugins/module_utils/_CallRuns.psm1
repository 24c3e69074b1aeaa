# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

function Get-Group($Calls, [int]$Index) {
    $group = [System.Collections.Generic.List[object]]::new()
    $ids = [System.Collections.Generic.HashSet[string]]::new()
    for (; $Index -lt $Calls.Count; $Index++) {
        $call = $Calls[$Index]
        $named = @($call['needs']) + @($call['unless'])
        if ($null -ne $call['input']) { $named += @($call['input']['from']) }
        $beside = $group.Count -and $call['parallel'] -and $group[0]['parallel']
        if ($group.Count -and (-not $beside -or $ids.Overlaps([string[]]$named))) { break }
        $group.Add($call)
        $null = $ids.Add($call['id'])
    }
    return , $group
}

function Get-Timeout($Call) {
    if ($null -ne $Call['timeout']) { return [double]$Call['timeout'] }
    return 600.0
}

function Get-Bound($Objects) {
    if ($Objects.Count -eq 1) { return , $Objects[0] }
    return , $Objects.ToArray()
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

function New-Run($Call, $Known) {
    $result = [ordered]@{ ok = $false; seconds = 0.0; attempts = 0 }
    $run = @{ Call = $Call; Result = $result; Done = $true; Program = $null; Next = [datetime]::MinValue; Delay = 1.0 }
    $run.Clock = [System.Diagnostics.Stopwatch]::new()
    $run.Objects = [System.Collections.Generic.List[object]]::new()
    $missing = @(foreach ($id in $Call['needs']) { if (-not ($Known.ContainsKey($id) -and $Known[$id].Ok)) { $id } })
    if ($missing.Count) { $result['skipped'] = "needs $($missing -join ', ')"; return $run }
    if ($null -ne $Call['input']) { $run.Objects = Select-Input $Call['input'] $Known }
    $isCmdlet = -not $Call['command'].StartsWith('@') -and $Call['command'] -notlike '*.exe'
    $why = $null
    if ($null -ne $Call['input'] -and $run.Objects.Count -eq 0 -and $isCmdlet) { $why = 'no input' }
    foreach ($id in $Call['unless']) { if ($Known.ContainsKey($id) -and $Known[$id].Ok) { $why = "unless $id" } }
    if ($why) {
        $result['ok'] = $true
        $result['skipped'] = $why
        $result['output'] = @()
        $Known[$Call['id']] = @{ Ok = $true; Objects = @() }
        return $run
    }
    if ($null -ne $Call['delay']) { $run.Delay = [double]$Call['delay'] }
    $run.Done = $false
    return $run
}

function Add-Attempt($Run, $Attempt, $Known) {
    $call = $Run.Call
    $result = $Run.Result
    $result['attempts']++
    $program = $Attempt.Program
    $final = $null -ne $program -and $null -ne $call['final_codes']
    $final = $final -and $call['final_codes'] -contains $program['exit_code']
    if ($null -ne $Attempt.Failure -and -not $final -and $result['attempts'] -le [long]$call['retries']) {
        $Run.Next = [datetime]::UtcNow.AddSeconds($Run.Delay)
        return
    }
    $Run.Done = $true
    $result['ok'] = $null -eq $Attempt.Failure
    $result['seconds'] = [Math]::Round($Run.Clock.Elapsed.TotalSeconds, 3)
    $Known[$call['id']] = @{ Ok = $result['ok']; Objects = $Attempt.Objects }
    if ($null -ne $program) { $result['exit_code'] = $program['exit_code'] }
    if ($call['secret']) {
        if ($Attempt.Failure) {
            $result['error'] = @{ category = $Attempt.Failure['category']; id = $Attempt.Failure['id'] }
        }
        return
    }
    if ($null -ne $program) {
        $result['stdout'] = Get-Tail $program['stdout'] $call['output_limit']
        $result['stderr'] = Get-Tail $program['stderr'] $call['output_limit']
    }
    elseif ($call['command'] -notlike '*.exe') { $result['output'] = Select-Output $Attempt.Objects $call['select'] }
    if ($Attempt.Warnings.Count) { $result['warnings'] = $Attempt.Warnings }
    if ($Attempt.Failure) { $result['error'] = $Attempt.Failure }
}

$export = @{ Function = 'Get-Group', 'Get-Timeout', 'Get-Bound', 'New-Run', 'Add-Attempt' }
Export-ModuleMember @export
