# An existing machine with WinRM over HTTPS (scripts/Enable-WinRMOverHttps.ps1, with CbtHardeningLevel Relaxed). The
# build leaves it generalized and powered off.

variable "existing" {
  description = "The account of the machine base.host, and the port of its WinRM over HTTPS. build_password is the account's password."
  type        = object({ user = string, port = number })
  default     = { user = "Administrator", port = 5986 }

  validation {
    condition     = var.existing.port >= 1 && var.existing.port <= 65535
    error_message = "Expected existing.port to be a port, 1 to 65535."
  }
}

source "null" "existing" {
  communicator   = "winrm"
  winrm_host     = var.base.host
  winrm_port     = var.existing.port
  winrm_username = var.existing.user
  winrm_password = var.build_password
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_timeout  = "10m"
  winrm_no_proxy = true
}
