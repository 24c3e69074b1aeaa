# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every type on a simulated machine: created, found unchanged, changed, found unchanged, removed."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import threading
import typing as t
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine import executables
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

Item = dict[str, t.Any]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022"}
    quick = {"feature_seconds": 0.01, "reboot_seconds": 0.01, "time_scale": 0.01, "first_delay": 0.02}
    machine = Machine(MachineSettings.read({**entry, **quick}), tmp_path / "machine")
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


def converge(node: DirectNode, *items: Item, check_mode: bool = False) -> ConvergenceOutcome:
    outcome = Convergence(NodeSession(node), load(items), check_mode=check_mode).run()
    assert outcome.failures == []
    return outcome


def settles(node: DirectNode, *items: Item) -> list[str]:
    """Converge, and return the changes. Nothing may differ afterwards."""
    changed = [f"{done.planned.resource.type} {done.planned.action}" for done in converge(node, *items).changes]
    again = converge(node, *items, check_mode=True)
    assert [done.planned.change for done in again.changes] == []
    return changed


def item(type_: str, name: str, **properties: t.Any) -> Item:
    return {"type": type_, "name": name, **properties}


KEY = "HKLM:\\SOFTWARE\\Example\\Sub"


def value(kind: str, data: t.Any) -> Item:
    return {"type": "Registry", "key": KEY, "value_name": f"a {kind}", "value_type": kind, "value": data}


TASK = item("ScheduledTask", "\\winkube\\x", execute="C:\\x.exe")
CYCLES: dict[str, list[list[Item]]] = {
    "registry": [
        [
            value("String", "x"),
            value("ExpandString", "%TEMP%\\x"),
            value("MultiString", ["a", "b"]),
            value("DWord", 0xFFFFFFFF),
            value("QWord", 2**63),
            value("Binary", "01,ff"),
        ],
        [value("String", "y"), value("MultiString", ["a"]), value("DWord", 0), value("Binary", "00")],
        [{**value("String", "y"), "state": "absent"}],
        [{"type": "Registry", "key": KEY, "state": "absent"}],
    ],
    "environment": [
        [item("Environment", "HTTP_PROXY", value="http://p:3128"), item("Environment", "PATH", path_entries=["C:\\k"])],
        [item("Environment", "HTTP_PROXY", value="%X%"), item("Environment", "PATH", path_entries=["C:\\k2"])],
        [
            item("Environment", "HTTP_PROXY", state="absent"),
            item("Environment", "PATH", path_entries=["C:\\k", "c:\\K2\\"], state="absent"),
        ],
    ],
    "firewall rule": [
        [item("FirewallRule", "kubelet", protocol="TCP", local_ports=["10250", "30000-32767"])],
        [item("FirewallRule", "kubelet", protocol="UDP", local_ports=["53"], remote_addresses=["10.0.0.0/8"])],
        [item("FirewallRule", "kubelet", group="Kubernetes", profile=["Domain", "Private"], display_name="Kubelet")],
        [item("FirewallRule", "kubelet", protocol="ICMPv4", action="Block", enabled=False, program="C:\\k\\x.exe")],
        [item("FirewallRule", "kubelet", state="absent")],
    ],
    "file": [
        [item("File", "C:\\etc\\x.toml", content="a\n", line_ending="crlf"), item("Directory", "C:\\data")],
        [item("File", "C:\\etc\\x.toml", content="b\n", acl="D:P(A;;FA;;;SY)(A;;FA;;;BA)")],
        [item("File", "C:\\etc\\x.toml", source_content_base64="AP8=")],
        [item("Directory", "C:\\data", acl="D:P(A;OICI;FA;;;SY)")],
        [item("File", "C:\\etc\\x.toml", state="absent"), item("Directory", "C:\\data", state="absent")],
    ],
    "defender exclusion": [
        [item("DefenderExclusion", "k", paths=["C:\\k", "C:\\var"], processes=["kubelet.exe"])],
        [item("DefenderExclusion", "k", extensions=[".vhdx"])],
        [item("DefenderExclusion", "k", paths=["C:\\k"], state="absent")],
    ],
    "scheduled task": [
        [{**TASK, "triggers": [{"on": "startup"}, {"on": "daily", "at": "03:30"}]}],
        [{**TASK, "arguments": "/all", "user": "LOCAL SERVICE", "run_level": "Limited"}],
        [{**TASK, "triggers": [{"on": "weekly", "at": "04:00", "days": ["Monday", "Friday"]}], "enabled": False}],
        [{**TASK, "execution_time_limit_minutes": 0, "multiple_instances": "Queue", "working_directory": "C:\\"}],
        [{**TASK, "state": "absent"}],
    ],
    "page file": [
        [item("PageFile", "m", files=[{"path": "C:\\pagefile.sys", "initial_mb": 1024, "maximum_mb": 2048}])],
        [item("PageFile", "m", files=[{"path": "C:\\pagefile.sys", "initial_mb": 512, "maximum_mb": 2048}])],
        [item("PageFile", "m")],
        [item("PageFile", "m", automatic=True)],
    ],
    "clock": [
        [item("TimeZone", "W. Europe Standard Time"), item("W32Time", "m", peers=["ntp1", "ntp2,0x9"])],
        [item("TimeZone", "UTC"), item("W32Time", "m", peers=["ntp1"], sync_type="all")],
        [item("W32Time", "m", sync_type="domain")],
    ],
    "windows update": [
        [item("WindowsUpdateSettings", "m", automatic_updates="disabled", wsus_server="http://w:8530")],
        [item("WindowsUpdateSettings", "m", automatic_updates="scheduled", install_day=1, install_hour=3)],
        [item("WindowsUpdateSettings", "m", wsus_server="", no_auto_reboot=True)],
    ],
    "proxy": [
        [item("WinHttpProxy", "m", proxy="http://p:3128", bypass=["localhost", ".svc", "10.0.0.0/8"])],
        [item("WinHttpProxy", "m", proxy="p:3128")],
        [item("WinHttpProxy", "m", state="absent")],
    ],
    "hosts file": [
        [item("HostsFile", "m", entries={"k8s.example.com": "10.3.0.1", "k8s-2.example.com": "fd00::1"})],
        [item("HostsFile", "m", entries={"k8s.example.com": "10.3.0.9"})],
        [item("HostsFile", "m", entries={})],
    ],
    "service": [
        [
            item(
                "Service",
                "example",
                path="C:\\Program Files\\e\\e.exe",
                arguments=["--a=b c", '--d="e"'],
                start_mode="delayed-auto",
                dependencies=["Tcpip"],
                environment={"A": "1"},
                recovery={
                    "actions": [{"action": "restart", "delay_seconds": 5}, {"action": "none"}],
                    "on_error_exit": True,
                },
                display_name="An example",
                description="For a test",
            )
        ],
        [item("Service", "example", start_mode="auto", dependencies=[], environment={}, recovery={"actions": []})],
        [item("Service", "example", path="C:\\e.exe", arguments="--x", account="NT AUTHORITY\\LocalService")],
        [item("Service", "example", state="absent")],
    ],
    "feature": [
        [item("WindowsFeature", "Containers"), item("Environment", "AFTER", value="the reboot")],
        [item("WindowsFeature", "Containers", state="absent")],
    ],
    "computer name": [[item("ComputerName", "win-worker-1")], [item("ComputerName", "win-worker-2")]],
}


@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES.keys())
def test_each_state_of_a_cycle_settles(node: DirectNode, cycle: list[list[Item]]) -> None:
    for items in cycle:
        assert len(settles(node, *items)) == len(items)


def test_reboots_happen_where_they_are_needed(node: DirectNode) -> None:
    outcome = converge(
        node,
        item("WindowsFeature", "Containers"),
        item("ComputerName", "win-worker-1"),
        item("Environment", "AFTER", value="1"),
    )
    assert outcome.rebooted
    assert node.reboots == 1
    assert len(outcome.changes) == 3


def test_values_of_one_new_key_do_not_empty_it(node: DirectNode) -> None:
    values = [
        {"type": "Registry", "key": "HKLM:\\SOFTWARE\\New\\Key", "value_name": name, "value": name} for name in "abc"
    ]
    assert settles(node, *values) == ["Registry create"] * 3


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without support for ranges, so a broken download cannot be continued."""

    def log_message(self, *args: t.Any) -> None:
        pass


@pytest.fixture
def source(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "source"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder
    server.shutdown()
    thread.join()
    server.server_close()


def archive(content: str | bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("kubernetes/node/bin/kubelet.exe", content)
        packed.writestr("kubernetes/LICENSE", "text")
    return data.getvalue()


KUBELET = {
    "members": ["kubernetes/node/bin/kubelet.exe"],
    "strip_components": 3,
    "check": ["kubelet.exe"],
    "stops": ["kubelet"],
}


@pytest.mark.parametrize("how", ["sha256", "sha512", "checksum_url", "allow_unverified"])
def test_an_artifact_and_what_is_in_it(node: DirectNode, source: tuple[str, Path], how: str) -> None:
    url, folder = source
    data = archive("kubelet 1")
    (folder / "k.zip").write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    (folder / "k.zip.sha256").write_text(f"{sha256}  k.zip\n")
    ways: dict[str, Item] = {
        "sha256": {"sha256": sha256},
        "sha512": {"sha512": hashlib.sha512(data).hexdigest()},
        "checksum_url": {"checksum_url": f"{url}/k.zip.sha256"},
        "allow_unverified": {"allow_unverified": True},
    }
    path = "C:\\cache\\kubernetes\\1.37.1\\k.zip"
    requested = [
        item("Artifact", "kubernetes 1.37.1", path=path, urls=[f"{url}/k.zip"], **ways[how]),
        item("Archive", "C:\\k", path=path, **KUBELET),
    ]
    assert settles(node, *requested) == ["Artifact create", "Archive create"]
    assert node.machine.files.read_text("C:\\k\\kubelet.exe") == "kubelet 1"
    assert not node.machine.files.exists(path + ".part")
    node.machine.files.write_text("C:\\k\\kubelet.exe", "broken")
    assert settles(node, *requested) == ["Archive update"]
    if how != "allow_unverified":
        node.machine.files.write_text(path, "broken")
        assert settles(node, *requested)[0] == "Artifact update"


def test_the_second_source_and_a_broken_download(node: DirectNode, source: tuple[str, Path]) -> None:
    url, folder = source
    (folder / "k.zip").write_bytes(b"whole")
    path, sha256 = "C:\\cache\\k.zip", hashlib.sha256(b"whole").hexdigest()
    requested = item("Artifact", "k", path=path, urls=[f"{url}/gone.zip", f"{url}/k.zip"], sha256=sha256)
    node.machine.files.make_directory("C:\\cache")
    node.machine.files.write_text(path, "wrong")
    node.machine.files.write_text(path + ".part", "who")
    assert settles(node, requested) == ["Artifact update"]
    assert node.machine.files.read_text(path) == "whole"
    assert not node.machine.files.exists(path + ".part")


def test_an_archive_that_owns_its_folder(node: DirectNode, source: tuple[str, Path]) -> None:
    node.machine.files.write_bytes("C:\\a.zip", archive("kubelet 1"))
    node.machine.files.make_directory("C:\\own")
    node.machine.files.write_text("C:\\own\\stale", "x")
    requested = item("Archive", "C:\\own", path="C:\\a.zip", exclusive=True, check=["kubernetes/LICENSE"])
    assert settles(node, requested) == ["Archive create"]
    assert not node.machine.files.exists("C:\\own\\stale")
    node.machine.files.write_bytes("C:\\a.zip", archive("kubelet 2"))
    assert settles(node, {**requested}) == ["Archive update"]
    assert node.machine.files.read_text("C:\\own\\kubernetes\\node\\bin\\kubelet.exe") == "kubelet 2"


def left_aside(node: DirectNode) -> list[str]:
    return [entry.path for entry in node.machine.files.listing("C:\\k") if entry.name.endswith(".old")]


def test_a_running_executable_is_replaced(node: DirectNode) -> None:
    files, services = node.machine.files, node.machine.services

    def unpacks(version: str, **more: t.Any) -> list[str]:
        files.write_bytes("C:\\k.zip", archive(executables.make("svchost", version)))
        return settles(node, item("Archive", "C:\\k", path="C:\\k.zip", **{**KUBELET, **more}))

    assert unpacks("1") == ["Archive create"]
    services.create("kubelet", "C:\\k\\kubelet.exe", Start=3)
    services.start("kubelet")

    # It was stopped, so nothing blocks the change.
    assert unpacks("2") == ["Archive update"]
    assert executables.identify(files.read_bytes("C:\\k\\kubelet.exe")) == ("svchost", "2")
    kubelet = services.get("kubelet")
    assert kubelet is not None
    assert kubelet.state == "Running"
    assert left_aside(node) == []

    # It is not stopped, like the shims of pods: the old file stays while it runs, and does not count as a difference.
    assert unpacks("3", stops=[]) == ["Archive update"]
    assert executables.identify(files.read_bytes("C:\\k\\kubelet.exe")) == ("svchost", "3")
    assert len(left_aside(node)) == 1
    services.stop("kubelet")
    assert unpacks("3", stops=[]) == ["Archive update"]
    assert left_aside(node) == []


def test_a_wrong_checksum_names_both_hashes_and_deletes_the_file(node: DirectNode, source: tuple[str, Path]) -> None:
    url, folder = source
    (folder / "k.zip").write_bytes(b"tampered")
    requested = item("Artifact", "k", path="C:\\cache\\k.zip", urls=[f"{url}/k.zip"], sha256="a" * 64)
    other = item("Environment", "X", value="1")
    outcome = Convergence(NodeSession(node), load([requested, other])).run()
    (failure,) = outcome.failures
    assert "a" * 64 in failure
    assert hashlib.sha256(b"tampered").hexdigest() in failure
    assert not node.machine.files.exists("C:\\cache\\k.zip.part")
    # Others do not depend on it.
    assert [done.planned.resource.title for done in outcome.changes] == ["Environment X"]


def test_a_file_that_the_archive_does_not_have_is_named(node: DirectNode) -> None:
    node.machine.files.write_bytes("C:\\a.zip", archive("x"))
    outcome = Convergence(
        NodeSession(node), load([item("Archive", "C:\\k", path="C:\\a.zip", check=["kubeadm.exe"])])
    ).run()
    assert "kubeadm.exe" in outcome.failures[0]


def test_an_unlisted_registry_is_removed_and_those_of_others_stay(node: DirectNode) -> None:
    folder = "C:\\certs.d"

    def resources_of(given: dict[str, t.Any]) -> list[Item]:
        found = registries.read(given)
        files = [*registries.unlisted(found, folder), *registries.containerd_files(found, folder)]
        return [*files, *registries.forgotten(found)]

    login = {"username": "u", "password": "p"}
    files = node.machine.files
    files.make_directory(rf"{folder}\theirs.example")
    assert settles(node, *resources_of({})) == []
    settles(node, *resources_of({"a.example:5000": login, "b.example": login}))
    changed = settles(node, *resources_of({"b.example": login}))
    assert changed == ["UnlistedRegistries update"]
    assert (files.exists(rf"{folder}\a.example_5000_"), files.exists(rf"{folder}\b.example\hosts.toml")) == (
        False,
        True,
    )
    # Another client was faster.
    files.delete(rf"{folder}\b.example")
    assert settles(node, *resources_of({})) == ["UnlistedRegistries update"]
    assert files.exists(rf"{folder}\theirs.example")


def test_docker_trusts_no_unlisted_authority(node: DirectNode) -> None:
    def resources_of(given: dict[str, t.Any]) -> list[Item]:
        found = registries.read(given)
        return [*registries.unlisted_for_docker(found), *registries.docker_files(found)]

    ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    files = node.machine.files
    theirs, ours = (rf"{registries.DOCKER_CERTS}\{name}" for name in ("theirs.example", "a.example5000"))
    files.make_directory(theirs)
    settles(node, *resources_of({"a.example:5000": {"ca": ca}, "b.example": {"ca": ca}}))
    assert files.exists(rf"{ours}\ca.crt")
    # It is still listed, and is again trusted by the machine's own authorities.
    assert settles(node, *resources_of({"a.example:5000": {}, "b.example": {"ca": ca}})) == [
        "UnlistedRegistries update"
    ]
    assert (files.exists(ours), files.exists(theirs)) == (False, True)
    assert settles(node, *resources_of({})) == ["UnlistedRegistries update"]
    assert [entry.name for entry in files.listing(registries.DOCKER_CERTS)] == ["theirs.example"]
