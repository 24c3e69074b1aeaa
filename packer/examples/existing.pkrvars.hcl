# An existing machine, which the build leaves generalized and powered off. PKR_VAR_build_password has its password.
base = {
  image            = ""
  iso_url          = ""
  iso_checksum     = ""
  nano_server_name = ""
  host             = "192.0.2.21"
}

kubernetes = {
  kube_node_versions = ["1.37.1"]
  kube_version       = "1.37.1"
}
