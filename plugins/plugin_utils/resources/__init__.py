# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""All resource types. TYPES maps the name that users write to the class that implements the type.

Read time_zone.py first, because it is the shortest.
docs/adding_a_resource_type.md describes how to add a resource type.
"""

from __future__ import annotations

import types
import typing as t

from ..engine.resource import Resource
from .archive import Archive
from .artifact import Artifact
from .artifact_cache import ArtifactCache
from .built_container_image import BuiltContainerImage
from .certificate_import import CertificateImport
from .computer_name import ComputerName
from .container_image import ContainerImage
from .defender_exclusion import DefenderExclusion
from .directory import Directory
from .environment import Environment
from .existing_runtime import ExistingRuntime
from .file import File
from .firewall_rule import FirewallRule
from .hosts_file import HostsFile
from .node_runtime import NodeRuntime
from .nssm_arguments import NssmArguments
from .package import WindowsInstallerPackage
from .page_file import PageFile
from .registry import Registry
from .remote_access_routing import RemoteAccessRouting
from .scheduled_task import ScheduledTask
from .service import Service
from .state_folder import StateFolder
from .time_zone import TimeZone
from .unlisted_registries import UnlistedRegistries
from .unused_container_images import UnusedContainerImages
from .w32_time import W32Time
from .win_http_proxy import WinHttpProxy
from .windows_capability import WindowsCapability
from .windows_feature import WindowsFeature
from .windows_update_settings import WindowsUpdateSettings

TYPES: t.Mapping[str, type[Resource]] = types.MappingProxyType(
    {
        type_.type: type_
        for type_ in (
            Archive,
            Artifact,
            BuiltContainerImage,
            ArtifactCache,
            CertificateImport,
            ComputerName,
            ContainerImage,
            DefenderExclusion,
            Directory,
            Environment,
            ExistingRuntime,
            File,
            FirewallRule,
            HostsFile,
            NodeRuntime,
            NssmArguments,
            WindowsInstallerPackage,
            PageFile,
            Registry,
            RemoteAccessRouting,
            ScheduledTask,
            Service,
            StateFolder,
            TimeZone,
            UnlistedRegistries,
            UnusedContainerImages,
            W32Time,
            WinHttpProxy,
            WindowsCapability,
            WindowsFeature,
            WindowsUpdateSettings,
        )
    }
)
