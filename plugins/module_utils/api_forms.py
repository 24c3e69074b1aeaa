# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check that responses of the Kubernetes API have the expected types (no I/O).

Only the fields that the collection reads are checked. A field may be missing or null, unless the API guarantees that
every object of this kind has it. Source: kubernetes.io, Kubernetes API reference.
"""

from __future__ import annotations

import typing as t

Form = t.Union[type, t.Sequence[t.Any], t.Mapping[str, t.Any]]  # noqa: UP007 - for Python 3.9
"""The expected structure of a value: a type, a list that contains the form of its elements, or a mapping.

A mapping contains the form of each field. `!` marks a required field, and `*` means any field.
"""

_META = {"name!": str, "namespace": str, "uid": str, "resourceVersion": str, "labels": {}, "annotations": {}}
_TEXTS = {"*": str}
_CONDITIONS = [{"type!": str, "status!": str}]
_OPTIONS = {"securityContext": {"windowsOptions": {}}}
_STATUSES = [{"name": str, "containerID": str, "state": {"waiting": {}, "running": {}, "terminated": {}}}]

_EXPRESSIONS = [{"key!": str, "operator!": str, "values": [str]}]
_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": _EXPRESSIONS}]}
    }
}

NODE: Form = {
    "metadata!": {**_META, "resourceVersion!": str},
    "spec": {"podCIDR": str, "taints": [{"key!": str}]},
    "status": {
        "conditions": _CONDITIONS,
        "addresses": [{"type!": str, "address!": str}],
        "nodeInfo": {"bootID": str, "kubeletVersion": str},
    },
}
POD: Form = {
    "metadata!": {**_META, "namespace!": str, "uid!": str, "ownerReferences": [{"kind!": str, "name!": str}]},
    "spec!": {**_OPTIONS, "nodeName": str, "volumes": [{}], "containers": [_OPTIONS]},
    "status": {
        "phase": str,
        "podIP": str,
        "conditions": _CONDITIONS,
        "containerStatuses": _STATUSES,
        "initContainerStatuses": _STATUSES,
    },
}
NAMESPACE: Form = {"metadata!": _META}
SERVICE: Form = {"metadata!": _META, "spec!": {"clusterIP!": str, "ports!": [{}]}}
DNS_SERVICE: Form = {"metadata!": _META, "spec!": {"clusterIP": str}}
BUDGET: Form = {
    "metadata!": _META,
    "spec!": {"selector": {"matchLabels": {}, "matchExpressions": _EXPRESSIONS}},
}
DAEMON_SET: Form = {
    "metadata!": {
        **_META,
        "namespace!": str,
        "ownerReferences": [{"kind!": str, "name!": str, "controller": bool}],
    },
    "spec!": {"template!": {"metadata": {"labels": {}}, "spec!": {"nodeSelector": {}, "affinity": _AFFINITY}}},
}
WORKLOAD: Form = {
    "metadata!": _META,
    "spec!": {
        "template!": {
            "metadata": {"labels": {}},
            "spec!": {"containers": [{"name!": str, "image": str, "env": [{"name!": str, "value": str}]}]},
        }
    },
}
CUSTOM_OBJECT: Form = {"metadata!": _META, "spec": {}}
CALICO_POOL: Form = {
    "metadata!": _META,
    "spec!": {"cidr!": str, "ipipMode": str, "vxlanMode": str, "disabled": bool, "allowedUses": [str]},
}
SIGNING_REQUEST: Form = {"metadata!": _META, "spec": {"username": str}, "status": {"conditions": [{"type!": str}]}}
CONFIG_MAP: Form = {"metadata!": _META, "data": _TEXTS}
SECRET: Form = CONFIG_MAP
BINDING: Form = {"metadata!": _META, "roleRef": {}, "subjects": [{}]}
REVIEW: Form = {"status!": {"allowed!": bool}}
EVENT: Form = {"metadata!": _META, "message": str, "lastTimestamp": str, "source": {"host": str}}
VERSION: Form = {"gitVersion!": str}
ANYTHING: Form = {}
_NAMES = {str: "a string", bool: "true or false"}


def list_of(form: Form) -> Form:
    """Return the form of a list response, such as a PodList, given the form of its items."""
    return {"items": [form]}


def problem(value: t.Any, form: Form, where: str = "") -> str:
    """Return where and how a value differs from the expected form, or an empty string if it has this form.

    Args:
        value: parsed JSON.
        form: the expected form.
        where: path of the value in the response.

    Returns:
        A message such as `items[3].metadata.name: expected a string, got a list`, or an empty string.
    """
    if isinstance(form, type):
        return "" if isinstance(value, form) else _unexpected(where, _NAMES[form], value)
    if isinstance(form, t.Mapping):
        return _fields_problem(value, form, where)
    if not isinstance(value, list):
        return _unexpected(where, "a list", value)
    problems = (problem(item, form[0], f"{where}[{index}]") for index, item in enumerate(value))
    return next(filter(None, problems), "")


def _fields_problem(value: t.Any, form: t.Mapping[str, t.Any], where: str) -> str:
    if not isinstance(value, dict):
        return _unexpected(where, "an object", value)
    names = {field.rstrip("!"): field for field in form} if "*" not in form else dict.fromkeys(value, "*")
    for name, field in names.items():
        item = value.get(name)
        if item is None and not field.endswith("!"):
            continue
        difference = problem(item, form[field], f"{where}.{name}" if where else name)
        if difference:
            return difference
    return ""


def _unexpected(where: str, expected: str, value: t.Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "nothing"}
    return f"{where}{': ' if where else ''}expected {expected}, got {names.get(type(value), 'a number')}"
