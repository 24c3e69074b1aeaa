# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Windows PowerShell's JSON cmdlets limit the size and unroll lists; PowerShell 7's turn strings into dates.

function ConvertFrom-BatchJson([string]$Text) {
    $root = [System.Collections.ArrayList]::new()
    $stack = [System.Collections.Stack]::new()
    $stack.Push($root)
    $name = $null
    foreach ($match in [regex]::Matches($Text, '"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|"')) {
        $token = $match.Value
        if ($token -eq ':' -or $token -eq ',') { continue }
        if ($token -eq '}' -or $token -eq ']') {
            if ($null -ne $name) { throw 'a name without a value' }
            $isObject = $stack.Pop() -is [System.Collections.IDictionary]
            if ($isObject -ne ($token -eq '}')) { throw 'a bracket that closes another one' }
            continue
        }
        $parent = $stack.Peek()
        if ($token[0] -eq '"') {
            $value = $token.Substring(1, $token.Length - 2)
            # JSON's escapes are a subset of those of regular expressions.
            if ($value.IndexOf([char]'\') -ge 0) { $value = [regex]::Unescape($value) }
            if ($parent -is [System.Collections.IDictionary] -and $null -eq $name) { $name = $value; continue }
        }
        elseif ($token -eq '{') { $value = [System.Collections.Specialized.OrderedDictionary]::new() }
        elseif ($token -eq '[') { $value = [System.Collections.ArrayList]::new() }
        elseif ($token -ceq 'true') { $value = $true }
        elseif ($token -ceq 'false') { $value = $false }
        elseif ($token -ceq 'null') { $value = $null }
        elseif ($token -match '^-?(0|[1-9][0-9]{0,8})$') { $value = [int]$token }
        elseif ($token -match '^-?[1-9][0-9]{9,17}$') { $value = [long]$token }
        elseif ($token -match '^-?[1-9][0-9]{18,27}$') { $value = [decimal]$token }
        elseif ($token -match '^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$') {
            $value = [double]::Parse($token, [cultureinfo]::InvariantCulture)
        }
        else { throw 'neither a number nor a word of JSON' }
        if ($parent -is [System.Collections.IDictionary]) { $parent.Add($name, $value); $name = $null }
        else { $null = $parent.Add($value) }
        if ($token -eq '{' -or $token -eq '[') { $stack.Push($value) }
    }
    if ($stack.Count -ne 1 -or $root.Count -ne 1) { throw 'not one value' }
    return , $root[0]
}

function ConvertTo-JsonString([string]$Text) {
    if (-not [regex]::IsMatch($Text, '[^ !#-\[\]-~]')) { return '"' + $Text + '"' }
    $Text = $Text.Replace('\', '\\').Replace('"', '\"').Replace("`r", '\r').Replace("`n", '\n').Replace("`t", '\t')
    # ASCII only: a console's code page could change other characters.
    if ([regex]::IsMatch($Text, '[^ -~]')) {
        # Half a surrogate pair becomes U+FFFD.
        $utf8 = [System.Text.Encoding]::UTF8
        $Text = $utf8.GetString($utf8.GetBytes($Text))
        $Text = [regex]::Replace($Text, '[^ -~]', { param($Match) '\u{0:x4}' -f [int]$Match.Value[0] })
    }
    return '"' + $Text + '"'
}

function Add-Json([System.Text.StringBuilder]$Json, $Value, [int]$Depth) {
    if ($Value -is [string]) { $null = $Json.Append((ConvertTo-JsonString $Value)); return }
    # Not `$base = if ...`: the pipeline would unroll a list.
    $base = $null
    if ($null -ne $Value) { $base = $Value.psobject.BaseObject }
    $invariant = [cultureinfo]::InvariantCulture
    if ($base -is [DateTimeOffset]) { $base = $base.UtcDateTime }
    if ($null -eq $base) { $text = 'null' }
    elseif ($base -is [bool] -or $base -is [switch]) { $text = if ([bool]$base) { 'true' } else { 'false' } }
    elseif ($base -is [string] -or $base -is [enum] -or $base -is [char]) { $text = ConvertTo-JsonString "$base" }
    elseif ($base -is [datetime]) { $text = '"' + $base.ToUniversalTime().ToString('o', $invariant) + '"' }
    elseif ($base -is [double] -or $base -is [single]) {
        $text = $base.ToString('R', $invariant)
        if ([double]::IsNaN($base) -or [double]::IsInfinity($base)) { $text = '"' + $text + '"' }
    }
    elseif ($base -is [decimal] -or $base.GetType().IsPrimitive) { $text = [string]::Format($invariant, '{0}', $base) }
    elseif ($Depth -ge 4) { $text = ConvertTo-JsonString "$Value" }
    elseif ($base -is [System.Collections.IDictionary] -or $base -is [System.Management.Automation.PSCustomObject]) {
        $separator = '{'
        if ($base -is [System.Collections.IDictionary]) { $members = $base.GetEnumerator() }
        else { $members = $Value.psobject.Properties }
        foreach ($member in $members) {
            $name = $member.Key
            if ($null -eq $name) { $name = $member.Name }
            $null = $Json.Append($separator).Append((ConvertTo-JsonString "$name")).Append(':')
            Add-Json $Json -Value $member.Value -Depth ($Depth + 1)
            $separator = ','
        }
        $text = if ($separator -eq '{') { '{}' } else { '}' }
    }
    elseif ($base -is [System.Collections.IEnumerable] -and $base -isnot [System.Xml.XmlNode]) {
        $separator = '['
        foreach ($item in $base) {
            $null = $Json.Append($separator)
            Add-Json $Json -Value $item -Depth ($Depth + 1)
            $separator = ','
        }
        $text = if ($separator -eq '[') { '[]' } else { ']' }
    }
    else { $text = ConvertTo-JsonString "$Value" }
    $null = $Json.Append($text)
}

function ConvertTo-BatchJson($Value) {
    $json = [System.Text.StringBuilder]::new()
    # Output objects are two levels below the root.
    Add-Json $json -Value $Value -Depth (-2)
    return $json.ToString()
}

$export = @{ Function = 'ConvertFrom-BatchJson', 'ConvertTo-BatchJson' }
Export-ModuleMember @export
