# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete results of many cases: calls, and parsing policies, owners, signatures and values."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import (
    code_policies,
    command_line,
    path_calls,
    registry_calls,
    registry_fixes,
    replaced_files,
    sddl,
    service_recovery,
    signatures,
    untrusted_files,
    windows_info,
)
from ansible_collections.winkube.node.plugins.plugin_utils.windows.service_recovery import FailureAction, Recovery
from ansible_collections.winkube.node.plugins.plugin_utils.windows.untrusted_files import UntrustedItem
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult


def ok(*output: Any) -> CallResult:
    return CallResult(ok=True, output=output)


FAILED = CallResult(ok=False, output=({"value": 1},) * 5, error=CallError(message="denied"))
THUMBPRINT = "ab" * 20


def outcome(function: Callable[..., object], *arguments: Any) -> object:
    """Return the result of a function, or its error message."""
    try:
        return function(*arguments)
    except (ResourceError, ValueError) as error:
        return error


def test_every_call() -> None:
    closed, item = sddl.ADMINISTRATORS_ONLY, UntrustedItem(path="C:\\k\\a\\b", who=("S-1-1-0",))
    found = {
        "remove": [path_calls.remove_path("C:\\a")],
        "discard": [path_calls.discard("C:\\a", "d"), path_calls.discard("C:\\a", "d", ("x",))],
        "make": [path_calls.make_directory("C:\\a")],
        "move": [path_calls.move_path("C:\\a", "C:\\b", "m")],
        "acl": [path_calls.set_acl("C:\\a", closed)],
        "closed": [
            path_calls.make_closed("C:\\a", closed),
            path_calls.make_closed("C:\\a", closed, "e", existing="empty"),
        ],
        "key": registry_calls.make_key("HKLM:\\a"),
        "values": [
            registry_calls.set_value("a", "HKLM:\\a", "x", "DWord", 0x7FFFFFFF),
            registry_calls.set_value("b", "HKLM:\\a", "x", "DWord", 0x80000000),
            registry_calls.set_value("c", "HKLM:\\a", "x", "QWord", 0x80000000),
            registry_calls.set_value("d", "HKLM:\\a", "x", "QWord", 1 << 63),
            registry_calls.set_value("e", "HKLM:\\a", "x", "String", "x"),
            registry_calls.remove_value("f", "HKLM:\\a", "a[b]*?`c"),
        ],
        "replaced files": replaced_files.list_calls(["C:\\a\\b.exe", "C:\\a\\c.EXE", "C:\\d\\e.dll"]),
        "replaced files without programs": replaced_files.list_calls(["C:\\d\\e.dll"]),
        "their removal": replaced_files.removals(["C:\\a", "C:\\b"]),
        "untrusted files": untrusted_files.list_calls("C:\\k"),
        "untrusted children": untrusted_files.list_calls("C:\\k", shallow=True),
        "moved aside": untrusted_files.moves("C:\\k", [item, item], "C:\\k\\.untrusted-1", closed),
        "policies": code_policies.calls(),
        "windows": [windows_info.call()],
        "signatures": [
            signatures.call("s", "C:\\a.exe", ["CN=X", "CN=Y"]),
            signatures.call("s", "C:\\a.exe", [THUMBPRINT]),
        ],
    }
    outcomes.check("windows/calls", {case: outcomes.calls(calls) for case, calls in found.items()})


def policies(*values: object, guard: object = None) -> dict[str, CallResult]:
    status = "UsermodeCodeIntegrityPolicyEnforcementStatus"
    return {
        "node.policies": ok(*({"value": value} for value in values)),
        "node.device_guard": ok({status: guard}) if guard is not None else ok(),
    }


NOTHING = (None,) * 5
POLICIES: dict[str, Mapping[str, CallResult]] = {
    "nothing": policies(*NOTHING),
    "no answers": {},
    "failed calls": {"node.policies": FAILED, "node.device_guard": FAILED},
    "too few answers": policies(0, "AllSigned", 1, 1),
    "answers of another kind": {"node.policies": ok(*"abcde"), "node.device_guard": ok("2")},
    "scripts are off": policies(0, None, None, None, None),
    "scripts are on": policies(1, "RemoteSigned", 0, 0, 0, guard=1),
    "signed scripts only": policies(1, "AllSigned", None, None, None),
    "restricted": policies(None, "restricted", None, None, None),
    "AppLocker for all": policies(None, None, 1, 1, 1),
    "AppLocker for scripts": policies(None, None, 0, None, 1),
    "code integrity": policies(*NOTHING, guard=2),
    "everything": policies(0, "AllSigned", 1, 1, 1, guard=2),
}


def test_policies_are_judged() -> None:
    found: dict[str, object] = {}
    for case, seen in POLICIES.items():
        warnings, refusal = code_policies.judged(seen, [], "node-1")
        found[case] = {"warnings": warnings, "refusal": refusal}
    for allowed in (["applocker"], ["wdac"], ["applocker", "wdac"]):
        found[f"everything, allowed {allowed}"] = code_policies.enforced(POLICIES["everything"], allowed)
    found["explained"] = [
        code_policies.explained(text)
        for text in (
            "Cannot invoke method. Method invocation is supported only on core types in this language mode.",
            "in constrainedlanguage mode",
            "This program is blocked by group policy.",
            "An Application Control policy has blocked this file",
            "your organization's Device Guard policy",
            "x.ps1 is not digitally signed.",
            "running scripts is disabled on this system",
            "another failure",
        )
    ]
    outcomes.check("windows/policies", found)


VALUES: list[tuple[str, Any]] = [
    ("DWord", 5), ("DWord", -1), ("DWord", "0x10"), ("DWord", " 17 "), ("DWord", 2**32 - 1), ("DWord", 2**32),
    ("DWord", -(2**31)), ("DWord", -(2**31) - 1), ("DWord", True), ("DWord", "x"), ("DWord", 1.5), ("QWord", 2**64 - 1),
    ("QWord", 2**64), ("QWord", -1), ("Binary", "hex:01,ff\\\n 0a"), ("Binary", "0"), ("Binary", [0, 255]),
    ("Binary", [256]), ("Binary", [-1]), ("Binary", [True]), ("Binary", 5), ("Binary", ""), ("MultiString", ["a", 1]),
    ("MultiString", "a"), ("MultiString", [None]), ("String", "a"), ("String", 1.5), ("String", True),
    ("String", "a\0b"), ("ExpandString", "%a%"), ("String", None), ("String", ["a"]),
]  # fmt: skip
KEYS = (
    "HKLM:\\a", " hklm\\a\\\\b\\ ", "HKEY_LOCAL_MACHINE\\a", "Registry::HKEY_CURRENT_USER\\a", "HKCU:\\a:b", "HKU:\\a",
    "HKLM:\\", "HKLM", "HKLM:\\a/b", "HKLM:\\a*", "HKLM:\\[a]", "HKLM:\\a?",
)  # fmt: skip
ENTRIES: tuple[Any, ...] = (
    None, {}, {"kind": "DWord", "value": None}, {"kind": "DWord", "value": -1}, {"kind": "DWord", "value": "x"},
    {"kind": "MultiString", "value": []}, {"value": "a"}, {"kind": "Binary", "value": [1]},
)  # fmt: skip


def test_registry_values_are_read_or_refused() -> None:
    found: dict[str, object] = {
        f"{kind} {value!r}": outcome(registry_calls.normal_value, kind, value) for kind, value in VALUES
    }
    found |= {key: outcome(registry_calls.normal_key, key) for key in KEYS}
    found |= {f"seen {entry}": registry_calls.seen_value(entry) for entry in ENTRIES}
    outcomes.check("windows/registry", found)


def test_fixes_are_resources() -> None:
    found = {}
    for supported in (["2019", "2022", "2025"], ["2022"], []):
        found[f"for {supported}"] = [str(resource) for resource in registry_fixes.resources(supported)]
    outcomes.check("windows/registry_fixes", found)


def test_two_values_of_one_name_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(os: str, name: str, value: int) -> dict[str, object]:
        return {"os": os, "path": "HKLM:\\a", "name": name, "value": value, "type": "dword"}

    entries = [
        entry("2019", "x", 1),
        entry("2022", "x", 2),
        entry("2025", "x", 2),
        entry("2019", "y", 1),
        entry("*", "y", 1),
    ]
    monkeypatch.setattr(registry_fixes, "fixes", lambda: tuple(entries))
    found = registry_fixes.resources(["2019", "2022"])
    assert [(one["name"], one["value"], one["windows"]) for one in found] == [
        ("HKLM:\\a\\x = 1", 1, ["2019"]),
        ("HKLM:\\a\\x = 2", 2, ["2022"]),
        ("HKLM:\\a\\y", 1, []),
    ]


DESCRIPTORS = {
    "closed": sddl.ADMINISTRATORS_ONLY,
    "readable": sddl.READABLE,
    "shared": sddl.SHARED,
    "inherited only": "O:S-1-5-21-1-2-3-1001G:DUD:AI(A;ID;FA;;;SY)(A;OICIID;0x1301bf;;;AU)",
    "protected and inherited": "O:LAD:PARAI(A;;FA;;;WD)",
    "no list": "O:SYG:SY",
    "no owner": "D:(A;;FW;;;BU)(D;;FA;;;WD)",
    "numbers": "O:SYD:(A;;2032127;;;BA)(A;;0X1F01ff;;;SY)(A;;CCDCLC;;;BU)(A;;xx;;;AU)(A;;SDWDWO;;;IU)",
    "generic": "O:BAD:(A;;GA;;;CO)(A;;GW;;;CG)(A;;GR;;;OW)(A;OICIIO;GA;;;BU)(a;;GX;;;LS)(A;;FX;;;NS)(A;;DT;;;bu)",
    "incomplete": "O:BAD:(A;;FA)(A)",
    "no access control": "O:BAD:NO_ACCESS_CONTROL",
    "nothing": "",
}


def test_descriptors_are_read() -> None:
    found: dict[str, object] = {}
    for case, text in DESCRIPTORS.items():
        parsed = sddl.parse(text)
        entries = (
            sorted(f"{kind} {''.join(sorted(flags))} {rights} {sid}" for kind, flags, rights, sid in parsed[1])
            if parsed
            else None
        )
        found[case] = {
            "owner": sddl.owner(text),
            "protected": parsed[0] if parsed else None,
            "entries": entries,
            "writers": sddl.others(text, sddl.WRITE),
            "replacers": sddl.others(text, sddl.REPLACE),
        }
    same = [
        f"{one} = {two}"
        for one, two in itertools.product(DESCRIPTORS, repeat=2)
        if one != two and sddl.same(DESCRIPTORS[one], DESCRIPTORS[two])
    ]
    outcomes.check("windows/descriptors", found | {"the same": same})


@pytest.mark.parametrize(
    ("requested", "found", "same"),
    [
        ("D:P(A;;FA;;;SY)", "O:BUD:PAI(A;;0x1f01ff;;;S-1-5-18)", True),
        ("O:BAD:P(A;;FA;;;SY)", "O:BUD:P(A;;FA;;;SY)", False),
        ("O:BAD:P(A;;FA;;;SY)", "O:S-1-5-32-544D:P(A;;FA;;;SY)(A;ID;FA;;;BU)", True),
        ("D:P(A;;FA;;;SY)", "D:(A;;FA;;;SY)", False),
        ("D:(A;OICI;FA;;;SY)", "D:(A;CIOI;FA;;;SY)", True),
    ],
)
def test_descriptors_are_compared_by_meaning(requested: str, found: str, same: bool) -> None:
    assert sddl.same(requested, found) is same


@pytest.mark.parametrize(
    ("sid", "administrative"),
    [("S-1-5-18", True), ("S-1-5-32-544", True), ("LA", True), ("S-1-5-21-1-2-500", True), ("S-1-5-21-1-2-5001", False),
     ("S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", True), (None, False), ("S-1-1-0", False)],
)  # fmt: skip
def test_administrators_are_known(sid: str | None, administrative: bool) -> None:
    assert sddl.is_administrative(sid) is administrative


def recovery(*actions: tuple[Any, float], reset: int = 86400) -> Recovery:
    return Recovery(
        reset_seconds=reset, actions=tuple(FailureAction(action=one, delay_seconds=two) for one, two in actions)
    )


def stored(reset: int, *actions: int, count: int | None = None) -> Sequence[int]:
    number = len(actions) // 2 if count is None else count
    return list(struct.pack(f"<5I{len(actions)}I", reset, 0, 0, number, 20, *actions))


def test_failure_actions_are_read_and_written() -> None:
    restart = recovery(("restart", 5), ("reboot", 1.25), ("none", 0))
    assert (restart.text, restart.sc_actions) == (
        "restart after 5 s, reboot after 1.25 s, none; reset after 86400 s",
        "restart/5000/reboot/1250//0",
    )
    assert recovery(("restart", 0), reset=service_recovery.INFINITE).text == "restart after 0 s; reset never"
    assert (recovery().text, recovery().sc_actions) == ("nothing", "")
    assert service_recovery.parse(None) == service_recovery.parse([1] * 19) == "nothing"
    assert service_recovery.parse(stored(60, 1, 5000, 0, 0, 3, 10, 7, 20)) == (
        "restart after 5 s, none, run after 0.01 s, action 7 after 0.02 s; reset after 60 s"
    )
    assert service_recovery.parse(stored(60, 2, 5000, 1, 1, count=1)) == "reboot after 5 s; reset after 60 s"
    assert service_recovery.parse(stored(60, 1, 1000, count=9)) == "restart after 1 s; reset after 60 s"


@pytest.mark.parametrize("delay", [-0.1, 4294967.295])
def test_a_delay_has_32_bits_of_milliseconds(delay: float) -> None:
    with pytest.raises(ResourceError, match=r"delay_seconds: expected 0 to 4294967 seconds, got"):
        FailureAction(action="restart", delay_seconds=delay)
    assert FailureAction(action="restart", delay_seconds=4294967).milliseconds == 4294967000


@pytest.mark.parametrize("reset", [-1, 2**32])
def test_a_reset_has_32_bits_of_seconds(reset: int) -> None:
    with pytest.raises(ResourceError, match=r"reset_seconds: expected 0 to 4294967295, got"):
        recovery(reset=reset)
    assert (recovery(reset=0).reset_seconds, recovery().reset_seconds) == (0, 86400)


def test_signers_are_shown_and_refused() -> None:
    by = {"Status": "NotTrusted", "SignerCertificate.Subject": "CN=X", "SignerCertificate.Issuer": "CN=Y"}
    found: dict[str, object] = {
        "signed": signatures.signed_by(ok({**by, "SignerCertificate.Thumbprint": THUMBPRINT, "StatusMessage": "bad"})),
        "not signed": signatures.signed_by(ok({"Status": "NotSigned", "StatusMessage": " no signature\n"})),
        "without a message": signatures.signed_by(ok({"Status": "NotSigned"})),
        "failed": signatures.signed_by(CallResult(ok=False, error=CallError(message="denied"))),
    }
    for signers in (
        [],
        ["CN=X"],
        [THUMBPRINT, "CD" * 20],
        ["X"],
        ["CN=X", "x" * 40],
        [THUMBPRINT, "CN=X"],
        [f"{THUMBPRINT}a"],
    ):
        found[f"allowed {signers}"] = outcome(signatures.check_signers, signers, "option") or "accepted"
    outcomes.check("windows/signers", found)
    names = ("A.EXE", "a.dll", "a.sys", "a.ps1", "a.psm1", "a.txt", "exe")
    assert [signatures.can_be_signed(name) for name in names] == [True] * 5 + [False] * 2


def test_the_parents_of_a_path() -> None:
    assert path_calls.ancestors("C:\\a/b\\\\c.txt") == ["C:\\a", "C:\\a\\b"]
    assert path_calls.ancestors("C:\\a") == []


def windows(*values: object, servicing: bool = False, update: bool = False) -> CallResult:
    keys = [{"key_exists": servicing}, {"key_exists": update}]
    return ok(*({"value": value} for value in values), *keys)


WINDOWS = {
    "2022": windows(20348, 2700, "Windows Server 2022", "Server Core", "a", "A", None),
    "everything waits": windows(20348, 2700, "Windows", "Server", "a", "b", ["x"], servicing=True, update=True),
    "nothing known": windows(None, None, None, None, None, None, None),
    "a client": windows(26100, 1, "Windows 11", "Client", "a", "a", []),
    "23H2": windows(25398, 1, "Windows Server Datacenter", "Server Core", "a", "a", None),
    "older": windows(14393, 1, "Windows Server 2016", "Server", "a", "a", None),
    "newer": windows(30000, 1, "Windows Server 2028", "server", "a", "a", None),
    "too few": ok({}),
    "failed": FAILED,
}


def test_the_windows_version_is_read() -> None:
    found: dict[str, object] = {}
    for case, answer in WINDOWS.items():
        about = outcome(windows_info.read, answer)
        found[case] = about
        if isinstance(about, windows_info.WindowsInfo):
            found[f"{case}: version"] = [about.version, about.nearest_version, about.unsupported]
    outcomes.check("windows/windows_info", found)


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ('\ufeffA="--x=1 --y"', ["--x=1", "--y"]),
        (" A = --x ", ["--x"]),
        ('A="--x\\"1"', ['--x"1']),
        ('A="--x\\q', ['"--x\\q']),
        ('A="\\x"', ["\\x"]),
        ("A", []),
        ("B=1", []),
        ('A=""', []),
        ('A="', ['"']),
        ("# A=1\nA=2", ["2"]),
    ],
)
def test_flags_are_read_from_environment_files(content: str, flags: list[str]) -> None:
    assert command_line.flags_of(content, "A") == flags


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("", []),
        (" \t", []),
        ('"a b" c', ["a b", "c"]),
        ("a\tb  c", ["a", "b", "c"]),
        ('a "b""c"', ["a", 'b"c']),
        ("a ", ["a"]),
        ('a b\\"c', ["a", 'b"c']),
        ('a "b\\\\" c', ["a", "b\\", "c"]),
        ("a b\\\\c\\", ["a", "b\\\\c\\"]),
        ('a ""', ["a", ""]),
        ('"a', ["a"]),
        ('a "b c', ["a", "b c"]),
        ('a b"c d"e', ["a", "bc de"]),
        ('a \\\\\\"b', ["a", '\\"b']),
        ('"a"b c', ["a", "b", "c"]),
    ],
)
def test_lines_are_split_into_arguments(line: str, arguments: list[str]) -> None:
    assert command_line.split(line) == arguments
