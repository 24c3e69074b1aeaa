# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""dockerd's containers and their HNS endpoints; docker.exe; the lists of crictl and ctr on the same machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.docker import dockerd, fixtures
from simulator.kubernetes_node.hns import fixtures as hns_fixtures
from simulator.machine.services import ServiceError

from .conftest import Node

pytestmark = pytest.mark.waits


def with_docker(make_node: Callable[..., Node], windows: str = "2022", **entry: object) -> tuple[Node, dockerd.Dockerd]:
    node = make_node(windows, **entry)
    return node, fixtures.install(node.machine)


def endpoints(node: Node) -> dict[str, Any]:
    return {item.id: item for item in hns.store(node.machine).endpoints()}


def ps(node: Node, *arguments: str) -> list[dict[str, Any]]:
    result = node.run("docker.exe", "ps", *arguments, "--no-trunc", "--format", "{{json .}}")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_container_has_its_endpoint_while_it_runs(make_node: Callable[..., Node]) -> None:
    node, server = with_docker(make_node)
    (network,) = hns.store(node.machine).networks()
    assert (network.name, network.kind, node.machine.network.drops) == ("nat", "NAT", 0)
    item = server.create("web", "registry.example/app:1")
    assert ps(node) == []

    assert node.run("docker.exe", "start", "web").stdout == "web\n"

    (endpoint,) = endpoints(node).values()
    assert (endpoint.name, endpoint.shared, endpoint.address) == ("Ethernet", [item.id], "172.20.0.2")
    (shown,) = ps(node)
    assert (shown["ID"], shown["Names"], shown["State"], shown["Networks"]) == (item.id, "web", "running", "nat")
    (inspected,) = json.loads(node.run("docker.exe", "inspect", "web").stdout)
    assert inspected["NetworkSettings"]["Networks"]["nat"]["EndpointID"].upper() == endpoint.id
    assert node.run("docker.exe", "inspect", "-f", "{{.State.Running}}", item.id[:12]).stdout == "true\n"
    assert node.run("docker.exe", "stop", "web").exit_code == 0
    assert endpoints(node) == {}
    assert [entry["State"] for entry in ps(node, "--all")] == ["exited"]


def test_docker_refuses_invalid_commands(make_node: Callable[..., Node]) -> None:
    node, server = with_docker(make_node)
    server.start(server.create("web", "registry.example/app:1"))
    for arguments, code, message in (
        (["start", "none"], 1, "Error response from daemon: No such container: none"),
        (["rm", "web"], 1, "container is running"),
        (["inspect", "none"], 1, "Error: No such object: none"),
        (["ps", "--frob"], 125, "unknown flag: --frob"),
        (["ps", "--format"], 125, "needs an argument"),
        (["swarm"], 1, "the simulator does not model docker swarm"),
    ):
        result = node.run("docker.exe", *arguments)
        assert (result.exit_code, message in result.stderr) == (code, True), result
    assert node.run("docker.exe", "rm", "--force", "web", "none").stdout == "web\n"
    assert endpoints(node) == {}


def test_lists(make_node: Callable[..., Node]) -> None:
    node, _ = with_docker(make_node)
    found = fixtures.populate(node.machine, running=2)
    assert node.run("docker.exe", "ps", "-aq", "--no-trunc").stdout.split() == found.containers[::-1]
    assert (
        node.run("docker.exe", "container", "ls", "--format", "{{.ID}} {{.State}}")
        .stdout.split("\n")[0]
        .endswith(" running")
    )
    assert node.run("docker.exe", "ps").stdout.startswith("CONTAINER ID")
    assert node.run("docker.exe", "network", "ls", "--format", "{{.Name}}/{{.Driver}}").stdout == "nat/nat\n"
    assert node.run("docker.exe", "version", "--format", "{{.Server.Version}}").stdout == "28.5.1\n"


def test_without_dockerd_nothing_answers(make_node: Callable[..., Node]) -> None:
    node, server = with_docker(make_node)
    server.start(server.create("web", "registry.example/app:1"))

    node.machine.services.stop("docker")

    result = node.run("docker.exe", "ps")
    assert result.exit_code == 1
    assert "error during connect" in result.stderr
    assert endpoints(node) == {}, "it stopped its containers first"
    node.machine.services.start("docker")
    assert [entry["State"] for entry in ps(node, "-a")] == ["exited"]
    with pytest.raises(ServiceError):
        node.machine.services.start("docker")


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_an_endpoint_that_outlived_a_reboot_keeps_its_container_from_starting(
    make_node: Callable[..., Node], windows: str
) -> None:
    """See moby/moby#47576. Windows Server 2019 creates a second endpoint with the address, which gets no traffic."""
    node, server = with_docker(make_node, windows)
    server.start(server.create("web", "registry.example/app:1", address="172.20.0.9"))

    node.machine.power.reset()
    wait_for(lambda: dockerd.connect(node.machine), "dockerd is there again")

    assert [entry["State"] for entry in ps(node, "-a")] == ["exited"]
    (stale,) = endpoints(node).values()
    result = node.run("docker.exe", "start", "web")
    if windows == "2019":
        new = next(item for item in endpoints(node).values() if item is not stale)
        assert not hns.store(node.machine).connected(new)
        return
    assert result.exit_code == 1
    assert result.stderr == (
        "Error response from daemon: failed to create endpoint web on network nat: failed during hnsCallRawResponse: "
        "hnsCall failed in Win32: An address provided is invalid or reserved. (0x803b002f)\n"
        "Error: failed to start containers: web\n"
    )
    hns.store(node.machine).remove_endpoint(stale.id)
    assert node.run("docker.exe", "start", "web").exit_code == 0


def test_a_machine_with_leftover_endpoints_of_containers(make_node: Callable[..., Node]) -> None:
    node, _ = with_docker(make_node)
    found = fixtures.populate(node.machine, running=2, stale=2, stopped=1)

    assert set(endpoints(node)) == {*found.running, *found.stale, *found.stopped}
    assert len(ps(node)) == 2
    assert sorted(entry["ID"] for entry in ps(node, "-a")) == sorted([*found.containers, *found.stopped_containers])
    assert "0x803b002f" in node.run("docker.exe", "start", found.stopped_containers[0]).stderr


def test_containers_on_another_network(make_node: Callable[..., Node]) -> None:
    node, _ = with_docker(make_node)
    hns_fixtures.add_network(node.machine, "lab", "Transparent", "10.8.0.0/24", "10.8.0.1")
    found = fixtures.populate(node.machine, running=1, network="lab")
    assert endpoints(node)[found.running[0]].address == "10.8.0.2"
    assert node.machine.network.drops == 0


@pytest.mark.parametrize(("version", "all_of_them"), [("1.30.0", False), ("1.34.0", True)])
def test_pods_are_inspected_one_by_one_or_together(
    make_node: Callable[..., Node], version: str, all_of_them: bool
) -> None:
    node = make_node()
    hns_fixtures.install(node.machine)
    hns_fixtures.populate(node.machine, "flannel-host-gw", running=3, remote=0, policies=0)
    node.put(r"C:\k\crictl.exe", "crictl", version)
    ids = node.run("crictl.exe", "pods", "-q").stdout.split()

    one = json.loads(node.run("crictl.exe", "inspectp", ids[0]).stdout)
    assert one["status"]["id"] == ids[0]
    two = json.loads(node.run("crictl.exe", "inspectp", *ids[:2]).stdout)
    assert [entry["status"]["id"] for entry in two] == ids[:2]
    spaces = {item.id.lower() for item in hns.store(node.machine).namespaces()}
    assert {entry["info"]["runtimeSpec"]["windows"]["network"]["networkNamespace"] for entry in two} < spaces
    everything = node.run("crictl.exe", "inspectp", "-o", "json")
    if all_of_them:
        assert [entry["status"]["id"] for entry in json.loads(everything.stdout)] == ids
        assert json.loads(node.run("crictl.exe", "inspectp", "--name", "web-1").stdout)["status"]["metadata"]["name"]
    else:
        assert (everything.exit_code, "ID cannot be empty" in everything.stderr) == (1, True)


def test_ctr_lists_sandboxes_and_containers(make_node: Callable[..., Node]) -> None:
    node = make_node()
    hns_fixtures.install(node.machine)
    hns_fixtures.populate(node.machine, "flannel-host-gw", running=2, remote=0, policies=0)
    pods = set(node.run("crictl.exe", "pods", "-q").stdout.split())
    both = {*pods, *node.run("crictl.exe", "ps", "-q").stdout.split()}
    assert len(both) == 4
    for what in ("containers", "tasks"):
        assert set(node.run("ctr.exe", "-n", "k8s.io", what, "list", "-q").stdout.split()) == both
    assert set(node.run("ctr.exe", "-n", "k8s.io", "leases", "list", "-q").stdout.split()) == pods
    assert node.run("ctr.exe", "leases", "list", "-q").stdout == "", "of another namespace"
