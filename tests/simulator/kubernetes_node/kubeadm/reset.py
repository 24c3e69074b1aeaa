# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate `kubeadm reset`, which stops the kubelet, and removes pods, kubeconfigs and the contents of folders.

Sources: kubernetes cmd/kubeadm/app/cmd/reset.go and cmd/kubeadm/app/cmd/phases/reset (preflight.go,
removeetcdmember.go, cleanupnode.go, unmount.go). A failure to remove something is only a warning. Networks, CNI
configurations, logs and services stay. The content of \var\lib\kubelet, including its pods and pki folders, is removed
no matter which program created it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cri.interface import RuntimeFailure, connect
from simulator.kubernetes_node.kubeadm import join, join_configuration, join_validation
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.configuration import ConfigurationError
from simulator.kubernetes_node.programs.flags import CommandFlags
from simulator.machine.objects import ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_FILES = (
    "admin.conf",
    "super-admin.conf",
    "kubelet.conf",
    "bootstrap-kubelet.conf",
    "controller-manager.conf",
    "scheduler.conf",
)
_KIND = "ResetConfiguration"
_OLD_ADVICE = (
    "\nThe reset process does not clean CNI configuration. To do so, you must remove /etc/cni/net.d\n\n"
    "The reset process does not reset or clean up iptables rules or IPVS tables.\n"
)
_ADVICE = (
    "\nThe reset process does not perform cleanup of CNI plugin configuration,\nnetwork filtering rules and "
    "kubeconfig files.\n\n"
)


@dataclass(frozen=True)
class ResetConfiguration:
    """The settings of `kubeadm reset`."""

    cri_socket: str
    force: bool
    cleanup_tmp_dir: bool
    dry_run: bool
    skipped: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def read(text: str | None, flags: CommandFlags, version: str) -> ResetConfiguration:
    """Return the settings of `kubeadm reset` from a configuration file and flags, or only from flags.

    Args:
        text: the content of the file given by --config; None without that flag.
        flags: the values of the flags by name.
        version: the version of kubeadm.

    Raises:
        ConfigurationError: kubeadm rejects the configuration.
    """
    if wrong := join_validation.mixed([name for name in flags if name != "kubeconfig"]):
        raise ConfigurationError(wrong)
    skipped = {str(name) for name in flags.items_of("skip-phases")}
    if text is None:
        return ResetConfiguration(
            cri_socket=flags.text("cri-socket") or PIPE,
            force=flags.on("force"),
            cleanup_tmp_dir=flags.on("cleanup-tmp-dir"),
            dry_run=flags.on("dry-run"),
            skipped=frozenset(skipped),
        )
    document, warnings = _document(text, version)
    socket = str(document.get("criSocket") or PIPE)
    return ResetConfiguration(
        cri_socket=socket if socket.startswith("npipe") else f"npipe://{socket}",
        force=bool(document.get("force")),
        cleanup_tmp_dir=bool(document.get("cleanupTmpDir")),
        dry_run=bool(document.get("dryRun")) or flags.on("dry-run"),
        skipped=frozenset(skipped or {str(name) for name in document.get("skipPhases") or ()}),
        warnings=warnings,
    )


def _document(text: str, version: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the ResetConfiguration, and a warning if it has unknown fields, which kubeadm 1.30.4 to 1.37.1 ignores."""
    found = [one for one in join_configuration.documents(text) if one["kind"] == _KIND]
    if not found:
        raise ConfigurationError(f"no {_KIND} found in the supplied config")
    # `kubeadm reset` accepts experimental versions (reset.go: allowExperimental is true).
    unknown = join_configuration.check(found[0], version, True)
    return found[0], (join_configuration.strict_error(found[0], unknown),) if unknown else ()


@dataclass
class NodeCleaner:
    """One run of `kubeadm reset` on the machine."""

    machine: Machine
    settings: ResetConfiguration
    printed: list[str] = field(default_factory=list)
    complained: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Stop the kubelet, and remove pods and files."""
        self.stop()
        folders = self._folders()
        self.printed.append(f"[reset] Deleting contents of directories: [{' '.join(one[2:] for one in folders)}]")
        for folder in folders:
            self._empty(folder)
        files = [f"{join.KUBERNETES}\\{name}" for name in _FILES]
        self.printed.append(f"[reset] Deleting files: [{' '.join(name[2:] for name in files)}]")
        for name in files:
            if self.machine.files.exists(name):
                self._delete(name, f'[reset] Failed to remove file: "{_quoted(name)}"')

    def stop(self) -> None:
        """Stop the kubelet and remove its pods. Failures only cause warnings."""
        self.printed.append("[reset] Stopping the kubelet service")
        if self.machine.services.get("kubelet") is None:
            why = "The specified service does not exist as an installed service."
            self._warn(f"[reset] The kubelet service could not be stopped by kubeadm: [{why}]")
        join.stop_kubelet(self.machine)
        if self.machine.files.is_directory(join.KUBELET):
            self.printed.append('[reset] Unmounting mounted directories in "/var/lib/kubelet"')
            self._warn(
                "Cannot unmount filesystems on current OS, all mounted file systems will need to be manually unmounted"
            )
        runtime = connect(self.machine, self.settings.cri_socket)
        if runtime is None:
            self._warn("[reset] Failed to remove containers: container runtime is down")
            return
        for sandbox in runtime.sandboxes():
            try:
                runtime.remove_sandbox(sandbox)
            except RuntimeFailure as error:
                self._warn(f"[reset] Failed to remove containers: {error}")

    def _folders(self) -> list[str]:
        kubelet = [join.KUBELET] if self.machine.files.is_directory(join.KUBELET) else []
        temporary = [f"{join.KUBERNETES}\\tmp"] if self.settings.cleanup_tmp_dir else []
        return [f"{join.KUBERNETES}\\manifests", *kubelet, f"{join.KUBERNETES}\\pki", *temporary]

    def _empty(self, folder: str) -> None:
        """Remove the content of a folder. Stop at the first entry that cannot be removed (CleanDir)."""
        if not self.machine.files.is_directory(folder):
            return
        for entry in self.machine.files.listing(folder):
            about = f'[reset] Failed to delete contents of "{_quoted(folder)}" directory'
            if not self._delete(entry.path, about):
                return

    def _delete(self, path: str, about: str) -> bool:
        files = self.machine.files
        try:
            if files.open.blocks(path, "d") or files.open.blocks_below(path):
                raise PermissionError("The process cannot access the file because it is being used by another process.")
            files.delete(path)
        except OSError as error:
            self._warn(f"{about}: unlinkat {_quoted(path)}: {error}")
            return False
        return True

    def _warn(self, text: str) -> None:
        self.complained.append(warning(text, "cleanupnode.go:95"))


def warning(text: str, place: str) -> str:
    """Return a warning in the format of klog, the log library of Kubernetes."""
    return f"W1121 00:00:00.000000    1000 {place}] {text}"


def reset(machine: Machine, settings: ResetConfiguration, stdin: bytes, version: str) -> ProgramResult:
    """Run `kubeadm reset`, which undoes `kubeadm join`.

    Args:
        machine: the machine to reset.
        settings: the settings of the reset.
        stdin: the answer to kubeadm's question whether to proceed.
        version: the version of kubeadm.
    """
    complained = [warning(text, "resetconfiguration.go:128") for text in settings.warnings]
    if not settings.force and not settings.dry_run and "preflight" not in settings.skipped:
        complained.append(
            warning(
                "[reset] WARNING: Changes made to this host by 'kubeadm init' or 'kubeadm join' will be reverted.",
                "preflight.go:56",
            )
        )
        if stdin.strip().lower() not in (b"y", b"yes"):
            head = "error: " if contracts.at_least(version, "1.34") else ""
            complained.append(
                f"{head}error execution phase preflight: won't proceed; the user didn't answer (Y|y) in order to "
                "continue"
            )
            question = "[reset] Are you sure you want to proceed? [y/N]: "
            return ProgramResult(1, question, "".join(f"{line}\n" for line in complained))
    printed = [] if "preflight" in settings.skipped else ["[preflight] Running pre-flight checks"]
    if "remove-etcd-member" not in settings.skipped:
        complained.append(
            warning("[reset] No kubeadm config, using etcd pod spec to get data directory", "removeetcdmember.go:106")
        )
        printed.append("[reset] Deleted contents of the etcd data directory: /var/lib/etcd")
    cleanup = NodeCleaner(machine, settings, printed, complained)
    if "cleanup-node" not in settings.skipped and not settings.dry_run:
        cleanup.run()
    advice = _ADVICE if contracts.at_least(version, "1.33") else _OLD_ADVICE
    return ProgramResult(
        0, "".join(f"{line}\n" for line in printed) + advice, "".join(f"{line}\n" for line in complained)
    )


def _quoted(path: str) -> str:
    return path[2:].replace("\\", "\\\\")
