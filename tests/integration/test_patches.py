# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches on one server: the installed updates, the messages about each, and the cost."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from integration.patching import (
    FIX,
    HERE,
    MARKER,
    NEXT,
    OLD,
    STAGED,
    WUAUSERV,
    Files,
    Serve,
    files,
    find,
    install,
    installed,
    message,
    no_pauses,
    run,
    server,
    state,
    statuses,
)

from ansible_collections.winkube.node.plugins.plugin_utils.remote import upload
from simulator.machine import faults
from simulator.windows.updates import update_package
from simulator.windows.updates.component_store import store_of
from simulator.windows.updates.update_catalogue import Update

pytestmark = [
    pytest.mark.waits,
    pytest.mark.integration,
    pytest.mark.xdist_group("patches"),
    pytest.mark.usefixtures("no_pauses"),
]
__all__ = ["files", "no_pauses", "server"]


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
    requested = [files.add(NEXT), files.add(FIX, "cab"), files.add(STAGED, "msu")]
    result = install(machine, requested, connection=connection)
    assert set(statuses(result).values()) == {"installed"}
    assert (result["changed"], result["reboots"], result["reboot_required"]) == (True, 1, False)
    assert (result["os_build_before"], result["os_build_after"]) == ("20348.2849", "20348.2966")
    assert result["remote_commands"] <= 10
    assert {NEXT, FIX.kb, STAGED.kb} <= installed(machine)
    assert state(machine)["files"] == []
    again = install(machine, requested, connection=connection)
    assert (again["changed"], again["remote_commands"]) == (False, 1)


def test_a_slow_installation_costs_few_polls(server: Serve, files: Files) -> None:
    machine = server(update_seconds=100)
    result = install(machine, [files.add(NEXT)])
    assert statuses(result) == {NEXT: "installed"}
    assert result["remote_commands"] <= 10


def test_a_patch_without_a_reboot_causes_none(server: Serve, files: Files) -> None:
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


def test_each_failure_is_reported_and_the_other_patches_are_installed(server: Serve, files: Files) -> None:
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
    assert "not an update package" in message(result, "KB5999005")
    assert result["failed"]
    lines = result["msg"].splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[name, status] for name, status in statuses(result).items()]
    assert STAGED.kb in installed(machine)
    assert not {NEXT, "KB5999005", "KB5999006"} & installed(machine)
    assert "SECRET" not in json.dumps(result)


@pytest.mark.parametrize(("fault", "size", "needed"), [(True, 0, 10), (False, 30_000_000, 10), (False, 0, 50_000)])
def test_a_full_disk_is_reported_and_no_patch_is_partly_installed(
    server: Serve, files: Files, fault: bool, size: int, needed: int
) -> None:
    machine = server(pause_scale=0.1)
    machine.files.reserved += machine.files.free_space() - 24_000_000
    requested = files.add(dataclasses.replace(STAGED, disk_mb=needed), size=size)
    if fault:
        faults.set_fault(machine, {"kind": "disk_full"})
    result = install(machine, [requested])
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


class TestControllersFiles:
    def entry(self, folder: Path, update: Update, **more: Any) -> dict[str, Any]:
        data = update_package.make(update, "msu", **more)
        name = f"windows10.0-{update.kb.lower()}-x64.msu"
        (folder / name).write_bytes(data)
        return {"file": name, "sha256": hashlib.sha256(data).hexdigest()}

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_files_are_uploaded_in_pieces(
        self, server: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: str
    ) -> None:
        monkeypatch.setattr(upload, "PIECE", 40_000)
        machine = server()
        requested = self.entry(tmp_path, STAGED, size=100_000)
        options = {"patch_source": str(tmp_path), "update_server": "none"}
        result = install(machine, [requested], connection=connection, **options)
        assert statuses(result) == {STAGED.kb: "installed"}, result["patches"]
        assert state(machine)["files"] == []
        assert install(machine, [requested], connection=connection, **options)["remote_commands"] == 1

    def test_a_wrong_one_is_not_pushed(self, server: Serve, tmp_path: Path) -> None:
        machine = server()
        result = install(machine, [self.entry(tmp_path, FIX) | {"sha256": "0" * 64}], patch_source=str(tmp_path))
        assert statuses(result) == {FIX.kb: "failed"}
        assert "SHA-256" in message(result, FIX.kb)
        assert state(machine)["files"] == []

    def test_a_mirror_serves_names_too(self, server: Serve, files: Files) -> None:
        entry = files.add(FIX)
        requested = {"file": entry["url"].rpartition("/")[2], "sha256": entry["sha256"]}
        result = install(server(), [requested], patch_source=files.url, update_server="none")
        assert statuses(result) == {FIX.kb: "installed"}


class TestReboots:
    def test_no_reboots_if_they_are_not_allowed(self, server: Serve, files: Files) -> None:
        machine = server()
        requested = [files.add(STAGED)]
        result = install(machine, requested, reboot=False)
        assert (statuses(result), result["reboots"], result["reboot_required"]) == (
            {STAGED.kb: "needs_reboot"},
            0,
            True,
        )
        assert not result.get("failed")
        result = install(machine, [*requested, files.add(FIX)], reboot=False)
        assert statuses(result) == {STAGED.kb: "needs_reboot", FIX.kb: "failed"}
        assert "reboot" in message(result, FIX.kb)
        # The next run that may install does the rest, and nothing twice.
        checked = install(machine, requested, check=True)
        assert (checked["changed"], statuses(checked)) == (True, {STAGED.kb: "needs_reboot"})
        result = install(machine, requested)
        assert (statuses(result), result["reboots"]) == ({STAGED.kb: "installed"}, 1)

    def test_two_reboots_if_an_update_needs_two(self, server: Serve, files: Files) -> None:
        result = install(server(), [files.add(Update("KB5999040", builds=(20348,), reboots=2))])
        assert (statuses(result), result["reboots"]) == ({"KB5999040": "installed"}, 2)

    def test_a_machine_that_reboots_by_itself_is_waited_for(self, server: Serve, files: Files) -> None:
        machine = server(update_faults=[{"kind": "update_reboot_loop", "kb": NEXT, "boots": 2}])
        result = install(machine, [files.add(NEXT)])
        assert (statuses(result), result["reboots"]) == ({NEXT: "installed"}, 1), result
        assert machine.power.boots == 4

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_a_long_way_down_costs_one_command(self, server: Serve, files: Files, connection: str) -> None:
        machine = server(update_shutdown_seconds=100)
        result = install(machine, [files.add(NEXT)], connection=connection)
        assert (statuses(result), result["reboots"]) == ({NEXT: "installed"}, 1), result
        # Observe, the batch and its end, the reboot, a query that ends with the node, one that succeeds, observe.
        assert result["remote_commands"] <= 8

    def test_a_reboot_that_stays_pending_is_reported(self, server: Serve, files: Files) -> None:
        machine = server(update_faults=[{"kind": "update_reboot_loop", "kb": NEXT, "boots": None}])
        result = install(machine, [files.add(NEXT)], reboot_timeout=1, reconnect_timeout=1)
        assert result.get("failed") or result.get("unreachable"), result
        # The last known state: staged, or gone down and not back.
        assert statuses(result)[NEXT] in ("needs_reboot", "failed")
        assert (result["os_build_after"], result["reboots"] <= 3) == ("20348.2849", True)
        assert "reboot" in result["msg"]

    def test_the_run_waits_until_the_update_stack_is_idle(
        self, server: Serve, files: Files, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = server(update_settle_seconds=100)
        at_work: list[list[str]] = []
        reboot = machine.power.reboot

        def noted(delay: float = 0.0, reason: str = "") -> None:
            at_work.append([process.name for process in machine.processes.all() if process.name == "TiWorker.exe"])
            reboot(delay, reason)

        monkeypatch.setattr(machine.power, "reboot", noted)
        result = install(machine, [files.add(Update("KB5999040", builds=(20348,), reboots=2))], settle_timeout=20)
        assert (statuses(result), result["reboots"]) == ({"KB5999040": "installed"}, 2)
        assert at_work == [[], []]

    def test_a_node_that_stays_pending_is_reported(self, server: Serve, files: Files) -> None:
        result = install(server(update_settle_seconds=3000), [files.add(NEXT)], settle_timeout=1)
        assert statuses(result) == {NEXT: "installed"}
        assert any("the update stack was still busy after 1 s" in text for text in result["warnings"])

    def test_the_limit_of_reboots_is_respected(self, server: Serve, files: Files) -> None:
        requested = [files.add(Update("KB5999040", builds=(20348,), reboots=2))]
        machine = server()
        result = install(machine, requested, max_reboots=1)
        assert (statuses(result), result["reboots"]) == ({"KB5999040": "needs_reboot"}, 1)
        assert result["failed"]
        assert statuses(install(machine, requested, max_reboots=1)) == {"KB5999040": "installed"}

    def test_a_patch_rolled_back_at_the_boot_is_not_reported_as_installed(self, server: Serve, files: Files) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x800f0922", "at": "boot", "times": None}
        machine = server(update_faults=[fault])
        result = install(machine, [files.add(NEXT), files.add(FIX)])
        assert statuses(result) == {NEXT: "failed", FIX.kb: "installed"}
        assert "rolled back" in message(result, NEXT)
        assert result["os_build_after"] == "20348.2849"


def test_a_disabled_service_is_disabled_again(server: Serve, files: Files) -> None:
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


def test_check_mode_reports_and_changes_nothing(server: Serve, files: Files) -> None:
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
    assert store_of(machine).entries  # the machine exists, and was not accessed


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
