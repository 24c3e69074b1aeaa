# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The download settings of a role (sources of artifacts, proxy), and the resources for artifacts and archives."""

from __future__ import annotations

import dataclasses
import ntpath
import typing as t

from ..artifacts import locations
from ..role_variables.shared import DownloadVariables, ServiceProxyVariables
from .variables import Variables

ResourceMapping = dict[str, t.Any]
"""A resource in the form that node_state accepts, with the keys `type` and `name` and the properties of the type."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Proxy(ServiceProxyVariables):
    """The proxy that a role's downloads and services use."""

    no_proxy: str = ""
    """Comma-separated addresses that programs contact without the proxy."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> Proxy:
        """Return the proxy from the variables of a role that uses the proxy for its services as well as for downloads.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        return variables.fields(cls, prefix, no_proxy="")._with_exceptions(variables, prefix)

    @classmethod
    def for_downloads(cls, variables: Variables, prefix: str) -> Proxy:
        """Return the proxy from PREFIX_proxy and PREFIX_no_proxy, for a role that needs a proxy only for downloads.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        url = str(variables.value(f"{prefix}_proxy") or "")
        return cls(http_proxy="", https_proxy=url)._with_exceptions(variables, prefix)

    def _with_exceptions(self, variables: Variables, prefix: str) -> Proxy:
        """Return this proxy with its `no_proxy`. Without a proxy, the variable is not read, to save time."""
        if not self.is_set:
            return self
        exceptions = variables.value(f"{prefix}_no_proxy")
        text = exceptions if isinstance(exceptions, str) else ",".join(map(str, exceptions or []))
        return dataclasses.replace(self, no_proxy=text)

    @property
    def is_set(self) -> bool:
        """Whether there is a proxy."""
        return bool(self.http_proxy or self.https_proxy)

    @property
    def has_password(self) -> bool:
        """Whether a proxy URL contains credentials."""
        return "@" in self.http_proxy + self.https_proxy

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables from which Go programs read their proxy; empty if there is no proxy."""
        if not self.is_set:
            return {}
        return {"HTTP_PROXY": self.http_proxy, "HTTPS_PROXY": self.https_proxy, "NO_PROXY": self.no_proxy}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Downloads(DownloadVariables):
    """The download settings of a role: sources of artifacts, the folder for artifacts on the node, and the proxy."""

    proxy: Proxy

    @classmethod
    def of_downloading_role(cls, variables: Variables, prefix: str) -> Downloads:
        """Return the download settings of a role that needs a proxy only for downloads.

        Such a role has only one variable for the URL of a proxy (see `Proxy.for_downloads`).

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        return variables.fields(cls, prefix, proxy=Proxy.for_downloads(variables, prefix))

    def artifact(self, kind: str, version: str, *, url: str = "", sha256: str = "") -> ResourceMapping:
        """Return the Artifact resource of one version.

        Args:
            kind: the kind of the artifact, such as `containerd`.
            version: version of the artifact.
            url: URL of the user's own download; empty if the user sets none.
            sha256: expected SHA-256 of the file; empty if the user sets none.

        Returns:
            The resource.

        Raises:
            ArtifactError: a value is invalid.
        """
        return locations.resource(
            kind,
            version,
            cache_dir=self.artifact_cache,
            mirror=self.artifact_mirror,
            url=url,
            sha256=sha256,
            proxy=self.proxy.https_proxy,
            no_proxy=self.proxy.no_proxy,
            **self.artifact_sources,
        )


def unpacked(artifact: ResourceMapping, name: str, *, members: t.Sequence[str], **properties: t.Any) -> ResourceMapping:
    """Return the Archive resource that unpacks an artifact.

    Args:
        artifact: the Artifact resource.
        name: name of the resource, which is the destination folder unless `properties` contains `destination`.
        members: the archive's members to unpack.
        properties: further properties of the resource.

    Returns:
        The resource.
    """
    signers = artifact.get("allowed_signers", [])
    return {
        "type": "Archive",
        "name": name,
        "path": artifact["path"],
        "allowed_signers": signers,
        "members": list(members),
        **properties,
    }


def unpacked_file(
    artifact: ResourceMapping, name: str, *, member: str, folder: str, file: str, stops: t.Sequence[str]
) -> ResourceMapping:
    """Return the Archive resource that unpacks one file, without the folders that contain it in the archive.

    Args:
        artifact: the Artifact resource.
        name: name of the resource.
        member: the file's path in the archive.
        folder: folder for the file.
        file: name of the file in the folder.
        stops: services that run the file, in the order in which to stop them before the file is replaced.

    Returns:
        The resource.
    """
    return unpacked(
        artifact,
        name,
        destination=folder,
        members=[member],
        **({"strip_components": member.count("/")} if "/" in member else {}),
        **({"renames": {member: file}} if ntpath.basename(member) != file else {}),
        check=[file],
        stops=list(stops),
    )
