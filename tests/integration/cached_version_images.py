# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An image that offers cached versions, for test_cached_versions.py: how it is built, and how its machines use it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from integration.playbooks import simulated_pins
from unit.action_run import Node, run_on
from unit.direct_node import DirectNode
from unit.roles import resource_cases
from unit.roles.templates import templar

from ansible_collections.winkube.node.plugins.action import cached_versions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import Variables
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import table
from simulator.artifacts.server import ArtifactServer
from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult

BUILDER = "builder"
FOLDER = r"C:\Windows\winkube\cached-versions"
SCRIPT, LOG = rf"{FOLDER}\install-cached-versions.ps1", rf"{FOLDER}\install-cached-versions.log"
SYSPREP = r"C:\Windows\System32\Sysprep\sysprep.exe"
INSTALLED = {"Kubernetes": "1.36.3", "Runtime": "2.3.7", "Network": "cni-plugins=1.9.0"}
# Kubernetes 1.33 needs other flags, and 1.7 another configuration.
CHOSEN = {"Kubernetes": "1.33.8", "Runtime": "1.7.35", "Network": "cni-plugins=1.8.0"}
VARIABLES: Mapping[str, Any] = {
    "winkube_kubelet_service": "launcher",
    "kube_node_versions": ["1.33.8", "1.35.6", "1.37.1"],
    "containerd_versions": ["1.7.35", "2.3.7"],
    "image_cache_artifacts": {"cni-plugins": ["1.8.0"]},
    "image_cache_base_images": [],
}
AS_CHOSEN = {
    "kube_version": "v1.33.8",
    "container_runtime_containerd_version": "1.7.35",
    "cni_plugins_version": "1.8.0",
}
MISSING = r"C:\ProgramData\winkube\cache\kubernetes\1.35.6\kubernetes-node-windows-amd64.tar.gz"
CLEANED = r"C:\Windows\Temp\build.log"
ROLES = ("container_runtime", "cni", "kubernetes_node")


@dataclasses.dataclass
class Image:
    """An image."""

    fleet: Fleet
    server: ArtifactServer
    network: str
    built: dict[str, Any]
    """The result of the action."""
    numbers: Iterator[int] = dataclasses.field(default_factory=lambda: itertools.count(20))

    def start(self) -> Machine:
        """Start a new machine."""
        number = next(self.numbers)
        return self.fleet.deploy_image(BUILDER, f"vm-{number}", f"{self.network}.{number}").machine


def given(server: ArtifactServer, changed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables of a host, with the defaults of the roles."""
    own = {**resource_cases.HOST, "kube_version": "v1.36.3", **VARIABLES, **simulated_pins()}
    found = templar(resource_cases.WITH_RESOURCES, {**own, "artifact_mirror": server.url, **changed})
    return found.available_variables


def host(server: ArtifactServer, changed: Mapping[str, Any]) -> Variables:
    variables = given(server, changed)
    return table.of_host(variables, templar((), variables).template)


def converge(machine: Machine, variables: Variables, *roles: str) -> list[str]:
    """Apply the resources of roles, and return the titles of those that changed."""
    listed = [one for role in roles for one in of_role(role, variables)]
    outcome = Convergence(NodeSession(DirectNode(machine)), load(listed)).run()
    assert outcome.failures == []
    return [done.planned.resource.title for done in outcome.changes]


def store(machine: Machine, server: ArtifactServer, changed: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Run the action, and return its result."""
    options = {"clean_paths": [CLEANED]}
    return run_on(Node(machine), cached_versions, options, {**given(server, changed)}, **more)


def install(machine: Machine, versions: Mapping[str, str], program: str = "powershell.exe") -> ProgramResult:
    """Run the script as user data does."""
    words = [word for name, value in versions.items() for word in (f"-{name}", value)]
    options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass"]
    return machine.programs.run(program, [*options, "-File", SCRIPT, *words])


def files(machine: Machine) -> dict[str, bytes]:
    """Return the files that the components consist of."""
    found = {}
    for folder in (r"C:\k", r"C:\Program Files\containerd", r"C:\opt\cni", r"C:\etc\kubernetes", FOLDER):
        for one in machine.files.walk(folder):
            if not one.is_directory and one.path != LOG:
                found[one.path] = machine.files.read_bytes(one.path)
    return found
