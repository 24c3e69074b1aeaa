# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and validate a kubelet's settings from its flags, its configuration file and the drop-ins in --config-dir.

The flags and fields are listed in contracts/kubernetes.json. The messages come from kubernetes
cmd/kubelet/app/server.go and pkg/kubelet/kubeletconfig/configfiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from simulator.kubernetes_node.programs import configuration, contracts
from simulator.kubernetes_node.programs.configuration import ConfigurationError
from simulator.kubernetes_node.programs.flags import CommandFlags, FlagError, parse, seconds

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KIND = "kubelet.config.k8s.io/v1beta1 KubeletConfiguration"


class KubeletError(Exception):
    """Raised if a kubelet cannot start or must end.

    The text is the reason, which the kubelet prints after `command failed`.
    """


@dataclass
class KubeletSettings:
    """The effective settings of a kubelet. Paths are Windows paths."""

    version: str
    flags: CommandFlags
    document: dict[str, Any] = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)

    @property
    def node_name(self) -> str:
        """The value of --hostname-override in lower case, or an empty string if the kubelet uses the host name."""
        return self.flags.text("hostname-override").strip().lower()

    @property
    def rotates(self) -> bool:
        """Whether the kubelet renews its client certificate. --rotate-certificates overrides the configuration file."""
        given = bool(self.document.get("rotateCertificates"))
        return self.flags.on("rotate-certificates", given)

    @property
    def kubeconfig(self) -> str:
        """The path of the kubelet's own kubeconfig, or an empty string if the kubelet runs without an API server."""
        return self.flags.text("kubeconfig")

    @property
    def bootstrap_kubeconfig(self) -> str:
        """The path of the kubeconfig that contains the bootstrap token."""
        return self.flags.text("bootstrap-kubeconfig")

    @property
    def cert_dir(self) -> str:
        """The folder for the kubelet's client certificate."""
        return drive(self.flags.text("cert-dir", "/var/lib/kubelet/pki"))

    @property
    def root_dir(self) -> str:
        """The folder for pods' volumes."""
        return drive(self.flags.text("root-dir", "/var/lib/kubelet"))

    @property
    def runtime_endpoint(self) -> str:
        """The container runtime's endpoint in the flag or the configuration. By default, it is containerd's pipe."""
        named = self.flags.text("container-runtime-endpoint") or str(
            self.document.get("containerRuntimeEndpoint") or ""
        )
        return named or "npipe:////./pipe/containerd-containerd"

    @property
    def labels(self) -> dict[str, str]:
        """The node labels in --node-labels."""
        return self.flags.pairs("node-labels")

    @property
    def taints(self) -> list[dict[str, str]]:
        """The taints with which the kubelet registers its node."""
        found = [dict(taint) for taint in self.document.get("registerWithTaints") or []]
        for text in self.flags.items_of("register-with-taints"):
            pair, _, effect = text.rpartition(":")
            key, _, value = pair.partition("=")
            found.append({"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect})
        if self.has_cloud_provider:
            # kubernetes pkg/kubelet/kubelet_node_status.go, initialNode
            key = "node.cloudprovider.kubernetes.io/uninitialized"
            found.append({"key": key, "value": "true", "effect": "NoSchedule"})
        return found

    @property
    def has_cloud_provider(self) -> bool:
        """Whether an external cloud provider initializes the node (--cloud-provider=external)."""
        return self.flags.text("cloud-provider") == "external"

    @property
    def node_ip(self) -> str:
        """The address in --node-ip, or an empty string if the kubelet finds one itself, as with 0.0.0.0 or ::."""
        given = self.flags.text("node-ip")
        return "" if given in ("0.0.0.0", "::") else given

    @property
    def reports_addresses(self) -> bool:
        """Whether the kubelet itself reports the node's addresses when it registers the node.

        With an external cloud provider, it does so only if --node-ip is set. See kubernetes
        pkg/kubelet/nodestatus/setters.go, NodeAddress (kubernetes/kubernetes#121028, #125337).
        """
        return not self.has_cloud_provider or bool(self.flags.text("node-ip"))

    @property
    def max_pods(self) -> int:
        """The maximum number of pods on the node."""
        return int(self.flags.text("max-pods") or self.document.get("maxPods") or 110)

    @property
    def cluster_dns(self) -> list[str]:
        """The addresses of the cluster's DNS servers."""
        return self.flags.items_of("cluster-dns") or [str(item) for item in self.document.get("clusterDNS") or []]

    @property
    def resolv_conf(self) -> str:
        """The resolvConf setting. On Windows, only "" and `Host` are valid (kubernetes/kubernetes#116782)."""
        return str(self.flags.text("resolv-conf") or self.document.get("resolvConf", ""))

    @property
    def log_folder(self) -> str:
        """The folder for container logs."""
        return drive(str(self.document.get("podLogsDir") or "/var/log/pods"))

    @property
    def healthz_port(self) -> int:
        """The port of the kubelet's health check, /healthz."""
        return int(self.flags.text("healthz-port") or self.document.get("healthzPort") or 10248)

    @property
    def port(self) -> int:
        """The port of the kubelet's API."""
        return int(self.flags.text("port") or self.document.get("port") or 10250)

    @property
    def heartbeat(self) -> float:
        """The number of seconds between two updates of the node's status."""
        return seconds(str(self.document.get("nodeStatusUpdateFrequency") or ""), 0.0) or 10.0

    @property
    def lease_seconds(self) -> int:
        """The duration of the node's lease, in seconds."""
        return int(self.document.get("nodeLeaseDurationSeconds") or 40)

    @property
    def max_restart_delay(self) -> float:
        """The maximum back-off for a crashing container, in seconds."""
        about = self.document.get("crashLoopBackOff") or {}
        return seconds(str(about.get("maxContainerRestartPeriod") or ""), 300.0)


def drive(path: str) -> str:
    r"""Return a path in Windows form, on drive C if the path names no drive. For example, `/var` becomes `C:\var`."""
    text = path.replace("/", "\\")
    return f"C:{text}" if text.startswith("\\") and not text.startswith("\\\\") else text


def read(machine: Machine, argv: Sequence[str], version: str) -> KubeletSettings:
    """Return a kubelet's settings from its command line and from the files given by its flags.

    Raises:
        KubeletError: the kubelet rejects the configuration.
    """
    try:
        found, rest = parse(argv, contracts.flags("kubelet", version))
    except FlagError as error:
        raise KubeletError(f"failed to parse kubelet flag: {error}") from error
    if rest:
        raise KubeletError(f"unknown command {rest[0]}")
    settings = KubeletSettings(version, found)
    path = found.text("config")
    if path:
        settings.document = _load(machine, drive(path), version)
    folder = found.text("config-dir")
    if folder:
        _drop_ins(machine, drive(folder), settings, version)
    requested: dict[str, object] = {**(settings.document.get("featureGates") or {}), **found.pairs("feature-gates")}
    try:
        settings.gates = configuration.gates(requested, version)
    except ConfigurationError as error:
        raise KubeletError(f"failed to set feature gates from initial flags-based config: {error}") from error
    _validate(settings)
    check_credential_providers(machine, settings)
    return settings


def _load(machine: Machine, path: str, version: str) -> dict[str, Any]:
    head = f"failed to load kubelet config file, path: {path}, error: failed to load Kubelet config file {path}, error"
    if not machine.files.is_file(path):
        message = f'failed to read kubelet config file "{path}", error: open {path}: The system cannot find the file '
        message += "specified."
        raise KubeletError(f"{head} {message}")
    try:
        return _decode(machine.files.read_text(path), version)
    except ConfigurationError as error:
        raise KubeletError(f"{head} failed to decode: {error}") from error


def _decode(text: str, version: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"error converting YAML to JSON: {str(error).splitlines()[0]}") from error
    if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
        raise ConfigurationError("Object 'Kind' is missing in configuration file")
    kind = f"{document['apiVersion']} {document['kind']}"
    if kind != KIND:
        raise ConfigurationError(f'no kind "{document["kind"]}" is registered for version "{document["apiVersion"]}"')
    unknown = configuration.check(document, kind, version)
    if unknown:
        raise ConfigurationError(configuration.strict_error(unknown))
    return document


def _drop_ins(machine: Machine, folder: str, settings: KubeletSettings, version: str) -> None:
    """Merge the drop-in files (`*.conf`, sorted by path) into the configuration.

    Raises:
        KubeletError: the folder of the drop-in files does not exist, or one of the files is invalid.
    """
    if not machine.files.is_directory(folder):
        raise KubeletError(
            f"failed to merge kubelet configs: failed to walk through kubelet dropin directory {folder!r}: "
            f"CreateFile {folder}: The system cannot find the file specified."
        )
    for entry in machine.files.walk(folder):
        if entry.is_directory or not entry.name.casefold().endswith(".conf"):
            continue
        try:
            merge(settings.document, _decode(machine.files.read_text(entry.path), version))
        except ConfigurationError as error:
            raise KubeletError(
                f"failed to merge kubelet configs: failed to load kubelet dropin file, path: {entry.path}, error: "
                f"{error}"
            ) from error


def merge(into: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Merge the document `over` into the document `into`. Objects are merged, and other values are replaced."""
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def _validate(settings: KubeletSettings) -> None:
    """Check for settings that the kubelet rejects on Windows (pkg/kubelet/apis/config/validation).

    Raises:
        KubeletError: the kubelet would reject a setting.
    """
    document = settings.document
    problems: list[str] = []
    if document.get("cgroupsPerQOS"):
        problems.append("invalid configuration: cgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows")
    if document.get("enforceNodeAllocatable"):
        listed = document["enforceNodeAllocatable"]
        if listed != ["none"]:
            problems.append(
                "invalid configuration: enforceNodeAllocatable (--enforce-node-allocatable) is not supported on Windows"
            )
    if document.get("userNamespaces"):
        problems.append("invalid configuration: userNamespaces is not supported on Windows")
    _check_resources(document)
    if problems:
        raise KubeletError(
            f"failed to validate kubelet configuration, error: [{', '.join(problems)}], path: "
            f"&TypeMeta{{Kind:,APIVersion:,}}"
        )


_SIGNALS = (
    *("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"),
    *("containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available"),
)
"""The eviction signals of every operating system (kubernetes pkg/kubelet/eviction/helpers.go, signalToResource)."""


def _check_resources(document: Mapping[str, Any]) -> None:
    """Raise KubeletError if an eviction threshold or a reserved resource is invalid. The real kubelet then exits.

    Sources: pkg/kubelet/eviction/helpers.go (ParseThresholdConfig) and cmd/kubelet/app/server.go (parseResourceList).
    """
    for name in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"):
        for signal in document.get(name) or {}:
            if signal not in _SIGNALS:
                raise KubeletError(f"failed to run Kubelet: unsupported eviction signal {signal}")
    periods = document.get("evictionSoftGracePeriod") or {}
    for signal in document.get("evictionSoft") or {}:
        if signal not in periods:
            message = f"grace period must be specified for the soft eviction threshold {signal}"
            raise KubeletError(f"failed to run Kubelet: {message}")
    for name in ("kubeReserved", "systemReserved"):
        for resource in document.get(name) or {}:
            if resource not in ("cpu", "memory", "ephemeral-storage", "pid"):
                raise KubeletError(f'failed to run Kubelet: cannot reserve "{resource}" resource')


def check_credential_providers(machine: Machine, settings: KubeletSettings) -> None:
    """Raise KubeletError if a credential provider is missing, or if the providers' configuration is wrong or missing.

    The kubelet checks the providers only if both flags for credential providers are set. Source:
    pkg/credentialprovider/plugin/plugin.go (RegisterCredentialProviderPlugins). The name of a provider may
    lack `.exe`, because exec.LookPath adds it.
    """
    path = settings.flags.text("image-credential-provider-config")
    folder = settings.flags.text("image-credential-provider-bin-dir")
    if not path or not folder:
        return
    head = "failed to run Kubelet: failed to create kubelet: failed to register CRI auth plugins"
    if not machine.files.is_directory(drive(folder)):
        raise KubeletError(f"{head}: plugin binary directory {folder} did not exist")
    if not machine.files.is_file(drive(path)):
        raise KubeletError(f"{head}: unable to access path {path!r}: The system cannot find the file specified.")
    document = yaml.safe_load(machine.files.read_text(drive(path))) or {}
    if document.get("kind") != "CredentialProviderConfig" or not document.get("providers"):
        raise KubeletError(f"{head}: failed to validate credential provider config: providers: Required value")
    for provider in document["providers"]:
        name = f"{drive(folder)}\\{provider['name']}"
        if not machine.files.is_file(name) and not machine.files.is_file(f"{name}.exe"):
            raise KubeletError(f"{head}: plugin binary executable {name} did not exist")
