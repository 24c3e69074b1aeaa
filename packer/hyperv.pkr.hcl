variable "hyperv" {
  description = "The virtual machine in which hyperv-iso builds. Packer runs on Windows with Hyper-V, and ansible_command is packer/windows/ansible-playbook.cmd."
  type = object({
    switch_name      = string
    memory           = number
    cpus             = number
    secure_boot      = bool
    tpm              = bool
    output_directory = string
  })
  default = {
    switch_name      = "Default Switch"
    memory           = 8192
    cpus             = 4
    secure_boot      = true
    tpm              = false
    output_directory = "build/hyperv"
  }

  validation {
    condition     = var.hyperv.memory >= 2048 && var.hyperv.cpus >= 1
    error_message = "Expected hyperv.memory to be at least 2048 (MiB), and hyperv.cpus at least 1."
  }
}

source "hyperv-iso" "windows" {
  iso_url      = var.base.iso_url
  iso_checksum = var.base.iso_checksum

  vm_name            = var.image_name
  output_directory   = var.hyperv.output_directory
  switch_name        = var.hyperv.switch_name
  generation         = var.windows.firmware == "uefi" ? 2 : 1
  enable_secure_boot = var.windows.firmware == "uefi" && var.hyperv.secure_boot
  enable_tpm         = var.windows.firmware == "uefi" && var.hyperv.tpm
  cpus               = var.hyperv.cpus
  memory             = var.hyperv.memory
  disk_size          = var.os_disk_gib * 1024
  headless           = true

  cd_label     = "ANSWERS"
  cd_files     = local.answer_cd_files
  cd_content   = local.answer_cd_content
  boot_wait    = local.boot_wait
  boot_command = local.boot_command

  communicator     = "winrm"
  winrm_username   = "Administrator"
  winrm_password   = local.build_password
  winrm_use_ssl    = true
  winrm_insecure   = true
  winrm_use_ntlm   = true
  winrm_timeout    = local.setup_timeout
  winrm_no_proxy   = true
  shutdown_command = local.shutdown_command
  shutdown_timeout = local.shutdown_timeout
}
