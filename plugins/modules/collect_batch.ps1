#!powershell

# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Fetches the result of an earlier batch, with less to upload than invoke_calls: docs/wire.md.

#AnsibleRequires -PowerShell ..module_utils._CallChecks
#AnsibleRequires -PowerShell ..module_utils._CallJson
#AnsibleRequires -PowerShell ..module_utils._CallKeys
#AnsibleRequires -PowerShell ..module_utils._CallParts

$ErrorActionPreference = 'Stop'
Set-Variable -Scope Global -Name ProgressPreference -Value 'SilentlyContinue'

$refusal = $null
try {
    $batch = Read-Batch $complex_args.batch
    if ($batch['mode'] -cne 'collect') { throw 'collect_batch runs no calls: the mode has to be collect' }
}
catch { $refusal = "$_" }
if ($refusal) { $answer = '{"changed":false,"failed":true,"msg":' + (ConvertTo-BatchJson $refusal) + '}' }
else {
    foreach ($key in $batch['forget']) { Remove-Key $key }
    $observation = Wait-Key $batch['key'] $batch['wait'] -Boot (Get-Boot)
    $answer = '{"changed":false,"observation":' + $observation + '}'
}
$answer
