# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete results of many cases: the calls for logs, parsing and selection, and reports."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from unit import outcomes
from unit.resource_answers import SERVER_2022

from ansible_collections.winkube.node.plugins.plugin_utils.logs import (
    catalogue,
    collection,
    debug_scripts,
    gathering,
    page,
    selection,
    state,
    survey,
)
from ansible_collections.winkube.node.plugins.plugin_utils.logs.survey import EventLog, LogFile, Survey
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    CallError,
    CallResult,
    Observation,
    Stopped,
)

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)
MB = 1024 * 1024
SERVICES = r"HKLM:\SYSTEM\CurrentControlSet\Services"
KUBELET = "C:\\var\\log\\kubelet\\kubelet.log"


def ok(*output: Any, **more: Any) -> CallResult:
    return CallResult(ok=True, output=output, **more)


def failed(message: str = "denied", error_id: str = "X", **more: Any) -> CallResult:
    return CallResult(ok=False, error=CallError(id=error_id, message=message), **more)


def outcome(function: Callable[..., object], *arguments: Any, **more: Any) -> object:
    """Return the result of a function, or its error message."""
    try:
        return function(*arguments, **more)
    except (ResourceError, ValueError) as error:
        return error


def options(**more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"since": "3d", "limit_mb": 10, "sources": [], "namespaces": ["kube-system"], "paths": []}
    return {**usual, "hns_timeout": 20.0, **more}


def requested(**more: Any) -> catalogue.RequestedLogs:
    return catalogue.requested_logs(options(**more))


def seen(**calls: CallResult) -> Observation:
    found = {name.replace("__", ".").replace("_", "-"): result for name, result in calls.items()}
    return Observation(calls=found, time="2026-11-21T12:00:00.1234567Z", boot="b")


def service(name: str, status: str = "Running", start: str = "Automatic") -> dict[str, str]:
    return {"Name": name, "DisplayName": f"The {name}", "Status": status, "StartType": start}


def value(name: str, entry: str, text: str) -> dict[str, str]:
    key = f"{SERVICES}\\{name}" if entry == "ImagePath" else f"{SERVICES}\\{name}\\Parameters"
    return {"path": key, "name": entry, "value": text}


PROGRAMS = ok(
    value("kubelet", "ImagePath", "C:\\k\\kube-log-runner.exe --log-file=C:/var/log/k.log C:\\k\\kubelet.exe --v=2"),
    value("KUBE-PROXY", "ImagePath", '"C:\\a b\\nssm.exe"'),
    value("kube-proxy", "Application", "C:\\k\\kube-proxy.exe"),
    value("kube-proxy", "AppStdout", "C:\\var\\log\\p.out"),
    value("kube-proxy", "AppStderr", "C:\\var\\log\\p.out"),
    value("containerd", "ImagePath", "C:\\c\\containerd.exe --run-service -log-file C:\\c\\containerd.log"),
    value("docker", "ImagePath", "C:\\d\\dockerd.exe --log-file"),
    value("flanneld", "ImagePath", "C:\\k\\kube-log-runner.exe --LOG-FILE=relative.log"),
)
SURVEYED = seen(
    free=ok({"free": 3 * 2**30}),
    services=ok(
        service("Spooler"), service("kubelet", "Stopped"), service("kube-proxy", "Stopped", "Manual"),
        service("containerd"),
        service("docker", "Stopped", "Disabled"), service("flanneld"), service("agent", "Paused"),
    ),
    programs=PROGRAMS,
    files__kubelet=ok(
        {"FullName": KUBELET, "Length": 3 * MB, "LastWriteTimeUtc": "2026-11-21T11:00:00.1234567Z"},
        {"FullName": KUBELET.upper(), "Length": 1},
        {"FullName": None},
        {"FullName": "C:\\x.log", "Length": None, "LastWriteTimeUtc": "?"},
    ),
    files__pods=failed(),
    event_logs=ok(
        {"LogName": "System", "FileSize": 20 * MB, "RecordCount": 1000, "OldestRecordNumber": 501},
        {"LogName": "A/Operational", "FileSize": 10 * MB, "RecordCount": 5, "OldestRecordNumber": None},
        {"LogName": "Empty", "FileSize": 1, "RecordCount": 0},
        {"LogName": "Security", "FileSize": 1, "RecordCount": 9},
    ),
)  # fmt: skip


def surveyed(*files: LogFile, event_logs: tuple[EventLog, ...] = ()) -> Survey:
    return dataclasses.replace(survey.read(SURVEYED, SERVER_2022), files=files, event_logs=event_logs)


def log(path: str, size: int = 100, hours: float = 1.0, source: str = "kubelet") -> LogFile:
    return LogFile(source=source, path=path, size=size, modified=NOW - datetime.timedelta(hours=hours))


def test_every_call() -> None:
    everything = requested()
    found = surveyed(log(KUBELET), event_logs=(EventLog(channel="System", size=1, records=1, oldest=1),))
    place = gathering.WorkFolder.named("key")
    calls = {
        "survey": survey.calls(everything),
        "survey of one source and paths": survey.calls(requested(sources=["kubelet"], paths=["C:\\app\\*.log"])),
        "survey of state only": survey.calls(requested(sources=["commands"])),
        "state": state.calls(everything),
        "state of nothing": state.calls(requested(sources=["kubelet"])),
        "gathering": gathering.calls(selection.select(found, everything), found, place),
        "gathering nothing": gathering.calls(
            selection.select(surveyed(), requested(sources=["hns"])), surveyed(), place
        ),
    }
    outcomes.check("logs/calls", {case: outcomes.calls(asked) for case, asked in calls.items()})


def test_existing_files_are_read() -> None:
    whole = survey.read(SURVEYED, SERVER_2022)
    outcomes.check(
        "logs/survey",
        {
            "survey": whole,
            "not running": collection.not_running(whole),
            "without log": collection.without_log(whole),
            "nothing": survey.read(seen(), SERVER_2022),
        },
    )
    assert whole.service("KUBELET") == whole.service("kubelet")
    assert whole.service("other") is None


def test_collected_and_skipped_files() -> None:
    many = [log(f"C:\\pods\\{number:03}.log", 1, number / 100, "pods") for number in range(252)]
    cases: dict[str, tuple[Survey, catalogue.RequestedLogs]] = {
        "nothing": (surveyed(), requested()),
        "the newest within the limit": (
            surveyed(log("C:\\b.log", 6 * MB, 2), log("C:\\a.log", 6 * MB, 1), log("C:\\c.log", 1, 3)),
            requested(sources=["hns"]),
        ),
        "services write where they say": (surveyed(), requested(sources=["kubelet", "containerd", "kube-proxy"])),
        "too old": (
            surveyed(log("C:\\a.log", 1, 73), log("C:\\b.log", 1, 72), log("C:\\c.json", 1, 999, "configuration")),
            requested(sources=["hns"]),
        ),
        "forbidden": (surveyed(log("C:\\etc\\admin.conf"), log("C:\\x\\id_rsa")), requested(sources=["hns"])),
        "strange names": (
            surveyed(log("C:\\a b\\ä.log"), log("C:\\a_b\\_.log", 1, 2), log("\\\\h\\..\\s\\.\\x", 1, 3)),
            requested(sources=["hns"]),
        ),
        "event logs": (survey.read(SURVEYED, SERVER_2022), requested(since="1h", sources=["event-logs"])),
    }
    found: dict[str, object] = {}
    for case, (what, request) in cases.items():
        chosen = selection.select(what, request)
        found[case] = chosen
        found[f"{case}: limits"] = [chosen.required_space, chosen.most]
    chosen = selection.select(surveyed(*many), requested(sources=["hns"]))
    found["too many"] = [len(chosen.files), *chosen.left_out]
    outcomes.check("logs/selection", found)


def test_the_batch_is_read() -> None:
    what = surveyed(log(KUBELET), log("C:\\b.log", 100, 2), log("C:\\c.log", -1, 2))
    logs = (EventLog(channel="System", size=1, records=1, oldest=1), EventLog(channel="B", size=1, records=1, oldest=1))
    chosen = selection.select(dataclasses.replace(what, event_logs=(*logs, *logs)), requested(sources=["hns"]))
    archive = ok({"size": 100, "sha256": "ff"})
    copies = ok({"size": 100, "copied": 90}, {"error": "locked"}, {"error": "gone"})
    calls = {
        "copies": copies,
        "archive": archive,
        "export.0": ok(),
        "export.1": failed("exit code 5", stderr=" access\n denied "),
        "export.2": failed("exit code 5"),
        "version.kubelet": ok(stdout="Kubernetes v1.34.2\nmore\n"),
        "version.containerd": ok(stderr="containerd v2\n"),
        "version.docker": failed(stdout="v1"),
    }
    stopped = {"pack": failed("exit code 2", stdout=" no room ", exit_code=2), "folder": failed("denied")}
    found: dict[str, object] = {"a batch": gathering.read(Observation(calls=calls), chosen)}
    found["no copies"] = outcome(gathering.read, Observation(calls={"archive": archive}), chosen)
    for call in ("pack", "folder", "other"):
        end = Observation(calls=stopped, stopped=Stopped(id=call, reason="error"))
        found[f"stopped at {call}"] = outcome(gathering.read, end, chosen)
    for size in (-1, chosen.most, chosen.most + 1):
        calls["archive"] = ok({"size": size, "sha256": "ff"})
        found[f"an archive of {size} bytes"] = type(outcome(gathering.read, Observation(calls=calls), chosen)).__name__
    found["too large"] = outcome(gathering.read, Observation(calls=calls), chosen)
    outcomes.check("logs/gathered", found)


def test_the_state_is_read() -> None:
    names = [f"commands.{entry.name}" for entry in catalogue.sources().commands[:5]]
    facts = [f"facts.{entry.name}" for entry in catalogue.sources().facts[:3]]
    results = [
        ok(stdout="fine", exit_code=0),
        failed(stdout="half", stderr="bad\n", exit_code=3),
        failed("timeout", "ProgramTimeout", stdout="half"),
        failed("no such program", "CommandNotFoundException"),
        CallResult(ok=False, stdout="x"),
    ]
    calls = dict(zip(names, results, strict=True))
    calls |= dict(zip(facts, (ok({"a": 1}), failed(), failed("none", "CommandNotFoundException,X")), strict=True))
    outcomes.check("logs/state", {"state": state.read(Observation(calls={**calls, "commands.other": ok()}))})


def test_objects_of_hns_are_counted() -> None:
    endpoints = [{"state": "stale"}, {"state": "used"}, {"state": "stale"}]
    hns: dict[str, Any] = {
        "answers": True,
        "networks": [1],
        "endpoints": endpoints,
        "policy_lists": [],
        "namespaces": [1, 2],
    }
    known = {"networks": 1, "endpoints": 3, "policy_lists": 0, "namespaces": 2}
    assert state.counts({**hns, "runtime": {"asked": True}}) == {**known, "stale": 2}
    assert state.counts({**hns, "runtime": {"asked": False}}) == {**known, "stale": None}
    nothing = dict.fromkeys([*known, "stale"])
    assert state.counts({**hns, "answers": False, "runtime": {"asked": True}}) == nothing
    assert state.counts(None) == nothing


BAD: list[dict[str, Any]] = [
    {"since": "0h"}, {"since": "5"}, {"since": "3y"}, {"limit_mb": 0}, {"limit_mb": 10_001}, {"hns_timeout": 0.5},
    {"hns_timeout": 601}, {"sources": ["kubelet", "nothing"]}, {"namespaces": ["Kube"]}, {"namespaces": ["a" * 64]},
    {"paths": ["relative.log"]}, {"paths": ["C:\\a\\..\\b"]}, {"paths": ["C:\\etc\\admin.conf"]}, {"paths": ["C:/a"]},
]  # fmt: skip
GOOD: list[dict[str, Any]] = [
    {"since": " 90m ", "limit_mb": 1, "hns_timeout": 1}, {"since": "2w", "limit_mb": 10_000, "hns_timeout": 600},
    {"namespaces": ["a" * 63, "b"], "sources": ["pods", "hns"], "paths": ["D:\\app\\*.log"]},
]  # fmt: skip


def test_options_are_read_or_refused() -> None:
    found: dict[str, object] = {str(bad): outcome(requested, **bad) for bad in BAD}
    for good in GOOD:
        request = requested(**good)
        found[str(good)] = [str(request.since), request.limit, sorted(request.chosen)[:3], request.hns_timeout]
        found[f"files of {good}"] = request.files() if "paths" in good else len(request.files())
    outcomes.check("logs/options", found)


def test_files_that_are_never_collected() -> None:
    sources = catalogue.sources()
    paths = ("C:\\etc\\ADMIN.conf", "C:\\x\\kubelet.log", *(f"{folder}\\a\\b" for folder in sources.never_folders))
    found: dict[str, object] = {path: sources.forbids(path) or "taken" for path in paths}
    found |= {channel: sources.forbids_event_log(channel) for channel in ("Security", "SYSTEM", "security", "Setup")}
    outcomes.check("logs/never", found)


def test_all_sources_are_read() -> None:
    outcomes.check("logs/sources", {"sources": catalogue.sources(), "names": catalogue.sources().names})


COMMIT = "0123456789" * 4


def test_debug_scripts_are_resources() -> None:
    usual = {"directory": "C:\\k\\debug", "cache_dir": "C:\\cache"}
    more = {"sources": {"allowed_signers": ["CN=X"]}, "mirror": "https://mirror", "proxy": "http://proxy:3128"}
    outcomes.check(
        "logs/debug_scripts",
        {
            "pinned": debug_scripts.resources("", **usual),
            "chosen": outcome(debug_scripts.resources, f" {COMMIT.upper()} ", **usual, **more),
            "refused": outcome(debug_scripts.resources, "main", **usual),
        },
    )


RESULTS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "unreachable": {"unreachable": True, "failed": True, "msg": "no route", "problems": ["a"]},
    "failed": {"failed": True, "msg": "full"},
    "skipped": {"skipped": True, "msg": "not asked"},
    "partial": {
        "problems": [1, "b"],
        "msg": "ignored",
        "archive": "/srv/logs/a b/win.tar.gz",
        "size": 1536,
        "files": 7,
    },
    "complete": {
        "windows": {"product": "Windows Server 2022", "build": 20348, "ubr": 2700, "pending_reboot": ["update"]},
        "versions": {"kubelet": "Kubernetes v1.34.2", "containerd": "containerd github.com/containerd v2.2.5 abc"},
        "services_not_running": ["x"],
        "without_log": ["y"],
        "hns": {"networks": 1},
        "hns_problem": "HNS hangs",
        "boot": "2026-11-21T14:05:09Z",
        "time": "2026-11-21T15:05:09Z",
        "archive": "/elsewhere/win.tar.gz",
        "size": 25_000_000,
    },
}


def test_rows_of_the_page() -> None:
    rows = {case: page.entry(f"node-{case}", result, "/srv/logs/") for case, result in RESULTS.items()}
    html = page.page(list(rows.values()), written="today", since="3d")
    order = [html.index(f"node-{case}") for case in ("failed", "unreachable", "partial", "none", "skipped", "complete")]
    assert order == sorted(order)
    sizes = {count: page.size(count) for count in (0, 1, 999, 1500, 999_999, 10**6, 999_999_999, 10**9, 2_540_000_000)}
    texts = ("", "v1.2", "1.2.3 abc", "no version at all", "x" * 50, "build 7", "v2.x")
    versions = {text: page.version(text) for text in texts}
    outcomes.check("logs/rows", {"rows": rows, "sizes": sizes, "versions": versions})


@pytest.mark.parametrize(
    ("text", "year"), [("2026-11-21T12:00:00.1234567+00:00", 2026), ("2025-01-01", 2025), ("?", None), (None, None)]
)
def test_times_of_the_wire_are_read(text: str | None, year: int | None) -> None:
    found = survey.moment(text)
    assert (found.year if found else None) == year
