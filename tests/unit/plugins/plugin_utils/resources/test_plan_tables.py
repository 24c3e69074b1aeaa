# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Combinations of expected states and results of a node: the golden file contains the calls and plans."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
from unit.resource_answers import MISSING, NO_COMMAND, answer, failure, file, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

OWN, OTHER = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", "O:SYD:P(A;OICI;FA;;;SY)"
FOLDER, PATH = "C:\\data\\x", "C:\\data\\x.txt"
AU = "HKLM:\\SOFTWARE\\Policies\\Microsoft\\Windows\\WindowsUpdate\\AU"
EVERY = [{"on": "startup"}, {"on": "logon"}, {"on": "once", "at": "2026-12-31T03:30"}, {"on": "daily", "at": "03:30"}]
Table = tuple[list[dict[str, t.Any]], dict[str, dict[str, t.Any]]]


def folder(**more: t.Any) -> t.Any:
    return answer({"path": FOLDER, "exists": True, "type": "directory", "sddl": None, **more})


def policy(au: dict[str, t.Any] | None, top: dict[str, t.Any] | None) -> t.Any:
    keys = {AU: au, AU.removesuffix("\\AU").upper(): top}
    return answer(
        *(
            {
                "path": path,
                "key_exists": values is not None,
                "values": {n: {"value": v} for n, v in (values or {}).items()},
            }
            for path, values in keys.items()
        )
    )


def paging(automatic: bool, *names: str) -> dict[str, t.Any]:
    files = [{"Name": name, "InitialSize": 1, "MaximumSize": 2} for name in names]
    return {"system": answer({"AutomaticManagedPagefile": automatic}), "files": answer(*files)}


TABLES: dict[str, Table] = {
    "Directory": (
        [{}, {"acl": OWN}, {"state": "absent"}, {"acl": OWN, "restarts": ["kubelet"]}],
        {
            "none": {"directory": answer({"path": FOLDER, "exists": False, "type": None})},
            "open": {"directory": folder(sddl=OTHER)},
            "closed": {"directory": folder(sddl=OWN)},
            "a file": {"directory": folder(type="file")},
            "a link": {"directory": folder(sddl=OWN, link="C:\\data")},
            "failed": {"directory": failure("PermissionDenied", "x", "no access")},
        },
    ),
    "File": (
        [
            {"content": "a\nb"},
            {"content": "a\r\nb", "line_ending": "crlf", "acl": OWN},
            {"source_content_base64": "AP8="},
            {"content": "a\nb", "create_only": True},
            {"acl": OWN},
            {"state": "absent"},
            {"content": "a\nb", "no_log": True},
        ],
        {
            "none": {"file": answer(file(PATH))},
            "same": {"file": answer(file(PATH, "a\nb", sddl=OWN))},
            "other": {"file": answer(file(PATH, "c", sddl=OTHER))},
            "hidden": {"file": answer({**file(PATH, b"\xef\xbb\xbfa\nb"), "content": None})},
            "a folder": {"file": answer(file(PATH, "", type="directory"))},
            "a link": {"file": answer(file(PATH, "a\nb", link="C:\\data"))},
        },
    ),
    "ScheduledTask": (
        [
            {
                "execute": "C:\\x.exe",
                "triggers": EVERY,
                "arguments": "/a",
                "working_directory": "C:\\",
                "description": "d",
            },
            {"execute": "C:\\x.exe", "enabled": False, "user": "LOCAL SERVICE", "run_level": "Limited"},
            {
                "execute": "C:\\x.exe",
                "triggers": [{"on": "weekly", "at": "04:00", "days": ["Sunday"]}],
                "multiple_instances": "Queue",
            },
            {"execute": "C:\\x.exe", "execution_time_limit_minutes": 1501},
            {"state": "absent"},
        ],
        {
            "none": {"task": MISSING},
            "another": {
                "task": answer(
                    {
                        "State": "Disabled",
                        "Description": "d",
                        "Actions.Execute": ["a.exe", "b.exe"],
                        "Actions.Arguments": ["/a"],
                        "Principal.UserId": "SYSTEM",
                        "Principal.RunLevel": "Highest",
                        "Settings.Enabled": True,
                        "Settings.ExecutionTimeLimit": "P1DT1H1M",
                        "Settings.MultipleInstances": "Queue",
                        "Triggers.CimClass.CimClassName": ["MSFT_TaskLogonTrigger", "MSFT_TaskWeeklyTrigger", "x"],
                        "Triggers.StartBoundary": [None, "2026-11-21T04:00:00Z", None],
                        "Triggers.DaysOfWeek": [1],
                    }
                )
            },
            "failed": {"task": failure("PermissionDenied", "x")},
        },
    ),
    "WindowsUpdateSettings": (
        [
            {"automatic_updates": "disabled", "wsus_server": "http://w"},
            {"automatic_updates": "download"},
            {"wsus_server": ""},
            {"automatic_updates": "scheduled", "install_day": 0, "install_hour": 23, "no_auto_reboot": False},
            {"no_auto_reboot": True},
        ],
        {
            "none": {"policy": policy(None, None)},
            "empty": {"policy": policy({}, {})},
            "others": {
                "policy": policy(
                    {"noautoupdate": 5, "UseWUServer": 1, "ScheduledInstallDay": 3}, {"WUServer": "http://o"}
                )
            },
            "failed": {"policy": failure("PermissionDenied", "x")},
        },
    ),
    "PageFile": (
        [
            {},
            {"automatic": True},
            {"files": [{"path": "D:\\pagefile.sys"}, {"path": "E:\\p.sys", "initial_mb": 1, "maximum_mb": 2}]},
        ],
        {
            "automatic": paging(True),
            "none": paging(False),
            "one": paging(False, "d:\\PAGEFILE.SYS"),
            "two": paging(False, "E:\\p.sys", "C:\\pagefile.sys"),
            "failed": {"system": NO_COMMAND, "files": NO_COMMAND},
        },
    ),
    "DefenderExclusion": (
        [
            {"paths": ["C:\\k\\"], "processes": ["a.exe"], "extensions": ["vhdx"]},
            {"paths": ["C:\\k"], "state": "absent"},
        ],
        {
            "none": {"preference": answer({"ExclusionPath": None})},
            "some": {"preference": answer({"ExclusionPath": ["c:\\K", "C:\\o"], "ExclusionExtension": ".VHDX"})},
            "no Defender": {"preference": NO_COMMAND},
        },
    ),
    "WindowsFeature": (
        [{}, {"state": "absent"}],
        {"missing": {"feature": MISSING}, "nothing": {"feature": answer()}}
        | {
            state: {"feature": answer({"Name": "x", "InstallState": state, "Installed": state == "Installed"})}
            for state in ("Installed", "Available", "Removed", "InstallPending", "UninstallPending", "Weird")
        },
    ),
}
NAMES = {"Directory": FOLDER, "File": PATH}


@pytest.mark.parametrize("type_", TABLES)
def test_plans(type_: str) -> None:
    requested, answers = TABLES[type_]
    for properties in requested:
        for seen in answers.values():
            resource = one(**{"type": type_, "name": NAMES.get(type_, "x"), **properties})
            with contextlib.suppress(ResourceError):
                planned(resource, **seen)
