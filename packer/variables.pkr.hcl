# What the image is built from, and what it contains. docs/images.md maps the names that AKS Engine's documentation uses
# to these. A validation cannot name another variable, so values that need or exclude each other are in one object.
# Set all attributes of an object, unused ones to "", 0 or [].

variable "base" {
  description = "Set exactly one of image (Azure: publisher:offer:sku:version; Amazon: an AMI, or owner:name), iso_url and host (an existing machine). An ISO needs iso_checksum, such as sha256:…. nano_server_name is the Nano Server base image of an Insider build, which only exists as an ISO."
  type = object({
    image            = string
    iso_url          = string
    iso_checksum     = string
    nano_server_name = string
    host             = string
  })

  validation {
    condition     = length(compact([var.base.image, var.base.iso_url, var.base.host])) == 1
    error_message = "Expected base to have exactly one of image, iso_url and host. Set the other two to an empty string."
  }
  validation {
    condition     = regex_replace(var.base.image, "^([^:]+:[^:]+:[^:]+:[^:]+|ami-[0-9a-f]+|[^:]+:[^:]+)$", "") == ""
    error_message = "Expected base.image to be publisher:offer:sku:version (Azure), or an AMI's id or owner:name (Amazon)."
  }
  validation {
    condition     = (var.base.iso_url == "") == (var.base.iso_checksum == "")
    error_message = "Expected base.iso_url and base.iso_checksum to be set together. The checksum is part of the ISO's download page; without it, a changed ISO would go unnoticed."
  }
  validation {
    condition     = regex_replace(var.base.iso_checksum, "^(md5:[0-9a-fA-F]{32}|sha1:[0-9a-fA-F]{40}|sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128}|file:.+)$", "") == ""
    error_message = "Expected base.iso_checksum to be sha256: and 64 hexadecimal digits (or sha512:, sha1:, md5:), or file: and the URL of a checksum file."
  }
  validation {
    condition     = var.base.nano_server_name == "" || var.base.iso_url != ""
    error_message = "Expected base.nano_server_name to be empty, because base.iso_url is. Only Insider builds need it, and those are published as ISOs."
  }
}

variable "windows" {
  description = "The Windows that is installed from an ISO, and the answer file of its Setup. version is 2019, 2022, 2025 or, with allow_unsupported_windows, insider. edition is a name or the number of an image in the ISO."
  type = object({
    version                   = string
    edition                   = string
    firmware                  = string
    language                  = string
    time_zone                 = string
    allow_unsupported_windows = bool
  })
  default = {
    version                   = "2022"
    edition                   = "datacenter_core"
    firmware                  = "uefi"
    language                  = "en-US"
    time_zone                 = "UTC"
    allow_unsupported_windows = false
  }

  validation {
    condition     = contains(["2019", "2022", "2025", "insider"], var.windows.version)
    error_message = "Expected windows.version to be 2019, 2022, 2025 or insider."
  }
  validation {
    condition     = var.windows.version != "insider" || var.windows.allow_unsupported_windows
    error_message = "Expected windows.allow_unsupported_windows to be true, because windows.version is insider. Such an image is for tests."
  }
  validation {
    condition     = contains(["standard_core", "standard", "datacenter_core", "datacenter"], var.windows.edition) || regex_replace(var.windows.edition, "^[1-9][0-9]?$", "") == ""
    error_message = "Expected windows.edition to be standard_core, standard, datacenter_core, datacenter, or the number of an image in the ISO (DISM /Get-ImageInfo lists them)."
  }
  validation {
    condition     = contains(["bios", "uefi"], var.windows.firmware)
    error_message = "Expected windows.firmware to be bios or uefi."
  }
  validation {
    condition     = var.windows.language != "" && regex_replace(var.windows.language, "^[a-z]{2,3}(-[A-Z][a-z]{3})?-[A-Z]{2}$", "") == ""
    error_message = "Expected windows.language to be the language of the ISO, such as en-US."
  }
  validation {
    condition     = var.windows.time_zone != ""
    error_message = "Expected windows.time_zone to be a name that tzutil /l lists, such as UTC."
  }
}

# Packer hides the values of sensitive variables wherever they occur in its output. In the object windows, it would also
# hide words such as 2022.
variable "windows_product_key" {
  description = "The product key of windows.edition, or empty for evaluation media. Set it with the environment variable PKR_VAR_windows_product_key."
  type        = string
  default     = ""
  sensitive   = true

  validation {
    condition     = regex_replace(var.windows_product_key, "^([0-9A-Z]{5}-){4}[0-9A-Z]{5}$", "") == ""
    error_message = "Expected windows_product_key to be five groups of five letters or digits, such as AAAAA-BBBBB-CCCCC-DDDDD-EEEEE, or empty for evaluation media."
  }
}

variable "runtime" {
  description = "The container runtime of the image, and the versions to cache. The default version is the one that is installed."
  type = object({
    container_runtime          = string
    containerd_versions        = list(string)
    default_containerd_version = string
    moby_versions              = list(string)
    default_moby_version       = string
    docker_versions            = list(object({ version = string, url = string, sha256 = string }))
    default_docker_version     = string
  })
  default = {
    container_runtime          = "containerd"
    containerd_versions        = ["2.3.7"]
    default_containerd_version = "2.3.7"
    moby_versions              = []
    default_moby_version       = ""
    docker_versions            = []
    default_docker_version     = ""
  }

  validation {
    condition     = contains(["containerd", "moby", "docker"], var.runtime.container_runtime)
    error_message = "Expected runtime.container_runtime to be containerd, moby or docker."
  }
  validation {
    condition     = contains(concat(var.runtime.containerd_versions, var.runtime.container_runtime == "containerd" ? [] : [""]), var.runtime.default_containerd_version)
    error_message = "Expected runtime.default_containerd_version to be one of runtime.containerd_versions."
  }
  validation {
    condition     = contains(concat(var.runtime.moby_versions, var.runtime.container_runtime == "moby" ? [] : [""]), var.runtime.default_moby_version)
    error_message = "Expected runtime.default_moby_version to be one of runtime.moby_versions."
  }
  validation {
    condition     = contains(concat([for docker in var.runtime.docker_versions : docker.version], var.runtime.container_runtime == "docker" ? [] : [""]), var.runtime.default_docker_version)
    error_message = "Expected runtime.default_docker_version to be the version of one of runtime.docker_versions."
  }
}

variable "kubernetes" {
  description = "The versions of Kubernetes' node binaries to cache, and the one that is installed."
  type = object({
    kube_node_versions = list(string)
    kube_version       = string
  })

  validation {
    condition     = contains(var.kubernetes.kube_node_versions, var.kubernetes.kube_version)
    error_message = "Expected kubernetes.kube_version to be one of kubernetes.kube_node_versions."
  }
}

variable "network" {
  description = "The network of the pods (kube_network_plugin), and the versions of CNI plugins to cache."
  type = object({
    kube_network_plugin = string
    sdn_plugin_versions = list(string)
    azure_vnet_versions = list(string)
  })
  default = { kube_network_plugin = "", sdn_plugin_versions = [], azure_vnet_versions = [] }
}

variable "container_tags" {
  description = "Container images to pull, such as registry.example/team/app:1.4."
  type        = list(string)
  default     = []
}

variable "core_dns" {
  description = "The versions of CoreDNS to pull, and a repository with images for Windows."
  type        = object({ versions = list(string), repository = string })
  default     = { versions = [], repository = "" }

  validation {
    condition     = length(var.core_dns.versions) == 0 || var.core_dns.repository != ""
    error_message = "Expected core_dns.repository to name a repository with images for Windows, because core_dns.versions is set. The CoreDNS project publishes images for Linux only."
  }
}

variable "windows_patches_public" {
  description = "KB numbers of patches to install from Windows Update."
  type        = list(string)
  default     = []

  validation {
    condition     = length(compact([for patch in var.windows_patches_public : regex_replace(patch, "^KB[0-9]{6,8}$", "")])) == 0
    error_message = "Expected each of windows_patches_public to be KB and a number, such as KB5087545."
  }
}

# The URLs may contain tokens, so Packer shows none of these values.
variable "windows_patches_private" {
  description = "Private patches, installed after the public ones. Test-signed ones turn test signing on."
  type        = list(object({ url = string, sha256 = string }))
  default     = []
  sensitive   = true

  validation {
    condition     = length(compact([for patch in var.windows_patches_private : regex_replace(patch.sha256, "^[0-9a-f]{64}$", "")])) == 0
    error_message = "Expected the sha256 of each of windows_patches_private to be 64 hexadecimal digits in lower case."
  }
}

# Proxies reach Windows, the services in the image, the downloads, and Ansible itself. Their URLs may contain passwords.
variable "http_proxy" {
  type      = string
  default   = ""
  sensitive = true
}

variable "https_proxy" {
  type      = string
  default   = ""
  sensitive = true
}

variable "ftp_proxy" {
  type      = string
  default   = ""
  sensitive = true
}

variable "no_proxy" {
  description = "Addresses that are reached without the proxy, separated by commas."
  type        = string
  default     = ""
}

variable "os_disk_gib" {
  description = "The size of the image's disk. Machines that start from the image expand it."
  type        = number
  default     = 30

  validation {
    condition     = var.os_disk_gib >= 30
    error_message = "Expected os_disk_gib to be at least 30. Windows Server and one container runtime do not fit on less."
  }
}

variable "release" {
  description = "The release of the image, YYYYMMDD.commithash. It is a tag of the image."
  type        = string
  default     = ""

  validation {
    condition     = regex_replace(var.release, "^20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[.][0-9a-f]{7,64}$", "") == ""
    error_message = "Expected release to be YYYYMMDD.commithash, such as 20261126.1a2b3c4."
  }
}

variable "image_name" {
  description = "The name of the image or of its files."
  type        = string
  default     = "winkube-node"

  validation {
    condition     = var.image_name != "" && regex_replace(var.image_name, "^[A-Za-z0-9][A-Za-z0-9._-]{0,78}[A-Za-z0-9_]$", "") == ""
    error_message = "Expected image_name to have 2 to 80 letters, digits, dots, dashes and underscores, and to begin and end with a letter or digit."
  }
}

variable "cloudbase_init_platform" {
  description = "Where machines from the image run, if the image is to contain cloudbase-init: azure, ec2, openstack, vmware or nocloud."
  type        = string
  default     = ""

  validation {
    condition     = contains(["", "azure", "ec2", "openstack", "vmware", "nocloud"], var.cloudbase_init_platform)
    error_message = "Expected cloudbase_init_platform to be azure, ec2, openstack, vmware, nocloud, or empty for an image without cloudbase-init."
  }
}

variable "variables_files" {
  description = "Files (YAML or JSON) with further variables of the collection's roles. They override everything else in these templates."
  type        = list(string)
  default     = []
}

variable "ansible_arguments" {
  description = "Further arguments of ansible-playbook, such as [\"--tags\", \"windows_patches\"]."
  type        = list(string)
  default     = []
}

variable "ansible_command" {
  description = "The program that Packer runs instead of ansible-playbook. On Windows: packer/windows/ansible-playbook.cmd."
  type        = string
  default     = "ansible-playbook"
}

# The account that builds. If the password is empty, each build makes a random one.
variable "build_password" {
  type      = string
  default   = ""
  sensitive = true

  validation {
    condition     = var.build_password == "" || length(replace(var.build_password, "{{", "")) == length(var.build_password)
    error_message = "Expected build_password without {{, which Packer would evaluate as a template."
  }
}
