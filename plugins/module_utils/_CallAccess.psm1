# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

function Get-Link([string]$Path) {
    $link = $null
    for ($at = [System.IO.Path]::GetFullPath($Path); $at; $at = [System.IO.Path]::GetDirectoryName($at)) {
        if (-not ([System.IO.File]::Exists($at) -or [System.IO.Directory]::Exists($at))) { continue }
        if ([System.IO.File]::GetAttributes($at) -band [System.IO.FileAttributes]::ReparsePoint) { $link = $at }
    }
    return $link
}

function Assert-NoLink([string]$Path) {
    $link = Get-Link $Path
    if ($link) { throw (New-Failure 'SecurityError' 'LinkOnPath' "$link is a junction or symbolic link") }
}

function New-Security([bool]$Folder, [string]$Sddl, [string]$Sections) {
    if ($Folder) { $acl = [System.Security.AccessControl.DirectorySecurity]::new() }
    else { $acl = [System.Security.AccessControl.FileSecurity]::new() }
    $acl.SetSecurityDescriptorSddlForm($Sddl, $Sections)
    return $acl
}

# The owner first: an owner can always set the access list.
function Set-Sddl([string]$Path, [string]$Sddl) {
    Assert-NoLink $Path
    $item = Get-Item -LiteralPath $Path -Force
    foreach ($section in @(@('O:', 'Owner'), @('D:', 'Access'))) {
        if ($Sddl -cnotmatch $section[0]) { continue }
        $acl = New-Security $item.PSIsContainer -Sddl $Sddl -Sections $section[1]
        # Not Set-Acl: it would also write the group.
        if ($PSVersionTable.PSVersion.Major -lt 6) { $item.SetAccessControl($acl) }
        else { [System.IO.FileSystemAclExtensions]::SetAccessControl($item, $acl) }
    }
    # The previous owner may have put a link in its place.
    Assert-NoLink $Path
}

function New-Folder([string]$Path, [string]$Sddl, [string]$Existing) {
    Assert-NoLink $Path
    if (-not [System.IO.Directory]::Exists($Path)) {
        $acl = New-Security $true -Sddl $Sddl -Sections 'Owner, Access'
        if ($PSVersionTable.PSVersion.Major -lt 6) { $null = [System.IO.Directory]::CreateDirectory($Path, $acl) }
        else { [System.IO.FileSystemAclExtensions]::Create([System.IO.DirectoryInfo]::new($Path), $acl) }
    }
    elseif ($Existing -eq 'leave') { return }
    # CreateDirectory does nothing if another process has created the folder.
    Set-Sddl $Path $Sddl
    if ($Existing -eq 'empty' -and [System.IO.Directory]::GetFileSystemEntries($Path).Length) {
        throw (New-Failure 'ResourceExists' 'FolderNotEmpty' "$Path was made meanwhile, and is not empty")
    }
}

$export = @{ Function = 'Get-Link', 'Set-Sddl', 'New-Folder' }
Export-ModuleMember @export
