# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Public patches through Windows Update, and the accepted signatures of files."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, ClassVar

import pytest
from ansible.utils.display import Display
from integration.patching import (
    FIX,
    NEXT,
    STAGED,
    TOOL,
    WUAUSERV,
    Files,
    Serve,
    files,
    install,
    installed,
    message,
    no_pauses,
    run,
    server,
    state,
    statuses,
)

from ansible_collections.winkube.node.plugins.plugin_utils.patches import run as patches_run
from simulator.windows.updates import update_package
from simulator.windows.updates.update_catalogue import Update

pytestmark = [
    pytest.mark.waits,
    pytest.mark.integration,
    pytest.mark.xdist_group("patches_update"),
    pytest.mark.usefixtures("no_pauses"),
]
__all__ = ["files", "no_pauses", "server"]


class TestWindowsUpdate:
    TOOL, DEFENDER, DOTNET = "KB890830", "KB2267602", "KB5066743"
    OFFERS: ClassVar[dict[str, Any]] = {"offers": [NEXT, TOOL]}

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_public_ones_before_files_and_one_reboot(self, server: Serve, files: Files, connection: str) -> None:
        machine = server(windows_update=self.OFFERS)
        # It requires the public one.
        fix = dataclasses.replace(FIX, needs_ubr=2966)
        result = install(machine, [files.add(fix), NEXT, self.TOOL], connection=connection)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert result["os_build_after"] == "20348.2966"

    @pytest.mark.parametrize("connection", ["psrp", "winrm"])
    def test_three_patches_and_one_reboot(self, server: Serve, files: Files, connection: str) -> None:
        machine = server(windows_update=self.OFFERS, update_seconds=30)
        requested = [NEXT, self.TOOL, files.add(STAGED)]
        result = install(machine, requested, connection=connection)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert (result["reboots"], result["remote_commands"] <= 10) == (1, True), result["remote_commands"]
        again = install(machine, requested, connection=connection)
        assert (again["changed"], again["remote_commands"]) == (False, 1)

    def test_twenty_minutes_of_installing_stay_within_the_budget(
        self, server: Serve, files: Files, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Two polls take this long. With them a live node takes ten commands, including the first and the HNS
        # observation.
        assert patches_run.FIRST_POLL + patches_run.POLL >= 20 * 60
        # Polls are as fast as Windows' own time: three patches of 400 s each.
        scale = 1 / 300
        monkeypatch.setattr(patches_run, "FIRST_POLL", patches_run.FIRST_POLL * scale)
        monkeypatch.setattr(patches_run, "POLL", patches_run.POLL * scale)
        messages: list[str] = []
        monkeypatch.setattr(Display, "display", lambda _self, text, *_, **__: messages.append(text))
        machine = server(windows_update=self.OFFERS, update_seconds=400, time_scale=scale)
        result = install(machine, [NEXT, self.TOOL, files.add(STAGED)])
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        # Six and the polls, plus one more poll if the machine that runs the tests is busy.
        assert (result["reboots"], result["remote_commands"] in (7, 8, 9)) == (1, True), result["remote_commands"]
        assert f"patched: installing {NEXT}, {self.TOOL}, {STAGED.kb}" in messages
        assert f"patched: Windows Update is installing {NEXT}, {self.TOOL}" in messages
        assert "patched: rebooting" in messages

    def test_unlisted_updates_are_found_in_windows_updates_log(self, server: Serve) -> None:
        machine = server(windows_update={"offers": [self.TOOL, self.DEFENDER, self.DOTNET]})
        result = install(machine, [self.TOOL, self.DEFENDER, self.DOTNET])
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        listed = {fix["id"] for fix in run(machine, "patch_info")["installed_qfes"]}
        assert not listed & {self.TOOL, self.DEFENDER, self.DOTNET}
        again = install(machine, [self.TOOL, self.DEFENDER, self.DOTNET])
        assert (set(statuses(again).values()), again["remote_commands"]) == ({"installed"}, 1)

    def test_a_kb_that_is_not_offered_is_never_reported_as_installed(self, server: Serve) -> None:
        machine = server(windows_update=self.OFFERS)
        result = install(machine, ["KB9999999", self.TOOL])
        assert statuses(result) == {"KB9999999": "not_offered", self.TOOL: "installed"}
        assert result["failed"]
        assert "KB9999999  not_offered" in result["msg"]

    def test_a_failed_patch_does_not_block_the_others(self, server: Serve, files: Files) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x800f0922", "at": "install", "times": None}
        machine = server(windows_update=self.OFFERS, update_faults=[fault])
        result = install(machine, [NEXT, self.TOOL, files.add(FIX)])
        assert statuses(result) == {NEXT: "failed", self.TOOL: "installed", FIX.kb: "installed"}
        assert "0x800F0922" in message(result, NEXT)

    def test_a_failed_download_does_not_block_the_others(self, server: Serve) -> None:
        fault = {"kind": "update_fails", "kb": NEXT, "hresult": "0x80240034", "at": "download", "times": None}
        machine = server(windows_update=self.OFFERS, update_faults=[fault])
        result = install(machine, [NEXT, self.TOOL])
        assert statuses(result) == {NEXT: "failed", self.TOOL: "installed"}, result["patches"]

    def test_an_unreachable_update_server_is_reported(self, server: Serve, files: Files) -> None:
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

    def test_a_disabled_service_is_disabled_again(self, server: Serve) -> None:
        machine = server(windows_update=self.OFFERS)
        machine.registry.write(WUAUSERV, {"Start": 4})
        result = install(machine, [NEXT])
        assert statuses(result) == {NEXT: "installed"}, result["patches"]
        assert (state(machine)["wuauserv"], state(machine)["marker"]) == (4, [])

    def test_the_next_run_waits_for_the_unfinished_installation(self, server: Serve, files: Files) -> None:
        machine = server(windows_update=self.OFFERS, update_seconds=300)
        requested = [NEXT, files.add(STAGED)]
        result = install(machine, requested, timeout=1)
        assert result["failed"]
        assert "the batch keeps running on the node" in result["msg"]
        result = install(machine, requested)
        assert set(statuses(result).values()) == {"installed"}, result["patches"]
        assert [entry["attempts"] for entry in result["patches"]] == [0, 1]


class TestTestSigning:
    PRIVATE = Update("KB5999020", builds=(20348,), reboots=0)
    REFUSING = (({"secure_boot": True}, {}), ({"secure_boot": False}, {"test_signing": False}))
    MARKED = "Windows10.0-KB5999020-x64-InstallForTestingPurposesOnly.exe"

    def test_test_signing_is_turned_on_and_reported(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        requested = files.add(self.PRIVATE, "exe", name=self.MARKED, signer="test")
        result = install(machine, [requested])
        assert (statuses(result), result["test_signing"], result["reboots"]) == (
            {"KB5999020": "installed"},
            "turned_on",
            1,
        )
        assert any("test signing was turned on" in text for text in result["warnings"])
        assert state(machine)["test_signing"]
        again = install(machine, [requested])
        assert (again["changed"], again["test_signing"], again["remote_commands"]) == (False, "on", 1)

    def test_a_signature_verifies_a_file_without_a_checksum(self, server: Serve, files: Files) -> None:
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
    def test_the_option_is_refused_before_anything_is_downloaded(
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
    def test_a_file_is_refused_because_of_its_signature(
        self, server: Serve, files: Files, entry: dict[str, Any], option: dict[str, Any]
    ) -> None:
        machine = server(**entry)
        result = install(machine, [files.add(self.PRIVATE, signer="test")], **option)
        assert statuses(result) == {"KB5999020": "failed"}
        assert "Development PCA" in message(result, "KB5999020")
        assert not state(machine)["test_signing"]
        assert "KB5999020" not in installed(machine)

    def test_an_unsigned_file_is_checked_by_the_installer(self, server: Serve, files: Files) -> None:
        # The format (WIM) for 2025 need not have a signature that Windows supports. Its SHA-256 has been verified.
        machine = server(windows="2025", secure_boot=True)
        ours = files.add(Update("KB5999021", builds=(26100,), reboots=0))
        unsigned = files.add(Update("KB5999022", builds=(26100,), reboots=0), signer=None)
        (files.folder / "kb5999023.msu").write_bytes(b"no package")
        junk = {"url": f"{files.url}/kb5999023.msu", "sha256": hashlib.sha256(b"no package").hexdigest()}
        result = install(machine, [ours, unsigned, junk])
        assert statuses(result) == {"KB5999021": "installed", "KB5999022": "failed", "KB5999023": "failed"}
        assert "wusa: the file is not signed" in message(result, "KB5999022")
        assert "wusa: the file is not an update package" in message(result, "KB5999023")
        assert "not accepted" in message(install(machine, [unsigned], allowed_signers=["AB" * 20]), "KB5999022")


class TestSigners:
    MICROSOFT = "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US"

    def test_only_allowed_patches_are_installed(self, server: Serve, files: Files) -> None:
        machine = server(secure_boot=False)
        ours, theirs = files.add(FIX), files.add(STAGED, signer="private")
        # A test certificate can have any subject.
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
