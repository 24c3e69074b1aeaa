# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that others may have created are found, and replaced files are removed when no process runs them."""

from __future__ import annotations

from typing import Any

from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.windows import replaced_files, untrusted_files
from ansible_collections.winkube.node.plugins.plugin_utils.windows.untrusted_files import UntrustedItem
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult


def ok(*output: Any) -> CallResult:
    return CallResult(ok=True, output=output)


FAILED = CallResult(ok=False, output=({"value": 1},), error=CallError(message="denied"))
US, THEM = "O:BAD:P(A;;FA;;;BA)", "O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;BA)"


def listed(**lists: str) -> dict[str, CallResult]:
    """Return a listing of a folder. `__` stands for a backslash, and a trailing `_` marks a folder."""
    items, owners = [], []
    for name, text in lists.items():
        path = "C:\\K\\" + name.rstrip("_").replace("__", "\\")
        junction = "Directory, ReparsePoint" if text.startswith("junction ") else "Archive"
        items.append({"FullName": path, "Attributes": junction, "PSIsContainer": name.endswith("_")})
        if text.removeprefix("junction "):
            owners.append(
                {"Path": f"Microsoft.PowerShell.Core\\FileSystem::{path}", "Sddl": text.removeprefix("junction ")}
            )
    return {"within": ok(*items), "owners": ok(*owners), "still": ok(*items), "now": ok("2026-01-02T03:04:05Z")}


LISTINGS: dict[str, dict[str, CallResult]] = {
    "nothing": {},
    "the folder is not there": {"within": FAILED},
    "ours": listed(a=US, b_=US, b__c=US),
    "theirs": listed(a=US, b_=THEM, b__c=THEM, ba=THEM),
    "theirs below ours": listed(a_=US, a__b=THEM),
    "behind a junction": listed(a_=f"junction {US}", a__b=THEM),
    "a junction of theirs": listed(a_=f"junction {THEM}"),
    "writable": listed(a=f"{US}(A;;FW;;;BU)", b_=f"{US}(A;;FW;;;BU)", c_=f"{US}(A;;SD;;;BU)"),
    "without a list": listed(a=""),
    "without a list, and gone": {**listed(a="", b=""), "still": ok({"FullName": "c:\\k\\B"})},
    "moved aside before": listed(**{".untrusted-1_": THEM, ".untrusted-1__a": THEM, "x": THEM}),
    "no owners, nothing left": {"within": listed(a=US)["within"]},
}


def test_content_of_others_is_found() -> None:
    found: dict[str, object] = {}
    for case, seen in LISTINGS.items():
        found[case] = {which: untrusted_files.find("C:\\k", which, seen) for which in ("foreign", "writable")}
    outcomes.check("windows/untrusted", found)
    assert untrusted_files.quarantine_folder("C:\\k", LISTINGS["ours"]) == "C:\\k\\.untrusted-20260102030405"
    assert untrusted_files.quarantine_folder("C:\\k", {}) == "C:\\k\\.untrusted-"


def test_moved_content_is_reported() -> None:
    items = [UntrustedItem(path=f"C:\\k\\{number}", who=(f"S-{number % 2}",)) for number in range(7)]
    assert untrusted_files.warning(items, "C:\\t") == (
        "users other than administrators (S-0, S-1) own or can change this content, so it is not trusted: C:\\k\\0, "
        "C:\\k\\1, C:\\k\\2, C:\\k\\3, C:\\k\\4 and 2 more. It is treated as missing and moved to C:\\t; inspect it "
        "there, then delete it"
    )
    assert " more" not in untrusted_files.warning(items[:5], "C:\\t")


GUID = "0" * 32


def test_replaced_files_are_deleted_when_no_process_runs_them() -> None:
    def item(name: str) -> dict[str, str]:
        return {"FullName": f"C:\\a\\{name}"}

    targets = ["C:\\a\\b.exe", "C:\\a\\c.exe", "C:\\a\\d.dll", "C:\\a\\e.exe"]
    seen = {
        "running": ok(
            {"ProcessName": "B", "StartTime": "2026-01-01T10:00:00.5Z"},
            {"ProcessName": "b", "StartTime": "2026-01-03T10:00:00Z"},
            {"ProcessName": "e", "StartTime": None},
            "x",
        ),
        "aside-0": ok(
            item(f"b.exe.20260101095959-{GUID}.old"),
            item(f"b.exe.20260101100000-{GUID}.old"),
            item(f"B.EXE.20260102100000-{GUID}.OLD"),
            item(f"c.exe.20260101100000-{GUID}.old"),
            item(f"d.dll.20260101100000-{GUID}.old"),
            item(f"e.exe.20260101100000-{GUID}.old"),
            item(f"x.exe.20260101100000-{GUID}.old"),
            item("c.exe.old"),
        ),
        "aside-1": FAILED,
    }
    names = [path.rpartition("\\")[2].partition("-")[0] for path in replaced_files.removable(targets, seen)]
    assert names == ["b.exe.20260101095959", "c.exe.20260101100000", "d.dll.20260101100000"]
