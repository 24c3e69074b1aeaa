# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources that install programs that provide credentials for registries (kubelet image credential providers)."""

from __future__ import annotations

import typing as t

from ..node_config import credential_providers
from ..node_config.credential_providers import CredentialProvider
from ..resources.directory import closed
from ..values.yaml_text import to_yaml
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from .downloads import Downloads, ResourceMapping, unpacked_file

CONFIGURATION = f"{node_paths.KUBERNETES}\\credential-providers.yaml"
"""Path of the kubelet's configuration for the programs that provide credentials for registries."""


def resources(
    providers: t.Sequence[CredentialProvider], downloads: Downloads, folder: str, *, stops: t.Sequence[str]
) -> list[ResourceMapping]:
    """Return the resources that install programs for registry credentials and configure the kubelet to use them.

    Args:
        providers: the programs; empty if there are none.
        downloads: the role's download settings.
        folder: folder of the programs.
        stops: services to stop before a program is replaced.

    Raises:
        ArtifactError: the settings of a download are invalid.
    """
    programs: list[ResourceMapping] = []
    for one in providers:
        artifact = downloads.artifact(one.name, one.version, url=one.url, sha256=one.sha256)
        is_program = artifact["path"].lower().endswith(".exe")
        member = one.program if is_program else one.member or one.program
        label = f"credential provider {one.name}"
        archive = unpacked_file(artifact, label, member=member, folder=folder, file=one.program, stops=stops)
        programs += [artifact, archive]
    if not programs:
        return []
    return [
        *closed([folder], users="read", disrupts=True),
        *programs,
        {
            "type": "File",
            "name": CONFIGURATION,
            "content": to_yaml(credential_providers.configuration(providers)),
            # Arguments and environment of a provider may contain secrets, and so may the content that is replaced.
            "acl": ADMINISTRATORS_ONLY_FILE,
            "no_log": True,
            "restarts": ["kubelet"],
        },
    ]
