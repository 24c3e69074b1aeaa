variable "azure" {
  description = "Where azure-arm builds, and what it writes: a managed image, a gallery version or a VHD. Authentication: client_id and client_secret, or client_jwt (OIDC), or neither for the Azure CLI's login."
  type = object({
    subscription_id              = string
    tenant_id                    = string
    client_id                    = string
    location                     = string
    build_resource_group         = string
    vm_size                      = string
    virtual_network              = string
    virtual_network_group        = string
    subnet                       = string
    allowed_inbound_ip_addresses = list(string)
    managed_image_resource_group = string
    gallery_resource_group       = string
    gallery                      = string
    gallery_image                = string
    gallery_image_version        = string
    gallery_regions              = list(string)
    trusted_launch               = bool
    vhd_resource_group           = string
    vhd_storage_account          = string
    vhd_container                = string
  })
  default = {
    subscription_id              = ""
    tenant_id                    = ""
    client_id                    = ""
    location                     = ""
    build_resource_group         = ""
    vm_size                      = "Standard_D4s_v5"
    virtual_network              = ""
    virtual_network_group        = ""
    subnet                       = ""
    allowed_inbound_ip_addresses = []
    managed_image_resource_group = ""
    gallery_resource_group       = ""
    gallery                      = ""
    gallery_image                = ""
    gallery_image_version        = ""
    gallery_regions              = []
    trusted_launch               = false
    vhd_resource_group           = ""
    vhd_storage_account          = ""
    vhd_container                = ""
  }

  validation {
    condition     = length(compact([var.azure.managed_image_resource_group, var.azure.gallery, var.azure.vhd_container])) <= 1
    error_message = "Expected azure to have exactly one of managed_image_resource_group, gallery and vhd_container."
  }
  validation {
    condition     = var.azure.location == "" || var.azure.build_resource_group == ""
    error_message = "Expected azure to have either location (a resource group is created for the build) or build_resource_group (an existing one is used)."
  }
  validation {
    condition     = (var.azure.gallery == "") == (var.azure.gallery_image == "") && (var.azure.gallery == "") == (var.azure.gallery_resource_group == "")
    error_message = "Expected azure.gallery, azure.gallery_image and azure.gallery_resource_group to be set together."
  }
  validation {
    condition     = (var.azure.gallery == "") == (var.azure.gallery_image_version == "") && regex_replace(var.azure.gallery_image_version, "^20[0-9]{2}[.](0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[.][0-9]+$", "") == ""
    error_message = "Expected azure.gallery_image_version to be YYYY.MMDD.N, such as 2026.1126.1, if azure.gallery is set, and empty otherwise."
  }
  validation {
    condition     = (var.azure.vhd_container == "") == (var.azure.vhd_storage_account == "") && (var.azure.vhd_container == "") == (var.azure.vhd_resource_group == "")
    error_message = "Expected azure.vhd_container, azure.vhd_storage_account and azure.vhd_resource_group to be set together. The container must exist before the build."
  }
  validation {
    condition     = regex_replace(var.azure.vhd_container, "^[a-z0-9](-?[a-z0-9]){2,62}$", "") == ""
    error_message = "Expected azure.vhd_container to have 3 to 63 lower-case letters, digits and single dashes."
  }
  validation {
    condition     = ! var.azure.trusted_launch || var.azure.gallery != ""
    error_message = "Expected azure.trusted_launch to be false. Azure supports Secure Boot and a virtual TPM only for images in a gallery."
  }
  validation {
    condition     = var.azure.virtual_network == "" || length(var.azure.allowed_inbound_ip_addresses) == 0
    error_message = "Expected azure.allowed_inbound_ip_addresses to be empty, because azure.virtual_network is set. The network's own security rules apply."
  }
}

variable "azure_client_secret" {
  description = "The secret of azure.client_id. Set it with the environment variable PKR_VAR_azure_client_secret."
  type        = string
  default     = ""
  sensitive   = true
}

variable "azure_client_jwt" {
  description = "The OIDC token of a pipeline, instead of a secret. Set it with PKR_VAR_azure_client_jwt."
  type        = string
  default     = ""
  sensitive   = true
}

locals {
  marketplace_image = split(":", "${var.base.image}:::")
}

source "azure-arm" "windows" {
  subscription_id    = var.azure.subscription_id
  tenant_id          = var.azure.tenant_id
  client_id          = var.azure.client_id
  client_secret      = var.azure_client_secret
  client_jwt         = var.azure_client_jwt
  use_azure_cli_auth = var.azure.client_id == ""

  location                            = var.azure.location
  build_resource_group_name           = var.azure.build_resource_group
  vm_size                             = var.azure.vm_size
  virtual_network_name                = var.azure.virtual_network
  virtual_network_resource_group_name = var.azure.virtual_network_group
  virtual_network_subnet_name         = var.azure.subnet
  allowed_inbound_ip_addresses        = var.azure.allowed_inbound_ip_addresses

  os_type         = "Windows"
  image_publisher = local.marketplace_image[0]
  image_offer     = local.marketplace_image[1]
  image_sku       = local.marketplace_image[2]
  image_version   = local.marketplace_image[3]
  # Not smaller than the disk of the base image. The SKUs with 30 GiB have names that end in "smalldisk".
  os_disk_size_gb     = var.os_disk_gib
  secure_boot_enabled = var.azure.trusted_launch
  vtpm_enabled        = var.azure.trusted_launch
  security_type       = var.azure.trusted_launch ? "TrustedLaunch" : ""
  azure_tags          = local.tags

  managed_image_name                = var.azure.managed_image_resource_group == "" ? "" : var.image_name
  managed_image_resource_group_name = var.azure.managed_image_resource_group

  dynamic "shared_image_gallery_destination" {
    for_each = compact([var.azure.gallery])
    content {
      subscription        = var.azure.subscription_id
      resource_group      = var.azure.gallery_resource_group
      gallery_name        = shared_image_gallery_destination.value
      image_name          = var.azure.gallery_image
      image_version       = var.azure.gallery_image_version
      replication_regions = var.azure.gallery_regions
    }
  }

  resource_group_name    = var.azure.vhd_resource_group
  storage_account        = var.azure.vhd_storage_account
  capture_container_name = var.azure.vhd_container
  capture_name_prefix    = var.azure.vhd_container == "" ? "" : var.image_name

  # The builder creates the account with a random password, and a certificate for WinRM in a temporary key vault. It
  # authenticates with NTLM (packer-plugin-azure 2.6.2).
  communicator   = "winrm"
  winrm_username = "packer"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_timeout  = "20m"
  winrm_no_proxy = true
}
