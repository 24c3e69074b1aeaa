variable "amazon" {
  description = "Where amazon-ebs builds. Credentials come from the environment or the profile, as for the AWS CLI."
  type = object({
    region                        = string
    profile                       = string
    instance_type                 = string
    vpc_id                        = string
    subnet_id                     = string
    security_group_ids            = list(string)
    temporary_security_group_from = list(string)
    ami_users                     = list(string)
    ami_regions                   = list(string)
    encrypt_boot                  = bool
  })
  default = {
    region                        = ""
    profile                       = ""
    instance_type                 = "m6i.large"
    vpc_id                        = ""
    subnet_id                     = ""
    security_group_ids            = []
    temporary_security_group_from = []
    ami_users                     = []
    ami_regions                   = []
    encrypt_boot                  = false
  }

  validation {
    condition     = length(var.amazon.security_group_ids) == 0 || length(var.amazon.temporary_security_group_from) == 0
    error_message = "Expected amazon to have either security_group_ids or temporary_security_group_from (the networks of a temporary group)."
  }
}

locals {
  ami_id   = regex_replace(var.base.image, "^ami-[0-9a-f]+$", "") == "" ? var.base.image : ""
  ami_name = split(":", "${var.base.image}:")
}

source "amazon-ebs" "windows" {
  region        = var.amazon.region
  profile       = var.amazon.profile
  instance_type = var.amazon.instance_type
  vpc_id        = var.amazon.vpc_id
  subnet_id     = var.amazon.subnet_id
  encrypt_boot  = var.amazon.encrypt_boot

  security_group_ids                    = var.amazon.security_group_ids
  temporary_security_group_source_cidrs = var.amazon.temporary_security_group_from

  source_ami = local.ami_id
  dynamic "source_ami_filter" {
    for_each = local.ami_id == "" ? [local.ami_name[1]] : []
    content {
      owners      = [local.ami_name[0]]
      most_recent = true
      filters = {
        name                = source_ami_filter.value
        architecture        = "x86_64"
        root-device-type    = "ebs"
        virtualization-type = "hvm"
      }
    }
  }

  ami_name    = "${var.image_name}-${local.build_time}"
  ami_users   = var.amazon.ami_users
  ami_regions = var.amazon.ami_regions
  tags        = local.tags
  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_type           = "gp3"
    throughput            = 125
    iops                  = 3000
    volume_size           = var.os_disk_gib
    delete_on_termination = true
  }
  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  # An AMI's WinRM listens on HTTP only. The security group limits who reaches HTTPS. The password of Administrator is
  # random, and encrypted with a key pair that exists during the build only.
  user_data      = "<powershell>\n& {\n${local.enable_winrm}\n} -Controller 'Any'\n${local.relax_channel_binding}\n</powershell>\n"
  communicator   = "winrm"
  winrm_username = "Administrator"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_timeout  = "30m"
  winrm_no_proxy = true
}
