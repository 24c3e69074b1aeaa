# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the calls of the two remote commands that observe a node, and read their results.

The calls of the second command depend on the results of the first one.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import ntpath
import typing as t

from ..hns.facts import node_facts as hns_facts
from ..hns.facts.node_facts import FactsOptions, HnsFacts
from ..windows import node_paths
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Observation
from ..wire.scopes import Scope
from . import connection, kubelet_facts, machine_facts, runtime_facts
from .connection import ApiConnection
from .kubelet_facts import ConfigurationFile, KubeletCommand, KubeletFacts
from .launcher_log import LauncherLog, powershell_error
from .machine_facts import MachineFacts
from .runtime_facts import RuntimeFacts

_MACHINE, _KUBELET, _RUNTIME = Scope("machine."), Scope("kubelet."), Scope("cri.")
_TAIL = 200
"""Number of lines that are read from the end of each log."""
_MOST_PLUGINS = 50
_NEEDED = (_MACHINE.id("services"), _MACHINE.id("registry"), _KUBELET.id("kubelet-files"))
"""IDs of the calls that must succeed in the first remote command. Without their results, a machine would seem to be
unprepared or not to have joined a cluster."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObservationOptions:
    """The locations of programs and files on a node."""

    install_dir: str = "C:\\k"
    conf_dir: str = "C:\\etc\\cni\\net.d"
    bin_dir: str = "C:\\opt\\cni\\bin"
    hns: FactsOptions = dataclasses.field(default_factory=FactsOptions)

    @property
    def conf_dirs(self) -> tuple[str, ...]:
        """The folders on the node that are searched for CNI configurations."""
        return tuple(dict.fromkeys((self.conf_dir, *self.hns.conf_dirs)))

    def lists(self, folder: str) -> bool:
        """Return whether a folder is one of `conf_dirs`."""
        return _folder(folder) in map(_folder, self.conf_dirs)

    @property
    def kube_proxy_configuration(self) -> str:
        """Path of kube-proxy's configuration file on the node."""
        return f"{self.install_dir}\\kube-proxy\\config.yaml"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstFacts:
    """What the first remote command observed."""

    windows: WindowsInfo
    clock_skew: float | None
    """Seconds by which the node's clock is ahead of the controller's, or None if unknown."""
    machine: MachineFacts
    kubelet: KubeletFacts
    runtime: RuntimeFacts
    hns: HnsFacts
    cni_files: t.Mapping[str, str]
    """Content of the CNI configuration files by path."""
    network_record: t.Mapping[str, t.Any]
    """The network that the cni role recorded on the node, with the keys `plugin`, `mode`, `network` and `services`.
    Empty if there is no record."""
    kube_proxy: ConfigurationFile

    @property
    def conf_dir(self) -> str:
        """The CNI configuration folder that the container runtime reports, or an empty string if it reports none."""
        return next((state.conf_dir for state in self.runtime.states.values() if state.conf_dir), "")

    @property
    def bin_dirs(self) -> tuple[str, ...]:
        """The folders of CNI plugins that the container runtime reports. Empty if it reports none."""
        return next((state.bin_dirs for state in self.runtime.states.values() if state.bin_dirs), ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class SecondFacts:
    """What the second remote command observed."""

    kubelet_version: str = ""
    """Version of the kubelet, such as 1.37.1, or an empty string if unknown."""
    kubelet_error: str = ""
    """The last error that ended the kubelet, as its log states it, or an empty string if there is none."""
    launcher: LauncherLog = dataclasses.field(default_factory=LauncherLog)
    launcher_error: str = ""
    """The last error of the launcher script, which starts the kubelet, or an empty string if there is none."""
    api: ApiConnection = dataclasses.field(default_factory=ApiConnection)
    plugins: t.Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Maps the name of each CNI plugin to whether its program exists."""


def first_calls(options: ObservationOptions) -> tuple[Call, ...]:
    """Return the calls of the first remote command."""
    programs = options.hns.programs
    hns = hns_facts.facts_calls(dataclasses.replace(options.hns, conf_dirs=options.conf_dirs))
    return (
        # Queries of HNS start its service, so the state of the service is read before them.
        *map(_MACHINE.call, machine_facts.calls()),
        *map(_KUBELET.call, kubelet_facts.calls()),
        *map(_RUNTIME.call, runtime_facts.calls(programs.crictl, programs.ctr)),
        *(_if_runtime_responds(call) if call.command in (programs.crictl, programs.ctr) else call for call in hns),
        query(
            "network-files",
            "@read-file",
            {"paths": [node_paths.NETWORK_RECORD, options.kube_proxy_configuration], "content": True},
        ),
    )


def _if_runtime_responds(call: Call) -> Call:
    """Return a call with a dependency on `crictl info`: if containerd does not respond, the node skips the call.

    So the node waits only once for a runtime that hangs.
    """
    return dataclasses.replace(call, needs=(*call.needs, _RUNTIME.id("info")))


def unread(seen: Observation) -> str:
    """Return why the results of `first_calls` do not allow a diagnosis, or an empty string if they do."""
    failed = (str(seen[call_id].error) for call_id in _NEEDED if not seen[call_id].ok)
    return next(failed, "")


def read_first(seen: Observation, windows: WindowsInfo, now: datetime.datetime) -> FirstFacts:
    """Return the facts from the results of the first remote command.

    Args:
        seen: results of the calls from `first_calls`.
        windows: facts about Windows that were read by the same command.
        now: time of the controller's clock (UTC) when the results arrived.
    """
    machine = machine_facts.read(_MACHINE.results(seen.calls))
    service = machine.services.get("kubelet")
    command = KubeletCommand.parse(service.command if service else ())
    record, proxy = _pair(seen.calls.get("network-files"))
    proxy_text = proxy.get("content")
    return FirstFacts(
        windows=windows,
        clock_skew=seen.clock_skew(now),
        machine=machine,
        kubelet=kubelet_facts.read(_KUBELET.results(seen.calls), command),
        runtime=runtime_facts.read(_RUNTIME.results(seen.calls)),
        hns=hns_facts.read_facts(seen),
        cni_files=_contents(seen.calls.get("cni-content")),
        network_record=_record(record.get("content")),
        kube_proxy=ConfigurationFile(
            path=str(proxy.get("path") or ""), text=None if proxy_text is None else str(proxy_text)
        ),
    )


def second_calls(facts: FirstFacts, options: ObservationOptions) -> tuple[Call, ...]:
    """Return the calls of the second remote command, or an empty tuple if there is nothing more to observe."""
    command = facts.kubelet.command
    calls: list[Call] = []
    if ntpath.basename(command.program).lower() == "kubelet.exe" and ntpath.isabs(command.program):
        calls.append(query("version", command.program, arguments=("--version",), timeout=60, output_limit=1000))
    for call_id, path in _logs(facts).items():
        calls.append(query(call_id, "Get-Content", {"LiteralPath": path, "Tail": _TAIL, "Encoding": "UTF8"}))
    plugins = plugin_paths(facts, options)
    if plugins:
        paths = [path for each in plugins.values() for path in each]
        calls.append(query("plugins", "@read-file", {"paths": paths[:_MOST_PLUGINS]}))
    environment = facts.machine.environment_of("kubelet")
    return (*calls, *connection.calls(facts.kubelet.kubeconfig, environment))


def _logs(facts: FirstFacts) -> dict[str, str]:
    """Return the paths of the logs of the kubelet and its launcher script, by the IDs of the calls that read them."""
    service, command = facts.machine.services.get("kubelet"), facts.kubelet.command
    log = command.log_file or (service.log if service else "")
    output = service.output if service and command.by_launcher else ""
    return {call_id: path for call_id, path in (("log", log), ("launcher-log", output)) if ntpath.isabs(path)}


def _lines(result: CallResult | None) -> list[str]:
    return [str(line) for line in result.output] if result is not None and result.ok else []


def read_second(seen: Observation, facts: FirstFacts, options: ObservationOptions) -> SecondFacts:
    """Return the facts from the results of the second remote command.

    Args:
        seen: results of the calls from `second_calls`.
        facts: the facts that the first command observed.
        options: the options of both commands.
    """
    files = seen.calls["plugins"].output if "plugins" in seen.calls else ()
    there = {str(file["path"]) for file in files if file.get("exists")}
    asked = {str(file["path"]) for file in files}
    version, log = seen.calls.get("version"), _lines(seen.calls.get("log"))
    return SecondFacts(
        kubelet_version=_version(version.stdout) if version is not None and version.ok else "",
        kubelet_error=last_error(log),
        launcher=LauncherLog.parse(_lines(seen.calls.get("launcher-log"))),
        launcher_error=powershell_error(log) if facts.kubelet.command.by_launcher else "",
        api=connection.read(seen.calls, facts.kubelet.kubeconfig, facts.machine.environment_of("kubelet")),
        plugins={
            name: not there.isdisjoint(paths)
            for name, paths in plugin_paths(facts, options).items()
            if asked.issuperset(paths)
        },
    )


def plugin_paths(facts: FirstFacts, options: ObservationOptions) -> dict[str, list[str]]:
    """Return the possible paths of the programs of all configured CNI plugins, by the name of the plugin.

    Args:
        facts: the facts that the first command observed.
        options: locations of files on the node.
    """
    folders = facts.bin_dirs or (options.bin_dir,)
    names = sorted({name for text in active_configurations(facts, options).values() for name in _plugins(text)})
    return {name: [f"{folder}\\{name}.exe" for folder in folders] for name in names}


def active_configurations(facts: FirstFacts, options: ObservationOptions) -> dict[str, str]:
    """Return the contents of the CNI configuration files that the container runtime uses, by path (sorted).

    Args:
        facts: the facts that the first command observed.
        options: locations of files on the node.
    """
    folder = _folder(facts.conf_dir or options.conf_dir)
    paths = [path for path in facts.cni_files if _folder(ntpath.dirname(path)) == folder]
    return {path: facts.cni_files[path] for path in sorted(paths)}


def networks_in(text: str) -> dict[str, str]:
    """Return the types of the HNS networks that the plugins of a CNI configuration need, by name of the network.

    win-bridge and win-overlay need an existing network with the name of the configuration, and flannel's plugin calls
    one of them. Source: containernetworking/plugins, plugins/main/windows.
    """
    types = {"win-bridge": "L2Bridge", "win-overlay": "Overlay", "sdnbridge": "L2Bridge", "sdnoverlay": "Overlay"}
    document = _object(text)
    name = document.get("name")
    return {str(name): types[plugin] for plugin in _plugins(text) if name and plugin in types}


def last_error(lines: t.Sequence[str]) -> str:
    """Return the last error that ended the kubelet, as its log states it, or an empty string if there is none.

    Source: kubernetes, cmd/kubelet/kubelet.go, cli.Run.
    """
    for line in reversed(lines):
        _head, mark, text = line.partition('"command failed" err=')
        if mark:
            return _unquoted(text.strip())
    return ""


def _folder(path: str) -> str:
    """Return a folder's path in a normalized form, for comparisons."""
    return path.replace("/", "\\").rstrip("\\").lower()


def _unquoted(text: str) -> str:
    """Return a value from the kubelet's log without the quotation marks and escapes that klog adds (%q)."""
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return inner.replace('\\"', '"').replace("\\\\", "\\")


def _version(text: str) -> str:
    return text.strip().removeprefix("Kubernetes").strip().removeprefix("v")


def _plugins(text: str) -> set[str]:
    """Return the names of the plugins in a CNI configuration, including delegates and IPAM plugins."""
    document = _object(text)
    listed = document.get("plugins")
    plugins = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else [document]
    parts: list[t.Any] = []
    for plugin in plugins:
        delegate = plugin.get("delegate")
        for one in (plugin, delegate):
            parts += [one, one.get("ipam")] if isinstance(one, dict) else []
    names = {str(part.get("type") or "").removesuffix(".exe") for part in parts if isinstance(part, dict)}
    return {name for name in names if name and not set(name) & set('\\/:*?"<>|')}


def _object(text: str) -> dict[str, t.Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _contents(result: CallResult | None) -> dict[str, str]:
    files = result.output if result is not None and result.ok else ()
    return {str(file["path"]): str(file.get("content") or "") for file in files if isinstance(file, dict)}


def _pair(result: CallResult | None) -> tuple[t.Mapping[str, t.Any], t.Mapping[str, t.Any]]:
    if result is None or not result.ok:
        return {}, {}
    first, second = result.output
    return first, second


def _record(text: object) -> dict[str, t.Any]:
    return _object(str(text or ""))
