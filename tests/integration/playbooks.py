# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running the collection's playbooks with Ansible's own command line on a world of simulated servers."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration import fork_server, forked_runs
from kubernetes import client, config

from simulator.artifacts import catalog
from simulator.fleet import FleetFile, FleetNode
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.world import World

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "Integration-Passw0rd"
QUICK = {"node_maintenance_hns_grace": 0.5, "hns_cleanup_grace": 0.5, "node_doctor_hns_grace": 0.5}
"""Variables of all hosts: simulated containers start in less than a second, so their endpoints are in use by then."""
QUICK_NODE = {"reboot_seconds": 0.3, "time_scale": 0.02, "link_drop_seconds": 0.5}
"""Settings of all servers of a fleet, which describe how long their own delays last."""
_RECAP = re.compile(r"^(\S+)\s+: (ok=\d+.*)$", re.MULTILINE)


def link_variables(connection: str = "psrp", scheme: str = "http", auth: str = "ntlm") -> dict[str, Any]:
    """Return variables for a connection plugin (winrm, psrp), a scheme (http, https) and a logon (basic, ntlm)."""
    variables: dict[str, Any] = {
        "ansible_connection": connection,
        "ansible_user": "Administrator",
        "ansible_password": PASSWORD,
        "ansible_port": 5986 if scheme == "https" else 5985,
        # Basic authentication with an unverified certificate is only suitable for servers on this machine.
        "allow_insecure_connection": auth == "basic",
    }
    # Basic authentication provides no encryption.
    encryption = "never" if auth == "basic" else "always" if scheme == "https" else "auto"
    if connection == "winrm":
        return variables | {
            "ansible_winrm_scheme": scheme,
            "ansible_winrm_transport": auth,
            "ansible_winrm_server_cert_validation": "ignore",
            "ansible_winrm_message_encryption": "auto" if auth == "basic" else encryption,
            "ansible_winrm_read_timeout_sec": 30,
        }
    return variables | {
        "ansible_psrp_protocol": scheme,
        "ansible_psrp_auth": auth,
        "ansible_psrp_cert_validation": "ignore",
        "ansible_psrp_read_timeout": 25,
        "ansible_psrp_operation_timeout": 20,
        "ansible_psrp_message_encryption": encryption,
    }


_GITHUB = "github.com/{}/releases/download/"
_PINNED = {
    "cni_flannel_sha256": _GITHUB.format("flannel-io/flannel") + "v0.28.9/flanneld.exe",
    "container_runtime_moby_sha256": "download.docker.com/win/static/stable/x86_64/docker-29.2.1.zip",
    "image_cache_buildkit_sha256": _GITHUB.format("moby/buildkit") + "v0.30.0/buildkit-v0.30.0.windows-amd64.tar.gz",
    "container_runtime_nssm_sha256": "nssm.cc/release/nssm-2.24.zip",
    "cloudbase_init_sha256": _GITHUB.format("cloudbase/cloudbase-init") + "1.1.8/CloudbaseInitSetup_1_1_8_x64.msi",
}


def simulated_pins() -> dict[str, str]:
    """Return variables with the checksums of the simulated files. The collection pins those of the real ones."""
    image = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"
    return {"cni_host_process_image": image} | {
        name: hashlib.sha256(catalog.content(url) or b"").hexdigest() for name, url in _PINNED.items()
    }


@dataclass(frozen=True)
class PlayRun:
    """The result of a run of ansible-playbook.

    Args:
        exit_code: 0, 2 (a host failed), 4 (a host is unreachable), …
        output: everything that it printed.
        report: the contents of report.json from the collection's callback.
        recap: the counters by host in the last lines of the output.
    """

    exit_code: int
    output: str
    report: Mapping[str, Any] = field(repr=False)
    recap: Mapping[str, Mapping[str, int]]

    def changes(self, host: str) -> list[str]:
        """Return the changes on a host, as `TYPE NAME`."""
        return [f"{change['type']} {change['name']}" for task in self._tasks(host) for change in task["changes"]]

    def changed_tasks(self, host: str) -> list[str]:
        """Return the names of a host's tasks that changed something."""
        return [task["name"] for task in self._tasks(host) if task["changed"]]

    def messages(self, host: str) -> str:
        """Return the messages of a host's failed tasks."""
        return "\n".join(task["message"] for task in self._tasks(host) if task["status"] != "ok")

    def commands(self, host: str) -> int:
        """Return the number of remote commands that the actions reported."""
        return sum(task["remote_commands"] for task in self._tasks(host))

    def _tasks(self, host: str) -> list[Mapping[str, Any]]:
        return list(self.report.get("nodes", {}).get(host, ()))

    def expect(self, exit_code: int = 0) -> PlayRun:
        """Return itself.

        Raises:
            AssertionError: the exit code differs. The message contains the output.
        """
        assert self.exit_code == exit_code, f"exit {self.exit_code}, not {exit_code}:\n{self.output[-20000:]}"
        return self


class Site:
    """A world, and a controller with an inventory for it.

    Args:
        world: a world that has been started.
        folder: the controller's folder for inventory, reports and Ansible's own files, which is the working folder of
        all runs.
        variables: variables of all hosts, in addition to `link_variables()`.
    """

    def __init__(self, world: World, folder: Path, variables: Mapping[str, Any] | None = None) -> None:
        self.world = world
        self.folder = folder
        self.variables: dict[str, Any] = dict(variables or {})
        self.host_variables: dict[str, dict[str, Any]] = {}
        self.counted: dict[str, dict[str, dict[str, int]]] = {}
        self._api: client.ApiClient | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def node(self, host: str) -> FleetNode:
        """Return a simulated server by its inventory name, which is also its name in the fleet."""
        return self.world.fleet.nodes[host]

    def machine(self, host: str) -> Machine:
        """Return the machine of a server."""
        return self.node(host).machine

    def counters(self, host: str) -> dict[str, int]:
        """Return the counters of a server's network since the start of the last playbook run."""
        return self.node(host).server.counters.snapshot()

    def hosts(self) -> list[str]:
        """Return all hosts of the inventory."""
        return list(self.world.fleet.nodes)

    def api(self) -> client.ApiClient:
        """Return an administrator's connection to the site's cluster."""
        assert self.world.cluster is not None
        # Tests ask several times per second, and a new connection reads the kubeconfig and its certificates again.
        if self._api is None:
            self._api = config.new_client_from_config(str(self.world.cluster.kubeconfig))
        return self._api

    def inventory(self) -> dict[str, Any]:
        """Return the inventory: all servers of the world in `node_windows`, with node names from `node_name`."""
        hosts = {
            name: {"ansible_host": node.machine.address, "kubernetes_node_hostname": node_name(name)}
            | self.host_variables.get(name, {})
            for name, node in self.world.fleet.nodes.items()
        }
        return {"node_windows": {"hosts": hosts, "vars": self._cluster_variables() | self.variables}}

    def _cluster_variables(self) -> dict[str, Any]:
        # The inventory must contain kube_version even without a cluster.
        variables: dict[str, Any] = link_variables() | {"kube_version": "1.37.1"} | QUICK
        if self.world.cluster is not None:
            variables |= {"kubeconfig": str(self.world.cluster.kubeconfig), "kube_version": self.world.cluster.version}
        if self.world.artifacts is not None:
            variables |= {"artifact_mirror": self.world.artifacts.url, "artifact_upstream": False}
            variables |= simulated_pins()
        if self.world.registry is not None:
            mirror = {"mirrors": [self.world.registry.url]}
            variables["container_runtime_registries"] = {"registry.k8s.io": mirror, "mcr.microsoft.com": mirror}
        return variables

    def run(
        self,
        playbook: str | Sequence[Mapping[str, Any]],
        *options: str,
        variables: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 300,
    ) -> PlayRun:
        """Run a playbook, after setting all counters to zero.

        Args:
            playbook: the name of one of the collection's playbooks (`site.yml`), or plays.
            options: options for ansible-playbook.
            variables: extra variables for this run.
            environment: further environment variables.
            timeout: the time limit in seconds.
        """
        command = self.command(playbook, *options, variables=variables)
        for node in self.world.fleet.nodes.values():
            node.server.counters.reset()
        return self.execute(command, environment=environment, timeout=timeout)

    def execute(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, timeout: float = 300
    ) -> PlayRun:
        """Run a command line of ansible-playbook.

        Args:
            command: the command line.
            environment: further environment variables.
            timeout: the time limit in seconds.
        """
        variables = self.environment() | dict(environment or {})
        try:
            return self.result(*forked_runs.execute(command, self.folder, variables, timeout))
        except subprocess.TimeoutExpired as error:
            output = error.stdout.decode() if isinstance(error.stdout, bytes) else str(error.stdout)
            raise AssertionError(f"not finished after {error.timeout:.0f} s:\n{output[-20000:]}") from None

    def command(
        self, playbook: str | Sequence[Mapping[str, Any]], *options: str, variables: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Return the command line of a run, after writing the files that it needs."""
        inventory = self.folder / "hosts.yml"
        inventory.write_text(json.dumps(self.inventory(), indent=1), encoding="utf-8")
        path = ROOT / "playbooks" / playbook if isinstance(playbook, str) else self.folder / "playbook.yml"
        if not isinstance(playbook, str):
            path.write_text(json.dumps(list(playbook)), encoding="utf-8")
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), str(path), *options]
        return command + (["-e", json.dumps(dict(variables))] if variables else [])

    def environment(self) -> dict[str, str]:
        """Return the environment of a run, without the user's own configuration."""
        others = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_PROXY")}
        return others | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            # If HOME is not the account's home, a job and async_status resolve ~ to different folders.
            "ANSIBLE_ASYNC_DIR": str(self.folder / "ansible" / "async"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACK_PLUGINS": str(forked_runs.CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "winkube.node.report,short_pauses",
            fork_server.PAUSES: "0.2",
            "WINKUBE_REPORT_DIR": str(self.folder / "report"),
        }

    def result(self, exit_code: int, output: str) -> PlayRun:
        """Return the result of a run whose process has ended."""
        report = self.folder / "report" / "report.json"
        document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        report.unlink(missing_ok=True)
        recap = {
            host: {name: int(number) for name, number in (pair.split("=") for pair in counters.split())}
            for host, counters in _RECAP.findall(output)
        }
        return PlayRun(exit_code, output, document, recap)

    def plan(self) -> tuple[PlayRun, dict[str, Any]]:
        """Run the drift check, and return the run and the nodes in build/plan.json."""
        run = self.run("plan.yml")
        document = json.loads((self.folder / "build" / "plan.json").read_text(encoding="utf-8"))
        return run, dict(document["nodes"])

    def converge(self, resources: Sequence[Mapping[str, Any]], *options: str, **more: Any) -> PlayRun:
        """Run a single task of node_state with these resources."""
        task = {"name": "Converge", "winkube.node.node_state": {"resources": list(resources), **more}}
        return self.run([{"hosts": "all", "gather_facts": False, "tasks": [task]}], *options)


def describe(
    nodes: Sequence[Mapping[str, object]], address: str, cluster: Mapping[str, object] | None = None
) -> FleetFile:
    """Return a fleet file with these nodes, an artifact server, a registry, and a cluster if options for it are given.

    Args:
        nodes: entries of the fleet file, without address, user and password.
        address: the first three parts of the addresses, such as `127.70.3`.
        cluster: the options of the cluster; None for no cluster.
    """
    settings = [
        MachineSettings.read({"password": PASSWORD, "address": f"{address}.{number}", **QUICK_NODE, **node})
        for number, node in enumerate(nodes, start=11)
    ]
    servers = {"address": f"{address}.1", "port": 0}
    return FleetFile(
        tuple(settings), servers, servers, {} if cluster is None else {"address": f"{address}.1", **cluster}
    )


def node_name(host: str) -> str:
    """Return the name of a host's node in the cluster. Before the join, the host has the name in the fleet file.

    The node's name is longer than the 15 characters of NetBIOS, and differs from other names within these characters.
    """
    return f"{host}-of-the-tests"


def cluster_nodes(site: Site) -> dict[str, dict[str, Any]]:
    """Return the cluster's nodes by name: ready, version, runtime, labels, pod_cidr."""
    found = {}
    for node in _core(site).list_node().items:
        ready = [condition.status for condition in node.status.conditions or () if condition.type == "Ready"]
        found[node.metadata.name] = {
            "ready": ready == ["True"],
            # The cluster in memory has no nodeInfo for Linux nodes, which are only objects.
            "version": node.status.node_info.kubelet_version if node.status.node_info else "",
            "runtime": node.status.node_info.container_runtime_version if node.status.node_info else "",
            "labels": dict(node.metadata.labels),
            "pod_cidr": node.spec.pod_cidr,
        }
    return found


def bootstrap_tokens(site: Site) -> dict[str, str]:
    """Return the secret parts of the cluster's bootstrap tokens, by id."""
    found = _core(site).list_namespaced_secret("kube-system", field_selector="type=bootstrap.kubernetes.io/token")
    return {
        base64.b64decode(item.data["token-id"]).decode(): base64.b64decode(item.data["token-secret"]).decode()
        for item in found.items
    }


def token_expirations(site: Site) -> dict[str, datetime.datetime]:
    """Return the expiration times of the cluster's bootstrap tokens, by id."""
    found = _core(site).list_namespaced_secret("kube-system", field_selector="type=bootstrap.kubernetes.io/token")
    return {
        base64.b64decode(item.data["token-id"]).decode(): datetime.datetime.fromisoformat(
            base64.b64decode(item.data["expiration"]).decode()
        )
        for item in found.items
    }


def cluster_api(site: Site) -> client.ApiClient:
    """Return an administrator's connection to the site's cluster."""
    return site.api()


def _core(site: Site) -> client.CoreV1Api:
    return client.CoreV1Api(cluster_api(site))
