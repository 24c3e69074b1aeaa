# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the API server, the trusted CAs and the client certificate from a kubelet's kubeconfig (no I/O)."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import typing as t
import urllib.parse

import yaml
from ansible.module_utils.common.yaml import yaml_load

from . import kubelet_certificate
from .kubelet_certificate import CURRENT_CERTIFICATE, ClientCertificate

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser if PyYAML was built with it, otherwise PyYAML's own, which is slower."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletKubeconfig:
    """The parts of the kubelet's kubeconfig that are not secret."""

    server: str = ""
    """URL of the API server."""
    authorities: frozenset[str] = frozenset()
    """The public keys of the trusted CAs (see `kubelet_certificate.authorities`)."""
    certificate_file: str = ""
    embedded: ClientCertificate | None = None
    """The client certificate in the kubeconfig; None if the kubeconfig does not contain one."""

    @classmethod
    def parse(cls, text: str) -> KubeletKubeconfig:
        """Parse a kubeconfig. If it is malformed, the fields of the result are empty."""
        document = mapping_in(text) or {}
        cluster = _named(document, "clusters", "cluster")
        user = _named(document, "users", "user")
        pem = decoded(cluster.get("certificate-authority-data")).decode("ascii", "replace")
        return cls(
            server=str(cluster.get("server") or ""),
            authorities=kubelet_certificate.authorities(pem),
            certificate_file=str(user.get("client-certificate") or ""),
            embedded=kubelet_certificate.first_certificate(decoded(user.get("client-certificate-data"))),
        )

    @property
    def uses_current_certificate(self) -> bool:
        """Whether the kubeconfig names the kubelet's current certificate file, with or without the drive letter."""
        return self.certificate_file.replace("/", "\\").lower().endswith(CURRENT_CERTIFICATE.lower().removeprefix("c:"))

    @property
    def host(self) -> str:
        """Host name or address of the API server; empty if unknown."""
        return self._split[0]

    @property
    def port(self) -> int:
        """Port of the API server."""
        return self._split[1]

    @property
    def address(self) -> str:
        """The API server as `host:port`; empty if unknown."""
        return f"{self.host}:{self.port}" if self.host else ""

    @functools.cached_property
    def _split(self) -> tuple[str, int]:
        try:
            parts = urllib.parse.urlsplit(self.server)
            return parts.hostname or "", parts.port or 443
        except ValueError:
            return "", 443


def mapping_in(text: str) -> dict[str, t.Any] | None:
    """Parse YAML text from a node. Return the mapping that it contains, or None if it is not a valid mapping.

    Text with aliases is not accepted, because a few aliases can expand to a document that fills the memory when it is
    printed. Kubernetes itself writes no aliases.
    """
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_LOADER)):
            return None
        document = yaml_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def decoded(text: object) -> bytes:
    """Return the bytes that a base64 string encodes, or empty bytes if the string is malformed."""
    try:
        return base64.b64decode(str(text or ""))
    except (binascii.Error, ValueError):
        return b""


def _named(document: t.Mapping[str, t.Any], kind: str, what: str) -> t.Mapping[str, t.Any]:
    """Return the cluster or user of the current context, or an empty mapping if the kubeconfig is malformed."""
    context = _entry(document, "contexts", str(document.get("current-context") or "")).get("context")
    name = context.get(what) if isinstance(context, dict) else None
    value = _entry(document, kind, str(name or "")).get(what)
    return value if isinstance(value, dict) else {}


def _entry(document: t.Mapping[str, t.Any], kind: str, name: str) -> t.Mapping[str, t.Any]:
    listed = document.get(kind)
    entries = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return next((item for item in entries if item.get("name") == name), {})
