# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the services, flags and configuration of the kubelet and the container runtime (no I/O)."""

from __future__ import annotations

import re
import typing as t

from ...module_utils.redaction.texts import redact_value
from ..node_config import kubelet_flags
from ..values.versions import Version
from .causes import FoundCause, finding
from .examination import Examination
from .kubelet_facts import ConfigurationFile

_KIND = ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration")
_FLAG_ERRORS = re.compile(r"unknown (shorthand )?flag|failed to parse kubelet flag")
_CONFIGURATION_ERRORS = re.compile(
    r"failed to (load|merge|validate) kubelet config|failed to set feature gates|invalid configuration"
)
"""The kubelet's error messages about its flags and its configuration. Source: kubernetes, cmd/kubelet/app/server.go."""


def runtime(node: Examination) -> t.Iterator[FoundCause]:
    """Check the services, the named pipe and the state of the container runtime."""
    if not node.is_prepared or not node.endpoint:
        return
    services = node.first.machine.services
    for name in node.runtime_services:
        if name not in services:
            yield finding("runtime_stopped", f"the service {name} does not exist")
        elif not services[name].running:
            yield finding("runtime_stopped", f"the service {name} is {services[name].status.lower()}")
    if not node.runtime_runs:
        return
    facts = node.first.runtime
    # Windows reports a pipe as missing while all of its instances are busy.
    if node.endpoint not in facts.pipes and node.endpoint not in facts.states:
        running = " and ".join(node.runtime_services)
        yield finding("runtime_pipe_missing", f"{node.endpoint} does not exist, although {running} is running")
    elif node.endpoint in facts.problems:
        yield finding("runtime_not_responding", f"crictl info: {redact_value(facts.problems[node.endpoint])}")
    state = facts.states.get(node.endpoint)
    if state is not None and state.ready_problem:
        yield finding("runtime_not_responding", f"RuntimeReady is false: {state.ready_problem}")


def service(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the kubelet is running."""
    kubelet = node.first.machine.services.get("kubelet")
    if kubelet is None:
        yield finding("not_prepared", "the service kubelet does not exist")
    elif not _runs(node):
        error, launcher = node.second.kubelet_error, node.second.launcher
        left_out = f"the launcher left out flags that this kubelet does not know: {', '.join(launcher.left_out)}"
        yield finding(
            "kubelet_stopped",
            "" if kubelet.running else f"the service kubelet is {kubelet.status.lower()}",
            f"the launcher's log: {redact_value(launcher.ended)}" if launcher.ended else "",
            f"its last error: {redact_value(error)}" if error else "",
            redact_value(left_out) if launcher.left_out else "",
        )


def launcher(node: Examination) -> t.Iterator[FoundCause]:
    """Check the script that starts the kubelet, and the commands that it runs after the join."""
    kubelet = node.first.machine.services.get("kubelet")
    if kubelet is None or not node.first.kubelet.command.by_launcher:
        return
    if not kubelet.running and node.second.launcher_error:
        yield finding("launcher_failed", f"its last error: {redact_value(node.second.launcher_error)}")
    failed = node.second.launcher.failed_command
    if failed and node.first.kubelet.has_join_commands:
        yield finding("join_command_failed", f"the launcher's log: {redact_value(failed)}")


def flags(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the kubelet supports all flags with which it is started."""
    version, command = node.second.kubelet_version, node.first.kubelet.command
    try:
        unknown = kubelet_flags.part(command.flags, str(Version.parse(version))).dropped if version else []
    except ValueError:
        unknown = []
    names = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    if names:
        yield finding("kubelet_flags_unknown", f"the kubelet {version} does not know {', '.join(names)}")
    elif not _runs(node) and _FLAG_ERRORS.search(node.second.kubelet_error):
        yield finding("kubelet_flags_unknown", f"its last error: {redact_value(node.second.kubelet_error)}")


def configuration(node: Examination) -> t.Iterator[FoundCause]:
    """Check the kubelet's configuration files, and its last error, without running the kubelet."""
    kubelet = node.first.kubelet
    if kubelet.configuration is None:
        return
    problems = [problem for file in (kubelet.configuration, *kubelet.drop_ins) if (problem := _problem(file))]
    if kubelet.awaited_file == kubelet.configuration.path:
        problems.append("the launcher waits for this file before it starts the kubelet")
    problems += _refused_on_windows(kubelet.settings) if not problems else []
    if not problems and not _runs(node) and _CONFIGURATION_ERRORS.search(node.second.kubelet_error):
        problems.append(f"its last error: {redact_value(node.second.kubelet_error)}")
    if problems:
        yield finding("kubelet_configuration_invalid", *problems)


def _runs(node: Examination) -> bool:
    service = node.first.machine.services.get("kubelet")
    return service is not None and service.running and not node.second.launcher.ended


def _problem(file: ConfigurationFile) -> str:
    if file.text is None:
        return f"{file.path} does not exist, or cannot be read"
    document = file.document
    if document is None:
        return f"{file.path}: expected a mapping in YAML"
    version, kind = document.get("apiVersion"), document.get("kind")
    if (version, kind) != _KIND:
        return f"{file.path}: expected {' '.join(_KIND)}, got {version} {kind}"
    return ""


def _refused_on_windows(settings: t.Mapping[str, t.Any]) -> list[str]:
    """Return an error message for each setting that the kubelet rejects on Windows.

    Source: kubernetes pkg/kubelet/apis/config/validation/validation_windows.go.
    """
    problems = []
    if settings.get("cgroupsPerQOS"):
        problems.append("cgroupsPerQOS: expected false on Windows, got true")
    enforced = settings.get("enforceNodeAllocatable")
    if enforced and enforced != ["none"]:
        problems.append(f"enforceNodeAllocatable: expected an empty list on Windows, got {enforced}")
    return problems
