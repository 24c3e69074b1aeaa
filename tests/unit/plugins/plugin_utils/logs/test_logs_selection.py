# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing a node's results, and selecting its logs: the newest up to the limit, and nothing that is excluded."""

from __future__ import annotations

import datetime
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import SERVER_2022, answer, documented, failure

from ansible_collections.winkube.node.plugins.plugin_utils.logs import catalogue, gathering
from ansible_collections.winkube.node.plugins.plugin_utils.logs import selection as logs_selection
from ansible_collections.winkube.node.plugins.plugin_utils.logs import survey as logs_survey
from ansible_collections.winkube.node.plugins.plugin_utils.logs.survey import EventLog, LogFile, ServiceState, Survey
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    MAX_BATCH_BYTES,
    Batch,
    CallResult,
    Observation,
)

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)
MB = 1024 * 1024
SERVICES = r"HKLM:\SYSTEM\CurrentControlSet\Services"


def requested(**options: t.Any) -> catalogue.RequestedLogs:
    defaults: dict[str, t.Any] = {
        "since": "3d",
        "limit_mb": 10,
        "sources": [],
        "namespaces": ["kube-system"],
        "paths": [],
        "hns_timeout": 20.0,
    }
    return catalogue.requested_logs({**defaults, **options})


def file(path: str, size: int = 100, hours: float = 1, source: str = "kubelet") -> LogFile:
    return LogFile(source=source, path=path, size=size, modified=NOW - datetime.timedelta(hours=hours))


def survey(*files: LogFile, event_logs: t.Sequence[EventLog] = (), services: t.Sequence[ServiceState] = ()) -> Survey:
    seen = Observation(time=NOW.isoformat())
    read = logs_survey.read(seen, SERVER_2022)
    return Survey(**{**vars(read), "files": files, "event_logs": tuple(event_logs), "services": tuple(services)})


def select(*files: LogFile, services: t.Sequence[ServiceState] = (), **options: t.Any) -> logs_selection.Selection:
    return logs_selection.select(survey(*files, services=services), requested(**options))


def service(name: str, *log_files: str, **more: str) -> ServiceState:
    values = {"display_name": name, "status": "Running", "start": "Automatic", "program": "C:\\k\\x.exe", **more}
    return ServiceState(name=name, log_files=log_files, **values)


def test_the_newest_fill_the_limit() -> None:
    files = [file(rf"C:\var\log\kubelet\{number}.log", 4 * MB, hours=number) for number in (3, 1, 2, 4)]
    chosen = select(*files)
    assert [(item.path[-5:], item.tail, item.expected) for item in chosen.files] == [
        ("1.log", 10 * MB, 4 * MB),
        ("2.log", 6 * MB, 4 * MB),
        ("3.log", 2 * MB, 2 * MB),
    ]
    assert [(item.path[-5:], item.why) for item in chosen.left_out] == [
        ("4.log", "newer files fill the limit of 10 MB")
    ]


def test_each_source_has_a_limit_of_its_own() -> None:
    chosen = select(file(r"C:\k\kubelet.log", 20 * MB), file(r"C:\k\containerd.log", 20 * MB, source="containerd"))
    assert [item.expected for item in chosen.files] == [10 * MB, 10 * MB]


def test_old_logs_are_left_out_but_not_old_state() -> None:
    chosen = select(
        file(r"C:\k\kubelet.log.1", hours=80),
        file(r"C:\k\azure-vnet.json", hours=8000, source="cni-state"),
        file(r"C:\var\lib\kubelet\config.yaml", hours=8000, source="configuration"),
    )
    assert [item.source for item in chosen.files] == ["cni-state", "configuration"]
    assert chosen.left_out[0].why.startswith("not modified since 2026-11-18")


def test_forbidden_files_are_left_out_whatever_found_them() -> None:
    paths = [r"C:\k\kubeconfig.log", r"C:\etc\kubernetes\pki\x.log", r"C:\app\token.log"]
    chosen = select(*(file(path) for path in paths))
    assert (chosen.files, len(chosen.left_out)) == ((), 3)


def test_log_paths_of_services_are_found() -> None:
    services = [service("kubelet", r"D:\logs\kubelet.log"), service("spooler", r"C:\x\spooler.log")]
    chosen = select(file(r"C:\k\kubelet.log", 3 * MB), services=services)
    assert [(item.path, item.seen, item.tail) for item in chosen.files] == [
        (r"D:\logs\kubelet.log", False, 5 * MB),
        (r"C:\k\kubelet.log", True, 5 * MB),
    ]
    assert not select(services=services, sources=["cni"]).files


def test_names_in_the_archive_are_safe_and_unlike() -> None:
    paths = [r"C:\k\a b.log", r"C:\k\a_b.log", "C:\\k\\a\u00e9b.log", r"C:\K\A B.LOG"]
    members = [item.member for item in select(*(file(path) for path in paths)).files]
    assert len({member.casefold() for member in members}) == 4
    assert all(member.isascii() and " " not in member for member in members)


def test_a_large_event_log_is_cut_by_record() -> None:
    small = EventLog(channel="Microsoft-Windows-Containers-CCG/Admin", size=MB, records=1000, oldest=1)
    large = EventLog(channel="System", size=40 * MB, records=1000, oldest=5001)
    chosen = logs_selection.select(survey(event_logs=[small, large]), requested(since="1h"))
    assert [item.query for item in chosen.exports] == [
        "*[System[TimeCreated[timediff(@SystemTime) <= 3600000]]]",
        "*[System[TimeCreated[timediff(@SystemTime) <= 3600000] and EventRecordID > 5750]]",
    ]
    assert chosen.exports[0].member == "event-logs/Microsoft-Windows-Containers-CCG@Admin.evtx"
    assert [item.expected for item in chosen.exports] == [MB, 10 * MB]


names = st.text(
    st.characters(exclude_characters='\\/:*?"<>|\0\r\n', exclude_categories=["Cs"]), min_size=1, max_size=60
)


@given(st.lists(st.tuples(names, st.integers(0, 40 * MB), st.floats(0, 100)), max_size=30))
def test_limits_hold_for_any_files(found: list[tuple[str, int, float]]) -> None:
    files = [file(rf"C:\var\log\kubelet\{name}.log", size, hours) for name, size, hours in found]
    files = list({item.path.casefold(): item for item in files}.values())
    chosen = select(*files)
    assert sum(item.expected for item in chosen.files) <= 10 * MB
    assert len(chosen.files) + len(chosen.left_out) == len(files)
    members = [item.member.casefold() for item in chosen.files]
    assert len(set(members)) == len(members)
    assert all(
        member.startswith("files/kubelet/c/var/log/kubelet/") and ".." not in member.split("/") for member in members
    )
    ages = {item.path: item.modified for item in files}
    kept = [ages[item.path] for item in chosen.files]
    assert kept == sorted(kept, key=lambda moment: moment or NOW, reverse=True)


def test_the_batch_of_a_node_with_far_too_many_files_fits() -> None:
    long = r"C:\var\log\pods\kube-system_" + "x" * 150
    found = [(source, number) for source in catalogue.sources().files for number in range(2000)]
    files = [file(rf"{long}\{source}\{number}.log", source=source) for source, number in found]
    seen = survey(*files)
    selection = logs_selection.select(seen, requested())
    calls = gathering.calls(selection, seen, gathering.WorkFolder.named("0" * 32))
    assert len(json.dumps(Batch(calls=calls, key="k" * 36).to_wire())) < MAX_BATCH_BYTES
    assert any("there are 250 newer files" in item.why for item in selection.left_out)


def test_every_call_is_documented() -> None:
    seen = survey(file(r"C:\k\kubelet.log"), services=[service("kubelet")])
    selection = logs_selection.select(seen, requested())
    for call in (*logs_survey.calls(requested()), *gathering.calls(selection, seen, gathering.WorkFolder.named("0"))):
        documented(call)


def registry(**values: str) -> CallResult:
    """Return results of @read-registry: service.NAME for the service's key, or for its Parameters."""
    output = []
    for key, value in values.items():
        name, _, what = key.partition("__")
        path = rf"{SERVICES}\{name}" + ("" if what == "ImagePath" else r"\Parameters")
        output.append({"path": path, "name": what, "exists": True, "value": value})
    return answer(*output)


@pytest.mark.parametrize(
    ("values", "program", "log_files"),
    [
        ({"kubelet__ImagePath": r"C:\k\kubelet.exe --windows-service"}, r"C:\k\kubelet.exe", ()),
        (
            {"kubelet__ImagePath": r'"C:\k\kube-log-runner.exe" -log-file=C:/var/log/k.log C:\k\kubelet.exe --v=2'},
            r"C:\k\kubelet.exe",
            (r"C:\var\log\k.log",),
        ),
        (
            {"kubelet__ImagePath": r'"C:\Program Files\k\kubelet.exe" --log-file "C:\a b\k.log"'},
            r"C:\Program Files\k\kubelet.exe",
            (r"C:\a b\k.log",),
        ),
        (
            {
                "kubelet__ImagePath": r"C:\nssm\nssm.exe",
                "kubelet__Application": r"C:\k\kubelet.exe",
                "kubelet__AppStdout": r"C:\k\kubelet.log",
                "kubelet__AppStderr": r"C:\k\kubelet.err.log",
            },
            r"C:\k\kubelet.exe",
            (r"C:\k\kubelet.log", r"C:\k\kubelet.err.log"),
        ),
        (
            {"kubelet__ImagePath": r"C:\k\kubelet.exe --log-file=C:\etc\kubernetes\kubelet.conf"},
            r"C:\k\kubelet.exe",
            (),
        ),
    ],
)
def test_where_a_service_logs(values: dict[str, str], program: str, log_files: tuple[str, ...]) -> None:
    state = {"Name": "kubelet", "DisplayName": "Kubelet", "Status": "Running", "StartType": "Automatic"}
    seen = Observation(calls={"services": answer(state), "programs": registry(**values)})
    (found,) = logs_survey.read(seen, SERVER_2022).services
    assert (found.program, found.log_files) == (program, log_files)


def test_failed_queries_are_reported() -> None:
    seen = Observation(
        calls={
            "event-logs": failure("NotSpecified", "x", "the service is not running"),
            "files.pods": answer(
                {"FullName": r"C:\a.log", "Length": 5, "LastWriteTimeUtc": "2026-11-21T11:00:00.1234567Z"}
            ),
        }
    )
    found = logs_survey.read(seen, SERVER_2022)
    assert found.problems == ("event-logs: the service is not running",)
    (one,) = found.files
    assert (one.source, one.size, one.modified and one.modified.hour) == ("pods", 5, 11)


def test_empty_and_forbidden_event_logs_are_passed_over() -> None:
    logs_found = [
        {"LogName": "System", "FileSize": 69632, "RecordCount": 3, "OldestRecordNumber": 1},
        {"LogName": "Setup", "FileSize": 69632, "RecordCount": 0, "OldestRecordNumber": None},
        {"LogName": "Security", "FileSize": 69632, "RecordCount": 9, "OldestRecordNumber": 1},
    ]
    seen = Observation(calls={"event-logs": answer(*logs_found)})
    assert [log.channel for log in logs_survey.read(seen, SERVER_2022).event_logs] == ["System"]
