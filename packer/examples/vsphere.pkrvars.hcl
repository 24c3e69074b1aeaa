# An image in vSphere, in addition to iso.pkrvars.hcl. PKR_VAR_vsphere_password has the password of the account.
# guest_os_type: VMware's name of Windows Server 2025; that of 2022 is windows2019srvNext_64Guest.
vsphere = {
  vcenter_server      = "vcenter.example"
  username            = "packer@vsphere.local"
  insecure_connection = false
  datacenter          = "dc1"
  cluster             = "cluster1"
  host                = ""
  resource_pool       = ""
  datastore           = "datastore1"
  folder              = "templates"
  network             = "VM Network"
  guest_os_type       = "windows2022srvNext_64Guest"
  iso_paths           = ["[] /vmimages/tools-isoimages/windows.iso"]
  memory              = 8192
  cpus                = 4
  secure_boot         = true
  tpm                 = false
  template            = true
}
