locals {
  build_time = formatdate("YYYYMMDDhhmmss", timestamp())
  # Windows requires three of: upper case, lower case, digits, others.
  build_password = var.build_password != "" ? var.build_password : "Wk1-${uuidv4()}"

  tags = { for name, value in {
    release           = var.release
    kubernetes        = var.kubernetes.kube_version
    container_runtime = var.runtime.container_runtime
    base              = var.base.image
    "winkube.node"    = "1"
  } : name => value if value != "" }

  # Runs sysprep and powers the machine off; see the role sysprep. Where the cloud stops the machine, and for existing
  # machines, the playbook does this (ansible/image.yml).
  shutdown_command = "schtasks /Run /TN winkube-seal"
  shutdown_timeout = "60m"

  # Variables of the collection's roles. Those that are empty keep the roles' defaults.
  role_variables = merge(
    {
      container_runtime         = var.runtime.container_runtime
      containerd_versions       = var.runtime.containerd_versions
      moby_versions             = var.runtime.moby_versions
      docker_versions           = var.runtime.docker_versions
      kube_node_versions        = var.kubernetes.kube_node_versions
      kube_version              = var.kubernetes.kube_version
      sdn_plugin_versions       = var.network.sdn_plugin_versions
      azure_vnet_versions       = var.network.azure_vnet_versions
      container_tags            = var.container_tags
      core_dns_versions         = var.core_dns.versions
      windows_patches_public    = var.windows_patches_public
      windows_patches_private   = var.windows_patches_private
      image_disk_gib            = var.os_disk_gib
      allow_unsupported_windows = var.windows.allow_unsupported_windows
    },
    { for name, value in {
      default_containerd_version      = var.runtime.default_containerd_version
      default_moby_version            = var.runtime.default_moby_version
      default_docker_version          = var.runtime.default_docker_version
      kube_network_plugin             = var.network.kube_network_plugin
      image_cache_core_dns_repository = var.core_dns.repository
      nano_server_name                = var.base.nano_server_name
      image_release                   = var.release
      http_proxy                      = var.http_proxy
      https_proxy                     = var.https_proxy
      ftp_proxy                       = var.ftp_proxy
      no_proxy                        = var.no_proxy
      cloudbase_init_platform         = var.cloudbase_init_platform
    } : name => value if value != "" },
    var.cloudbase_init_platform == "" ? {} : { cloudbase_init_enabled = true },
  )

  # The certificate of the machine is self-signed and a few minutes old. Messages are encrypted with a key that only a
  # machine that knows the password can derive (docs/connections.md). WinRM never goes through a proxy.
  connection = {
    ansible_connection              = "psrp"
    ansible_psrp_protocol           = "https"
    ansible_psrp_auth               = "ntlm"
    ansible_psrp_cert_validation    = "ignore"
    ansible_psrp_message_encryption = "always"
    ansible_psrp_ignore_proxy       = true
    ansible_psrp_read_timeout       = 30
  }

  # Ansible's own downloads on this machine. Programs read the names in either case.
  proxies = { http_proxy = var.http_proxy, https_proxy = var.https_proxy, ftp_proxy = var.ftp_proxy, no_proxy = var.no_proxy }
  proxy_environment = flatten([for name, value in local.proxies : [
    "${name}=${value}", "${upper(name)}=${value}"
  ] if value != ""])
}

build {
  name = "image"
  sources = [
    "source.azure-arm.windows",
    "source.amazon-ebs.windows",
    "source.hyperv-iso.windows",
    "source.qemu.windows",
    "source.vsphere-iso.windows",
    "source.null.existing",
  ]

  provisioner "ansible" {
    playbook_file = "${path.root}/ansible/image.yml"
    command       = var.ansible_command
    use_proxy     = false
    user          = build.User
    host_alias    = "builder"
    groups        = ["image_builders"]

    inventory_file_template = "{{ .HostAlias }} ansible_host={{ .Host }} ansible_port={{ .Port }} ansible_user={{ .User }}\n"

    # Values go through the environment, because every user of this machine can read command lines. Packer adds
    # `-e ansible_password=…` unless an argument has that name; build_account.yml replaces the value. Packer evaluates
    # templates in these values, hence Base64.
    ansible_env_vars = concat(local.proxy_environment, [
      "WINKUBE_BUILD_PASSWORD=${build.Password}",
      "WINKUBE_BUILD_VARIABLES=${base64encode(jsonencode(merge(local.role_variables, local.connection)))}",
    ])
    extra_arguments = concat(
      [
        "--inventory", "${abspath(path.root)}/ansible/build_variables.py",
        "--extra-vars", "ansible_password=in_environment",
        "--extra-vars", "@${abspath(path.root)}/ansible/build_account.yml",
      ],
      flatten([for file in var.variables_files : ["--extra-vars", "@${abspath(file)}"]]),
      var.ansible_arguments,
    )
  }

  post-processor "manifest" {
    # Packer does not create folders for it.
    output     = "packer-manifest.json"
    strip_path = true
  }
}

build {
  name    = "answer-file"
  sources = ["source.file.answer_file", "source.file.first_logon"]
}
