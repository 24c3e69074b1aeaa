# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join, sealing, sysprep
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from simulator.machine import certificate_store
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings


def test_the_image_state_of_windows_decides_when_sysprep_is_done() -> None:
    calls = {call.id: call for call in batch()}
    assert calls["sealed"].until == {"value": sealing.SEALED}
    assert calls["sysprep"].arguments == ("/oobe", "/generalize", "/mode:vm", "/quiet", "/quit")
    assert calls["sysprep"].long


def batch(end: sealing.End = "power_off", unattend: str | None = None, **parts: Any) -> tuple[Call, ...]:
    """Return the calls that end a build."""
    call = sysprep.sysprep_call(unattend, 60)
    return sealing.calls(sealing.Sealing(key="12345678", end=end, sysprep=call, timeout=60, **parts))


def test_a_machine_that_is_sealed_is_not_generalized_again() -> None:
    clean, secret = sysprep.preparing_calls(["C:\\x"]), sysprep.secret_calls("auto", ["C:\\s"])
    calls = {call.id: call for call in batch(preparing=clean, secrets=secret)}
    assert {name for name, call in calls.items() if "sealed-before" in call.unless} == {
        "sysprep", *(call.id for call in clean)
    }  # fmt: skip


def test_the_azure_agent_is_waited_for_only_where_it_is() -> None:
    calls = {call.id: call for call in sysprep.preparing_calls([])}
    assert calls["agent-RdAgent"].on_error == "continue"
    assert calls["wait-RdAgent"].needs == ("agent-RdAgent",)
    assert sysprep.sysprep_call("C:\\unattend.xml", 60).arguments[-1] == "/unattend:C:\\unattend.xml"


def test_an_image_holds_no_token_of_a_join_that_was_cut_off() -> None:
    removed = {
        str(call.parameters.get("Path")) for call in sysprep.preparing_calls([]) if call.command == "Remove-Item"
    }
    assert set(join.LEFTOVERS) <= removed


def test_winrm_is_closed_only_after_the_state_was_read_and_the_shutdown_comes_last() -> None:
    listeners = [sysprep.WinRmListener("*", "AB12"), sysprep.WinRmListener("IP:10.0.0.5", "")]
    closing = sysprep.winrm_calls(listeners)
    order = [call.id for call in batch(closing=closing)]
    assert order.index("result") < order.index("go") < order.index("unencrypted")
    assert order[-2:] == ["shutdown", "not-closed"]
    dropped = {call.id: call.parameters for call in closing}
    assert dropped["certificate-0-gone"]["LiteralPath"] == "Cert:\\LocalMachine\\My\\AB12"
    assert dropped["listener-1"]["SelectorSet"] == {"Address": "IP:10.0.0.5", "Transport": "HTTPS"}
    assert "shutdown" not in [call.id for call in batch("leave_running", closing=closing)]
    assert [call.id for call in batch("shutdown_command")].index("go") == 1, "the task comes before everything"


def test_no_image_contains_the_private_key_of_a_listener(tmp_path: Path) -> None:
    machine = Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )
    machine.power_on()
    try:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "win1")])
        mark = certificate_store.add(machine, "My", *certificate_store.self_signed(name, []))
        keys = "C:\\ProgramData\\Microsoft\\Crypto\\Keys"
        assert [file.name for file in machine.files.listing(keys)] == [mark]
        calls = sysprep.winrm_calls([sysprep.WinRmListener("*", mark)])
        # A batch that runs again finds neither.
        for dummy in range(2):
            seen = DirectNode(machine).run(Batch(calls=calls))
            assert seen.stopped is None
            assert not certificate_store.contains(machine, "My", mark)
            assert machine.files.listing(keys) == []
    finally:
        machine.power.power_off()


LISTENERS = [
    {"Address": "*", "Transport": "HTTP", "CertificateThumbprint": None},
    {"Address": "*", "Transport": "HTTPS", "CertificateThumbprint": "ab 12"},
]


@pytest.mark.parametrize(
    ("service", "files", "note", "expected"),
    [
        (False, [False, False], None, ("", "")),
        (True, [True, True], "delayed-auto", (sysprep._CLOUDBASE_FILES[0], "delayed-auto")),
        (True, [False, True], None, (sysprep._CLOUDBASE_FILES[1], "")),
    ],
)
def test_the_observation_of_a_machine(
    service: bool, files: list[bool], note: str | None, expected: tuple[str, str]
) -> None:
    there = [{"path": path, "exists": exists} for path, exists in zip(sysprep._CLOUDBASE_FILES, files, strict=True)]
    calls = {
        "listeners": {"ok": True, "output": LISTENERS},
        "state": {"ok": True, "output": [{"value": "IMAGE_STATE_COMPLETE"}]},
        "cloudbase": {"ok": service, "output": []},
        "cloudbase-note": {"ok": True, "output": [{"exists": note is not None, "value": note}]},
        "cloudbase-files": {"ok": True, "output": there},
    }
    assert set(calls) == {call.id for call in sysprep.inspection_calls()}
    machine = sysprep.read_machine(Observation.from_wire({"state": "finished", "calls": calls}))
    assert (machine.http, machine.sealed) == (True, False)
    assert machine.listeners == (sysprep.WinRmListener("*", "ab12"),)
    assert machine.cloudbase_init is service
    assert (machine.cloudbase_unattend, machine.cloudbase_start_mode) == expected


def test_cloudbase_init_starts_as_before_from_right_before_sysprep() -> None:
    order = [call.id for call in batch(secrets=sysprep.secret_calls("auto"))]
    assert order.index("cloudbase-start-mode") == order.index("sysprep") - 2
    calls = {call.id: call for call in sysprep.secret_calls("delayed-auto")}
    assert calls["cloudbase-start-mode"].arguments == ("config", "cloudbase-init", "start=", "delayed-auto")
    assert sysprep.secret_calls() == ()


TOKEN = "[header]\n  'Authorization' = 'Basic eDp5'\n"


@pytest.mark.parametrize(
    ("content", "goes"),
    [
        (f"server = 'https://r.example'\n\n{TOKEN}", True),
        ("[host.'https://m.example']\n[host.'https://m.example'.header]\n'X-Token' = 's'\n", True),
        ('[host."https://m.example"]\n  header = {"X-Token" = "s"}\n', True),
        ('  [ host."https://m.example"."header" ]\n  X-Token = "s"\n', True),
        (None, True),
        ("server = 'https://r.example'\n[host.'https://header.example']\n  capabilities = ['pull']\n", False),
        ("# [header] is not set\nserver = 'https://header.example'\n", False),
        ("", False),
    ],
)
def test_files_that_send_credentials_to_registries_are_known(content: str | None, goes: bool) -> None:
    (call,) = (sysprep.content_call(["C:\\c\\r\\hosts.toml"]),)
    output = [{"path": "C:\\c\\r\\hosts.toml", "exists": True, "content": content}]
    seen = Observation.from_wire({"state": "finished", "calls": {call.id: {"ok": True, "output": output}}})
    assert sysprep.sending(seen) == (["C:\\c\\r\\hosts.toml"] if goes else [])


def test_credentials_written_by_the_collection_are_found() -> None:
    given = {"r.example": {"mirrors": [{"url": "https://m.example", "username": "u", "password": "p"}]}}
    (found,) = registries.read(given)
    assert sysprep._HEADER.search(registries.hosts_toml(found))
    (public,) = registries.read({"header.example": {"mirrors": ["https://header.example"], "skip_verify": True}})
    assert not sysprep._HEADER.search(registries.hosts_toml(public))


def test_credentials_go_before_the_machine_is_generalized_and_not_in_silence() -> None:
    calls = batch(secrets=sysprep.secret_calls(secrets=["C:\\a", "C:\\b"]))
    order = [call.id for call in calls]
    assert order.index("secret-0") < order.index("secret-1") < order.index("sysprep")
    assert all(call.on_error == "stop" for call in calls if call.id.startswith("secret-"))


def test_an_unlistable_folder_may_contain_credentials() -> None:
    def seen(hosts: dict[str, object]) -> Observation:
        logins = {"ok": True, "output": [{"path": "C:\\l", "exists": True}, {"path": "C:\\m", "exists": False}]}
        return Observation.from_wire({"state": "finished", "calls": {"hosts": hosts, "logins": logins}})

    assert sysprep.registry_files(seen({"ok": True, "output": [{"FullName": "C:\\h"}]})) == (["C:\\h"], ["C:\\l"])
    missing = {"category": "ObjectNotFound", "id": "PathNotFound", "message": "no"}
    assert sysprep.registry_files(seen({"ok": False, "error": missing})) == ([], ["C:\\l"])
    with pytest.raises(ValueError, match="cannot be listed"):
        sysprep.registry_files(seen({"ok": False, "error": {**missing, "category": "PermissionDenied"}}))
