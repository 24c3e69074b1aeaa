# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Validate the fields of pod specs that matter in manifests for Windows nodes.

Source of the messages and rules: k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Cause, duplicate, required, unsupported, wrong
from ..resources import Object

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LINUX_ONLY_POD = ("fsGroup", "runAsGroup", "runAsUser", "seLinuxOptions", "seccompProfile", "supplementalGroups",
                   "sysctls", "fsGroupChangePolicy", "appArmorProfile")  # fmt: skip
_LINUX_ONLY_CONTAINER = (
    "allowPrivilegeEscalation", "capabilities", "privileged", "procMount", "readOnlyRootFilesystem",
    "runAsGroup", "runAsUser", "seLinuxOptions", "seccompProfile", "appArmorProfile",
)  # fmt: skip


def validate_pod_spec(spec: Object, path: str = "spec") -> list[Cause]:
    """Validate a pod spec whose defaults have been set, and return the errors.

    Args:
        spec: the spec of a pod or pod template.
        path: the path of the spec in its object, such as "spec.template.spec", for error messages.
    """
    return list(_all(spec, path))


def _all(spec: Object, path: str) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    if spec["restartPolicy"] not in _RESTART_POLICIES:
        yield unsupported(f"{path}.restartPolicy", spec["restartPolicy"], _RESTART_POLICIES)
    volumes = [volume.get("name", "") for volume in spec.get("volumes") or []]
    yield from (required(f"{path}.volumes[{i}].name") for i, name in enumerate(volumes) if not name)
    yield from _duplicates(volumes, f"{path}.volumes")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            yield from _container(container, f"{path}.{field}[{index}]", volumes)
    names = [one.get("name", "") for field in ("initContainers", "containers") for one in spec.get(field) or []]
    yield from _duplicates(names, f"{path}.containers")
    for index, toleration in enumerate(spec.get("tolerations") or []):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")
    yield from _host_process(spec, path)
    if (spec.get("os") or {}).get("name") == "windows":
        yield from _windows_only(spec, path)


def _duplicates(names: list[str], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name and name in seen:
            yield duplicate(f"{path}[{index}].name", name)
        seen.add(name)


def _container(container: Object, path: str, volumes: list[str]) -> Iterator[Cause]:
    if not container.get("name"):
        yield required(f"{path}.name")
    if not container.get("image"):
        yield required(f"{path}.image")
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if not mount.get("mountPath"):
            yield required(f"{path}.volumeMounts[{index}].mountPath")
        if mount.get("name") not in volumes:
            name = mount.get("name", "")
            yield Cause(f"{path}.volumeMounts[{index}].name", "FieldValueNotFound", f'Not found: "{name}"')
    for index, variable in enumerate(container.get("env") or []):
        if not variable.get("name"):
            yield required(f"{path}.env[{index}].name")
        if not isinstance(variable.get("value", ""), str):
            yield wrong(f"{path}.env[{index}].value", variable["value"], "must be a string")


def _toleration(toleration: Object, path: str) -> Iterator[Cause]:
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
    if not toleration.get("key") and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield wrong(f"{path}.operator", operator, text)
    if operator not in ("Equal", "Exists", "Lt", "Gt"):
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", effect, _EFFECTS)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield wrong(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")


def _is_host_process(owner: Object) -> bool | None:
    options = (owner.get("securityContext") or {}).get("windowsOptions") or {}
    value = options.get("hostProcess")
    return None if value is None else bool(value)


def _host_process(spec: Object, path: str) -> Iterator[Cause]:
    """Yield the errors of a HostProcess pod, which needs `hostNetwork`, and `hostProcess` in all its containers."""
    pod = _is_host_process(spec)
    found: list[bool] = []
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            own = _is_host_process(container)
            if pod is not None and own is not None and own != pod:
                where = f"{path}.{field}[{index}].securityContext.windowsOptions.hostProcess"
                text = f"pod hostProcess value must be identical if both are specified, was {str(pod).lower()}"
                yield wrong(where, own, text)
            found.append(bool(pod if own is None else own))
    if not any(found):
        return
    if not all(found):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield wrong(path, "", text)
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield wrong(f"{path}.hostNetwork", bool(spec.get("hostNetwork")), text)


def _windows_only(spec: Object, path: str) -> Iterator[Cause]:
    text = "cannot be set for a windows pod"
    for field in ("hostPID", "hostIPC", "shareProcessNamespace"):
        if spec.get(field):
            yield Cause(f"{path}.{field}", "FieldValueForbidden", f"Forbidden: {text}")
    for field in _LINUX_ONLY_POD:
        if (spec.get("securityContext") or {}).get(field) is not None:
            yield Cause(f"{path}.securityContext.{field}", "FieldValueForbidden", f"Forbidden: {text}")
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or []):
            for field in _LINUX_ONLY_CONTAINER:
                if (container.get("securityContext") or {}).get(field) is not None:
                    where = f"{path}.{kind}[{index}].securityContext.{field}"
                    yield Cause(where, "FieldValueForbidden", f"Forbidden: {text}")
