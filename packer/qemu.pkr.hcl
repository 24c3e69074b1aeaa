variable "qemu" {
  description = "The virtual machine in which qemu builds. virtio_dir is the unpacked ISO of the virtio drivers. efi_code and efi_vars are the files of OVMF, for windows.firmware uefi."
  type = object({
    accelerator      = string
    memory           = number
    cpus             = number
    virtio_dir       = string
    efi_code         = string
    efi_vars         = string
    tpm              = bool
    format           = string
    output_directory = string
  })
  default = {
    accelerator      = "kvm"
    memory           = 8192
    cpus             = 4
    virtio_dir       = ""
    efi_code         = "/usr/share/OVMF/OVMF_CODE_4M.fd"
    efi_vars         = "/usr/share/OVMF/OVMF_VARS_4M.fd"
    tpm              = false
    format           = "qcow2"
    output_directory = "build/qemu"
  }

  validation {
    condition     = contains(["kvm", "tcg", "hvf", "whpx", "none"], var.qemu.accelerator)
    error_message = "Expected qemu.accelerator to be kvm, tcg, hvf, whpx or none."
  }
  validation {
    condition     = contains(["qcow2", "raw"], var.qemu.format)
    error_message = "Expected qemu.format to be qcow2 or raw."
  }
}

source "qemu" "windows" {
  iso_url      = var.base.iso_url
  iso_checksum = var.base.iso_checksum

  vm_name           = "${var.image_name}.${var.qemu.format}"
  output_directory  = var.qemu.output_directory
  accelerator       = var.qemu.accelerator
  machine_type      = "q35"
  cpu_model         = "host"
  cpus              = var.qemu.cpus
  memory            = var.qemu.memory
  efi_boot          = var.windows.firmware == "uefi"
  efi_firmware_code = var.windows.firmware == "uefi" ? var.qemu.efi_code : ""
  efi_firmware_vars = var.windows.firmware == "uefi" ? var.qemu.efi_vars : ""
  vtpm              = var.qemu.tpm
  disk_size         = "${var.os_disk_gib}G"
  disk_interface    = "virtio"
  disk_discard      = "unmap"
  net_device        = "virtio-net"
  # Setup reads its drivers from a CD, so the CD drives must not need a driver.
  cdrom_interface = "ide"
  format          = var.qemu.format
  headless        = true

  cd_label     = "ANSWERS"
  cd_files     = concat(local.answer_cd_files, local.virtio_cd_files)
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
