# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the objects that a pod references. The kubelet of the pod's node may read these objects."""

from __future__ import annotations

from collections.abc import Iterator

from .resources import Object


def references(pod: Object) -> set[tuple[str, str]]:
    """Return the secrets, config maps and service account that a pod uses, as pairs of a resource type and a name."""
    return {found for found in _all(pod["spec"]) if found[1]}


def _all(spec: Object) -> Iterator[tuple[str, str]]:
    yield "serviceaccounts", spec.get("serviceAccountName", "")
    for one in spec.get("imagePullSecrets") or []:
        yield "secrets", one.get("name", "")
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume)
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        yield from _of_container(container)


def _of_volume(volume: Object) -> Iterator[tuple[str, str]]:
    yield "secrets", (volume.get("secret") or {}).get("secretName", "")
    for source in [volume, *((volume.get("projected") or {}).get("sources") or [])]:
        yield "configmaps", (source.get("configMap") or {}).get("name", "")
        yield "secrets", (source.get("secret") or {}).get("name", "")


def _of_container(container: Object) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or []:
        yield "configmaps", (source.get("configMapRef") or {}).get("name", "")
        yield "secrets", (source.get("secretRef") or {}).get("name", "")
    for variable in container.get("env") or []:
        origin = variable.get("valueFrom") or {}
        yield "configmaps", (origin.get("configMapKeyRef") or {}).get("name", "")
        yield "secrets", (origin.get("secretKeyRef") or {}).get("name", "")
