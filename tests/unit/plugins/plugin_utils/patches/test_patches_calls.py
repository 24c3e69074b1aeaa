# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""All calls of patching to a node, and parsing the results of those that observe."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from unit import outcomes
from unit.patch_cases import KB, node
from unit.patch_observations import FOLDER, QUIET, failed, job, ok, read, seen, value

from ansible_collections.winkube.node.plugins.plugin_utils.downloads.curl import DownloadRoute
from ansible_collections.winkube.node.plugins.plugin_utils.patches import files, observe, update
from ansible_collections.winkube.node.plugins.plugin_utils.patches.files import FileRules
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import NodePatches, Package, Patch, PatchFile
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult, Observation
from ansible_collections.winkube.node.plugins.plugin_utils.wire.scopes import Scope

SHA, OTHER = "0" * 64, "1" * 64
PUBLIC = Patch(name=KB, kb=KB)
MSU = Patch(name="fix", kb=KB, file=PatchFile(name="fix.msu", sha256=SHA, url="https://h/fix.msu?sig=x"))
CAB = dataclasses.replace(MSU, file=PatchFile(name="Fix.CAB", sha256=SHA, url="https://h/Fix.CAB"))
EXE = dataclasses.replace(MSU, file=PatchFile(name="fix.exe", sha256=SHA, url="https://h/fix.exe"), arguments=("/q",))
LOCAL = dataclasses.replace(MSU, file=PatchFile(name="fix.msu", sha256=SHA, local="/srv/fix.msu"))
CHECKPOINT = dataclasses.replace(MSU, requires=(PatchFile(name="base.msu", sha256=OTHER, url="https://h/base.msu"),))
LOADED = node(test_signing=True)
SECURE = node(secure_boot=True)
ABSENT = CallResult(ok=True, output=({"exists": False},))
THUMBPRINT = "AB" * 20
ROUTE = DownloadRoute(proxy="http://proxy:3128", no_proxy="h", headers={"Authorization": "x"}, ignore_revocation=True)


def signed(patch: Patch, value: bool) -> Patch:
    return dataclasses.replace(patch, test_signed=value)


INSTALLED = node(packages=(Package(name="Package_for_KB5046616~x", state="Installed"),))
INSTALLATIONS: dict[str, tuple[Patch, NodePatches, FileRules]] = {
    "an msu": (MSU, node(), FileRules()),
    "an msu without test signing": (MSU, node(), FileRules(test_signing=False)),
    "an msu where Secure Boot is on": (MSU, SECURE, FileRules()),
    "an msu that is not test-signed": (signed(MSU, False), node(), FileRules()),
    "an msu that is test-signed": (signed(MSU, True), node(), FileRules()),
    "an msu that is test-signed, and Windows loads it": (signed(MSU, True), LOADED, FileRules()),
    "an msu of anybody, and Windows loads it": (MSU, LOADED, FileRules()),
    "an msu of a known subject": (MSU, node(), FileRules(allowed_signers=("CN=X",))),
    "an msu of a known certificate": (MSU, node(), FileRules(allowed_signers=(THUMBPRINT, "CD" * 20))),
    "an msu of a known certificate, without test signing": (
        MSU,
        SECURE,
        FileRules(allowed_signers=(THUMBPRINT,)),
    ),
    "a cab by a proxy": (CAB, LOADED, FileRules(route=ROUTE, timeout=100.0)),
    "an exe": (EXE, LOADED, FileRules(timeout=50.0)),
    "an uploaded msu": (LOCAL, LOADED, FileRules()),
    "an msu with a checkpoint": (CHECKPOINT, LOADED, FileRules()),
    "installed, and not loaded": (signed(MSU, True), INSTALLED, FileRules()),
}


BRINGING = {"an msu", "a cab by a proxy"}


def test_a_file_is_brought_verified_and_installed() -> None:
    found = {}
    for case, (patch, state, rules) in INSTALLATIONS.items():
        pushed = {observe.path(LOCAL, LOCAL.files[0]): 3}
        calls = [*map(Scope("p0.").call, files.file_calls(patch, state, rules, ABSENT, pushed))]
        # The transfer of a file is the same in most cases.
        found[case] = outcomes.calls(call for call in calls if case in BRINGING or ".get-" not in call.id)
    there = {"path": observe.path(MSU, MSU.files[0]), "exists": True, "sha256": SHA}
    present = CallResult(ok=True, output=(there,))
    calls = [*map(Scope("p1.").call, files.file_calls(MSU, LOADED, FileRules(), present, {}))]
    found["an msu that is there"] = outcomes.calls(calls)
    outcomes.check("patches/installation_calls", found)


@pytest.mark.parametrize(
    ("patch", "seen", "rules", "why"),
    [
        (MSU, SECURE, FileRules(test_signing=False), ""),
        (signed(MSU, False), SECURE, FileRules(test_signing=False), ""),
        (signed(MSU, True), node(), FileRules(), ""),
        (signed(MSU, True), node(), FileRules(test_signing=False), "it is test-signed, but test_signing is false"),
        (
            signed(MSU, True),
            SECURE,
            FileRules(),
            "it is test-signed, but Secure Boot is on: Windows would not load such files",
        ),
    ],
)
def test_patches_that_windows_would_not_load_are_refused(
    patch: Patch, seen: NodePatches, rules: FileRules, why: str
) -> None:
    assert files.refusal(patch, seen, rules) == why


def test_every_other_call() -> None:
    found = {
        "observe nothing": observe.calls(()),
        "observe a public patch": observe.calls([PUBLIC]),
        "observe files": observe.calls([CHECKPOINT]),
        "observe an uploaded file and a public patch": observe.calls([LOCAL, PUBLIC]),
        "settle in ten minutes": observe.settle_calls(600.0),
        "settle in 100 seconds": observe.settle_calls(100.0),
        "settle at once": observe.settle_calls(0.1),
        "enable nothing": observe.enable_calls(()),
        "enable two": observe.enable_calls(("wuauserv", "BITS")),
        "restore": observe.restore_calls({"wuauserv": "Disabled", "BITS": "Manual"}),
        "discard": (observe.discard_call(),),
        "sweep": (files.sweep_call(),),
        "find the job": update.find_calls("patches-wu-1"),
        "wait for the job": update.wait_calls("patches-wu-1", 77, 100.5),
        "wait for a short time": update.wait_calls("patches-wu-1", 77, 0.5),
        "a job that has ended": update.wait_calls("patches-wu-1", 0, 100.0),
    }
    outcomes.check("patches/other_calls", {case: outcomes.calls(calls) for case, calls in found.items()})


@pytest.mark.parametrize(
    ("server", "selection"),
    [("default", "default"), ("wsus", "managed_server"), ("windows_update", "windows_update")],
)
def test_win_updates_installs_only_these_and_never_reboots(server: str, selection: str) -> None:
    assert update.arguments([PUBLIC, dataclasses.replace(PUBLIC, kb="KB123456")], server) == {
        "state": "installed",
        "reboot": False,
        "category_names": ["*"],
        "accept_list": [r"\bKB5046616\b", r"\bKB123456\b"],
        "server_selection": selection,
    }


def line(pid: int, name: str, *, finished: object = 0) -> dict[str, str]:
    path = f"{FOLDER}\\patches-wu-{name}\\j1.2"
    return {"Path": path, "Line": job(finished=finished, ansible_async_watchdog_pid=pid)}


def folder(name: str, *, is_folder: bool = False) -> dict[str, Any]:
    return {"Name": name, "PSIsContainer": is_folder}


OBSERVATIONS: dict[str, Observation] = {
    "a node with nothing": seen(),
    "hot fixes, packages and a log": seen(
        hotfixes=ok(
            {"HotFixID": "kb5046616", "Description": "Update", "InstalledOn": "2024-11-13T00:00:00Z"},
            {"HotFixID": None, "Description": "File 1"},
        ),
        packages=ok(
            {"PackageName": "P~1", "PackageState": "Installed", "ReleaseType": "Update", "InstallTime": "2024"},
            {"PackageName": None},
        ),
        log=ok(
            {"Message": "Installation Successful: Windows installed this: 2024-11 .NET (KB5045934) and KB5046547 "},
            {"Message": "Again: older KB5045934"},
            {"Message": None},
        ),
    ),
    "Get-HotFix failed": seen(hotfixes=failed("access denied")),
    "Secure Boot, test signing, disabled services, and marks": seen(
        registry=ok(
            value(1),
            value("  noexecute=optin  TestSigning "),
            {"values": {"BITS": {"value": "Manual"}, "wuauserv": {"value": "Disabled"}}},
            {"value": 4},
            {"value": 3},
            {"value": 4},
        )
    ),
    "options that only look like test signing": seen(registry=ok({"value": 0}, value("NOTESTSIGNING"), *QUIET[2:])),
    "what earlier runs left": seen(
        left=ok(
            folder("patches-1.claim"),
            folder("patches-2.claim"),
            folder("patches-2.json"),
            folder("patches-3.json"),
            folder("patches-wu-alive", is_folder=True),
            folder("patches-wu-dead", is_folder=True),
            folder("patches-wu-ended", is_folder=True),
            folder("patches-wu-file"),
            folder("patches-other", is_folder=True),
        ),
        jobs=ok(line(7, "alive"), line(8, "dead"), line(9, "ended", finished=1), {"Path": "x", "Line": "{"}),
        shells=ok({"Id": 7}, {"Id": 9}),
    ),
    "files in the cache": seen(
        files=ok({"path": observe.CACHE.upper(), "exists": True}),
        pieces=ok({"FullName": "C:\\Cache\\A.piece-0", "Length": 10}, {"FullName": "B", "Length": None}),
        space=ok({"free": 1234}),
    ),
    "no cache": seen(files=ok({"path": observe.CACHE, "exists": False})),
    "settled": seen(settle__again=ok()),
    "nobody was at work": seen(settle__again=failed("no process", "NoProcessFoundForGivenName,X")),
    "still at work": seen(settle__again=failed("timeout", "ProcessNotTerminated,X")),
}


def test_observations_are_read() -> None:
    outcomes.check("patches/observations", {case: read(found) for case, found in OBSERVATIONS.items()})


def test_a_node_that_reports_no_packages_is_unreadable() -> None:
    with pytest.raises(observe.PatchesUnreadable) as caught:
        read(seen(packages=failed("DISM is broken")))
    assert str(caught.value) == "Get-WindowsPackage: DISM is broken"


def test_an_unreadable_file_is_not_a_job() -> None:
    texts: Sequence[str] = ["", "{", "[]", "1"]
    assert [observe.read_job(text) for text in texts] == [{}] * 4
    assert observe.read_job('\ufeff{"a": 1}') == {"a": 1}
