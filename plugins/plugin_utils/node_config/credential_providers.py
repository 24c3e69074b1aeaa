# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelet's configuration for programs that provide registry credentials.

The kubelet looks for a provider's program `NAME` in the folder of the providers, and on Windows also for `NAME.exe`.
Sources: kubernetes.io (Configure a kubelet image credential provider); kubernetes/kubernetes,
pkg/credentialprovider/plugin (config.go, plugin.go).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..specification.describe import SECRET
from ..values.errors import ResourceError
from .configuration_fields import DURATION


@dataclasses.dataclass(frozen=True, kw_only=True)
class CredentialProvider:
    """A program that provides registry credentials."""

    name: str
    """Name of the provider, and of its program without `.exe`."""
    version: str
    url: str = dataclasses.field(default="", metadata=SECRET)
    """URL of the program or of an archive; empty if `artifact_kinds` defines the download under the provider's name."""
    sha256: str = ""
    member: str = ""
    """The program's name in the archive; empty for `NAME.exe`, or if the downloaded file is the program itself."""
    match_images: tuple[str, ...]
    cache_duration: str = "12h0m0s"
    api_version: t.Literal[
        "credentialprovider.kubelet.k8s.io/v1",
        "credentialprovider.kubelet.k8s.io/v1beta1",
        "credentialprovider.kubelet.k8s.io/v1alpha1",
    ] = "credentialprovider.kubelet.k8s.io/v1"
    arguments: tuple[str, ...] = dataclasses.field(default=(), metadata=SECRET)
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=SECRET)
    token_attributes: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """`tokenAttributes` of the provider, which describe the service account tokens that the provider receives."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", self.name) or self.name.lower().endswith(".exe"):
            expected = "expected at most 63 letters, digits, ., - and _, without .exe, beginning with a letter or digit"
            raise ResourceError("name", self.name, expected)
        if not self.match_images:
            raise ResourceError("match_images", None, "expected at least one registry, such as *.azurecr.io")
        if not DURATION.fullmatch(self.cache_duration):
            raise ResourceError("cache_duration", self.cache_duration, "expected a duration such as 12h0m0s")

    @property
    def program(self) -> str:
        """File name of the program."""
        return f"{self.name}.exe"

    def entry(self) -> dict[str, t.Any]:
        """Return the provider's entry in the CredentialProviderConfig."""
        env = [{"name": name, "value": value} for name, value in sorted(self.environment.items())]
        return {
            "name": self.name,
            "apiVersion": self.api_version,
            "matchImages": list(self.match_images),
            "defaultCacheDuration": self.cache_duration,
            **({"args": list(self.arguments)} if self.arguments else {}),
            **({"env": env} if env else {}),
            **({"tokenAttributes": dict(self.token_attributes)} if self.token_attributes else {}),
        }


def configuration(providers: t.Iterable[CredentialProvider]) -> dict[str, t.Any]:
    """Return the CredentialProviderConfig.

    Args:
        providers: the providers. If several providers match an image, the kubelet combines their credentials.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [one.entry() for one in providers],
    }
