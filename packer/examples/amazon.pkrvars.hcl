# An AMI from one of Amazon's. Credentials come from the environment or the profile, as for the AWS CLI.
# base.image: the id of an AMI, or owner and name, in which * stands for any text; the newest one is used.
base = {
  image            = "amazon:Windows_Server-2022-English-Core-Base-*"
  iso_url          = ""
  iso_checksum     = ""
  nano_server_name = ""
  host             = ""
}

kubernetes = {
  kube_node_versions = ["1.37.1"]
  kube_version       = "1.37.1"
}

# temporary_security_group_from: the networks from which Packer connects.
amazon = {
  region                        = "eu-central-1"
  profile                       = ""
  instance_type                 = "m6i.large"
  vpc_id                        = ""
  subnet_id                     = ""
  security_group_ids            = []
  temporary_security_group_from = ["192.0.2.10/32"]
  ami_users                     = []
  ami_regions                   = []
  encrypt_boot                  = false
}
