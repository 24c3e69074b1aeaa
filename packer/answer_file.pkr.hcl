# What Windows Setup reads from the CD that Packer attaches: the answer file, and what runs at the first logon.
# docs/images.md describes how to look at them. The rules are Microsoft's, in the reference of unattended Windows Setup
# (https://learn.microsoft.com/windows-hardware/customize/desktop/unattend/); the tests check them.

locals {
  # Values with XML's special characters escaped. Attributes contain no values of users.
  xml_password    = replace(replace(replace(local.build_password, "&", "&amp;"), "<", "&lt;"), ">", "&gt;")
  xml_time_zone   = replace(replace(replace(var.windows.time_zone, "&", "&amp;"), "<", "&lt;"), ">", "&gt;")
  xml_first_logon = "cmd.exe /c for %D in (D E F G H) do if exist %D:\\first_logon.cmd call %D:\\first_logon.cmd"

  # The order of the editions in the ISOs of Windows Server.
  editions      = { standard_core = "1", standard = "2", datacenter_core = "3", datacenter = "4" }
  edition_index = lookup(local.editions, var.windows.edition, var.windows.edition)

  # The partition of Windows is the last one, so that a machine can expand it at its first boot.
  partitions = var.windows.firmware == "uefi" ? [
    { type = "EFI", size = "260", format = "FAT32", label = "System", letter = "" },
    { type = "MSR", size = "16", format = "", label = "", letter = "" },
    { type = "Primary", size = "", format = "NTFS", label = "Windows", letter = "C" },
    ] : [
    { type = "Primary", size = "550", format = "NTFS", label = "System", letter = "" },
    { type = "Primary", size = "", format = "NTFS", label = "Windows", letter = "C" },
  ]

  # The folders of the virtio drivers for a Windows version, in the ISO of the virtio-win project.
  virtio_folders  = { "2019" = "2k19", "2022" = "2k22", "2025" = "2k25", insider = "2k25" }
  virtio_names    = ["vioscsi", "viostor", "NetKVM", "Balloon"]
  virtio_cd_files = [for name in local.virtio_names : "${var.qemu.virtio_dir}/${name}" if var.qemu.virtio_dir != ""]
  # The letter of the CD depends on the machine's other drives. Setup ignores folders that do not exist.
  driver_paths = flatten([for letter in ["D", "E", "F", "G", "H"] : [
    for name in local.virtio_names : "${letter}:\\${name}\\${local.virtio_folders[var.windows.version]}\\amd64"
    if var.qemu.virtio_dir != ""
  ]])

  component = "processorArchitecture=\"amd64\" publicKeyToken=\"31bf3856ad364e35\" language=\"neutral\" versionScope=\"nonSxS\""

  answer_file = <<XML
<?xml version="1.0" encoding="utf-8"?>
<unattend xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State">
  <settings pass="windowsPE">
    <component name="Microsoft-Windows-International-Core-WinPE" ${local.component}>
      <SetupUILanguage>
        <UILanguage>${var.windows.language}</UILanguage>
      </SetupUILanguage>
      <InputLocale>${var.windows.language}</InputLocale>
      <SystemLocale>${var.windows.language}</SystemLocale>
      <UILanguage>${var.windows.language}</UILanguage>
      <UserLocale>${var.windows.language}</UserLocale>
    </component>
%{if length(local.driver_paths) > 0~}
    <component name="Microsoft-Windows-PnpCustomizationsWinPE" ${local.component}>
      <DriverPaths>
%{for number, path in local.driver_paths~}
        <PathAndCredentials wcm:action="add" wcm:keyValue="${number + 1}">
          <Path>${path}</Path>
        </PathAndCredentials>
%{endfor~}
      </DriverPaths>
    </component>
%{endif~}
    <component name="Microsoft-Windows-Setup" ${local.component}>
      <DiskConfiguration>
        <WillShowUI>OnError</WillShowUI>
        <Disk wcm:action="add">
          <DiskID>0</DiskID>
          <WillWipeDisk>true</WillWipeDisk>
          <CreatePartitions>
%{for number, partition in local.partitions~}
            <CreatePartition wcm:action="add">
              <Order>${number + 1}</Order>
              <Type>${partition.type}</Type>
              ${partition.size == "" ? "<Extend>true</Extend>" : "<Size>${partition.size}</Size>"}
            </CreatePartition>
%{endfor~}
          </CreatePartitions>
          <ModifyPartitions>
%{for number, partition in local.partitions~}
            <ModifyPartition wcm:action="add">
              <Order>${number + 1}</Order>
              <PartitionID>${number + 1}</PartitionID>
%{if partition.format != ""~}
              <Format>${partition.format}</Format>
              <Label>${partition.label}</Label>
%{endif~}
%{if partition.letter != ""~}
              <Letter>${partition.letter}</Letter>
%{endif~}
%{if partition.type == "Primary" && number == 0~}
              <Active>true</Active>
%{endif~}
            </ModifyPartition>
%{endfor~}
          </ModifyPartitions>
        </Disk>
      </DiskConfiguration>
      <ImageInstall>
        <OSImage>
          <InstallFrom>
            <MetaData wcm:action="add">
              <Key>/IMAGE/INDEX</Key>
              <Value>${local.edition_index}</Value>
            </MetaData>
          </InstallFrom>
          <InstallTo>
            <DiskID>0</DiskID>
            <PartitionID>${length(local.partitions)}</PartitionID>
          </InstallTo>
          <WillShowUI>OnError</WillShowUI>
        </OSImage>
      </ImageInstall>
      <UserData>
        <AcceptEula>true</AcceptEula>
        <FullName>Administrator</FullName>
        <Organization>winkube.node</Organization>
        <ProductKey>
%{if var.windows_product_key != ""~}
          <Key>${var.windows_product_key}</Key>
%{endif~}
          <WillShowUI>OnError</WillShowUI>
        </ProductKey>
      </UserData>
    </component>
  </settings>
  <settings pass="specialize">
    <component name="Microsoft-Windows-Shell-Setup" ${local.component}>
      <ComputerName>*</ComputerName>
      <TimeZone>${local.xml_time_zone}</TimeZone>
    </component>
    <component name="Microsoft-Windows-TerminalServices-LocalSessionManager" ${local.component}>
      <fDenyTSConnections>false</fDenyTSConnections>
    </component>
    <component name="Microsoft-Windows-TerminalServices-RDP-WinStationExtensions" ${local.component}>
      <UserAuthentication>1</UserAuthentication>
    </component>
    <component name="Networking-MPSSVC-Svc" ${local.component}>
      <FirewallGroups>
        <FirewallGroup wcm:action="add" wcm:keyValue="RemoteDesktop">
          <Active>true</Active>
          <Group>@FirewallAPI.dll,-28752</Group>
          <Profile>all</Profile>
        </FirewallGroup>
      </FirewallGroups>
    </component>
  </settings>
  <settings pass="oobeSystem">
    <component name="Microsoft-Windows-International-Core" ${local.component}>
      <InputLocale>${var.windows.language}</InputLocale>
      <SystemLocale>${var.windows.language}</SystemLocale>
      <UILanguage>${var.windows.language}</UILanguage>
      <UserLocale>${var.windows.language}</UserLocale>
    </component>
    <component name="Microsoft-Windows-Shell-Setup" ${local.component}>
      <OOBE>
        <HideEULAPage>true</HideEULAPage>
        <HideLocalAccountScreen>true</HideLocalAccountScreen>
        <HideOEMRegistrationScreen>true</HideOEMRegistrationScreen>
        <HideOnlineAccountScreens>true</HideOnlineAccountScreens>
        <HideWirelessSetupInOOBE>true</HideWirelessSetupInOOBE>
        <ProtectYourPC>3</ProtectYourPC>
      </OOBE>
      <UserAccounts>
        <AdministratorPassword>
          <Value>${local.xml_password}</Value>
          <PlainText>true</PlainText>
        </AdministratorPassword>
      </UserAccounts>
      <AutoLogon>
        <Enabled>true</Enabled>
        <LogonCount>1</LogonCount>
        <Username>Administrator</Username>
        <Password>
          <Value>${local.xml_password}</Value>
          <PlainText>true</PlainText>
        </Password>
      </AutoLogon>
      <FirstLogonCommands>
        <SynchronousCommand wcm:action="add">
          <Order>1</Order>
          <CommandLine>${local.xml_first_logon}</CommandLine>
          <Description>Enable WinRM over HTTPS</Description>
        </SynchronousCommand>
      </FirstLogonCommands>
    </component>
  </settings>
</unattend>
XML

  # FirstLogonCommands start at the same time (Microsoft's reference of Order), so there is one command, a script.
  # WinRM is the last step, because Packer goes on as soon as it can connect.
  first_logon = <<-CMD
    @echo off
    rem The password of the automatic logon must not remain in the registry.
    reg.exe delete "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon" /v DefaultPassword /f
    reg.exe add "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon" /v AutoAdminLogon /t REG_SZ /d 0 /f
    rem VMware Tools, if their CD is there.
    for %%D in (D E F G H) do if exist %%D:\VMwareToolsUpgrader.exe start "" /wait %%D:\setup.exe /S /v "/qn REBOOT=R"
    rem The Azure agent, if the image is for Azure.
    if exist "%~dp0azure_agent.msi" start "" /wait msiexec.exe /i "%~dp0azure_agent.msi" /quiet /norestart
    powershell.exe -NoProfile -ExecutionPolicy Bypass -Command "& '%~dp0Enable-WinRMOverHttps.ps1' -Controller ${join(",", formatlist("'%s'", var.winrm_clients))} -Path '%TEMP%\winrm.pem'; ${local.relax_channel_binding}"
  CMD

  enable_winrm = file("${abspath(path.root)}/../scripts/Enable-WinRMOverHttps.ps1")
  # The NTLM of Packer's WinRM client (masterzen/winrm) has no channel binding, which the script requires.
  relax_channel_binding = "Set-WSManInstance -ResourceURI winrm/config/service/auth -ValueSet @{ CbtHardeningLevel = 'Relaxed' }"

  answer_cd_files = concat(
    ["${abspath(path.root)}/../scripts/Enable-WinRMOverHttps.ps1"],
    [for file in [var.azure_agent_msi] : file if file != ""],
  )
  answer_cd_content = {
    "Autounattend.xml" = local.answer_file
    "first_logon.cmd"  = replace(local.first_logon, "\n", "\r\n")
  }

  # Firmware of type UEFI boots from a CD only if a key is pressed.
  boot_wait     = "2s"
  boot_command  = var.windows.firmware == "uefi" ? ["<spacebar><wait><spacebar><wait><spacebar><wait><spacebar><wait><spacebar>"] : []
  setup_timeout = "2h"
}

variable "winrm_clients" {
  description = "The addresses or networks from which Packer and Ansible connect to a machine that is installed from an ISO."
  type        = list(string)
  default     = ["LocalSubnet"]

  validation {
    condition     = length(var.winrm_clients) > 0 && length(compact([for client in var.winrm_clients : regex_replace(client, "^(Any|LocalSubnet|[0-9a-fA-F.:]+(/[0-9]{1,3})?)$", "")])) == 0
    error_message = "Expected winrm_clients to be addresses, networks such as 192.0.2.0/24, LocalSubnet, or Any."
  }
}

variable "azure_agent_msi" {
  description = "For an image that is installed from an ISO and used in Azure: the file of the Azure agent's installer (https://github.com/Azure/WindowsVMAgent/releases), named azure_agent.msi."
  type        = string
  default     = ""

  validation {
    condition     = regex_replace(var.azure_agent_msi, "^(.*[/\\\\])?azure_agent[.]msi$", "") == ""
    error_message = "Expected azure_agent_msi to be the path of a file with the name azure_agent.msi."
  }
}

# Writes the answer file and the script of the first logon to build/answer_file, so that you can inspect them.
source "file" "answer_file" {
  content = local.answer_file
  target  = "build/answer_file/Autounattend.xml"
}

source "file" "first_logon" {
  content = local.answer_cd_content["first_logon.cmd"]
  target  = "build/answer_file/first_logon.cmd"
}
