# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Prepare and validate objects of each kind before they are stored."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..errors import Cause, wrong
from ..resources import Object, ResourceType
from .context import Context
from .core import (
    create_namespace,
    create_service,
    create_signing_request,
    default_secret,
    validate_secret,
    validate_service,
    validate_signing_request,
)
from .nodes import create_node, restrict
from .pods import create_pod, validate_pod
from .workloads import create_budget, create_workload, validate_budget, validate_workload

__all__ = ["Context", "prepare_create", "prepare_update", "restrict", "validate"]

_WORKLOADS = ("daemonsets", "deployments", "replicasets")
_CREATE: dict[str, Callable[[Context, Object], None]] = {
    "namespaces": create_namespace,
    "services": create_service,
    "certificatesigningrequests": create_signing_request,
    "nodes": create_node,
    "pods": create_pod,
    "poddisruptionbudgets": create_budget,
}
_VALIDATE: dict[str, Callable[[Object, Object | None], list[Cause]]] = {
    "secrets": validate_secret,
    "services": validate_service,
    "certificatesigningrequests": validate_signing_request,
    "pods": validate_pod,
    "poddisruptionbudgets": validate_budget,
}
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
# Names that only need to fit into a path. Kubelets use a base64 digest as the name of a request
# (pkg/apis/certificates/validation: ValidateCertificateRequestName accepts all names).
_FREE_NAMES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings", "certificatesigningrequests")


def prepare_create(context: Context, kind: ResourceType, obj: Object) -> None:
    """Set the fields that the API server sets in a new object."""
    if kind.key in _WORKLOADS:
        create_workload(kind.plural, obj)
    elif kind.key == "secrets":
        default_secret(obj)
    elif kind.key in _CREATE:
        _CREATE[kind.key](context, obj)


def prepare_update(kind: ResourceType, obj: Object) -> None:
    """Set the default values in an object that a request updates."""
    if kind.key in _WORKLOADS:
        create_workload(kind.plural, obj)
    elif kind.key == "secrets":
        default_secret(obj)


def validate(kind: ResourceType, obj: Object, old: Object | None) -> list[Cause]:
    """Validate an object.

    Args:
        kind: the object's resource type.
        obj: the object after its defaults were set.
        old: the object before the change, or None if it is new.

    Returns:
        The errors, or an empty list if the object is valid.
    """
    causes = [] if old is not None else _validate_name(kind, obj["metadata"]["name"])
    if kind.key in _WORKLOADS:
        return causes + validate_workload(kind.plural, obj, old)
    check = _VALIDATE.get(kind.key)
    return causes + (check(obj, old) if check else [])


def _validate_name(kind: ResourceType, name: str) -> list[Cause]:
    if kind.key in _FREE_NAMES:
        return [wrong("metadata.name", name, f"may not contain '{one}'") for one in "/%" if one in name]
    pattern, text = (_LABEL, _LABEL_TEXT) if kind.key in ("namespaces", "services") else (_SUBDOMAIN, _SUBDOMAIN_TEXT)
    length = 63 if pattern is _LABEL else 253
    if len(name) > length:
        return [wrong("metadata.name", name, f"must be no more than {length} characters")]
    return [] if pattern.match(name) else [wrong("metadata.name", name, text)]
