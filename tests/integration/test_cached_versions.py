# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines from an image that install other cached versions by themselves, without a cluster and without playbooks.

The simulator interprets the script. test_image.py builds such an image with the playbook, and its machines join.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from integration.networks import free_network
from integration.playbooks import simulated_pins
from unit.direct_node import DirectNode
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.cached_versions import InstallationPlan
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.version_storage import VersionStorage
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import Variables
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.version_variants import variants
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts.server import ArtifactServer
from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError, ProgramResult
from simulator.machine.settings import MachineSettings
from wire_provider.batch import Call
from wire_provider.runner import Runner

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cached_versions")]

BUILDER = "builder"
FOLDER = r"C:\Windows\winkube\cached-versions"
SCRIPT, LOG = rf"{FOLDER}\install-cached-versions.ps1", rf"{FOLDER}\install-cached-versions.log"
SYSPREP = r"C:\Windows\System32\Sysprep\sysprep.exe"
INSTALLED = {"Kubernetes": "1.36.3", "Runtime": "2.3.7", "Network": "cni-plugins=1.9.0"}
# Kubernetes 1.33 needs other flags, and 1.7 another configuration.
CHOSEN = {"Kubernetes": "1.33.8", "Runtime": "1.7.35", "Network": "cni-plugins=1.8.0"}
VARIABLES: Mapping[str, Any] = {
    "winkube_kubelet_service": "launcher",
    "kube_node_versions": ["1.33.8", "1.37.1"],
    "containerd_versions": ["1.7.35", "2.3.7"],
    "image_cache_artifacts": {"cni-plugins": ["1.8.0"]},
    "image_cache_base_images": [],
}
AS_CHOSEN = {
    "kube_version": "v1.33.8",
    "container_runtime_containerd_version": "1.7.35",
    "cni_plugins_version": "1.8.0",
}
ROLES = ("container_runtime", "cni", "kubernetes_node")


@dataclasses.dataclass
class Image:
    """An image, with what its build planned."""

    fleet: Fleet
    server: ArtifactServer
    network: str
    plan: InstallationPlan
    commands: int
    numbers: Iterator[int] = dataclasses.field(default_factory=lambda: itertools.count(20))

    def start(self) -> Machine:
        """Start a new machine."""
        number = next(self.numbers)
        return self.fleet.deploy_image(BUILDER, f"vm-{number}", f"{self.network}.{number}").machine


def host(server: ArtifactServer, changed: Mapping[str, Any]) -> Variables:
    return resource_cases.variables({**VARIABLES, **simulated_pins(), "artifact_mirror": server.url, **changed})


def converge(machine: Machine, variables: Variables, *roles: str) -> list[str]:
    """Apply the resources of roles, and return the titles of those that changed."""
    listed = [one for role in roles for one in of_role(role, variables)]
    outcome = Convergence(NodeSession(DirectNode(machine)), load(listed)).run()
    assert outcome.failures == []
    return [done.planned.resource.title for done in outcome.changes]


def store(machine: Machine, server: ArtifactServer) -> tuple[InstallationPlan, int, bool]:
    """Plan and store the versions as the action does."""
    node = DirectNode(machine)
    found = variants(host(server, {}), lambda changed: host(server, changed))
    assert found.refused == []
    storage = VersionStorage(NodeSession(node), found.components, found.installed, found.variants)
    plan = storage.observe()
    return plan, node.remote_commands, storage.write()


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Prepare a machine, store the versions, and turn it into an image."""
    network = free_network()
    entry = {"name": BUILDER, "address": f"{network}.10", "windows": "2022", "features": ["Containers"]}
    settings = MachineSettings.read({**entry, "time_scale": 0.02, "reboot_seconds": 0.05})
    server = ArtifactServer(f"{network}.2").start()
    with Fleet([settings]) as fleet:
        machine = fleet.machine(BUILDER)
        converge(machine, host(server, {}), *ROLES, "image_cache")
        plan, commands, wrote = store(machine, server)
        assert wrote
        assert store(machine, server)[1:] == (1, False)
        assert machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quit"]).exit_code == 0
        machine.power.power_off()
        yield Image(fleet, server, network, plan, commands)
    server.close()


def install(machine: Machine, versions: Mapping[str, str]) -> ProgramResult:
    """Run the script as user data does."""
    words = [word for name, value in versions.items() for word in (f"-{name}", value)]
    options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass"]
    return machine.programs.run("powershell.exe", [*options, "-File", SCRIPT, *words])


def files(machine: Machine) -> dict[str, bytes]:
    """Return the files that the components consist of."""
    found = {}
    for folder in (r"C:\k", r"C:\Program Files\containerd", r"C:\opt\cni", r"C:\etc\kubernetes", FOLDER):
        for one in machine.files.walk(folder):
            if not one.is_directory and one.path != LOG:
                found[one.path] = machine.files.read_bytes(one.path)
    return found


def test_the_image_offers_what_its_cache_contains(image: Image) -> None:
    versions = [(one.component.kind, one.version, bool(one.batch)) for one in image.plan.versions]
    assert versions == [
        ("containerd", "2.3.7", False),
        ("containerd", "1.7.35", True),
        ("cni-plugins", "1.9.0", False),
        ("cni-plugins", "1.8.0", True),
        ("flannel", "0.28.9", False),
        ("flannel-cni-plugin", "1.9.1-flannel1", False),
        ("kubernetes", "1.36.3", False),
        ("kubernetes", "1.33.8", True),
        ("kubernetes", "1.37.1", True),
    ]
    assert image.plan.refused == ()


def test_a_machine_becomes_what_a_playbook_would_make_of_it(image: Image) -> None:
    machine = image.start()
    requests = image.server.status()["total"]
    result = install(machine, CHOSEN)
    assert not result.stderr, result.stderr
    assert result.exit_code == 0
    assert image.server.status()["total"] == requests
    assert converge(machine, host(image.server, AS_CHOSEN), *ROLES) == []
    containerd = machine.services.get("containerd")
    assert containerd is not None
    assert containerd.state == "Running"
    before = files(machine)
    assert install(machine, CHOSEN).exit_code == 0
    assert files(machine) == before


def test_the_installed_versions_change_nothing_even_on_a_node(image: Image) -> None:
    machine = image.start()
    machine.files.write_text(r"C:\etc\kubernetes\kubelet.conf", "")
    before = files(machine)
    assert install(machine, INSTALLED).exit_code == 0
    assert install(machine, {}).exit_code == 0
    assert files(machine) == before
    result = install(machine, {"Runtime": "1.7.35"})
    assert result.exit_code == 1
    assert "expected a machine that has not joined a cluster, got C:\\etc\\kubernetes\\kubelet.conf" in result.stderr
    assert files(machine) == before


REFUSED = {
    "not cached": (
        {"Runtime": "1.7.35", "Kubernetes": "v1.35.0"},
        "Kubernetes 1.35.0 is not cached in this image; cached: 1.36.3, 1.33.8, 1.37.1",
    ),
    "ambiguous": ({"Network": "1.8.0"}, "-Network: expected NAME=VERSION with a name of cni-plugins, flannel,"),
    "unknown": ({"Network": "calico=3.30.0"}, "-Network: expected NAME=VERSION with a name of cni-plugins, flannel,"),
}


def test_what_is_not_cached_is_refused_before_anything_changes(image: Image) -> None:
    machine = image.start()
    before = files(machine)
    for versions, message in REFUSED.values():
        result = install(machine, versions)
        assert result.exit_code == 1
        assert message in result.stderr
        assert message in machine.files.read_text(LOG)
    assert files(machine) == before


class PowerCut:
    """Cuts the power of a machine at one of the calls of a batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: Machine, call: str) -> None:
        attempt = Runner._attempt
        self.happened = False

        def interrupted(runner: Runner, called: Call, given: list[object]) -> Any:
            if not self.happened and called.id.endswith(call) and runner.machine is machine:
                self.happened = True
                machine.power.power_off()
                raise ProcessEndedError
            return attempt(runner, called, given)

        monkeypatch.setattr(Runner, "_attempt", interrupted)


@pytest.mark.parametrize("call", ["forget", "move-1", "record-0", "write", "restart.0.still"])
def test_an_interrupted_installation_is_completed(image: Image, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    machine = image.start()
    cut = PowerCut(monkeypatch, machine, call)
    with contextlib.suppress(ProcessEndedError):
        install(machine, CHOSEN)
    assert cut.happened
    machine.power_on()
    # Half of the files are those of the requested version.
    result = install(machine, {**CHOSEN, "Runtime": INSTALLED["Runtime"]})
    assert result.exit_code == 1
    assert "the installation of containerd 1.7.35 was interrupted; run this again with -Runtime 1.7.35" in result.stderr
    assert install(machine, CHOSEN).exit_code == 0
    assert converge(machine, host(image.server, AS_CHOSEN), *ROLES) == []


def test_only_the_version_of_the_image_is_replaced(image: Image) -> None:
    machine = image.start()
    assert install(machine, {"Kubernetes": "1.37.1"}).exit_code == 0
    result = install(machine, {"Kubernetes": "1.33.8"})
    assert result.exit_code == 1
    assert "Kubernetes 1.33.8 can only replace 1.36.3, the version of the image, got 1.37.1" in result.stderr
