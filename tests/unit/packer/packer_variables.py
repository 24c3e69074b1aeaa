# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables of the Packer templates for tests."""

from __future__ import annotations

from typing import Any

MARKETPLACE = "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk-g2:latest"
ISO = "https://iso.example/server.iso"
CHECKSUM = f"sha256:{'0' * 64}"
BASE = {"image": "", "iso_url": "", "iso_checksum": "", "nano_server_name": "", "host": ""}
KUBERNETES = {"kube_node_versions": ["1.36.3", "1.37.1"], "kube_version": "1.37.1"}
AZURE_DEFAULTS: dict[str, Any] = {
    "subscription_id": "00000000-0000-0000-0000-000000000000",
    "tenant_id": "",
    "client_id": "",
    "location": "westeurope",
    "build_resource_group": "",
    "vm_size": "Standard_D4s_v5",
    "virtual_network": "",
    "virtual_network_group": "",
    "subnet": "",
    "allowed_inbound_ip_addresses": ["192.0.2.0/24"],
    "managed_image_resource_group": "",
    "gallery_resource_group": "",
    "gallery": "",
    "gallery_image": "",
    "gallery_image_version": "",
    "gallery_regions": [],
    "trusted_launch": False,
    "vhd_resource_group": "",
    "vhd_storage_account": "",
    "vhd_container": "",
}
GALLERY = {
    "gallery_resource_group": "images",
    "gallery": "nodes",
    "gallery_image": "windows-2022",
    "gallery_image_version": "2026.1126.1",
    "gallery_regions": ["westeurope"],
}
VHD = {"vhd_resource_group": "images", "vhd_storage_account": "nodeimages", "vhd_container": "vhds"}
AMAZON = {
    "region": "eu-central-1",
    "profile": "",
    "instance_type": "m6i.large",
    "vpc_id": "",
    "subnet_id": "",
    "security_group_ids": [],
    "temporary_security_group_from": ["192.0.2.0/24"],
    "ami_users": [],
    "ami_regions": [],
    "encrypt_boot": True,
}
VSPHERE = {
    "vcenter_server": "vcenter.example",
    "username": "builder",
    "insecure_connection": False,
    "datacenter": "one",
    "cluster": "two",
    "host": "",
    "resource_pool": "",
    "datastore": "three",
    "folder": "",
    "network": "VM Network",
    "guest_os_type": "windows2019srvNext_64Guest",
    "iso_paths": [],
    "memory": 8192,
    "cpus": 4,
    "secure_boot": True,
    "tpm": False,
    "template": True,
}


WINDOWS: dict[str, Any] = {
    "version": "2022",
    "edition": "datacenter_core",
    "firmware": "uefi",
    "language": "en-US",
    "time_zone": "UTC",
    "allow_unsupported_windows": False,
}
QEMU: dict[str, Any] = {
    "accelerator": "kvm",
    "memory": 8192,
    "cpus": 4,
    "virtio_dir": "",
    "efi_code": "",
    "efi_vars": "",
    "tpm": False,
    "format": "qcow2",
    "output_directory": "x",
}


def from_image(image: str = MARKETPLACE, **more: Any) -> dict[str, Any]:
    """Return variables of a build from an image, which `more` overrides."""
    return {"base": BASE | {"image": image}, "kubernetes": KUBERNETES, **more}


def from_iso(**more: Any) -> dict[str, Any]:
    """Return variables of a build from an ISO, which `more` overrides."""
    return {"base": BASE | {"iso_url": ISO, "iso_checksum": CHECKSUM}, "kubernetes": KUBERNETES, **more}
