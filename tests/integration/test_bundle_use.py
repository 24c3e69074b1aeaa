# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bundles for nodes without a network: served by the controller, or pushed over the connection."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ansible.errors import AnsibleConnectionFailure
from integration.actions import connect, run_action
from integration.bundling import ARTIFACTS, CACHE, PAUSE, Controller, made_and_cut_off
from integration.imaging import Machines, names
from integration.sweeps import Sweeps
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import locations
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server as bundle_server
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import use
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.verify import Bundle
from ansible_collections.winkube.node.plugins.plugin_utils.remote import upload
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from simulator.artifacts import ArtifactServer
from simulator.artifacts.certificates import PrivateCA
from simulator.machine.machine import Machine
from simulator.transport.faults import TransportFault

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("bundle_use")]

CRICTL = "github.com/kubernetes-sigs/cri-tools/releases/download/v1.37.0/crictl-v1.37.0-windows-amd64.tar.gz"
PUSHED = r"C:\Windows\winkube\bundle"


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Controller:
    return made_and_cut_off(tmp_path_factory.mktemp("controller"))


@pytest.fixture(scope="module")
def bundle(controller: Controller) -> Bundle:
    return controller.verified()


@pytest.fixture(scope="module")
def url(bundle: Bundle) -> Iterator[str]:
    """Serve the bundle, and return its URL."""
    served = bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1")
    yield served.url("win", "127.0.0.1")
    bundle_server.stop(served.pid)


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(6) as found:
        yield found


@pytest.fixture
def unused(machines: Machines) -> Iterator[Any]:
    """Yield a connection for actions that use none."""
    with connect(machines.fleet.machine("IMG-0")) as found:
        yield found
    assert machines.requests(machines.fleet.machine("IMG-0")) == 0


def facts(connection: Any, server: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the facts that a play sets for a bundle."""
    found = run_action(connection, "bundle_info", {"server": server, **more})
    assert found["_ansible_no_log"]
    # Otherwise they would be stored in the fact cache.
    assert "ansible_facts" not in found
    return {name: value for name, value in found.items() if name.startswith("bundle_")}


def resources(found: Mapping[str, Any], tool_url: str = "") -> list[dict[str, Any]]:
    """Return the resources that roles render with these facts. Their original sources are not reachable."""
    more: dict[str, Any] = {"sites": found.get("bundle_sites", []), "upstream": not found}
    requested = [locations.resource(kind, version, cache_dir=CACHE, **more) for kind, version in ARTIFACTS.items()]
    if tool_url:
        digest = hashlib.sha256(b"tool" * 1000).hexdigest()
        requested.append(locations.resource("tool", "1.0.0", cache_dir=CACHE, url=tool_url, sha256=digest, **more))
    archives = found.get("bundle_images", {}).get(PAUSE, [])
    requested.append({"type": "ContainerImage", "name": PAUSE, "archives": archives, "retries": 0, "delay": 0.01})
    if found.get("bundle_pushed"):
        requested.append({"type": "Directory", "name": found["bundle_pushed"], "state": "absent"})
    return requested


def server_result(bundle: Bundle, connection: Any, controller: Controller) -> dict[str, Any]:
    """Return the result that bundle_server registers in a play that pushes."""
    arguments = {"path": str(bundle.directory), "public_key": controller.public, "serve": False}
    return run_action(connection, "bundle_server", arguments)


class TestVerification:
    def test_a_modified_bundle_reaches_no_node(self, controller: Controller, unused: Any) -> None:
        stranger = controller.bundle / "stranger"
        stranger.write_text("x")
        try:
            result = run_action(
                unused,
                "bundle_server",
                {"path": str(controller.bundle), "public_key": controller.public, "serve": False},
            )
        finally:
            stranger.unlink()
        assert result["failed"]
        assert result["msg"].startswith("no node was touched: bundle_dir ")
        assert "stranger is not in the index" in result["msg"]

    def test_each_host_gets_the_controllers_address_towards_it(self, controller: Controller, unused: Any) -> None:
        hosts = {
            "near": {"ansible_host": "127.0.0.1"},
            "far": {"ansible_host": "127.0.0.2", "bundle_address": "gate.example"},
        }
        variables = {"ansible_play_hosts_all": list(hosts), "hostvars": hosts}
        arguments = {"path": str(controller.bundle), "public_key": controller.public}
        result = run_action(unused, "bundle_server", arguments, variables=variables)
        try:
            assert not result.get("failed"), result
            # Its URLs contain the token.
            assert result["_ansible_no_log"]
            near, far = (urlsplit(result["urls"][host]) for host in hosts)
            assert (near.hostname, far.hostname) == ("127.0.0.1", "gate.example")
            assert near.port == far.port
            assert len(near.path) > 20
        finally:
            run_action(unused, "bundle_server", {"state": "stopped", "pid": result["pid"]})


class TestNodes:
    def test_a_node_gets_everything_from_the_controller(
        self, controller: Controller, bundle: Bundle, url: str, machines: Machines
    ) -> None:
        machine = machines.next()
        tool = f"{controller.server.url}/files.example/tool.zip"
        with connect(machine) as connection:
            server = {**server_result(bundle, connection, controller), "urls": {"win": url}}
            found = facts(connection, server)
            result = run_action(connection, "node_state", {"resources": resources(found, tool)})
            assert not result.get("failed"), result["msg"]
            again = run_action(connection, "node_state", {"resources": resources(found, tool)})
            # The same applies later without the bundle, but with a network: its checksums are those of the publishers.
            later = run_action(connection, "node_state", {"resources": resources({})})
        assert (again["changed"], again["remote_commands"]) == (False, 1)
        assert not later["changed"]
        check_node(machine, bundle)
        # The archive is already in the store. A copy would double the disk usage.
        assert not any(".tar" in entry.name for entry in machine.files.listing(r"C:\Windows\winkube\images"))

    def test_changes_by_a_man_in_the_middle_are_detected(
        self, controller: Controller, bundle: Bundle, machines: Machines
    ) -> None:
        """A replaced file, together with its own checksum, does not match the signed index."""
        machine = machines.next()
        path, entry = next((path, entry) for path, entry in bundle.entries.items() if entry.kind in ARTIFACTS)
        with ArtifactServer() as between, connect(machine) as connection:
            forged = (bundle.directory / path).read_bytes() + b"forged"
            between.put(path, forged)
            for suffix in (".sha256", ".sha256sum"):
                between.put(path + suffix, hashlib.sha256(forged).hexdigest().encode())
            server = {**server_result(bundle, connection, controller), "urls": {"win": between.url}}
            (requested,) = (item for item in resources(facts(connection, server)) if item.get("kind") == entry.kind)
            result = run_action(connection, "node_state", {"resources": [requested]})
        assert result["failed"]
        assert entry.sha256 in result["msg"]
        assert not machine.files.exists(requested["path"])

    def test_over_https_by_an_authority_without_revocation_lists(
        self, controller: Controller, bundle: Bundle, machines: Machines, tmp_path: Path
    ) -> None:
        machine, authority = machines.next(), PrivateCA()
        (tmp_path / "both.pem").write_bytes(b"".join(authority.issue(["127.0.0.1"])))
        served = bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1", certificate=str(tmp_path / "both.pem"))
        trust = {"type": "CertificateImport", "name": "site", "content": authority.pem.decode()}
        try:
            with connect(machine) as connection:
                server = {
                    **server_result(bundle, connection, controller),
                    "urls": {"win": served.url("win", "127.0.0.1")},
                }
                requested = [trust, *resources(facts(connection, server))]
                result = run_action(connection, "node_state", {"resources": requested})
        finally:
            bundle_server.stop(served.pid)
        assert not result.get("failed"), result["msg"]
        check_node(machine, bundle)

    def test_the_bundle_is_pushed_if_a_node_cannot_reach_the_controller(
        self, controller: Controller, bundle: Bundle, machines: Machines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(upload, "PIECE", 100_000)
        machine = machines.next()
        node = machines.fleet.nodes[machine.name].server
        with connect(machine) as connection:
            server = server_result(bundle, connection, controller)
            requested = {"server": server, "resources": resources({}), "reconnect_timeout": 1}
            checked = run_action(connection, "bundle_push", requested, check_mode=True)
            assert checked["changed"]
            assert checked["remote_commands"] == 1
            assert not machine.files.exists(PUSHED)
            # The connection breaks permanently after some pieces.
            node.set_fault(TransportFault(kind="link_down", request=70, seconds=2))
            with pytest.raises(AnsibleConnectionFailure):
                run_action(connection, "bundle_push", requested)
        pieces = {entry.path for entry in machine.files.listing(f"{PUSHED}\\pieces")}
        assert pieces
        node.faults.clear()
        node.counters.reset()
        with connect(machine) as connection:
            wait_for(lambda: reachable(machine))
            pushed = run_action(connection, "bundle_push", {**requested, "reconnect_timeout": 30})
            assert not pushed.get("failed"), pushed.get("msg")
            assert sorted(pushed["pushed"]) == sorted(checked["pushed"])
            found = facts(connection, server, pushed=True)
            sent = node.counters.snapshot()["bytes_in"]
            result = run_action(connection, "node_state", {"resources": resources(found)})
            assert not result.get("failed"), result["msg"]
            again = run_action(connection, "bundle_push", {**requested, "resources": resources(found)})
            assert (again["changed"], again["remote_commands"]) == (False, 1)
        check_node(machine, bundle)
        assert not machine.files.exists(PUSHED)
        # Base64 of all files, without the existing pieces.
        total = sum(bundle.entries[path].size for path in pushed["pushed"])
        assert sent < total * 4 / 3 + 900_000 - len(pieces) * 50_000

    @pytest.mark.sweep
    def test_a_link_that_breaks_at_any_request_of_a_push(
        self,
        controller: Controller,
        bundle: Bundle,
        machines: Machines,
        monkeypatch: pytest.MonkeyPatch,
        sweep: Sweeps,
    ) -> None:
        # The node has the files to unpack, and lacks the container image, which is two pieces.
        monkeypatch.setattr(upload, "PIECE", 12_000)
        # A simulated link comes back at once.
        monkeypatch.setitem(Node.__init__.__kwdefaults__, "sleep", lambda seconds: time.sleep(seconds / 20))
        machine, converged, injected = machines.next(), 0, 0
        node = machines.fleet.nodes[machine.name].server
        (archive,) = [entry for entry in bundle.entries.values() if entry.name == PAUSE and "2022" in entry.windows]
        with connect(machine) as connection:
            requested = {"server": server_result(bundle, connection, controller), "resources": resources({})[-1:]}
            for request in sweep.choose("bundle_push", range(1, 32), 8):
                node.set_fault(TransportFault(kind=("before", "after", "during")[request % 3], request=request))
                result = run_action(connection, "bundle_push", requested)
                hit = not node.faults.pending()
                injected += hit
                node.faults.clear()
                path = f"{PUSHED}\\{archive.path}".replace("/", "\\")
                assert not result.get("failed"), (request, result.get("msg"))
                assert hashlib.sha256(machine.files.read_bytes(path)).hexdigest() == archive.sha256
                assert machine.files.listing(f"{PUSHED}\\pieces") == []
                converged += hit
                machine.files.delete(PUSHED)
        # The last requests of the longest push do not occur if a cut made the push shorter.
        assert injected >= 5
        sweep.report("bundle_push", injected=injected, converged=converged)

    def test_a_full_disk_is_found_before_the_first_byte(
        self, controller: Controller, bundle: Bundle, machines: Machines
    ) -> None:
        machine = machines.next()
        machine.files.reserved += machine.files.free_space("C") - 300_000_000
        with connect(machine) as connection:
            server = server_result(bundle, connection, controller)
            result = run_action(connection, "bundle_push", {"server": server, "resources": resources({})})
        assert result["failed"]
        assert "MB of free disk space" in result["msg"]
        assert machine.files.listing(f"{PUSHED}\\pieces") == []


def reachable(machine: Machine) -> bool:
    try:
        socket.create_connection((machine.address, 5985), timeout=30).close()
    except OSError:
        return False
    return True


def check_node(machine: Machine, bundle: Bundle) -> None:
    """Check that the node has the artifacts and the container image."""
    for path, entry in bundle.entries.items():
        if entry.kind in ARTIFACTS:
            cached = f"{CACHE}\\{entry.kind}\\{entry.version}\\{path.rpartition('/')[2]}"
            assert hashlib.sha256(machine.files.read_bytes(cached)).hexdigest() == entry.sha256
    assert PAUSE in names(machine)


def test_patches_are_taken_from_the_bundle_by_their_hash() -> None:
    one, two = "a" * 64, "b" * 64
    patches = ["KB5046616", {"url": "https://h/x.msu?sig=s", "sha256": one.upper()}, {"file": "y.msu", "sha256": two}]
    nested = {"file": "z.msu", "sha256": "c" * 64, "requires": [{"url": "https://h/x.msu", "sha256": f"sha256:{one}"}]}
    found = use.bundled_patches([*patches, nested], {one: "http://c/t/patches/x.msu"})
    assert found[0] == "KB5046616"
    assert found[1] == {"url": "http://c/t/patches/x.msu", "sha256": one.upper()}
    assert found[2] == patches[2]
    assert found[3]["requires"] == [{"url": "http://c/t/patches/x.msu", "sha256": f"sha256:{one}"}]
    (local,) = use.bundled_patches([patches[1]], {one: "/srv/b/patches/x.msu"})
    assert local == {"file": "/srv/b/patches/x.msu", "sha256": one.upper()}
