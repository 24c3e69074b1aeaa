# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""container_images with Docker's store, and container images that are built on the node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from integration import imaging
from integration.actions import connect, run_action
from integration.imaging import CERTS, Machines, converge, put, statuses

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.image_cache import PAUSE_DOCKERFILE
from simulator.kubernetes_node.docker import dockerd, fixtures
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.executables import make
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("container_images")]

SECRET = "s3cret-pa$$word"
DOCKER = fixtures.FOLDER
DOCKERFILE = """ARG BASE
ARG PAUSE
FROM ${PAUSE} AS upstream
FROM ${BASE}
COPY --from=upstream /pause.exe /pause.exe
ENTRYPOINT ["/pause.exe"]
"""


@pytest.fixture(scope="module")
def registry() -> Iterator[SimulatedRegistry]:
    blobs = Blobs()
    with SimulatedRegistry(images=blobs) as found:
        host = f"127.0.0.1:{found.port}"
        blobs.add(f"{host}/app:1", ["2019", "2022", "2025"], linux=True)
        blobs.add(f"{host}/app:2", ["2022"])
        blobs.add(f"{host}/old:1", ["2022"])
        blobs.add(f"{host}/newer:1", ["2025"])
        blobs.add(f"{host}/pause:3.10.2", ["2019", "2022"], linux=True, programs={"pause.exe": "pause"})
        blobs.add(f"{host}/nanoserver:insider", ["2022"])
        yield found


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(6) as found:
        yield found


def docker_machine(machines: Machines, registry: SimulatedRegistry, version: str = "28.5.1") -> Machine:
    machine = machines.bare()
    daemon = {"insecure-registries": [f"127.0.0.1:{registry.port}"]}
    put(machine, r"C:\ProgramData\docker\config\daemon.json", json.dumps(daemon).encode())
    fixtures.install(machine, version)
    return machine


def docker(machine: Machine, *arguments: str) -> str:
    result = machine.programs.run(rf"{DOCKER}\docker.exe", list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def names(machine: Machine) -> set[str]:
    return set(docker(machine, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}").split())


@pytest.mark.parametrize("version", ["20.10.24", "28.5.1", "29.2.1"])
def test_docker_keeps_listed_images_and_loses_unused_ones(
    machines: Machines, registry: SimulatedRegistry, version: str
) -> None:
    machine, host = docker_machine(machines, registry, version), f"127.0.0.1:{registry.port}"
    given: dict[str, Any] = {"runtime": "docker", "docker": rf"{DOCKER}\docker.exe"}
    listed = [{"name": f"{host}/app:1", "aliases": ["mirror.local/app:latest"]}, f"{host}/app:2"]
    first = converge(machine, [*listed, f"{host}/newer:1", f"{host}/none:1"], **given)
    assert statuses(first) == {
        f"{host}/app:1": "pulled",
        f"{host}/app:2": "pulled",
        f"{host}/newer:1": "failed",
        f"{host}/none:1": "failed",
    }
    assert "no image for this version of Windows" in first["images"][2]["msg"]
    assert "the registry has no such tag" in first["images"][3]["msg"]
    assert names(machine) == {f"{host}/app:1", "mirror.local/app:latest", f"{host}/app:2"}
    second = converge(machine, listed, **given)
    assert (second["changed"], second["remote_commands"]) == (False, 1)
    assert second["images"][0]["digest"] == registry.images.tags[f"{host}/app:1"]

    converge(machine, [f"{host}/old:1"], **given)
    server = dockerd.connect(machine)
    assert server is not None
    server.create("uses-it", f"{host}/app:2")
    pruned = converge(machine, [listed[0]], prune=True, **given)
    assert not pruned.get("failed"), pruned.get("msg")
    assert names(machine) == {f"{host}/app:1", "mirror.local/app:latest", f"{host}/app:2"}


def test_credentials_reach_docker_by_a_file(machines: Machines) -> None:
    machine, blobs = machines.bare(), Blobs()
    with SimulatedRegistry(images=blobs, user=f"node:{SECRET}", auth="bearer") as registry:
        host = f"127.0.0.1:{registry.port}"
        blobs.add(f"{host}/private:1", ["2022"])
        put(machine, r"C:\ProgramData\docker\config\daemon.json", json.dumps({"insecure-registries": [host]}).encode())
        fixtures.install(machine)
        given: dict[str, Any] = {"runtime": "docker", "docker": rf"{DOCKER}\docker.exe"}
        refused = converge(machine, [f"{host}/private:1"], retries=0, **given)
        assert "the registry rejected the credentials" in refused["msg"]
        logins = {host: {"username": "node", "password": SECRET}}
        result = converge(machine, [f"{host}/private:1"], registries=logins, **given)
    assert statuses(result) == {f"{host}/private:1": "pulled"}, result.get("msg")
    assert SECRET not in str(result)
    path = r"C:\ProgramData\winkube\docker\config.json"
    assert "D:PAI(A;;FA;;;SY)(A;;FA;;;BA)" in machine.files.sddl(path)


def test_pause_is_built_from_another_base_and_only_again_if_something_changed(
    machines: Machines, registry: SimulatedRegistry
) -> None:
    machine, host = docker_machine(machines, registry), f"127.0.0.1:{registry.port}"
    requested = {
        "type": "BuiltContainerImage", "name": f"{host}/built:1", "runtime": "docker",
        "docker": rf"{DOCKER}\docker.exe", "dockerfile": DOCKERFILE, "push": True, "delay": 0.01, "retries": 1,
        "build_args": {"BASE": f"{host}/nanoserver:insider", "PAUSE": f"{host}/pause:3.10.2"},
    }  # fmt: skip

    def state(resource: dict[str, Any]) -> dict[str, Any]:
        with connect(machine) as connection:
            return run_action(connection, "node_state", {"resources": [resource]})

    first = state(requested)
    assert not first.get("failed"), first.get("msg")
    assert f"{host}/built:1" in names(machine)
    assert registry.counters["pushed"]
    assert not machine.files.listing(r"C:\Windows\winkube\builds")
    again = state(requested)
    assert (again["changed"], again["remote_commands"]) == (False, 1)
    changed = {**requested, "dockerfile": f"{DOCKERFILE}LABEL changed=yes\n"}
    pushed = dict(registry.images.tags)
    registry.failures["built/built:1"] = 503
    unpushed = state(changed)
    assert "BuiltContainerImage" in unpushed["msg"]
    assert registry.images.tags == pushed
    registry.failures.clear()
    repeated = state(changed)
    assert [change["why"] for change in repeated["changes"]] == ["pushed is false, expected true"]
    assert registry.images.tags[f"{host}/built:1"] != pushed[f"{host}/built:1"]
    assert state(changed)["changed"] is False
    broken = state({**requested, "dockerfile": "FROM ${BASE}\nCOPY nothing.exe /x.exe\n"})
    assert "BuiltContainerImage" in broken["msg"]
    assert not machine.files.listing(r"C:\Windows\winkube\builds")


def test_pause_is_built_under_containerd_by_the_roles_own_dockerfile(
    machines: Machines, registry: SimulatedRegistry
) -> None:
    machine, host = machines.next(), f"127.0.0.1:{registry.port}"
    for name in ("buildctl", "buildkitd"):
        put(machine, rf"C:\Program Files\buildkit\{name}.exe", make(name, "0.29.0"))
    settings = registries.buildkit_files(registries.read({"r.example": {"mirrors": [registry.url]}}), CERTS)
    service = {
        "type": "Service", "name": "buildkitd", "path": r"C:\Program Files\buildkit\buildkitd.exe",
        "arguments": ["--run-service"], "dependencies": ["containerd"], "start_mode": "demand", "state": "running",
    }  # fmt: skip
    pause = {
        "type": "BuiltContainerImage", "name": "registry.k8s.io/pause:3.10.2",
        "dockerfile": PAUSE_DOCKERFILE, "pinned": True,
        "build_args": {"BASE": f"{host}/nanoserver:insider", "PAUSE": f"{host}/pause:3.10.2"},
        "delay": 0.01, "retries": 1,
    }  # fmt: skip
    resources = [*settings, service, pause]

    def state(requested: list[dict[str, Any]]) -> dict[str, Any]:
        with connect(machine) as connection:
            return run_action(connection, "node_state", {"resources": requested})

    first = state(resources)
    assert not first.get("failed"), first.get("msg")
    assert imaging.names(machine) == {"registry.k8s.io/pause:3.10.2"}
    assert "io.cri-containerd.pinned=pinned" in imaging.ctr(machine, "images", "list")
    again = state(resources)
    assert (again["changed"], again["remote_commands"]) == (False, 1)
    # Writing a file to C:\ requires ContainerAdministrator.
    broken = state([{**pause, "dockerfile": PAUSE_DOCKERFILE.replace("USER ContainerAdministrator\n", "")}])
    assert "Access is denied" in broken["msg"]
