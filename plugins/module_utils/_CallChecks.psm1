# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

$kinds = @{
    batch = @{ mode = 'string'; key = 'string', 'null'; wait = 'number'; forget = 'list of string'; calls = 'list' }
    call = @{
        id = 'string'; command = 'string'; parameters = 'object'; arguments = 'list of string'
        stdin = 'string', 'null'; environment = 'object of string'; input = 'object', 'null'
        select = 'list of string', 'null'; success_codes = 'list of integer'; output_limit = 'integer'
        final_codes = 'list of integer'
        on_error = 'string'; retries = 'integer'; delay = 'number'; until = 'object', 'null'; timeout = 'number'
        needs = 'list of string'; unless = 'list of string'; always = 'boolean'; secret = 'boolean'
        parallel = 'integer', 'null'; watch = 'string', 'null'
    }
    input = @{
        from = 'string', 'list of string'; where = 'object', 'null'
        parameter = 'string', 'null'; property = 'string', 'null'
    }
}
$verbs = @(
    '@read-file', '@write-file', '@commit-file', '@read-registry', '@set-environment', '@wait-port', '@stop-if'
    '@barrier', '@fail', '@move-path', '@copy-file', '@set-acl', '@make-directory', '@free-space', '@port-pools'
)
# .NET counts waits as milliseconds in an Int32.
$most = [ordered]@{ retries = 10000; delay = 86400; timeout = 86400 }

function Get-Kind($Value) {
    if ($null -eq $Value) { return 'null' }
    if ($Value -is [string]) { return 'string' }
    if ($Value -is [bool]) { return 'boolean' }
    if ($Value -is [System.Collections.IDictionary]) { return 'object' }
    if ($Value -is [System.Collections.IList]) { return 'list' }
    if ($Value -is [double]) { return 'number' }
    return 'integer'
}

function Get-WrongKind($Value, [string[]]$Kinds) {
    $kind = Get-Kind $Value
    foreach ($allowed in $Kinds) {
        if ($allowed -eq $kind -or ($allowed -eq 'number' -and $kind -eq 'integer')) { return }
        if (-not $allowed.StartsWith("$kind of ")) { continue }
        # Not `.Values`: that would be an entry with this name.
        foreach ($member in $Value.GetEnumerator()) {
            if ($kind -eq 'object') { $member = $member.Value }
            $found = "$kind of $(Get-Kind $member)"
            if ($found -ne $allowed) { return $found }
        }
        return
    }
    return $kind
}

function Assert-Kind($Entry, [string]$What, $Allowed) {
    if ($Entry -isnot [System.Collections.IDictionary]) { throw "a $What has to be an object" }
    foreach ($pair in $Entry.GetEnumerator()) {
        if ($Allowed.Keys -cnotcontains $pair.Key) { throw "unknown key in ${What}: $(ConvertTo-BatchJson $pair.Key)" }
        if ($pair.Value -is [string] -and $Allowed[$pair.Key] -contains 'string') { continue }
        $wrong = Get-WrongKind $pair.Value $Allowed[$pair.Key]
        if ($wrong) { throw "wrong type of $(ConvertTo-BatchJson $pair.Key) in ${What}: $wrong" }
    }
}

function Assert-Input($Source, [string]$Id, $Earlier) {
    Assert-Kind $Source -What "input of $Id" -Allowed $kinds['input']
    $from = @(foreach ($name in $Source['from']) { $name })
    $unknown = @(foreach ($name in $from) { if (-not $Earlier.Contains($name)) { $name } })
    if ($from.Count -eq 0 -or $unknown.Count) {
        throw "the input of $Id is not from an earlier call: $(ConvertTo-BatchJson $from)"
    }
}

function Assert-Call($Call, $Earlier) {
    Assert-Kind $Call -What 'call' -Allowed $kinds['call']
    if (-not $Call['id'] -or -not $Call['command']) { throw 'a call needs an id and a command' }
    $id = ConvertTo-BatchJson $Call['id']
    $command = $Call['command']
    if ($Earlier.Contains($Call['id'])) { throw "two calls have the id $id" }
    if ($command.StartsWith('@') -and $verbs -cnotcontains $command) { throw "unknown verb: $command" }
    if ($null -ne $Call['on_error'] -and @('stop', 'continue') -cnotcontains $Call['on_error']) {
        throw "on_error of $id is neither stop nor continue"
    }
    foreach ($key in 'needs', 'unless') {
        foreach ($other in $Call[$key]) {
            if ($Earlier.Contains($other)) { continue }
            throw "$id $key $(ConvertTo-BatchJson $other), which is not an earlier call"
        }
    }
    if ($null -ne $Call['input']) { Assert-Input $Call['input'] -Id $id -Earlier $Earlier }
    foreach ($key in 'parallel', 'watch') {
        if ($null -ne $Call[$key] -and $command -notlike '*.exe') { throw "$id has $key, but is not a program" }
    }
    if ($null -ne $Call['parallel'] -and $Call['parallel'] -lt 1) { throw "parallel of $id has to be 1 or more" }
    foreach ($key in 'retries', 'delay', 'timeout', 'output_limit') {
        if ($null -ne $Call[$key] -and $Call[$key] -lt 0) { throw "$key of $id has to be 0 or more" }
    }
    foreach ($key in 'retries', 'delay', 'timeout') {
        if ($null -ne $Call[$key] -and $Call[$key] -gt $most[$key]) {
            throw "$key of $id has to be $($most[$key]) or less"
        }
    }
}

function Assert-Batch($Batch) {
    Assert-Kind $Batch -What 'batch' -Allowed $kinds['batch']
    if ($null -ne $Batch['mode'] -and @('run', 'collect') -cnotcontains $Batch['mode']) {
        throw "unknown mode: $(ConvertTo-BatchJson $Batch['mode'])"
    }
    foreach ($key in @($Batch['key']) + @($Batch['forget'])) {
        if ($null -ne $key -and $key -cnotmatch '^[a-z0-9-]{8,64}\z') { throw "not a key: $(ConvertTo-BatchJson $key)" }
    }
    if ($Batch['mode'] -ceq 'collect' -and $null -eq $Batch['key']) { throw 'collect needs a key' }
    if ($null -ne $Batch['wait'] -and ($Batch['wait'] -lt 0 -or $Batch['wait'] -gt 900)) {
        throw 'wait has to be between 0 and 900 seconds'
    }
    $earlier = [System.Collections.Generic.HashSet[string]]::new()
    foreach ($call in $Batch['calls']) {
        Assert-Call $call $earlier
        $null = $earlier.Add($call['id'])
    }
}

function Expand-Text([string]$Text) {
    $bytes = [System.IO.MemoryStream]::new([Convert]::FromBase64String($Text))
    $gzip = [System.IO.Compression.GZipStream]::new($bytes, [System.IO.Compression.CompressionMode]::Decompress)
    return [System.IO.StreamReader]::new($gzip).ReadToEnd()
}

function Read-Batch($Text) {
    if ($Text -isnot [string]) { throw 'the argument batch has to be a string of JSON' }
    if ($Text -clike 'H4sI*') { try { $Text = Expand-Text $Text } catch { throw 'the batch is not gzip data' } }
    $size = [System.Text.Encoding]::UTF8.GetByteCount($Text)
    if ($size -gt 1000000) { throw "a batch has to be below 1 MB, this one has $size bytes" }
    try { $batch = ConvertFrom-BatchJson $Text } catch { throw 'the batch is not JSON' }
    Assert-Batch $batch
    return $batch
}

$export = @{ Function = 'Read-Batch' }
Export-ModuleMember @export
