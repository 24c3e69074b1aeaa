# An image for Azure from the marketplace. Commit this file: it says what is in the image.
release    = "20261126.1a2b3c4"
image_name = "winkube-2022"

base = {
  image            = "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk-g2:latest"
  iso_url          = ""
  iso_checksum     = ""
  nano_server_name = ""
  host             = ""
}

kubernetes = {
  kube_node_versions = ["1.36.3", "1.37.1"]
  kube_version       = "1.37.1"
}

runtime = {
  container_runtime          = "containerd"
  containerd_versions        = ["2.2.1", "2.3.7"]
  default_containerd_version = "2.3.7"
  moby_versions              = []
  default_moby_version       = ""
  docker_versions            = []
  default_docker_version     = ""
}

windows_patches_public = []

azure = {
  subscription_id              = "00000000-0000-0000-0000-000000000000"
  tenant_id                    = ""
  client_id                    = ""
  location                     = "westeurope"
  build_resource_group         = ""
  vm_size                      = "Standard_D4s_v5"
  virtual_network              = ""
  virtual_network_group        = ""
  subnet                       = ""
  allowed_inbound_ip_addresses = ["192.0.2.10/32"]
  managed_image_resource_group = "node-images"
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
