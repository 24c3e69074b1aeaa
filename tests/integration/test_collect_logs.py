# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Collecting logs over Ansible's real connections: complete, limited in size, without secrets and leftovers."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.networks import free_network
from integration.patching import no_pauses
from integration.states import state_of

from ansible_collections.winkube.node.plugins.plugin_utils.logs import collection
from ansible_collections.winkube.node.plugins.plugin_utils.remote import download
from simulator.fleet import Fleet
from simulator.kubernetes_node.hns import fixtures
from simulator.machine import faults
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault
from simulator.windows.system import event_log_store

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("collect_logs"),
    pytest.mark.usefixtures("no_pauses", "prompt"),
]
__all__ = ["no_pauses"]

BATCHES = r"C:\ProgramData\winkube\batches"
KUBELET = r"C:\var\log\kubelet\kubelet.log"
NodeFactory = Callable[..., Machine]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    network = free_network()
    names = ["2019-0", "2025-0", *(f"2022-{number}" for number in range(16))]
    nodes = [
        MachineSettings.read(
            {
                "name": f"LOGS-{name}",
                "address": f"{network}.{100 + number}",
                "windows": name[:4],
                "features": ["Containers"],
                "password": "Passw0rd-of-logs",
            }
        )
        for number, name in enumerate(names, start=1)
    ]
    with Fleet(nodes) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def node(fleet: Fleet) -> NodeFactory:
    """Return a function that creates a node in use for one test: with logs, running pods and one that is gone."""
    unused: dict[str, Iterator[int]] = {}

    def take(windows: str = "2022") -> Machine:
        machine = fleet.machine(f"LOGS-{windows}-{next(unused.setdefault(windows, itertools.count()))}")
        fixtures.install(machine)
        fixtures.populate(machine, "flannel-host-gw", running=2, stale=1)
        put(machine, KUBELET, "I1121 kubelet started\n" * 50)
        put(machine, r"C:\var\log\pods\kube-flannel_kube-flannel-ds-x_1\kube-flannel\0.log", "flannel: started\n")
        put(machine, r"C:\var\log\pods\shop_cart-x_1\cart\0.log", "the customers' own words\n")
        event_log_store.write(machine, "Microsoft-Windows-Host-Network-Service-Admin", "network created")
        # Every batch with a result needs it.
        machine.files.make_directory(r"C:\ProgramData\winkube")
        return machine

    return take


def put(machine: Machine, path: str, content: str | bytes) -> None:
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, content if isinstance(content, bytes) else content.encode())


def collect(
    machine: Machine, folder: Path, *, kind: str = "psrp", check_mode: bool = False, **options: Any
) -> dict[str, Any]:
    """Run node_logs as one task."""
    arguments = {"directory": str(folder), "timeout": 60, "reconnect_timeout": 30, **options}
    # Errors while closing a connection do not matter.
    with contextlib.suppress(Exception), connect(machine, kind) as connection:
        return run_action(connection, "node_logs", arguments, check_mode=check_mode)
    raise AssertionError("unreachable")


def members(result: dict[str, Any]) -> dict[str, bytes]:
    """Return the contents of an archive, without its single top folder."""
    found = {}
    with tarfile.open(result["archive"]) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None, member
            top, _, name = member.name.partition("/")
            assert top == "win", member.name
            found[name] = content.read()
    return found


def gathered(machine: Machine) -> list[str]:
    """Return the leftovers of a collection on a node."""
    if not machine.files.is_directory(BATCHES):
        return []
    return [entry.path for entry in machine.files.walk(BATCHES) if entry.path != BATCHES]


@pytest.mark.parametrize(("windows", "kind"), [("2019", "winrm"), ("2022", "psrp"), ("2025", "winrm")])
def test_logs_are_downloaded_and_the_node_is_unchanged(
    node: NodeFactory, tmp_path: Path, windows: str, kind: str
) -> None:
    machine = node(windows)
    before = state_of(machine)
    result = collect(machine, tmp_path, kind=kind)
    assert not result.get("failed"), result
    assert result["problems"] == []
    assert result["remote_commands"] == 5
    assert result["hns"] == {"networks": 1, "endpoints": 6, "policy_lists": 2, "namespaces": 4, "stale": 1}
    assert result["versions"]["kubelet"] == "Kubernetes v1.34.2"
    assert result["services_not_running"] == []
    # Native services whose output is not redirected.
    assert result["without_log"] == ["containerd", "kube-proxy"]
    found = members(result)
    assert found["files/kubelet/C/var/log/kubelet/kubelet.log"] == machine.files.read_bytes(KUBELET)
    assert b"flannel: started" in b"".join(found.values())
    assert b"customers" not in b"".join(found.values())
    assert {"facts/hns.json", "facts/services.json", "facts/routes.json", "commands/cri-pods.txt"} <= found.keys()
    exported = found["event-logs/Microsoft-Windows-Host-Network-Service-Admin.evtx"]
    assert exported.startswith(b"ElfFile\0")
    assert "network created".encode("utf-16-le") in exported
    assert [item["state"] for item in json.loads(found["facts/hns.json"])["endpoints"]].count("stale") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "win.tar.gz"]
    assert (tmp_path / "win.tar.gz").stat().st_mode & 0o077 == 0
    assert gathered(machine) == []
    assert state_of(machine) == before


def test_only_the_newest_files_of_each_source_are_collected(node: NodeFactory, tmp_path: Path) -> None:
    machine = node()
    lines = [f"line {number:07}\n" for number in range(300_000)]
    put(machine, KUBELET, "".join(lines))
    for age in (1, 5):
        path = rf"C:\var\log\kubelet\old-{age}.log"
        put(machine, path, "old\n")
        real = machine.files.real(path)
        os.utime(real, (real.stat().st_atime, real.stat().st_mtime - age * 86400))
    result = collect(machine, tmp_path, limit_mb=1, sources=["kubelet"], since="2d")
    found = members(result)
    content = found["files/kubelet/C/var/log/kubelet/kubelet.log"]
    assert len(content) == 1024 * 1024
    assert content.endswith(b"line 0299999\n")
    manifest = json.loads(found["manifest.json"])
    assert [item["taken"] for item in manifest["files"]] == [1024 * 1024]
    assert manifest["files"][0]["size_on_node"] == len("".join(lines))
    whys = {item["path"]: item["why"] for item in manifest["left_out"]}
    assert whys[r"C:\var\log\kubelet\old-1.log"] == "newer files fill the limit of 1 MB"
    assert whys[r"C:\var\log\kubelet\old-5.log"].startswith("not modified since")
    assert not [name for name in found if name.startswith(("event-logs", "commands"))]


SECRETS = {
    r"C:\etc\kubernetes\kubelet.conf": "users: [{name: a, user: {token: Geheim-kubeconfig}}]",
    r"C:\etc\kubernetes\bootstrap-kubelet.conf": "token: Geheim-bootstrap",
    r"C:\etc\kubernetes\pki\ca.log": "Geheim-pki",
    r"C:\var\lib\kubelet\pki\kubelet.log": "Geheim-kubelet-pki",
    r"C:\k\kube-proxy\access\token.log": "Geheim-access",
    r"C:\k\config.kubeconfig": "Geheim-k",
    r"C:\k\kubelet-bootstrap-kubeconfig.log": "Geheim-named-like-a-log",
    r"C:\etc\cni\net.d\10-calico.conf": '{"etcd_endpoints": "https://u:Geheim-etcd@etcd:2379", "token": "Geheim-cni"}',
    r"C:\etc\cni\net.d\calico-kubeconfig.conf": "token: Geheim-calico",
    r"C:\Windows\Panther\unattend.xml": "<Password><Value>Geheim-unattend</Value></Password>",
    r"C:\Windows\Panther\setupact.log": "Geheim-panther",
    r"C:\Program Files\containerd\config.toml": 'password = "Geheim-registry two"\nauth = "R2VoZWlt"\n',
    r"C:\Program Files\containerd\certs.d\r.io\hosts.toml": 'authorization = "Bearer Geheim-hosts"\n',
    r"C:\var\lib\kubelet\config.yaml": "staticPodURLHeader:\n  Authorization: [Bearer Geheim-header]\n",
    KUBELET: "I1121 proxy http://robot:Geheim-proxy@proxy:3128 said no\nuse token geheim.geheimgeheimgehe\n"
    "logged on with Passw0rd-of-logs\n-----BEGIN PRIVATE KEY-----\nR2VoZWltLWtleQ\n-----END PRIVATE KEY-----\n",
    r"C:\var\log\kubelet\utf16.log": "password: Geheim-utf16\r\n".encode("utf-16"),
    r"C:\app\agent.log": "connecting with AccountKey=Geheim-account;\n",
}
TRACES = (
    *("Geheim", "R2VoZWlt", "geheim.geheimgeheimgehe", "Passw0rd-of-logs"),
    base64.b64encode(b"Passw0rd-of-logs").decode(),
)


def traces(data: bytes) -> list[str]:
    return [trace for trace in TRACES for encoding in ("utf-8", "utf-16-le") if trace.encode(encoding) in data]


def test_no_secret_is_in_an_archive_or_left_anywhere(node: NodeFactory, tmp_path: Path) -> None:
    machine = node()
    for path, content in SECRETS.items():
        put(machine, path, content)
    services = r"HKLM:\SYSTEM\CurrentControlSet\Services"
    machine.registry.set(
        rf"{services}\kubelet", "Environment", ["HTTPS_PROXY=http://u:Geheim-service@p:1"], "MultiString"
    )
    machine.programs.run("netsh.exe", ["winhttp", "set", "proxy", "proxy-server=u:Geheim-winhttp@proxy:3128"])
    event_log_store.write(machine, "Security", "a process was created: net.exe use Geheim-security")
    event_log_store.write(machine, "Microsoft-Windows-PowerShell/Operational", "Creating Scriptblock: 'Geheim-script'")
    # A user requests too much.
    result = collect(machine, tmp_path, since="4w", paths=[r"C:\k\*", r"C:\etc\*\*", r"C:\app\*.log", r"C:\*\*\*.log"])
    assert not result.get("failed"), result
    found = members(result)
    assert {name: traces(content) for name, content in found.items() if traces(content)} == {}
    assert traces(json.dumps(result).encode()) == []
    manifest = json.loads(found["manifest.json"])
    left_out = {item["path"]: item["why"] for item in manifest["left_out"]}
    assert "never collected" in left_out[r"C:\etc\kubernetes\kubelet.conf"]
    assert "are never collected" in left_out[r"C:\Windows\Panther\setupact.log"]
    # The readable files are included, even with blanks in their names.
    kubelet = found["files/kubelet/C/var/log/kubelet/kubelet.log"].decode()
    assert kubelet.startswith("I1121 proxy http://***@proxy:3128 said no\nuse token ***\nlogged on with ***\n***\n")
    assert found["files/kubelet/C/var/log/kubelet/utf16.log"] == b"password: ***\r\n"
    assert b"proxy:3128" in found["commands/winhttp-proxy.txt"]
    assert any(b"AccountKey=***" in content for content in found.values())
    assert gathered(machine) == []


def test_check_mode_reports_and_collects_nothing(node: NodeFactory, tmp_path: Path) -> None:
    machine = node()
    result = collect(machine, tmp_path / "logs", check_mode=True, paths=[r"C:\k\*.exe"])
    assert KUBELET in result["selected"]
    assert "Microsoft-Windows-Host-Network-Service-Admin" in result["event_logs"]
    assert (result["changed"], result["remote_commands"], "archive" in result) == (False, 1, False)
    assert not (tmp_path / "logs").exists()
    assert gathered(machine) == []


def test_binary_files_are_left_out(node: NodeFactory, tmp_path: Path) -> None:
    result = collect(node(), tmp_path, sources=["kubelet"], paths=[r"C:\k\kubelet.exe"])
    assert result["problems"] == ["files/more-files/C/k/kubelet.exe: not a text file"]
    assert set(members(result)) == {
        *("manifest.json", "facts/services.json", "files/kubelet/C/var/log/kubelet/kubelet.log")
    }


def test_a_hang_of_hns_does_not_prevent_the_collection(node: NodeFactory, tmp_path: Path) -> None:
    machine = node()
    faults.set_fault(machine, {"kind": "hns_hang", "until": "restart"})
    result = collect(machine, tmp_path, hns_timeout=1)
    assert [problem for problem in result["problems"] if "HNS did not respond" in problem]
    assert set(result["hns"].values()) == {None}
    assert "files/kubelet/C/var/log/kubelet/kubelet.log" in members(result)


def test_a_full_disk_is_reported_before_logs_are_collected(node: NodeFactory, tmp_path: Path) -> None:
    machine = node()
    faults.set_fault(machine, {"kind": "disk_full", "free": 100_000_000})
    result = collect(machine, tmp_path)
    assert result["failed"]
    assert "of free space on C:, got 95 MB" in result["msg"]
    assert "limit_mb" in result["msg"]
    # Known facts about the node are included even so.
    assert result["windows"]["build"] == 20348
    assert (gathered(machine), list(tmp_path.iterdir())) == ([], [])


def test_bad_options_are_refused_before_the_node_is_asked(fleet: Fleet, tmp_path: Path) -> None:
    machine = fleet.machine("LOGS-2019-0")
    before = fleet.nodes["LOGS-2019-0"].server.counters.snapshot()
    result = collect(machine, tmp_path, since="yesterday")
    assert result["msg"].startswith("since: expected ")
    assert result["msg"].endswith("got 'yesterday'")
    assert "24h" in result["msg"]
    assert fleet.nodes["LOGS-2019-0"].server.counters.snapshot() == before


def test_a_controller_that_cannot_write_is_reported_and_the_node_is_cleaned_up(
    node: NodeFactory, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = node()
    (tmp_path / "file").write_text("no folder")
    before = fleet.nodes[machine.name].server.counters.snapshot()
    result = collect(machine, tmp_path / "file" / "logs")
    assert result["failed"]
    assert result["msg"].startswith("directory: expected a writable folder")
    assert fleet.nodes[machine.name].server.counters.snapshot() == before

    def full(*dummy: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "fetch", full)
    result = collect(machine, tmp_path / "logs")
    assert result["failed"]
    assert "store logs in" in result["msg"]
    assert "No space left on device" in result["msg"]
    assert gathered(machine) == []
    assert list((tmp_path / "logs").iterdir()) == []


def test_the_next_run_cleans_up_a_node_that_was_disconnected(node: NodeFactory, fleet: Fleet, tmp_path: Path) -> None:
    machine = node()
    server = fleet.nodes[machine.name].server
    small = {"sources": ["kubelet"], "reconnect_timeout": 1}

    def gone() -> None:
        server.set_fault(TransportFault("link_down", 0, seconds=300))

    with pytest.MonkeyPatch.context() as patch:
        # At the request for the first piece.
        patch.setattr(collection.Collection, "_transfer", lambda *_: (gone(), _TRANSFER(*_))[1])
        patch.setattr(collection, "_CLEANUP_TIMEOUT", 0.1)
        result = collect(machine, tmp_path, **small)
    assert result["unreachable"]
    assert result["msg"].startswith("win: download ")
    assert result["windows"]["build"] == 20348
    assert list(tmp_path.iterdir()) == []
    left = gathered(machine)
    assert any(path.endswith("logs.tar.gz") for path in left)
    # Only SYSTEM and administrators have access in the meantime. Everything below inherits this.
    assert machine.files.who_may_write(BATCHES) | machine.files.who_may_read(BATCHES) == set()
    server.faults.clear()
    machine.network.drop_link(0)
    result = collect(machine, tmp_path, **small)
    assert not result.get("failed"), result
    assert [path for path in gathered(machine) if "logs-" in path] == []


_TRANSFER = collection.Collection._transfer
KINDS = ("before", "during", "after")


@pytest.mark.parametrize(("kind", "first"), [("winrm", 2), ("psrp", 3)])
def test_a_link_that_breaks_at_any_request(
    node: NodeFactory, fleet: Fleet, tmp_path: Path, kind: str, first: int
) -> None:
    machine = node()
    server = fleet.nodes[machine.name].server
    small = {"sources": ["kubelet"], "kind": kind}
    injected = converged = 0
    with pytest.MonkeyPatch.context() as patch:
        # Two pieces.
        patch.setattr(download, "PIECE", 150)
        expected = members(collect(machine, tmp_path, **small))
        assert server.counters.snapshot()["remote_commands"] == 6
        # One piece per remote command, which takes at least four requests. test_node_connection.py cuts every request.
        for request in itertools.count(first, 4):
            server.set_fault(TransportFault(kind=KINDS[request % 3], request=request))
            (tmp_path / "win.tar.gz").unlink()
            with connect(machine, kind) as connection:
                options = {"directory": str(tmp_path), "timeout": 60, "sources": ["kubelet"]}
                result = run_action(connection, "node_logs", options)
                pending = server.faults.pending()
                server.faults.clear()
            assert not result.get("failed"), (request, result)
            assert not result.get("unreachable"), (request, result)
            found = members(result)
            assert found["files/kubelet/C/var/log/kubelet/kubelet.log"] == machine.files.read_bytes(KUBELET)
            assert found.keys() == expected.keys()
            assert [path for path in gathered(machine) if "logs-" in path] == [], request
            if pending:
                break
            injected += 1
            converged += 1
    print(f"{kind}: faults injected {injected}, converged {converged}")
    assert injected == converged >= 6
