# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches, nodes and responses in all relevant states, for tests of their meaning."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.winkube.node.plugins.plugin_utils.patches.outcome import Attempt, PatchRecord
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import (
    Build,
    HotFix,
    NodePatches,
    Package,
    Patch,
    PatchFile,
    judge,
)
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult

KB = "KB5046616"
ROLLUP = "Package_for_RollupFix~31bf3856ad364e35~amd64~~20348.{ubr}.1.10"
PLAIN = "Package_for_KB5046616~31bf3856ad364e35~amd64~~10.0.1.3"


def node(ubr: int = 2700, **more: t.Any) -> NodePatches:
    pending = more.pop("pending", ())
    windows = WindowsInfo(
        build=20348,
        ubr=ubr,
        product="Windows Server 2022 Datacenter",
        installation="Server",
        computer_name="A",
        active_computer_name="A",
        pending_reboot=pending,
    )
    return NodePatches(windows=windows, **more)


def patch(extension: str = "", **more: t.Any) -> Patch:
    file = PatchFile(name=f"fix{extension}", sha256="0" * 64, url="https://h/x") if extension else None
    return Patch(**{"name": KB, "kb": KB, "file": file, **more})


def listed(*names: str, state: str = "Installed") -> tuple[Package, ...]:
    return tuple(Package(name=name, state=state) for name in names)


HOTFIX = {KB: HotFix(kb=KB)}
BUILD: Build = (20348, 2849)
CASES: dict[str, tuple[Patch, NodePatches, str]] = {
    "nothing says so": (patch(), node(), "to_install"),
    "a hot fix": (patch(), node(hotfixes=HOTFIX), "installed"),
    "a package": (patch(), node(packages=listed(PLAIN)), "installed"),
    "a longer number": (patch(), node(packages=listed(PLAIN.replace("616", "6160"))), "to_install"),
    "a staged package": (patch(), node(packages=listed(PLAIN, state="InstallPending")), "needs_reboot"),
    "a superseded package": (patch(), node(packages=listed(PLAIN, state="Superseded")), "superseded"),
    "a package by pattern": (
        patch(package="*rollupfix*2700*"),
        node(packages=listed(ROLLUP.format(ubr=2700))),
        "installed",
    ),
    "its build": (patch(build=BUILD), node(2849), "installed"),
    "a later build": (patch(build=BUILD), node(2966), "superseded"),
    "an earlier build": (patch(build=BUILD), node(2700), "to_install"),
    "a build, and another package": (patch(kb="", build=BUILD), node(packages=listed(PLAIN)), "to_install"),
    "a package that nobody named": (patch(kb="", package="*other*"), node(packages=listed(PLAIN)), "to_install"),
    "another Windows' build": (patch(build=(26100, 2314)), node(9999), "not_applicable"),
    "a cumulative package": (patch(build=BUILD), node(packages=listed(ROLLUP.format(ubr=2849))), "installed"),
    "a staged cumulative package": (
        patch(build=BUILD),
        node(packages=listed(ROLLUP.format(ubr=2849), state="InstallPending")),
        "needs_reboot",
    ),
    "listed, but its build is not there yet": (
        patch(build=BUILD),
        node(hotfixes=HOTFIX, pending=("servicing",)),
        "needs_reboot",
    ),
    "listed, but its build is gone": (patch(build=BUILD), node(hotfixes=HOTFIX), "to_install"),
    "logged, and listed nowhere by nature": (
        patch(),
        node(logged={KB: f"2024-11 Cumulative Update for .NET Framework 3.5 and 4.8 ({KB})"}),
        "installed",
    ),
    "logged, but not listed any more": (patch(), node(logged={KB: f"2024-11 Cumulative Update ({KB})"}), "to_install"),
    "for another version": (patch(windows=("2025",)), node(), "skipped"),
    "for this version": (patch(windows=("2022",)), node(), "to_install"),
    "test-signed, loaded": (patch(".msu", test_signed=True), node(hotfixes=HOTFIX, test_signing=True), "installed"),
    "test-signed, not loaded": (patch(".msu", test_signed=True), node(hotfixes=HOTFIX), "to_install"),
}


def record(requested: Patch, *outcomes: str, seen: NodePatches | None = None) -> PatchRecord:
    """Return a record whose attempts were all made before the last reboot and after any earlier one."""
    found = PatchRecord(patch=requested)
    found.attempts = [Attempt(outcome=t.cast("t.Any", outcome), why=outcome) for outcome in outcomes]
    found.record_state(judge(requested, seen or node()), 1)
    return found


ENDS: dict[str, tuple[PatchRecord, NodePatches, str]] = {
    "never tried": (record(patch()), node(), "failed"),
    "rolled back": (record(patch(".msu"), "reboot", "reboot"), node(), "failed"),
    "known to the installer only": (record(patch(".msu"), "reboot", "already"), node(), "installed"),
    "known to Windows Update only": (record(patch(), "reboot", "not_offered"), node(), "installed"),
    "never offered": (record(patch(), "not_offered"), node(), "not_offered"),
    "offered no more": (record(patch(), "not_offered"), node(logged={KB: f"Update ({KB})"}), "superseded"),
    "not for this Windows": (record(patch(".cab"), "not_applicable"), node(), "not_applicable"),
    "busy for ever": (record(patch(".msu"), "temporary", "temporary", "temporary"), node(), "failed"),
    "in by now": (record(patch(), "failed", seen=node(hotfixes=HOTFIX)), node(hotfixes=HOTFIX), "installed"),
}


def answer(**result: t.Any) -> CallResult:
    return CallResult(ok=True, output=("\ufeff" + json.dumps({"finished": True, **result}),))


UPDATE = {"id": "1", "kb": ["5046616"], "title": "2024-11 Update (KB5046616)", "installed": True, "downloaded": True}
ANSWERS: dict[str, tuple[CallResult | None, str]] = {
    "lost": (None, "temporary"),
    "garbled": (CallResult(ok=True, output=("{",)), "temporary"),
    "unfinished": (CallResult(ok=True, output=('{"finished": false}',)), "temporary"),
    "installed": (answer(updates={"1": UPDATE}), "done"),
    "one KB is no list": (answer(updates={"1": {**UPDATE, "kb": "5046616"}}), "done"),
    "staged": (answer(updates={"1": UPDATE}, reboot_required=True), "reboot"),
    "failed": (
        answer(updates={"1": {**UPDATE, "installed": False, "failure_hresult_code": -2146498526}}, failed=True),
        "failed",
    ),
    "busy": (
        answer(updates={"1": {**UPDATE, "installed": False, "failure_hresult_code": -2145124330}}, failed=True),
        "temporary",
    ),
    "held up by another": (
        answer(updates={"1": {**UPDATE, "installed": False}}, failed=True, msg="Failed to download all updates"),
        "temporary",
    ),
    "no server": (answer(updates={}, failed=True, msg="Searching for updates:", hresult=-2145107924), "temporary"),
    "no access": (answer(updates={}, failed=True, msg="Searching for updates:", hresult=-2147024891), "failed"),
    "not offered": (answer(updates={}, filtered_updates={}), "not_offered"),
    "hidden": (answer(updates={}, filtered_updates={"1": {**UPDATE, "filtered_reasons": ["hidden"]}}), "not_offered"),
}


def done(**more: t.Any) -> CallResult:
    return CallResult(ok=True, **more)


def error(message: str = "no", error_id: str = "Broken", **more: t.Any) -> CallResult:
    return CallResult(ok=False, error=CallError(id=error_id, message=message), **more)


SIGNED = {"Status": "UnknownError", "SignerCertificate.Subject": "CN=X", "SignerCertificate.Thumbprint": "AB"}
SKIPPED = CallResult(ok=False, skipped="needs have-0")
RESULTS: dict[str, tuple[str, dict[str, CallResult], str, str]] = {
    "wusa installed": (".msu", {"install": done(exit_code=0)}, "done", "installed"),
    "wusa staged": (".msu", {"install": done(exit_code=3010)}, "reboot", "reboot"),
    "wusa knew it": (".msu", {"install": done(exit_code=2359302)}, "already", "already"),
    "wusa: not for this": (".msu", {"install": error(exit_code=-2145124329)}, "not_applicable", "0x80240017"),
    "wusa: busy": (".msu", {"install": error(exit_code=1618)}, "temporary", "another installation"),
    "wusa: network logon": (".msu", {"install": error(exit_code=5)}, "failed", "access denied"),
    "wusa: unknown": (".msu", {"install": error(exit_code=-2147467259)}, "failed", "0x80004005"),
    "wusa: too long": (".msu", {"install": error("wusa.exe did not end", "ProgramTimeout")}, "failed", "did not end"),
    "DISM installed": (".cab", {"install": done(output=({"RestartNeeded": False},))}, "done", "installed"),
    "DISM staged": (".cab", {"install": done(output=({"RestartNeeded": True},))}, "reboot", "reboot"),
    "DISM: not for this": (".cab", {"install": error("Error code = 0x800f081e")}, "not_applicable", "superseded"),
    "DISM: no checkpoint": (".cab", {"install": error("Error: 0x80070228")}, "failed", "checkpoint"),
    "an exe failed": (".exe", {"install": error(exit_code=1603)}, "failed", "code 1603"),
    "wrong bytes": (
        ".msu",
        {
            "get-0.download-0": done(exit_code=0),
            "get-0.verify-0": error("expected a, but it has b", "ChecksumMismatch"),
            "have-0": error(error_id="UntilNotMet"),
            "install": SKIPPED,
        },
        "failed",
        "expected a",
    ),
    "an expired URL": (
        ".msu",
        {"get-0.download-0": error(exit_code=22), "have-0": error(error_id="UntilNotMet"), "install": SKIPPED},
        "failed",
        "expired",
    ),
    "a full disk": (
        ".msu",
        {"get-0.download-0": error(exit_code=23), "have-0": error(error_id="UntilNotMet"), "install": SKIPPED},
        "failed",
        "disk full",
    ),
    "a stranger's signature": (
        ".msu",
        {"have-0": done(), "signature": error("unmet", "UntilNotMet", output=(SIGNED,)), "install": SKIPPED},
        "failed",
        "CN=X",
    ),
    "no test signing": (
        ".msu",
        {
            "have-0": done(),
            "signature": done(),
            "testsigning": error(stderr="refused", exit_code=1),
            "install": SKIPPED,
        },
        "failed",
        "refused",
    ),
    "test signing turned on": (
        ".msu",
        {"signature": done(), "testsigning": done(exit_code=0), "install": done(exit_code=0)},
        "reboot",
        "installed",
    ),
    "test signing not in force yet": (
        ".msu",
        {"signature": done(), "testsigning": done(exit_code=0), "install": error(exit_code=-2146762487)},
        "reboot",
        "0x800B0109",
    ),
    "test signing, and another failure": (
        ".cab",
        {"signature": done(), "testsigning": done(exit_code=0), "install": error("Error code = 0x800f0922")},
        "failed",
        "0x800F0922",
    ),
    "the batch never came to it": (".msu", {}, "temporary", "batch"),
    "the batch came half-way": (".msu", {"have-0": done(), "signature": done()}, "temporary", "batch"),
}
