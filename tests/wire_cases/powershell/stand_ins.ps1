# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# The two functions that the recorded cases call; ../README.md says what they do, ../stand_ins.py has the same for
# simulated servers.

function ConvertTo-Sample([int]$Number) {
    $inner = [pscustomobject]@{ Deep = [pscustomobject]@{ Deeper = 'd'; List = @(1) } }
    $text = 'a' + [char]0xE9 + "`n" + '"\' + [char]::ConvertFromUtf32(0x1F600) + [char]0x7F + [char]0x2028
    return [pscustomobject]@{
        Name = "n$Number"; Number = $Number; Flag = $Number % 2 -eq 0; Nothing = $null
        List = @('a', 'b'); One = @('x'); None = @()
        When = [datetime]::new(2026, 11, 21, 1, 2, 3, [System.DateTimeKind]::Utc)
        Span = [timespan]::FromSeconds(90); Day = [System.DayOfWeek]::Friday
        Inner = $inner; Table = @{ k = 'v' }
        Half = 0.5; Big = 9007199254740993; Text = $text; Bytes = [byte[]](1, 2)
    }
}

function Get-Thing {
    [CmdletBinding()]
    param(
        [string]$Kind = 'object',
        [int]$Times = 1,
        [object]$Value,
        [switch]$Warn,
        [switch]$NonTerm,
        [switch]$Throw
    )
    if ($Warn) { Write-Warning 'careful' }
    for ($number = 0; $number -lt $Times; $number++) {
        switch ($Kind) {
            'string' { "s$number" }
            'int' { $number }
            'double' { $number + 0.25 }
            'bool' { $number -eq 0 }
            'date' { [datetime]::new(2026, 1, 2, 3, 4, 5, [System.DateTimeKind]::Utc).AddDays($number) }
            'span' { [timespan]::new(1, 2, 3, 4 + $number) }
            'enum' { [System.DayOfWeek]($number % 7) }
            'null' { $null }
            'none' { }
            'list' { , @(1, 2) }
            'nested' { , @(@(1), @(2, 3)) }
            'bytes' { , [byte[]](1, 2, 3) }
            'table' { @{ key = $number } }
            'guid' { [guid]'00000000-0000-0000-0000-000000000001' }
            'version' { [version]'1.2.3' }
            'value' { $Value }
            default { ConvertTo-Sample $number }
        }
    }
    if ($NonTerm) { Write-Error 'nt' }
    if ($Throw) { throw 'boom' }
}

function Use-Thing {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)][object]$InputObject, [object]$Other)
    begin { $given = [System.Collections.Generic.List[object]]::new() }
    process { $given.Add($InputObject) }
    end {
        $texts = @(foreach ($item in $given) { if ($null -eq $item) { 'null' } else { [string]$item } })
        $said = 'null'
        if ($Other -is [array]) {
            $said = "array$($Other.Count):" + (@(foreach ($item in $Other) { [string]$item }) -join '|')
        }
        elseif ($null -ne $Other) { $said = [string]$Other }
        [pscustomobject]@{ Count = $given.Count; Texts = $texts -join '|'; Other = $said }
    }
}
