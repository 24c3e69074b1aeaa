# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Prints the seconds that reading a batch takes, and writing as many results: the fastest of five times.

param([string]$Module, [string]$BatchPath)

$ErrorActionPreference = 'Stop'
$code = [scriptblock]::Create([System.IO.File]::ReadAllText($Module))
New-Module -Name 'CallJson' -ScriptBlock $code | Import-Module -Scope Global
$text = [System.IO.File]::ReadAllText($BatchPath)
$result = [ordered]@{ ok = $true; seconds = 0.125; attempts = 1 }
$result['output'] = foreach ($call in (ConvertFrom-BatchJson $text)['calls']) {
    [ordered]@{
        path = $call['parameters']['paths'][0]; exists = $true; type = 'file'; size = 123456789L; sha256 = 'ab' * 32
        content = "C:\k\kubelet.exe --config=`"C:\var\lib\kubelet\config.yaml`"`r`n"; sddl = $null; link = $null
        modified = [datetime]::UtcNow
    }
}

function Measure-Fastest([scriptblock]$Work) {
    $fastest = [double]::MaxValue
    foreach ($round in 1..5) {
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        $null = & $Work
        $fastest = [Math]::Min($fastest, $clock.Elapsed.TotalSeconds)
    }
    return $fastest.ToString('F6', [cultureinfo]::InvariantCulture)
}

"$(Measure-Fastest { ConvertFrom-BatchJson $text }) $(Measure-Fastest { ConvertTo-BatchJson $result })"
