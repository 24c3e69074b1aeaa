# An image from an ISO, for hyperv-iso, qemu and vsphere-iso.
base = {
  image            = ""
  iso_url          = "https://iso.example/windows-server-2025.iso"
  iso_checksum     = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
  nano_server_name = ""
  host             = ""
}

windows = {
  version                   = "2025"
  edition                   = "datacenter_core"
  firmware                  = "uefi"
  language                  = "en-US"
  time_zone                 = "UTC"
  allow_unsupported_windows = false
}

kubernetes = {
  kube_node_versions = ["1.37.1"]
  kube_version       = "1.37.1"
}

# virtio_dir: the unpacked ISO of the virtio drivers.
qemu = {
  accelerator      = "kvm"
  memory           = 8192
  cpus             = 4
  virtio_dir       = "virtio-win"
  efi_code         = "/usr/share/OVMF/OVMF_CODE_4M.fd"
  efi_vars         = "/usr/share/OVMF/OVMF_VARS_4M.fd"
  tpm              = false
  format           = "qcow2"
  output_directory = "build/qemu"
}
