variable "vsphere" {
  description = "Where vsphere-iso builds. guest_os_type is VMware's name of the Windows version. iso_paths has the ISO of VMware Tools, which report the machine's address to Packer. With template, the machine becomes a template."
  type = object({
    vcenter_server      = string
    username            = string
    insecure_connection = bool
    datacenter          = string
    cluster             = string
    host                = string
    resource_pool       = string
    datastore           = string
    folder              = string
    network             = string
    guest_os_type       = string
    iso_paths           = list(string)
    memory              = number
    cpus                = number
    secure_boot         = bool
    tpm                 = bool
    template            = bool
  })
  default = {
    vcenter_server      = ""
    username            = ""
    insecure_connection = false
    datacenter          = ""
    cluster             = ""
    host                = ""
    resource_pool       = ""
    datastore           = ""
    folder              = ""
    network             = ""
    guest_os_type       = "windows2019srvNext_64Guest"
    iso_paths           = ["[] /vmimages/tools-isoimages/windows.iso"]
    memory              = 8192
    cpus                = 4
    secure_boot         = true
    tpm                 = false
    template            = true
  }

  validation {
    condition     = var.vsphere.memory >= 2048 && var.vsphere.cpus >= 1
    error_message = "Expected vsphere.memory to be at least 2048 (MiB), and vsphere.cpus at least 1."
  }
}

variable "vsphere_password" {
  description = "The password of vsphere.username. Set it with the environment variable PKR_VAR_vsphere_password."
  type        = string
  default     = ""
  sensitive   = true
}

source "vsphere-iso" "windows" {
  vcenter_server      = var.vsphere.vcenter_server
  username            = var.vsphere.username
  password            = var.vsphere_password
  insecure_connection = var.vsphere.insecure_connection
  datacenter          = var.vsphere.datacenter
  cluster             = var.vsphere.cluster
  host                = var.vsphere.host
  resource_pool       = var.vsphere.resource_pool
  datastore           = var.vsphere.datastore
  folder              = var.vsphere.folder

  iso_url      = var.base.iso_url
  iso_checksum = var.base.iso_checksum
  iso_paths    = var.vsphere.iso_paths

  vm_name       = var.image_name
  guest_os_type = var.vsphere.guest_os_type
  firmware      = var.windows.firmware == "bios" ? "bios" : var.vsphere.secure_boot ? "efi-secure" : "efi"
  vTPM          = var.windows.firmware == "uefi" && var.vsphere.tpm
  CPUs          = var.vsphere.cpus
  RAM           = var.vsphere.memory
  # Windows has drivers for this controller and this adapter, so Setup needs no others.
  disk_controller_type = ["nvme"]
  storage {
    disk_size             = var.os_disk_gib * 1024
    disk_thin_provisioned = true
  }
  network_adapters {
    network      = var.vsphere.network
    network_card = "e1000e"
  }

  cd_label     = "ANSWERS"
  cd_files     = local.answer_cd_files
  cd_content   = local.answer_cd_content
  boot_wait    = local.boot_wait
  boot_command = local.boot_command
  remove_cdrom = true

  communicator        = "winrm"
  winrm_username      = "Administrator"
  winrm_password      = local.build_password
  winrm_use_ssl       = true
  winrm_insecure      = true
  winrm_use_ntlm      = true
  winrm_timeout       = local.setup_timeout
  winrm_no_proxy      = true
  ip_wait_timeout     = local.setup_timeout
  shutdown_command    = local.shutdown_command
  shutdown_timeout    = local.shutdown_timeout
  convert_to_template = var.vsphere.template
}
