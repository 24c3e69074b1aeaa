# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The environment variables of a pod's containers, and their expansion in command lines."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from simulator.kubernetes_node.api.client import Client
from simulator.kubernetes_node.kubelet.pod_volumes import field_of


class ContainerConfigError(Exception):
    """Raised if a container cannot be created (CreateContainerConfigError). Its status contains the message."""


def environment(client: Client, pod: Mapping[str, Any], container: Mapping[str, Any], node: Mapping[str, str],
                services: Mapping[str, str]) -> dict[str, str]:  # fmt: skip
    """Return a container's environment variables.

    Args:
        node: the values that the kubelet itself determines. The keys are `status.hostIP`, `status.podIP` and
            `spec.nodeName`.
        services: the variables that every container has, such as KUBERNETES_SERVICE_HOST.

    Raises:
        ContainerConfigError: a referenced object or key does not exist.
        ApiError: the API server rejects a request.
        OSError: the API server is not reachable.
    """
    found = dict(services)
    namespace = pod["metadata"]["namespace"]
    for source in container.get("envFrom") or []:
        for kind in ("configMapRef", "secretRef"):
            if kind in source:
                data = _data(client, kind, source[kind], namespace)
                found |= {f"{source.get('prefix') or ''}{name}": value for name, value in data.items()}
    for item in container.get("env") or []:
        found[item["name"]] = _value(client, pod, item, node, found, namespace)
    return found


def _value(client: Client, pod: Mapping[str, Any], item: Mapping[str, Any], node: Mapping[str, str],
           known: Mapping[str, str], namespace: str) -> str:  # fmt: skip
    source = item.get("valueFrom")
    if not source:
        return expand(str(item.get("value") or ""), known)
    if "fieldRef" in source:
        return field_of(pod, source["fieldRef"]["fieldPath"], node)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            about = source[kind]
            data = _data(client, kind, about, namespace)
            if about["key"] not in data and not about.get("optional"):
                raise ContainerConfigError(
                    f"couldn't find key {about['key']} in {_noun(kind)} {namespace}/{about['name']}"
                )
            return data.get(about["key"], "")
    return ""


def _noun(kind: str) -> str:
    return "ConfigMap" if kind.startswith("configMap") else "Secret"


def _data(client: Client, kind: str, about: Mapping[str, Any], namespace: str) -> dict[str, str]:
    plural = "configmaps" if kind.startswith("configMap") else "secrets"
    found = client.find(f"/api/v1/namespaces/{namespace}/{plural}/{about['name']}")
    if found is None:
        if about.get("optional"):
            return {}
        raise ContainerConfigError(f'{plural[:-1]} "{about["name"]}" not found')
    data = found.get("data") or {}
    return data if plural == "configmaps" else {name: base64.b64decode(text).decode() for name, text in data.items()}


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` with the variable's value, as Kubernetes does.

    `$$` becomes a dollar sign. References to unknown variables are kept.
    """

    def one(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        return variables.get(match[1], match[0])

    return re.sub(r"\$\$\([^)]*\)|\$\(([^)]+)\)|\$\$", one, text)


def service_variables(services: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return the environment variables that tell every container the address of the API server.

    The dictionary is empty if the `kubernetes` service does not exist.
    """
    for service in services:
        metadata, spec = service["metadata"], service["spec"]
        if metadata["name"] == "kubernetes" and metadata["namespace"] == "default":
            port = str(spec["ports"][0]["port"])
            return {"KUBERNETES_SERVICE_HOST": str(spec["clusterIP"]), "KUBERNETES_SERVICE_PORT": port,
                    "KUBERNETES_SERVICE_PORT_HTTPS": port}  # fmt: skip
    return {}
