# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

function Get-ObjectProperty($Object, [string]$Path) {
    foreach ($name in $Path.Split('.')) {
        if ($null -eq $Object) { break }
        try { $Object = $Object.$name } catch { $Object = $null }
    }
    return , $Object
}

function ConvertTo-Wanted($Where) {
    $wanted = [System.Collections.Generic.List[object]]::new()
    if ($null -eq $Where) { return , $wanted }
    # Not `.Keys`: that would be an entry with this name.
    foreach ($entry in $Where.GetEnumerator()) {
        $exists = if ($entry.Value -is [System.Collections.IDictionary]) { $entry.Value['exists'] }
        if ($exists -isnot [bool]) { $exists = $null }
        $texts = [System.Collections.Generic.HashSet[string]]::new([StringComparer]::OrdinalIgnoreCase)
        foreach ($value in @($entry.Value)) { $null = $texts.Add([string]$value) }
        $wanted.Add(@{ Path = $entry.Key; Exists = $exists; Texts = $texts })
    }
    return , $wanted
}

function Test-Object($Object, $Wanted) {
    foreach ($one in $Wanted) {
        $value = Get-ObjectProperty $Object $one.Path
        if ($null -eq $one.Exists) { $met = $one.Texts.Contains([string]$value) }
        else { $met = ($null -ne $value) -eq $one.Exists }
        if (-not $met) { return $false }
    }
    return $true
}

function ConvertTo-Argument($Value) {
    if ($Value -is [System.Collections.IDictionary]) {
        $table = @{}
        foreach ($entry in $Value.GetEnumerator()) { $table[$entry.Key] = ConvertTo-Argument $entry.Value }
        return $table
    }
    if ($Value -is [System.Collections.ArrayList]) {
        $items = [object[]]::new($Value.Count)
        for ($index = 0; $index -lt $items.Length; $index++) { $items[$index] = ConvertTo-Argument $Value[$index] }
        return , $items
    }
    return $Value
}

# docs/wire.md, "How verbs fail".
function Get-Category($Exception, [string]$Verb) {
    $code = Get-Win32Code $Exception
    if ($code -in 2, 3, 15) { return 'ObjectNotFound' }
    if ($code -eq 5 -or $Exception -is [System.Security.SecurityException]) { return 'PermissionDenied' }
    if (Test-Held $Exception) { return 'ResourceBusy' }
    if ($code -in 123, 206 -or $Exception -is [System.ArgumentException]) { return 'InvalidArgument' }
    if ($Exception -is [System.FormatException] -or $Exception -is [System.NotSupportedException]) {
        return 'InvalidArgument'
    }
    if ($Exception -isnot [System.IO.IOException]) { return 'NotSpecified' }
    if ($Verb -in '@read-file', '@read-registry', '@free-space') { return 'ReadError' }
    return 'WriteError'
}

function ConvertTo-Failure([System.Management.Automation.ErrorRecord]$Record, [string]$Command) {
    $exception = $Record.Exception
    $category = "$($Record.CategoryInfo.Category)"
    $id = $Record.FullyQualifiedErrorId
    $called = $exception -is [System.Management.Automation.MethodInvocationException]
    $called = $called -or $exception -is [System.Management.Automation.GetValueInvocationException]
    if ($called -and $exception.InnerException) { $exception = $exception.InnerException }
    # Cmdlets in verbs also pass on exceptions of .NET without a category.
    if ($Command.StartsWith('@') -and ($called -or $category -eq 'NotSpecified')) {
        $category = Get-Category $exception $Command
        $id = if ($category -eq 'ResourceBusy') { 'FileInUse' } else { $exception.GetType().Name }
    }
    $type = $exception.GetType().FullName
    return [ordered]@{ category = $category; id = $id; type = $type; message = $exception.Message }
}

function New-Failure([string]$Category, [string]$Id, [string]$Message, $Exception) {
    if ($null -eq $Exception) { $Exception = [System.IO.IOException]::new($Message) }
    return [System.Management.Automation.ErrorRecord]::new($Exception, $Id, $Category, $null)
}

function New-NotFound([string]$Name) {
    $message = "The term '$Name' is not recognized as the name of a cmdlet, function, script file, or operable program."
    $exception = [System.Management.Automation.CommandNotFoundException]::new($message)
    return New-Failure 'ObjectNotFound' 'CommandNotFoundException' -Message $message -Exception $exception
}

$export = @{
    Function = @(
        'Get-ObjectProperty', 'ConvertTo-Wanted', 'Test-Object', 'ConvertTo-Argument'
        'New-Failure', 'New-NotFound', 'ConvertTo-Failure'
    )
}
Export-ModuleMember @export
