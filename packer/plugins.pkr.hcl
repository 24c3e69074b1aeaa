# The plugins, which `packer init` installs. Packer 1.14.0 is the first version that downloads them from HashiCorp's
# release site (packer-plugin-azure, README.md).
packer {
  required_version = ">= 1.14.0"

  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = ">= 1.8.0"
    }
    ansible = {
      source  = "github.com/hashicorp/ansible"
      version = ">= 1.1.5"
    }
    # For VHDs: 2.5.0 copies the managed disk to the storage account, and 2.6.0 gives the copy the time that it needs
    # (hashicorp/packer-plugin-azure#522, #567).
    azure = {
      source  = "github.com/hashicorp/azure"
      version = ">= 2.6.0"
    }
    hyperv = {
      source  = "github.com/hashicorp/hyperv"
      version = ">= 1.1.4"
    }
    qemu = {
      source  = "github.com/hashicorp/qemu"
      version = ">= 1.1.4"
    }
    vsphere = {
      source  = "github.com/vmware/vsphere"
      version = ">= 2.0.0"
    }
  }
}
