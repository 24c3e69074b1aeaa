# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches on one server: what is installed afterwards, what is said of each, and what it costs."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from integration.networks import free_network
from integration.patching import (
    MARKER,
    WUAUSERV,
    Files,
    find,
    fleet_of,
    install,
    no_pauses,
    run,
    settings,
    state,
    statuses,
)

from ansible_collections.winkube.node.plugins.plugin_utils import patches_transfer
from simulator.machine import faults
from simulator.machine.machine import Machine
from simulator.windows import update_package
from simulator.windows.component_store import store_of
from simulator.windows.update_catalogue import Update

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("patches"), pytest.mark.usefixtures("no_pauses")]
__all__ = ["no_pauses"]

OLD, HERE, NEXT = "KB5044281", "KB5046616", "KB5048654"
FIX = Update("KB5999001", builds=(20348,), reboots=0)
STAGED = Update("KB5999002", builds=(20348,), reboots=1)
TOOL = Update("KB5999003", builds=(20348,), reboots=1)
Serve = Callable[..., Machine]


@pytest.fixture
def server() -> Iterator[Serve]:
    """A function that starts a server: `server(windows="2025", secure_boot=False)`."""
    with contextlib.ExitStack() as stack:

        def start(**entry: Any) -> Machine:
            fleet = stack.enter_context(fleet_of(settings("PATCHED", f"{free_network()}.1", **entry)))
            return fleet.machine("PATCHED")

        yield start


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    served = Files(f"{free_network()}.2", tmp_path)
    yield served
    served.stop()


def installed(machine: Machine) -> set[str]:
    return {kb for kb, state in state(machine)["updates"] if state == "Installed"}


def message(result: dict[str, Any], name: str) -> str:
    return next(str(entry["message"]) for entry in result["patches"] if entry["name"] == name)


@pytest.mark.parametrize("connection", ["psrp", "winrm"])
def test_a_server_that_has_its_patches_costs_one_command(server: Serve, files: Files, connection: str) -> None:
    machine = server()
    before = state(machine)
    result = install(machine, [HERE, OLD, files.add(HERE, name="windows10.0-kb5046616-x64-copy.msu") | {"kb": 5046629}])
    result = install(machine, [HERE, OLD], connection=connection)
    assert (result["changed"], result["remote_commands"], result.get("failed")) == (False, 1, None)
    assert statuses(result) == {HERE: "installed", OLD: "superseded"}
    assert state(machine) == before


@pytest.mark.parametrize("connection", ["psrp", "winrm"])
def test_three_files_and_one_reboot(server: Serve, files: Files, connection: str) -> None:
    machine = server()
    wanted = [files.add(NEXT), files.add(FIX, "cab"), files.add(STAGED, "msu")]
    result = install(machine, wanted, connection=connection)
    assert set(statuses(result).values()) == {"installed"}
    assert (result["changed"], result["reboots"], result["reboot_required"]) == (True, 1, False)
    assert (result["os_build_before"], result["os_build_after"]) == ("20348.2849", "20348.2966")
    assert result["remote_commands"] <= 10
    assert {NEXT, FIX.kb, STAGED.kb} <= installed(machine)
    assert state(machine)["files"] == []
    again = install(machine, wanted, connection=connection)
    assert (again["changed"], again["remote_commands"]) == (False, 1)


def test_a_slow_installation_costs_few_polls(server: Serve, files: Files) -> None:
    machine = server(update_seconds=300)
    result = install(machine, [files.add(NEXT)])
    assert statuses(result) == {NEXT: "installed"}
    assert result["remote_commands"] <= 10


def test_what_needs_no_reboot_gets_none(server: Serve, files: Files) -> None:
    machine = server()
    boot = machine.power.boot_time
    result = install(machine, [files.add(FIX, "cab")])
    assert (statuses(result), result["reboots"]) == ({FIX.kb: "installed"}, 0)
    assert machine.power.boot_time == boot


def test_nothing_is_downloaded_for_what_is_superseded_or_of_another_windows(server: Serve, files: Files) -> None:
    result = install(server(), [files.add(OLD), files.add(find("KB5046617"), name="windows11.0-kb5046617-x64.msu")])
    assert statuses(result) == {OLD: "superseded", "KB5046617": "not_applicable"}
    assert result["failed"]
    assert files.requests == []


def test_each_failure_is_told_and_the_rest_is_installed(server: Serve, files: Files) -> None:
    machine = server(secure_boot=False)
    good = files.add(STAGED)
    wrong = files.add(NEXT) | {"sha256": "0" * 64}
    expired = {"url": f"{files.url}/expired-kb5999004.msu?sig=SECRET", "sha256": "1" * 64}
    (files.folder / "kb5999005.msu").write_bytes(b"no package")
    junk = {"url": f"{files.url}/kb5999005.msu", "sha256": hashlib.sha256(b"no package").hexdigest()}
    elsewhere = files.add(Update("KB5999006", builds=(26100,)))
    result = install(machine, [wrong, expired, junk, elsewhere, good])
    assert statuses(result) == {
        NEXT: "failed",
        "KB5999004": "failed",
        "KB5999005": "failed",
        "KB5999006": "not_applicable",
        STAGED.kb: "installed",
    }
    assert "SHA-256" in message(result, NEXT)
    assert "expired" in message(result, "KB5999004")
    assert "not a package" in message(result, "KB5999005")
    assert result["failed"]
    lines = result["msg"].splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[name, status] for name, status in statuses(result).items()]
    assert STAGED.kb in installed(machine)
    assert not {NEXT, "KB5999005", "KB5999006"} & installed(machine)
    assert "SECRET" not in json.dumps(result)


@pytest.mark.parametrize(("fault", "size", "needed"), [(True, 0, 10), (False, 30_000_000, 10), (False, 0, 50_000)])
def test_a_full_disk_is_said_and_nothing_is_half_installed(
    server: Serve, files: Files, fault: bool, size: int, needed: int
) -> None:
    machine = server()
    machine.files.reserved += machine.files.free_space() - 24_000_000
    wanted = files.add(dataclasses.replace(STAGED, disk_mb=needed), size=size)
    if fault:
        faults.set_fault(machine, {"kind": "disk_full"})
    result = install(machine, [wanted])
    assert statuses(result) == {STAGED.kb: "failed"}
    assert "disk is full" in message(result, STAGED.kb) or "is the disk full" in message(result, STAGED.kb)
    assert STAGED.kb not in installed(machine)


def test_a_server_that_misses_its_checkpoint_gets_it_from_the_same_folder(server: Serve, files: Files) -> None:
    update = Update("KB5999010", builds=(26100,), ubr=9000, checkpoints=(("KB5043080", 1742),), needs_ubr=0)
    machine = server(windows="2025", ubr=1, updates=[])
    alone = files.add(update, name="windows11.0-kb5999010-x64.msu")
    result = install(machine, [alone])
    assert statuses(result) == {update.kb: "failed"}
    beside = files.add(find("KB5043080"), name="windows11.0-kb5043080-x64.msu")
    result = install(machine, [alone | {"requires": [beside]}])
    assert statuses(result) == {update.kb: "installed"}, result["patches"]
    assert result["os_build_after"] == "26100.9000"


class TestWindowsUpdate:
    TOOL, DEFENDER, DOTNET = "KB890830", "KB2267602", "KB5066743"
    OFFERS: ClassVar[dict[str, Any]] = {"offers": [NEXT, TOOL]}

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_public_ones_before_files_and_one_reboot(self, server: Serve, files: Files, connection: str) -> None:
        machine = server(windows_update=self.OFFERS)
        # It needs what the public one brings.
        fix = dataclasses.replace(FIX, needs_ubr=2966)
        result = install(machine, [files.add(fix), NEXT, self.TOOL], connection=connection)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert result["os_build_after"] == "20348.2966"

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_three_patches_and_one_reboot(self, server: Serve, files: Files, connection: str) -> None:
        machine = server(windows_update=self.OFFERS, update_seconds=200)
        wanted = [NEXT, self.TOOL, files.add(STAGED)]
        result = install(machine, wanted, connection=connection)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert (result["reboots"], result["remote_commands"] <= 10) == (1, True), result["remote_commands"]
        again = install(machine, wanted, connection=connection)
        assert (again["changed"], again["remote_commands"]) == (False, 1)

    def test_what_nothing_lists_is_known_by_windows_update_s_log(self, server: Serve) -> None:
        machine = server(windows_update={"offers": [self.TOOL, self.DEFENDER, self.DOTNET]})
        result = install(machine, [self.TOOL, self.DEFENDER, self.DOTNET])
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        listed = {fix["id"] for fix in run(machine, "patch_info")["installed_qfes"]}
        assert not listed & {self.TOOL, self.DEFENDER, self.DOTNET}
        again = install(machine, [self.TOOL, self.DEFENDER, self.DOTNET])
        assert (set(statuses(again).values()), again["remote_commands"]) == ({"installed"}, 1)

    def test_a_kb_that_is_not_offered_is_never_called_installed(self, server: Serve) -> None:
        machine = server(windows_update=self.OFFERS)
        result = install(machine, ["KB9999999", self.TOOL])
        assert statuses(result) == {"KB9999999": "not_offered", self.TOOL: "installed"}
        assert result["failed"]
        assert "KB9999999  not_offered" in result["msg"]

    def test_one_that_fails_does_not_hold_up_the_others(self, server: Serve, files: Files) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x800f0922", "at": "install", "times": None}
        machine = server(windows_update=self.OFFERS, update_faults=[fault])
        result = install(machine, [NEXT, self.TOOL, files.add(FIX)])
        assert statuses(result) == {NEXT: "failed", self.TOOL: "installed", FIX.kb: "installed"}
        assert "0x800F0922" in message(result, NEXT)

    def test_a_download_that_fails_does_not_either(self, server: Serve) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x80240034", "at": "download", "times": None}
        machine = server(windows_update=self.OFFERS, update_faults=[fault])
        result = install(machine, [NEXT, self.TOOL])
        assert statuses(result) == {NEXT: "failed", self.TOOL: "installed"}, result["patches"]

    def test_a_server_that_cannot_be_reached_is_said(self, server: Serve, files: Files) -> None:
        machine = server(windows_update=False)
        result = install(machine, [NEXT, files.add(FIX)])
        assert statuses(result) == {NEXT: "failed", FIX.kb: "installed"}
        assert "0x8024402C" in message(result, NEXT)

    def test_only_what_wsus_approves_is_offered(self, server: Serve) -> None:
        machine = server(wsus={"url": "http://wsus:8530", "approved": [NEXT]}, windows_update=False)
        policy = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate"
        machine.registry.write(policy, {"WUServer": "http://wsus:8530", "WUStatusServer": "http://wsus:8530"})
        machine.registry.write(rf"{policy}\AU", {"UseWUServer": 1, "NoAutoUpdate": 1})
        result = install(machine, [NEXT, self.TOOL], update_server="wsus")
        assert statuses(result) == {NEXT: "installed", self.TOOL: "not_offered"}, result["patches"]
        assert machine.registry.data(rf"{policy}\AU", "NoAutoUpdate") == 1

    def test_what_was_disabled_is_disabled_again(self, server: Serve) -> None:
        machine = server(windows_update=self.OFFERS)
        machine.registry.write(WUAUSERV, {"Start": 4})
        result = install(machine, [NEXT])
        assert statuses(result) == {NEXT: "installed"}, result["patches"]
        assert (state(machine)["wuauserv"], state(machine)["marker"]) == (4, [])

    def test_the_next_run_waits_for_what_this_one_left_at_work(self, server: Serve, files: Files) -> None:
        machine = server(windows_update=self.OFFERS, update_seconds=300)
        wanted = [NEXT, files.add(STAGED)]
        result = install(machine, wanted, timeout=1)
        assert result["failed"]
        assert "the node goes on with it" in result["msg"]
        result = install(machine, wanted)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert [entry["attempts"] for entry in result["patches"]] == [0, 1]


class TestTestSigning:
    PRIVATE = Update("KB5999020", builds=(20348,), reboots=0)
    REFUSING = (({"secure_boot": True}, {}), ({"secure_boot": False}, {"test_signing": False}))
    MARKED = "Windows10.0-KB5999020-x64-InstallForTestingPurposesOnly.exe"

    def test_it_is_turned_on_and_that_is_said(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        wanted = files.add(self.PRIVATE, "exe", name=self.MARKED, signer="test")
        result = install(machine, [wanted])
        assert (statuses(result), result["test_signing"], result["reboots"]) == (
            {"KB5999020": "installed"},
            "turned_on",
            1,
        )
        assert any("test signing was turned on" in text for text in result["warnings"])
        assert state(machine)["test_signing"]
        again = install(machine, [wanted])
        assert (again["changed"], again["test_signing"], again["remote_commands"]) == (False, "on", 1)

    def test_a_signature_tells_where_nobody_does(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        result = install(machine, [files.add(self.PRIVATE, signer="test")])
        assert (statuses(result), result["test_signing"]) == ({"KB5999020": "installed"}, "turned_on")

    def test_microsoft_s_signature_turns_nothing_on(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        result = install(machine, [files.add(self.PRIVATE)])
        assert (statuses(result), result["test_signing"]) == ({"KB5999020": "installed"}, "off")

    @pytest.mark.parametrize(
        ("entry", "option"), [({"secure_boot": True}, {}), ({"secure_boot": False}, {"test_signing": False})]
    )
    def test_it_is_refused_before_anything_is_downloaded(
        self, server: Serve, files: Files, entry: dict[str, Any], option: dict[str, Any]
    ) -> None:
        machine = server(**entry)
        result = install(machine, [files.add(self.PRIVATE, "exe", name=self.MARKED, signer="test")], **option)
        assert statuses(result) == {"KB5999020": "failed"}
        assert ("Secure Boot" if not option else "test_signing is false") in message(result, "KB5999020")
        assert files.requests == []

    @pytest.mark.parametrize(
        ("entry", "option"), [({"secure_boot": True}, {}), ({"secure_boot": False}, {"test_signing": False})]
    )
    def test_it_is_refused_by_its_signature(
        self, server: Serve, files: Files, entry: dict[str, Any], option: dict[str, Any]
    ) -> None:
        machine = server(**entry)
        result = install(machine, [files.add(self.PRIVATE, signer="test")], **option)
        assert statuses(result) == {"KB5999020": "failed"}
        assert "Development PCA" in message(result, "KB5999020")
        assert not state(machine)["test_signing"]
        assert "KB5999020" not in installed(machine)


class TestSigners:
    MICROSOFT = "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US"

    def test_only_allowed_ones_are_installed(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        ours, theirs = files.add(FIX), files.add(STAGED, signer="private")
        # A test certificate can bear any subject.
        forged = files.add(TOOL, signer="test")
        nobodys = files.add(Update("KB5999030", builds=(20348,)), signer=None)
        result = install(machine, [ours, theirs, forged, nobodys], allowed_signers=[self.MICROSOFT])
        assert statuses(result) == {FIX.kb: "installed", STAGED.kb: "failed", TOOL.kb: "failed", "KB5999030": "failed"}
        assert "CN=Example Patches" in message(result, STAGED.kb)
        assert "NotSigned" in message(result, "KB5999030")

    def test_a_test_certificate_is_allowed_by_its_thumbprint(self, server: Serve, files: Files) -> None:
        signer = update_package.SIGNERS["test"].thumbprint
        result = install(server(secure_boot=False), [files.add(FIX, signer="test")], allowed_signers=[signer])
        assert statuses(result) == {FIX.kb: "installed"}


class TestControllersFiles:
    def entry(self, folder: Path, update: Update, **more: Any) -> dict[str, Any]:
        data = update_package.make(update, "msu", **more)
        name = f"windows10.0-{update.kb.lower()}-x64.msu"
        (folder / name).write_bytes(data)
        return {"file": name, "sha256": hashlib.sha256(data).hexdigest()}

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_they_are_pushed_in_pieces(
        self, server: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: str
    ) -> None:
        monkeypatch.setattr(patches_transfer, "PIECE", 40_000)
        machine = server()
        wanted = self.entry(tmp_path, STAGED, size=100_000)
        options = {"patch_source": str(tmp_path), "update_server": "none"}
        result = install(machine, [wanted], connection=connection, **options)
        assert statuses(result) == {STAGED.kb: "installed"}, result["patches"]
        assert state(machine)["files"] == []
        assert install(machine, [wanted], connection=connection, **options)["remote_commands"] == 1

    def test_a_wrong_one_is_not_pushed(self, server: Serve, tmp_path: Path) -> None:
        machine = server()
        result = install(machine, [self.entry(tmp_path, FIX) | {"sha256": "0" * 64}], patch_source=str(tmp_path))
        assert statuses(result) == {FIX.kb: "failed"}
        assert "SHA-256" in message(result, FIX.kb)
        assert state(machine)["files"] == []

    def test_a_mirror_serves_names_too(self, server: Serve, files: Files) -> None:
        entry = files.add(FIX)
        wanted = {"file": entry["url"].rpartition("/")[2], "sha256": entry["sha256"]}
        result = install(server(), [wanted], patch_source=files.url, update_server="none")
        assert statuses(result) == {FIX.kb: "installed"}


class TestReboots:
    def test_none_where_they_are_not_allowed(self, server: Serve, files: Files) -> None:
        machine = server()
        wanted = [files.add(STAGED)]
        result = install(machine, wanted, reboot=False)
        assert (statuses(result), result["reboots"], result["reboot_required"]) == (
            {STAGED.kb: "needs_reboot"},
            0,
            True,
        )
        assert not result.get("failed")
        result = install(machine, [*wanted, files.add(FIX)], reboot=False)
        assert statuses(result) == {STAGED.kb: "needs_reboot", FIX.kb: "failed"}
        assert "reboot" in message(result, FIX.kb)
        # The next run that may does what is left, and nothing twice.
        checked = install(machine, wanted, check=True)
        assert (checked["changed"], statuses(checked)) == (True, {STAGED.kb: "needs_reboot"})
        result = install(machine, wanted)
        assert (statuses(result), result["reboots"]) == ({STAGED.kb: "installed"}, 1)

    def test_two_where_an_update_needs_two(self, server: Serve, files: Files) -> None:
        result = install(server(), [files.add(Update("KB5999040", builds=(20348,), reboots=2))])
        assert (statuses(result), result["reboots"]) == ({"KB5999040": "installed"}, 2)

    def test_no_more_than_the_setting_says(self, server: Serve, files: Files) -> None:
        wanted = [files.add(Update("KB5999040", builds=(20348,), reboots=2))]
        machine = server()
        result = install(machine, wanted, max_reboots=1)
        assert (statuses(result), result["reboots"]) == ({"KB5999040": "needs_reboot"}, 1)
        assert result["failed"]
        assert statuses(install(machine, wanted, max_reboots=1)) == {"KB5999040": "installed"}

    def test_what_is_rolled_back_at_the_boot_is_not_called_installed(self, server: Serve, files: Files) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x800f0922", "at": "boot", "times": None}
        machine = server(update_faults=[fault])
        result = install(machine, [files.add(NEXT), files.add(FIX)])
        assert statuses(result) == {NEXT: "failed", FIX.kb: "installed"}
        assert "rolled back" in message(result, NEXT)
        assert result["os_build_after"] == "20348.2849"


def test_what_was_disabled_is_disabled_again(server: Serve, files: Files) -> None:
    machine = server()
    machine.registry.write(WUAUSERV, {"Start": 4})
    result = install(machine, [files.add(NEXT)])
    assert statuses(result) == {NEXT: "installed"}, result["patches"]
    assert (state(machine)["wuauserv"], state(machine)["marker"]) == (4, [])


def test_a_run_puts_back_what_an_earlier_one_could_not(server: Serve) -> None:
    machine = server()
    machine.registry.write(WUAUSERV, {"Start": 3})
    machine.registry.create_key(MARKER)
    machine.registry.write(MARKER, {"wuauserv": "Disabled"})
    result = install(machine, [HERE])
    assert statuses(result) == {HERE: "installed"}
    assert (state(machine)["wuauserv"], state(machine)["marker"]) == (4, [])


def test_check_mode_tells_and_changes_nothing(server: Serve, files: Files) -> None:
    machine = server()
    before = state(machine)
    result = install(machine, [files.add(NEXT), HERE], check=True)
    assert (result["changed"], statuses(result)) == (True, {NEXT: "to_install", HERE: "installed"})
    assert [entry["before_header"] for entry in result["diff"]] == [f"Patch {NEXT}"]
    assert (state(machine), files.requests, result["remote_commands"]) == (before, [], 1)


def test_bad_input_is_refused_before_the_server_is_touched(server: Serve) -> None:
    machine = server()
    result = run(machine, "patch_install", {"patches": [{"url": "https://h/kb5046616.msu?sig=SECRET"}]})
    assert result["failed"]
    assert "sha256" in result["msg"]
    assert "SECRET" not in result["msg"]
    assert store_of(machine).entries  # the machine is there, and nobody asked it anything


def test_an_unsupported_windows_is_refused(server: Serve) -> None:
    machine = server()
    machine.registry.write(r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion", {"CurrentBuild": "14393"})
    result = install(machine, [HERE])
    assert result["failed"]
    assert "allow_unsupported_windows" in result["msg"]


def test_the_facts_are_laid_out_like_release_notes(server: Serve, files: Files) -> None:
    machine = server()
    install(machine, [files.add(STAGED)], reboot=False)
    result = run(machine, "patch_info")
    assert (result["os_build"], result["remote_commands"]) == ("20348.2849", 1)
    assert HERE in {fix["id"] for fix in result["installed_qfes"]}
    assert result["pending"]["reboot"]
    assert [STAGED.kb in name for name in result["pending"]["packages"]] == [True]
    assert f"\t{HERE} : Security Update : https://support.microsoft.com/?kbid=5046616" in result["release_notes"]
