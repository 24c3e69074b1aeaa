# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the metadata services of cloudbase-init: NoCloud and OpenStack on a config drive, and the empty service.

A machine's `config_drive` setting contains the drive's `label` and a `files` mapping of paths to contents.
Services that need a network or a hypervisor find nothing. Source: cloudbaseinit/metadata
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import yaml

from simulator.windows.cloudbase.configuration import CloudbaseRun

_ABSENT = frozenset(
    f"cloudbaseinit.metadata.services.{name}"
    for name in (
        "httpservice.HttpService",
        "ec2service.EC2Service",
        "azureservice.AzureService",
        "vmwareguestinfoservice.VMwareGuestInfoService",
        "cloudstack.CloudStack",
        "maasservice.MaaSHttpService",
        "opennebulaservice.OpenNebulaService",
        "gceservice.GCEService",
        "ovfservice.OvfService",
    )
)


class MetadataNotExistingError(Exception):
    """Raised if a file is missing in the metadata. cloudbase-init calls this error NotExistingMetadataException."""


class UnknownMetadataServiceError(Exception):
    """Raised if a class in the option `metadata_services` does not exist. This error ends the run."""


class CloudbaseService:
    """The base class of metadata services. By itself, it is the service without data (EmptyMetadataService)."""

    name = "EmptyMetadataService"

    def get_instance_id(self) -> str | None:
        """Return the ID of the instance, under which plugins' state is stored, or None if there is no ID."""
        return None

    def get_host_name(self) -> str | None:
        """Return the host name, or None if the metadata contains no host name."""
        return None

    def get_public_keys(self) -> list[str]:
        """Return the public SSH keys in the metadata."""
        return []

    def get_admin_username(self) -> str | None:
        """Return the name of the account to create, or None if the configured name applies."""
        return None

    def get_user_data(self) -> bytes | None:
        """Return the user data as stored, possibly compressed, or None if there is no user data."""
        return None

    def get_decoded_user_data(self) -> bytes | None:
        """Return the user data, decompressed if it is compressed."""
        data = self.get_user_data()
        return gzip.decompress(data) if data and data[:2] == b"\x1f\x8b" else data

    def get_instance_data(self) -> dict[str, Any]:
        """Return the variables for templates in user data. Source: metadata/services/base.py"""
        identity, host = self.get_instance_id(), self.get_host_name()
        common = {"instance-id": identity, "instance_id": identity, "local-hostname": host, "local_hostname": host}
        keys = self.get_public_keys()
        return {
            "v1": {**common, "public_ssh_keys": keys},
            "ds": {"meta_data": {**common, "hostname": host}},
            **common,
            "public_ssh_keys": keys,
        }


class _ConfigDrive(CloudbaseService):
    """A metadata service that reads the files of a config drive."""

    label, first = "", ""

    def __init__(self, drive: Mapping[str, Any]) -> None:
        self._files: Mapping[str, Any] = drive["files"]

    @classmethod
    def finds(cls, drive: Mapping[str, Any]) -> bool:
        """Return whether the metadata service uses this drive."""
        return str(drive.get("label", "")).casefold() == cls.label and cls.first in drive["files"]

    def _read(self, path: str) -> bytes:
        if path not in self._files:
            raise MetadataNotExistingError(path)
        content = self._files[path]
        return content if isinstance(content, bytes) else str(content).encode()


class NoCloudDrive(_ConfigDrive):
    """The NoCloudConfigDriveService metadata service, which reads a config drive in the format of NoCloud."""

    name, label, first = "NoCloudConfigDriveService", "cidata", "meta-data"

    def _data(self) -> Mapping[str, Any]:
        return yaml.safe_load(self._read("meta-data")) or {}

    def get_instance_id(self) -> str | None:
        """Return the ID of the instance, or None if the metadata contains no ID."""
        return self._data().get("instance-id")

    def get_host_name(self) -> str | None:
        """Return the host name, or None if the metadata contains no host name."""
        return self._data().get("local-hostname")

    def get_public_keys(self) -> list[str]:
        """Return the public SSH keys in the metadata."""
        keys = self._data().get("public-keys") or []
        return list(keys) if isinstance(keys, list) else [one.get("openssh-key") for one in keys.values()]

    def get_user_data(self) -> bytes | None:
        """Return the user data."""
        return self._read("user-data")


class OpenStackDrive(_ConfigDrive):
    """The ConfigDriveService metadata service, which reads a config drive in the format of OpenStack."""

    name, label, first = "ConfigDriveService", "config-2", "openstack/latest/meta_data.json"

    def _data(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads(self._read(self.first))
        return data

    def get_instance_id(self) -> str | None:
        """Return the ID of the instance, or None if the metadata contains no ID."""
        return self._data().get("uuid")

    def get_host_name(self) -> str | None:
        """Return the host name, or None if the metadata contains no host name."""
        return self._data().get("hostname")

    def get_public_keys(self) -> list[str]:
        """Return the public SSH keys in the metadata."""
        return [key.strip() for key in (self._data().get("public_keys") or {}).values()]

    def get_admin_username(self) -> str | None:
        """Return the name of the account to create, or None if the configured name applies."""
        return (self._data().get("meta") or {}).get("admin_username")

    def get_user_data(self) -> bytes | None:
        """Return the user data."""
        return self._read("openstack/latest/user_data")


_DRIVES: Mapping[str, type[_ConfigDrive]] = {
    "cloudbaseinit.metadata.services.nocloudservice.NoCloudConfigDriveService": NoCloudDrive,
    "cloudbaseinit.metadata.services.configdrive.ConfigDriveService": OpenStackDrive,
}


def load_service(run: CloudbaseRun) -> CloudbaseService | None:
    """Return the first configured service that has data or is EmptyMetadataService, or None if there is none.

    Source: metadata/factory.py.

    Raises:
        UnknownMetadataServiceError: the search reaches a service that cloudbase-init does not have.
    """
    drive = run.machine.settings.option("config_drive")
    for name in run.configuration.items("metadata_services"):
        if name == "cloudbaseinit.metadata.services.base.EmptyMetadataService":
            return CloudbaseService()
        kind = _DRIVES.get(name)
        if kind is None and name not in _ABSENT:
            raise UnknownMetadataServiceError(name)
        if kind is not None and isinstance(drive, Mapping) and kind.finds(drive):
            return kind(drive)
    return None
