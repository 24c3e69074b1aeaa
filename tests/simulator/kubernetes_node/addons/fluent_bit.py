# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate fluent-bit.exe, which checks its YAML configuration and creates its SQLite files.

In these files, the real program stores how far it has read its inputs. The simulated program neither reads nor sends
records.

Sources: fluent/fluent-bit v5.1.1, src/config_format/flb_cf_yaml.c, src/fluent-bit.c, plugins/in_tail,
plugins/in_winevtlog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import yaml

from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Plugins of the Windows build (cmake/windows-setup.cmake), without those for special protocols.
_PLUGINS = {
    "inputs": frozenset(
        ["tail", "winlog", "winevtlog", "winstat", "dummy", "http", "forward", "exec", "syslog", "tcp"]
    ),
    "filters": frozenset(["modify", "record_modifier", "grep", "parser", "kubernetes", "lua", "nest", "rewrite_tag"]),
    "outputs": frozenset(
        [
            "forward",
            "http",
            "es",
            "opensearch",
            "loki",
            "splunk",
            "stdout",
            "null",
            "file",
            "kafka",
            "azure",
            "s3",
            "tcp",
            "opentelemetry",
            "syslog",
            "cloudwatch_logs",
            "stackdriver",
            "gelf",
            "influxdb",
            "datadog",
            "azure_blob",
        ]
    ),
}
_OPTIONS = {
    "tail": frozenset(
        [
            "name",
            "tag",
            "path",
            "path_key",
            "db",
            "skip_long_lines",
            "refresh_interval",
            "parser",
            "exclude_path",
            "read_from_head",
            "mem_buf_limit",
            "key",
        ]
    ),
    "winevtlog": frozenset(
        [
            "name",
            "tag",
            "channels",
            "db",
            "interval_sec",
            "interval_nsec",
            "ignore_missing_channels",
            "read_existing_events",
            "string_inserts",
            "render_event_as_xml",
            "use_ansi",
            "event_query",
        ]
    ),
}


class _ConfigurationError(Exception):
    pass


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate `fluent-bit.exe -c FILE`, which runs until it is stopped."""
    words = list(invocation.argv)
    if len(words) != 2 or words[0] not in ("-c", "--config"):
        return ProgramResult(1, "", "Error: the simulator models only fluent-bit -c FILE\n")
    try:
        pipeline = _pipeline(machine, drive(words[1]))
        for path in _databases(pipeline):
            if not machine.files.is_directory(path.rpartition("\\")[0]):
                raise _ConfigurationError(f"[sqldb] cannot open database {path}")
            if not machine.files.exists(path):
                machine.files.write_bytes(path, b"SQLite format 3\0")
    except _ConfigurationError as error:
        return ProgramResult(1, "", f"[error] {error}\n")
    invocation.stop.wait()
    return ProgramResult(0, "", "")


def _pipeline(machine: Machine, path: str) -> Mapping[str, Any]:
    if not machine.files.is_file(path):
        raise _ConfigurationError(f"[config] could not open configuration file '{path}'")
    try:
        document = yaml.safe_load(machine.files.read_text(path))
    except yaml.YAMLError as error:
        raise _ConfigurationError(f"[config] YAML error: {error}") from error
    pipeline: Mapping[str, Any] = (document or {}).get("pipeline") or {}
    for section, plugins in _PLUGINS.items():
        for item in pipeline.get(section) or []:
            name = str(item.get("name"))
            if name not in plugins:
                raise _ConfigurationError(f"[{section[:-1]}] {name}: plugin not found")
            unknown = sorted(set(item) - _OPTIONS.get(name, frozenset(item)))
            if unknown:
                raise _ConfigurationError(f"[config] {name}: unknown configuration property '{unknown[0]}'")
    return pipeline


def _databases(pipeline: Mapping[str, Any]) -> Iterator[str]:
    for item in pipeline.get("inputs") or []:
        if item.get("db"):
            yield drive(str(item["db"]))


PROGRAMS: Mapping[str, Program] = {"fluent-bit": run}
