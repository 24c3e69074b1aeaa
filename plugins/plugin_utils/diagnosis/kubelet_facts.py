# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe a kubelet's command line, kubeconfig, configuration and certificate (no I/O)."""

from __future__ import annotations

import dataclasses
import functools
import ntpath
import typing as t

from ..node_config import kubelet_certificate
from ..node_config.kubelet_certificate import CURRENT_CERTIFICATE, ClientCertificate
from ..node_config.kubelet_kubeconfig import KubeletKubeconfig, decoded, mapping_in
from ..windows import node_paths
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Input

_LOG_RUNNER = "kube-log-runner.exe"
_OF_LAUNCHER = (f"--config={node_paths.KUBELET_CONFIG}", f"--config-dir={node_paths.KUBELET_DROPINS}")
"""Flags that the launcher script (kubelet-launcher.ps1) always passes to the kubelet."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletCommand:
    """A kubelet's command line."""

    program: str = ""
    flags: tuple[str, ...] = ()
    log_file: str = ""
    """The file to which kube-log-runner writes the kubelet's log, or an empty string if there is none."""
    by_launcher: bool = False
    """Whether the launcher script starts the kubelet. The script adds flags to those in the service's command line."""

    @classmethod
    def parse(cls, arguments: t.Sequence[str]) -> KubeletCommand:
        """Parse the command line of the kubelet's service, which may run kube-log-runner or the launcher script."""
        if not arguments:
            return cls()
        program, *rest = arguments
        script = next((word for word in rest if ntpath.basename(word).lower() == node_paths.LAUNCHER_SCRIPT), "")
        if script:
            return cls(program=f"{ntpath.dirname(script)}\\kubelet.exe", flags=_OF_LAUNCHER, by_launcher=True)
        log_file = ""
        if ntpath.basename(program).lower() == _LOG_RUNNER:
            while rest and rest[0].startswith("-"):
                name, _sign, value = rest.pop(0).lstrip("-").partition("=")
                log_file = value if name == "log-file" else log_file
            program, rest = (rest[0], rest[1:]) if rest else ("", [])
        return cls(program=program, flags=tuple(rest), log_file=log_file)

    def flag(self, name: str) -> str:
        """Return the value of a flag, or an empty string if it is not set."""
        for index, word in enumerate(self.flags):
            key, sign, value = word.partition("=")
            if key.startswith("-") and key.lstrip("-").replace("_", "-") == name:
                return value if sign else "".join(self.flags[index + 1 : index + 2])
        return ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigurationFile:
    """A configuration file of the kubelet."""

    path: str
    text: str | None
    """Text of the file, or None if the file does not exist or was not read."""

    @functools.cached_property
    def document(self) -> dict[str, t.Any] | None:
        """The parsed content, or None if it is not a YAML mapping."""
        return mapping_in(self.text or "")


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletFacts:
    """The observed state of the kubelet."""

    command: KubeletCommand = dataclasses.field(default_factory=KubeletCommand)
    joined: bool = False
    """Whether the kubelet's kubeconfig exists."""
    interrupted_join: bool = False
    """Whether the kubeconfig with a bootstrap token exists. A completed join removes this file."""
    has_join_commands: bool = False
    """Whether there is a record of post-join commands that have not all finished yet."""
    kubeconfig: KubeletKubeconfig = dataclasses.field(default_factory=KubeletKubeconfig)
    certificate: ClientCertificate | None = None
    certificate_problem: str = "is not a certificate"
    """Why `certificate` is None, as a phrase that follows the file's path, such as `does not exist`."""
    configuration: ConfigurationFile | None = None
    """The configuration file, or None if the --config flag is missing or does not name the default file."""
    drop_ins: tuple[ConfigurationFile, ...] = ()

    @functools.cached_property
    def settings(self) -> dict[str, t.Any]:
        """The kubelet's settings from its configuration file and the drop-in files. Empty if they are unknown.

        Source: kubernetes.io, Set Kubelet Parameters Via A Configuration File, "Kubelet configuration merging order".
        """
        merged: dict[str, t.Any] = {}
        try:
            for file in (self.configuration, *self.drop_ins) if self.configuration is not None else ():
                merged = _merged(merged, file.document or {})
        except RecursionError:
            return {}
        return merged

    @property
    def awaited_file(self) -> str:
        """The missing file for which the launcher script waits before it starts the kubelet.

        This is an empty string if the script does not wait.
        """
        if not self.command.by_launcher:
            return ""
        if not self.joined and not self.interrupted_join:
            return node_paths.BOOTSTRAP_KUBELET_CONF
        is_missing = self.configuration is not None and self.configuration.text is None
        return node_paths.KUBELET_CONFIG if is_missing else ""

    @property
    def endpoint(self) -> str:
        """The container runtime's endpoint.

        Source: kubernetes, cmd/kubelet/app/options, containerRuntimeEndpoint.
        """
        given = self.command.flag("container-runtime-endpoint") or self.settings.get("containerRuntimeEndpoint")
        return str(given or node_paths.CONTAINERD_PIPE)


def calls() -> tuple[Call, ...]:
    """Return the calls that observe the kubelet. Keep their results private: the kubeconfig may contain a key."""
    listing = query(
        "drop-ins",
        "Get-ChildItem",
        {"Path": f"{node_paths.KUBELET_DROPINS}\\*.conf", "ErrorAction": "SilentlyContinue"},
        select=("FullName",),
    )
    return (
        query(
            "kubelet-files",
            "@read-file",
            {"paths": [node_paths.KUBELET_CONF, node_paths.KUBELET_CONFIG], "content": True},
            private=True,
        ),
        query("bootstrap", "@read-file", {"paths": [node_paths.BOOTSTRAP_KUBELET_CONF, node_paths.LAUNCHER_RECORD]}),
        query(
            "certificate",
            "@read-file",
            {
                "paths": [CURRENT_CERTIFICATE],
                "content": True,
                "encoding": "base64",
                "limit": kubelet_certificate.READ_BYTES,
            },
        ),
        listing,
        query(
            "drop-in-files",
            "@read-file",
            {"content": True},
            input=Input(calls=("drop-ins",), parameter="paths", property="FullName"),
            needs=("drop-ins",),
        ),
    )


def read(seen: t.Mapping[str, CallResult], command: KubeletCommand) -> KubeletFacts:
    """Return the state of the kubelet from the results of the calls that `calls` returned.

    Args:
        seen: results of the calls, by ID.
        command: the kubelet's command line, from its service.
    """
    conf, config = seen["kubelet-files"].output
    kubeconfig = KubeletKubeconfig.parse(conf.get("content") or "")
    bootstrap, record = (*seen["bootstrap"].output, {}, {})[:2]
    pem = seen["certificate"].first or {}
    is_usual = command.flag("config").replace("/", "\\").lower() == node_paths.KUBELET_CONFIG.lower()
    reads_drop_ins = bool(command.flag("config-dir"))
    return KubeletFacts(
        command=command,
        joined=bool(conf.get("exists")),
        interrupted_join=bool(bootstrap.get("exists")),
        has_join_commands=bool(record.get("exists")),
        kubeconfig=kubeconfig,
        certificate=kubeconfig.embedded or kubelet_certificate.first_certificate(decoded(pem.get("content"))),
        certificate_problem=_certificate_problem(seen["certificate"]),
        configuration=_file(config, node_paths.KUBELET_CONFIG) if is_usual else None,
        drop_ins=tuple(_file(item, "") for item in _sorted(seen.get("drop-in-files"))) if reads_drop_ins else (),
    )


def _certificate_problem(result: CallResult) -> str:
    if result.error is not None:
        return f"cannot be read: {result.error}"
    return "is not a certificate" if (result.first or {}).get("exists") else "does not exist"


def _merged(under: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Merge two mappings recursively. Values in the second replace those in the first, unless both are mappings."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _file(item: t.Mapping[str, t.Any], path: str) -> ConfigurationFile:
    text = item.get("content")
    there = item.get("exists") and text is not None
    return ConfigurationFile(path=str(item.get("path") or path), text=str(text) if there else None)


def _sorted(result: CallResult | None) -> list[t.Mapping[str, t.Any]]:
    items = [item for item in result.output if isinstance(item, dict)] if result is not None and result.ok else []
    return sorted(items, key=lambda item: str(item.get("path")))
