# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check that the settings of the kubelet and kube-proxy are valid for their version and supported on Windows."""

from __future__ import annotations

import types
import typing as t

from ...module_utils.redaction import hidden
from ..node_config import configuration_fields, kubelet_flags, kubelet_resources, node_labels
from ..node_config.configuration_fields import Kind, Objection
from ..values.shown import AsItIs
from ..values.versions import Version
from .variables import Problem

_CONFIGURATIONS: t.Mapping[str, Kind] = types.MappingProxyType(
    {
        "kubernetes_node_kubelet_configuration": "KubeletConfiguration",
        "node_join_kube_proxy_configuration": "KubeProxyConfiguration",
    }
)
_FIELDS = {
    "kubernetes_node_kube_reserved": "kubeReserved",
    "kubernetes_node_system_reserved": "systemReserved",
    "kubernetes_node_eviction_hard": "evictionHard",
}
"""Fields of KubeletConfiguration for which the collection has separate variables."""
_FLAGS = ("kubernetes_node_kubelet_arguments", "node_join_kubelet_arguments")
_FLAGS_OF_FIELDS = {
    "eviction-hard": ("evictionHard", "<"),
    "eviction-soft": ("evictionSoft", "<"),
    "eviction-soft-grace-period": ("evictionSoftGracePeriod", "="),
    "eviction-minimum-reclaim": ("evictionMinimumReclaim", "="),
    "kube-reserved": ("kubeReserved", "="),
    "system-reserved": ("systemReserved", "="),
}
"""Maps each flag whose value is a list of name-value pairs to a pair: the field that the flag sets, and the separator
between name and value."""
_LABELS = "node-labels"
_ONLY_ON_LINUX: t.Mapping[str, tuple[t.Callable[[t.Any], bool], str]] = types.MappingProxyType(
    {
        "cgroupsPerQOS": (lambda value: not value, "expected false"),
        "enforceNodeAllocatable": (lambda value: value in ([], ["none"], None), "expected an empty list"),
        "userNamespaces": (lambda value: value is None, "expected no value"),
    }
)
"""Maps each field of a feature that only Linux supports to a pair: a function that recognizes the values that turn the
feature off, and a description of such a value for messages. With any other value, a kubelet on Windows does not start.

Source: kubernetes/kubernetes, pkg/kubelet/apis/config/validation/validation_windows.go.
"""


def problems(values: t.Mapping[str, t.Any], version: str) -> list[Problem]:
    """Return problems with settings that keep the kubelet or kube-proxy from starting, or have no effect on Windows.

    Args:
        values: templated values of the roles' variables; variables that are not set may be missing.
        version: version of Kubernetes; if it is empty or malformed, nothing is checked.
    """
    try:
        Version.parse(version)
    except ValueError:
        return []
    refused: list[Problem] = []
    for name, kind in _CONFIGURATIONS.items():
        given = values.get(name)
        if isinstance(given, t.Mapping):
            refused += _problems(name, configuration_fields.objections(kind, given, version))
    configuration = values.get("kubernetes_node_kubelet_configuration")
    if isinstance(configuration, t.Mapping):
        refused += _problems(
            "kubernetes_node_kubelet_configuration",
            [*kubelet_resources.objections(configuration, version), *_windows_objections(configuration)],
        )
    for name, field in _FIELDS.items():
        given = values.get(name)
        texts = {str(key): str(value) for key, value in given.items()} if isinstance(given, t.Mapping) else {}
        objections = kubelet_resources.objections({field: texts}, version)
        refused += _problems(name, [one._replace(path=one.path.removeprefix(f"{field}.")) for one in objections])
    for name in _FLAGS:
        flags = values.get(name)
        if isinstance(flags, t.Mapping):
            refused += _problems(name, list(_flag_objections(flags, version)))
    return refused


def _problems(variable: str, objections: t.Iterable[Objection]) -> list[Problem]:
    return [Problem(f"{variable}.{one.path}", one.value, one.expected, one.hint) for one in objections]


def _windows_objections(configuration: t.Mapping[str, t.Any]) -> t.Iterator[Objection]:
    for field, (accepts, expected) in _ONLY_ON_LINUX.items():
        if field in configuration and not accepts(configuration[field]):
            yield Objection(field, configuration[field], expected, "Windows does not support this field.")
    resolver = configuration.get("resolvConf")
    if resolver not in (None, "", "Host"):
        hint = "With a path, the kubelet cannot start pods on Windows (kubernetes/kubernetes#116782)."
        yield Objection("resolvConf", resolver, "expected an empty string or Host", hint)


def _flag_objections(flags: t.Mapping[str, t.Any], version: str) -> t.Iterator[Objection]:
    minor = Version.parse(version).minor_version
    for name in kubelet_flags.unknown(map(str, flags), version):
        # The value of an unknown flag may be a secret.
        expected = f"expected a kubelet flag of Kubernetes {minor}"
        hint = "Write the flag's name without leading hyphens." if name.startswith("-") else ""
        yield Objection(name, AsItIs(hidden("a value")), expected, hint)
    configuration: dict[str, dict[str, str]] = {}
    for flag, (field, separator) in _FLAGS_OF_FIELDS.items():
        if flag in flags:
            configuration[field] = _pairs(str(flags[flag]), separator)
    names = {field: flag for flag, (field, dummy) in _FLAGS_OF_FIELDS.items()}
    for one in kubelet_resources.objections(configuration, version):
        field, dot, rest = one.path.partition(".")
        yield one._replace(path=f"{names[field]}{dot}{rest}")
    gates = _pairs(str(flags.get("feature-gates") or ""), "=")
    yield from configuration_fields.gate_objections(gates, version, "feature-gates")
    for key, value in _pairs(str(flags.get(_LABELS) or ""), "=").items():
        yield from _label_objections(key, value)


def _label_objections(key: str, value: str) -> t.Iterator[Objection]:
    path = f"{_LABELS}.{key}"
    if not node_labels.is_key(key):
        yield Objection(path, key, node_labels.KEY)
    elif not node_labels.is_allowed_to_kubelets(key):
        hint = "The kubelet does not start with this label. Set it with node_join_node_labels."
        yield Objection(path, value, "expected a label that a kubelet may set on its own node", hint)
    elif not node_labels.is_value(value):
        yield Objection(path, value, node_labels.VALUE)


def _pairs(text: str, separator: str) -> dict[str, str]:
    """Return the name-value pairs in a flag's value, such as `a=1,b=2`."""
    parts = (part.partition(separator) for part in text.split(",") if part.strip())
    return {name.strip(): value.strip() for name, dummy, value in parts}
