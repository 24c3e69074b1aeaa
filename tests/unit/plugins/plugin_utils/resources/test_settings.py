# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings of a whole node: name, clock, proxy, updates, paging, Defender."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import NO_COMMAND, answer, call, commands, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.resources.win_http_proxy import patterns
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

NAMES = "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\ComputerName\\"


def names(configured: str, active: str) -> t.Any:
    return answer(
        {"path": NAMES + "ComputerName", "value": configured}, {"path": NAMES + "ActiveComputerName", "value": active}
    )


@pytest.mark.parametrize("name", ["win-node-1", "WIN-NODE-1"])
def test_an_equal_computer_name_needs_no_change(name: str) -> None:
    assert planned(one(type="ComputerName", name=name), names=names("WIN-NODE-1", "WIN-NODE-1")) is None


def test_a_new_computer_name_reboots() -> None:
    change = must(one(type="ComputerName", name="win-node-1"), names=names("WIN-ABC", "WIN-ABC"))
    assert change.why == "computer name is WIN-ABC, expected win-node-1"
    assert change.calls[0].parameters == {"NewName": "win-node-1", "Force": True, "WarningAction": "SilentlyContinue"}
    assert change.reboot == "always"


def test_a_computer_that_was_renamed_but_not_rebooted() -> None:
    change = must(one(type="ComputerName", name="win-node-1"), names=names("WIN-NODE-1", "WIN-ABC"))
    assert (change.calls, change.reboot, change.why) == ((), "always", "was renamed, but waits for a reboot")


def test_a_long_computer_name_is_compared_by_what_windows_keeps() -> None:
    requested = one(type="ComputerName", name="windows-worker-0001")
    assert planned(requested, names=names("WINDOWS-WORKER-", "WINDOWS-WORKER-")) is None


@pytest.mark.parametrize("name", ["", "a.b", "-a", "a_b", "123", "a" * 64, "ä"])
def test_computer_names_that_cannot_be(name: str) -> None:
    with pytest.raises(ResourceError):
        one(type="ComputerName", name=name)


def test_time_zone() -> None:
    assert planned(one(type="TimeZone", name="utc"), zone=answer({"Id": "UTC"})) is None
    change = must(one(type="TimeZone", name="clock", id="W. Europe Standard Time"), zone=answer({"Id": "UTC"}))
    assert change.why == "time zone is UTC, expected W. Europe Standard Time"
    assert change.calls[0].parameters == {"Id": "W. Europe Standard Time"}


def clock(server: str, kind: str) -> t.Any:
    return answer({"name": "NtpServer", "value": server}, {"name": "Type", "value": kind})


@pytest.mark.parametrize(
    ("requested", "server", "kind"),
    [
        ({"peers": ["b.example", "a.example,0x9"]}, "a.example,0x9 B.example,0x8", "NTP"),
        ({"sync_type": "domain"}, "time.windows.com,0x9", "NT5DS"),
    ],
)
def test_a_clock_without_a_difference_needs_no_change(requested: dict[str, t.Any], server: str, kind: str) -> None:
    assert planned(one(type="W32Time", name="clock", **requested), parameters=clock(server, kind)) is None


def test_other_time_servers() -> None:
    requested = one(type="W32Time", name="clock", peers=["ntp1", "ntp2"])
    change = must(requested, parameters=clock("time.windows.com,0x9", "NTP"))
    assert commands(change) == ["Start-Service", "w32tm.exe", "Restart-Service"]
    arguments = ("/config", "/manualpeerlist:ntp1,0x8 ntp2,0x8", "/syncfromflags:MANUAL", "/update")
    assert call(change, "configure").arguments == arguments
    for properties in ({}, {"peers": ["a b"]}):
        with pytest.raises(ResourceError):
            one(type="W32Time", name="clock", **properties)


DIRECT = "\r\nCurrent WinHTTP proxy settings:\r\n\r\n    Direct access (no proxy server).\r\n\r\n"
PROXY = (
    "\r\nCurrent WinHTTP proxy settings:\r\n\r\n"
    "    Proxy Server(s) :  proxy.example:3128\r\n    Bypass List     :  *.svc;10.*;localhost\r\n\r\n"
)
NO_BYPASS = PROXY.replace("*.svc;10.*;localhost", "(none)")


def shows(text: str) -> t.Any:
    return answer(stdout=text, exit_code=0)


@pytest.mark.parametrize(
    ("requested", "text"),
    [
        ({"proxy": "http://user:pass@Proxy.example:3128/", "bypass": "localhost,.svc,10.0.0.0/8"}, PROXY),
        ({"proxy": "proxy.example:3128"}, NO_BYPASS),
        ({"state": "absent"}, DIRECT),
    ],
)
def test_an_equal_proxy_needs_no_change(requested: dict[str, t.Any], text: str) -> None:
    assert planned(one(type="WinHttpProxy", name="machine", **requested), proxy=shows(text)) is None


def test_another_proxy() -> None:
    change = must(one(type="WinHttpProxy", name="m", proxy="http://p:1", bypass=["a", ".b"]), proxy=shows(DIRECT))
    assert change.calls[0].arguments == ("winhttp", "set", "proxy", "proxy-server=p:1", "bypass-list=a;*.b")
    change = must(one(type="WinHttpProxy", name="m", state="absent"), proxy=shows(PROXY))
    assert change.calls[0].arguments == ("winhttp", "reset", "proxy")
    with pytest.raises(ResourceError):
        one(type="WinHttpProxy", name="m")


@pytest.mark.parametrize("noted", [True, False])
def test_a_managed_proxy(noted: bool) -> None:
    note = answer({"exists": noted})
    requested = one(type="WinHttpProxy", name="m", proxy="p:1", managed=True)
    taken = [] if noted else ["@read-registry", "New-Item", "New-ItemProperty"]
    assert commands(must(requested, proxy=shows(DIRECT), note=note)) == [*taken, "netsh.exe"]
    unwanted = planned(one(type="WinHttpProxy", name="m", state="absent", managed=True), note=note)
    assert (commands(unwanted) if unwanted else []) == (["netsh.exe", "Remove-ItemProperty"] if noted else [])


@pytest.mark.parametrize(
    ("entry", "messages"),
    [
        ("10.0.0.0/8", ["10.*"]),
        ("10.96.0.0/12", [f"10.{octet}.*" for octet in range(96, 112)]),
        ("192.168.1.0/24", ["192.168.1.*"]),
        ("10.0.0.4/30", ["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7"]),
        ("10.0.0.1/32", ["10.0.0.1"]),
        ("0.0.0.0/0", ["*"]),
        ("fd00::/8", []),
        (".svc", ["*.svc"]),
        ("<local>", ["<local>"]),
    ],
)
def test_no_proxy_entries_become_winhttp_patterns(entry: str, messages: list[str]) -> None:
    assert patterns(entry) == messages


@given(st.ip_addresses(v=4), st.integers(1, 32))
def test_a_network_becomes_at_most_128_patterns(address: t.Any, bits: int) -> None:
    messages = patterns(f"{address}/{bits}")
    assert 1 <= len(messages) <= 128
    assert any(str(address).startswith(pattern.rstrip("*")) for pattern in messages)


POLICY = "HKLM:\\SOFTWARE\\Policies\\Microsoft\\Windows\\WindowsUpdate"


def policy(au: dict[str, t.Any] | None, top: dict[str, t.Any] | None) -> t.Any:
    return answer(
        *(
            {
                "path": path,
                "key_exists": values is not None,
                "values": {name: {"value": value, "kind": "x"} for name, value in (values or {}).items()},
            }
            for path, values in ((POLICY + "\\AU", au), (POLICY, top))
        )
    )


def updates(**more: t.Any) -> t.Any:
    return one(type="WindowsUpdateSettings", name="machine", **more)


@pytest.mark.parametrize(
    ("requested", "au", "top"),
    [
        ({}, None, None),
        ({"automatic_updates": "disabled"}, {"NoAutoUpdate": 1}, {}),
        (
            {"automatic_updates": "scheduled", "install_day": 0, "install_hour": 3},
            {"noautoupdate": 0, "AUOptions": 4, "ScheduledInstallDay": 0, "ScheduledInstallTime": 3},
            None,
        ),
        (
            {"wsus_server": "http://w:8530"},
            {"UseWUServer": 1},
            {"WUServer": "http://w:8530", "WUStatusServer": "http://w:8530"},
        ),
        ({"wsus_server": ""}, None, None),
    ],
)
def test_an_equal_update_policy_needs_no_change(requested: dict[str, t.Any], au: t.Any, top: t.Any) -> None:
    assert planned(updates(**requested), policy=policy(au, top)) is None


def test_updates_are_set_by_policy() -> None:
    change = must(updates(automatic_updates="notify", wsus_server="http://w:8530"), policy=policy(None, None))
    written = {
        each.parameters["Name"]: each.parameters["Value"] for each in change.calls if each.command == "New-ItemProperty"
    }
    assert written == {
        "NoAutoUpdate": 0,
        "AUOptions": 2,
        "UseWUServer": 1,
        "WUServer": "http://w:8530",
        "WUStatusServer": "http://w:8530",
    }
    assert commands(change).count("New-Item") == 2
    change = must(updates(wsus_server=""), policy=policy({"UseWUServer": 1}, {"WUServer": "http://w"}))
    assert commands(change) == ["Remove-ItemProperty", "Remove-ItemProperty"]
    for properties in ({"install_day": 8}, {"install_hour": -1}, {"wsus_server": "w:8530"}):
        with pytest.raises(ResourceError):
            updates(**properties)


def paging(automatic: bool, *files: tuple[str, int, int]) -> dict[str, t.Any]:
    found = [{"Name": name, "InitialSize": initial, "MaximumSize": maximum} for name, initial, maximum in files]
    return {"system": answer({"AutomaticManagedPagefile": automatic}), "files": answer(*found)}


def pages(**more: t.Any) -> t.Any:
    return one(type="PageFile", name="machine", **more)


D = {"path": "D:\\pagefile.sys", "initial_mb": 4096, "maximum_mb": 8192}


def test_paging_without_a_difference_needs_no_change() -> None:
    assert planned(pages(automatic=True), **paging(True)) is None
    assert planned(pages(files=[D]), **paging(False, ("d:\\pagefile.sys", 4096, 8192))) is None
    assert planned(pages(), **paging(False)) is None


def test_other_paging() -> None:
    change = must(pages(files=[D], reboot=True), **paging(True))
    assert commands(change) == [
        *("Get-CimInstance", "Set-CimInstance", "Get-CimInstance"),
        *("Remove-CimInstance", "New-CimInstance", "Set-CimInstance"),
    ]
    assert call(change, "automatic").parameters == {"Property": {"AutomaticManagedPagefile": False}}
    assert call(change, "size-0").parameters == {"Property": {"InitialSize": 4096, "MaximumSize": 8192}}
    assert change.reboot == "always"
    resized = must(pages(files=[D]), **paging(False, ("D:\\pagefile.sys", 1, 2)))
    assert commands(resized) == ["Get-CimInstance", "Set-CimInstance"]
    assert resized.reboot == "never"
    assert commands(must(pages(automatic=True), **paging(False))) == ["Get-CimInstance", "Set-CimInstance"]


@pytest.mark.parametrize(
    "properties",
    [
        {"automatic": True, "files": [D]},
        {"files": [D, {**D, "path": "d:\\PAGEFILE.SYS"}]},
        {"files": [{**D, "initial_mb": 9000}]},
        {"files": [{"path": "pagefile.sys"}]},
    ],
)
def test_paging_that_cannot_be(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        pages(**properties)


def excluded(**more: t.Any) -> t.Any:
    return answer({"ExclusionPath": None, "ExclusionProcess": None, "ExclusionExtension": None, **more})


def exclusions(**more: t.Any) -> t.Any:
    return one(type="DefenderExclusion", name="runtime", **more)


def test_exclusions() -> None:
    requested = exclusions(
        paths=["C:\\k", "C:\\ProgramData\\containerd"], processes=["containerd.exe"], extensions=[".vhdx"]
    )
    found = {
        "ExclusionPath": ["c:\\K\\", "C:\\programdata\\containerd"],
        "ExclusionProcess": ["CONTAINERD.EXE", "x.exe"],
    }
    assert planned(requested, preference=excluded(**found, ExclusionExtension=["vhdx"])) is None
    change = must(requested, preference=excluded(ExclusionPath=["C:\\k"]))
    assert change.calls[0].command == "Add-MpPreference"
    assert change.calls[0].parameters == {
        "ExclusionPath": ["C:\\ProgramData\\containerd"],
        "ExclusionProcess": ["containerd.exe"],
        "ExclusionExtension": [".vhdx"],
    }
    change = must(exclusions(paths=["C:\\k", "C:\\x"], state="absent"), preference=excluded(ExclusionPath=["C:\\k"]))
    assert (commands(change), change.calls[0].parameters) == (["Remove-MpPreference"], {"ExclusionPath": ["C:\\k"]})
    assert planned(exclusions(paths=["C:\\k"], state="absent"), preference=excluded()) is None


@pytest.mark.parametrize(
    "nothing",
    [NO_COMMAND, failure("NotSpecified", "HRESULT 0x800106ba,Get-MpPreference", "The operation failed: 0x800106BA.")],
)
def test_without_defender_there_is_nothing_to_exclude(nothing: t.Any) -> None:
    assert planned(exclusions(paths=["C:\\k"]), preference=nothing) is None
    with pytest.raises(ResourceError, match="could not be read"):
        planned(exclusions(paths=["C:\\k"]), preference=failure("PermissionDenied", "x"))
    with pytest.raises(ResourceError):
        exclusions()
