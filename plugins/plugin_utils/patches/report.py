# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results of patch_install and patch_info as data, as a table and as a diff (no I/O)."""

from __future__ import annotations

import typing as t

from ...module_utils.redaction.urls import redact_url
from ..values.text_table import text_table
from .outcome import PatchRecord, conclude
from .patch import WELL, NodePatches, PatchState, show_build
from .run import PatchRun

_LINK = "https://support.microsoft.com/?kbid={number}"


def result(run: PatchRun, *, check_mode: bool, may_reboot: bool, diff: bool, name: str) -> dict[str, t.Any]:
    """Return the result of patch_install.

    Args:
        run: the run, which may have ended early.
        check_mode: whether the run was in check mode.
        may_reboot: whether reboots were allowed.
        diff: whether --diff is on.
        name: name of the host.
    """
    verdicts = _verdicts(run, check_mode=check_mode)
    entries = [_entry(record, verdict) for record, verdict in zip(run.records, verdicts, strict=True)]
    node, before = (run.seen.node, run.first.node) if run.seen and run.first else (None, None)
    waits = bool(node and node.stack_pending) or any(verdict.status == "needs_reboot" for verdict in verdicts)
    shown: dict[str, t.Any] = {
        "changed": any(record.changed for record in run.records) or run.reboots > 0,
        "patches": entries,
        "os_build_before": before.os_build if before else "",
        "os_build_after": node.os_build if node else "",
        "reboots": run.reboots,
        "reboot_required": waits,
        "pending_reboot": list(node.windows.pending_reboot) if node else [],
        "test_signing": _test_signing(run),
        "changes": _changes(run, verdicts, check_mode=check_mode),
    }
    if check_mode:
        shown["changed"] = any(verdict.status == "to_install" for verdict in verdicts) or (waits and may_reboot)
    warnings = [*run.warnings, *_more_warnings(run, node)]
    if warnings:
        shown["warnings"] = [f"{name}: {text}" for text in dict.fromkeys(warnings)]
    if diff:
        shown["diff"] = _diff(run, verdicts, shown["os_build_before"], shown["os_build_after"])
    well = {
        *WELL,
        *(() if may_reboot and not check_mode else ("needs_reboot",)),
        *(("to_install",) if check_mode else ()),
    }
    bad = [entry for entry in entries if entry["status"] not in well]
    if bad:
        summary = f"{name}: {len(bad)} of {len(entries)} patches not installed"
        shown.update(failed=True, msg=f"{summary}\n{table(entries)}")
    elif waits and may_reboot and not check_mode:
        limit = f"after {run.reboots} reboots (max_reboots)" if run.reboots else "and max_reboots is 0"
        text = f"{name}: the update stack is still waiting for a reboot {limit}"
        shown.update(failed=True, msg=f"{text}\n{table(entries)}")
    return shown


def _verdicts(run: PatchRun, *, check_mode: bool) -> list[PatchState]:
    if run.seen is None:
        return [PatchState(status="failed", why="the node was not observed") for dummy in run.records]
    blocked = "" if check_mode else "it was not attempted, because the run ended early"
    if run.seen.node.stack_pending and not check_mode:
        blocked = (
            "a reboot is pending, and nothing can be installed before it; reboot the node, then run the task again"
        )
    return [conclude(record, run.seen.node, boots=run.reboots, blocked=blocked) for record in run.records]


def _entry(record: PatchRecord, verdict: PatchState) -> dict[str, t.Any]:
    patch, file = record.patch, record.patch.file
    return {
        "name": patch.name,
        "kb": patch.kb,
        "status": verdict.status,
        "message": verdict.why,
        "changed": record.changed,
        "attempts": len(record.attempts),
        "build": show_build(patch.build) if patch.build else "",
        "source": (file.local or redact_url(file.url)) if file else "windows_update",
        "seconds": round(sum(attempt.seconds for attempt in record.attempts), 1),
    }


def table(entries: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """Return a table as text. Each line shows the name of a patch, its status and the reason for this status."""
    return "\n".join(text_table([(str(entry["name"]), entry["status"], entry["message"]) for entry in entries]))


def _changes(run: PatchRun, verdicts: t.Sequence[PatchState], *, check_mode: bool) -> list[dict[str, t.Any]]:
    """Return the run's changes for reports, in the form in which the node_state module returns its changes."""
    changes = []
    for record, verdict in zip(run.records, verdicts, strict=True):
        if record.changed or (check_mode and verdict.status == "to_install"):
            changes.append({"type": "Patch", "name": record.patch.name, "action": "create", "why": verdict.why})
    return changes


def _diff(run: PatchRun, verdicts: t.Sequence[PatchState], before: str, after: str) -> list[dict[str, t.Any]]:
    differences: list[dict[str, t.Any]] = []
    if before != after:
        differences.append(_change("OS build", before, after))
    for record, verdict in zip(run.records, verdicts, strict=True):
        was: str = record.first.status if record.first else "unknown"
        now = "installed" if verdict.status == "to_install" else verdict.status
        was = "not installed" if was == "to_install" else was
        if was != now:
            differences.append(_change(f"Patch {record.patch.name}", was, now))
    return differences


def _change(header: str, before: str, after: str) -> dict[str, t.Any]:
    return {"before_header": header, "after_header": header, "before": f"{before}\n", "after": f"{after}\n"}


def _test_signing(run: PatchRun) -> str:
    """Return the state of test signing: `off`, `on`, or `turned_on` if this run turned it on."""
    if any(attempt.test_signing for record in run.records for attempt in record.attempts):
        return "turned_on"
    return "on" if run.seen and run.seen.node.test_signing else "off"


def _more_warnings(run: PatchRun, node: NodePatches | None) -> t.Iterator[str]:
    for record in run.records:
        if any(attempt.test_signing for attempt in record.attempts):
            yield f"{record.patch.name} is test-signed, so test signing was turned on: the node now loads such files"
    if node and run.reboots and "file_rename" in node.windows.pending_reboot and not node.stack_pending:
        yield "something other than updates is still waiting for a reboot to rename files (PendingFileRenameOperations)"


def information(node: NodePatches) -> dict[str, t.Any]:
    """Return the result of patch_info. Its first two sections are the same as in AKS' release notes.

    Source: Azure/AgentBaker, vhdbuilder/packer/write-release-notes-windows.ps1 (System Info, Installed QFEs).
    """
    windows = node.windows
    updates = sorted(node.hotfixes.values(), key=lambda fix: fix.kb)
    return {
        "system_info": {
            "os_name": windows.product,
            "os_version": node.os_build,
            "os_install_type": windows.installation,
        },
        "installed_qfes": [
            {
                "id": fix.kb,
                "description": fix.description,
                "installed_on": fix.installed_on,
                "link": _LINK.format(number=fix.kb.removeprefix("KB")),
            }
            for fix in updates
        ],
        "installed_packages": sorted(
            ({"name": each.name, "release_type": each.release_type} for each in node.packages if _is_update(each)),
            key=lambda each: each["name"],
        ),
        "pending": {
            "reboot": bool(windows.pending_reboot),
            "reasons": list(windows.pending_reboot),
            "packages": list(node.pending_packages),
        },
        "test_signing": node.test_signing,
        "secure_boot": node.secure_boot,
    }


def _is_update(package: t.Any) -> bool:
    return package.state.lower() == "installed" and bool(package.kbs or package.build)


def release_notes(shown: t.Mapping[str, t.Any]) -> str:
    """Return patch_info's system information and installed QFEs as text, in the layout of AKS' release notes."""
    system = shown["system_info"]
    lines = ["System Info"]
    labels = (("OS Name", "os_name"), ("OS Version", "os_version"), ("OS InstallType", "os_install_type"))
    lines += [f"\t{label:<14} : {system[key]}" for label, key in labels]
    lines += ["", "Installed QFEs"]
    lines += [f"\t{fix['id']:<9} : {fix['description']:<15} : {fix['link']}" for fix in shown["installed_qfes"]]
    return "\n".join(lines) + "\n"
