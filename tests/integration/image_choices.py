# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines from the image of test_image.py whose user data names versions other than those of the image."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence

from integration.image_sites import BUILDER, RELEASE, log_of
from integration.kubelet_states import pods_of
from integration.playbooks import Site, cluster_nodes
from simulator_tests.waiting import wait_for

from simulator.machine.machine import Machine

CHOSEN, _REFUSED = "chosen", "refused"
_LOG = r"C:\Windows\winkube\cached-versions\install-cached-versions.log"
_CONFIGURATION = r"C:\run\kubeadm\kubeadm-join-config.yaml"
_PLUGINS = r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\i-{}\Plugins"
_KUBERNETES, _CONTAINERD, _CNI_PLUGINS = "1.37.0", "2.2.9", "1.8.0"


def start_with_versions(site: Site, pods: Sequence[tuple[str, str, bool]]) -> Machine:
    """Write user data, start a machine with it, and return the machine when these pods run. It downloads nothing."""
    cluster, artifacts = site.world.cluster, site.world.artifacts
    assert cluster is not None
    assert artifacts is not None
    own = {
        "kubeconfig": str(cluster.kubeconfig),
        "winkube_user_data_kubernetes": _KUBERNETES,
        "winkube_user_data_runtime": _CONTAINERD,
        "winkube_user_data_network": f"cni-plugins={_CNI_PLUGINS}",
        "winkube_user_data_release_notes": str(site.folder / "build" / "release-notes" / RELEASE / f"{BUILDER}.json"),
        "winkube_user_data_file": str(site.folder / "user-data.yml"),
        "winkube_extension_file": str(site.folder / "protected-settings.json"),
    }
    site.run("join_user_data.yml", variables=own).expect()
    before = artifacts.status()["total"]
    machine = _start(site, CHOSEN, 96, _user_data(site))
    wait_for(lambda: pods_of(site, CHOSEN) == pods, "its pods run", 120)
    assert artifacts.status()["total"] == before
    return machine


def start_with_uncached_version(site: Site) -> Machine:
    """Start a machine whose user data names a version that the image lacks, and wait until user data has run."""
    machine = _start(site, _REFUSED, 95, _user_data(site).replace(_KUBERNETES, "1.35.0"))
    plugins = _PLUGINS.format(_REFUSED)
    wait_for(lambda: machine.registry.data(plugins, "LocalScriptsPlugin") == 1, "cloudbase-init ends", 60)
    return machine


def _user_data(site: Site) -> str:
    return (site.folder / "user-data.yml").read_text(encoding="utf-8")


def _start(site: Site, host: str, address: int, data: str) -> Machine:
    """Start a machine from the image with a config drive of NoCloud."""
    files = {"meta-data": f"instance-id: i-{host}\nlocal-hostname: {host}\n", "user-data": data}
    drive = {"label": "cidata", "files": files}
    whole = f"{site.machine(BUILDER).address.rpartition('.')[0]}.{address}"
    return site.world.fleet.deploy_image(BUILDER, host, whole, user="Administrator", config_drive=drive).machine


def check_versions(site: Site, machine: Machine) -> None:
    """Check that the node has the chosen versions, and that nothing has connected to it."""
    node = cluster_nodes(site)[CHOSEN]
    assert site.counters(CHOSEN)["connections"] == 0
    assert node["ready"]
    assert (node["version"], node["runtime"]) == (f"v{_KUBERNETES}", f"containerd://{_CONTAINERD}")
    log = machine.files.read_text(_LOG)
    assert log.index("installed containerd") < log.index("installed CNI plugins") < log.index("installed Kubernetes")


def check_secrets(site: Site, machine: Machine) -> None:
    """Check that the token is only in files that their owner can read, and no longer on the machine."""
    files = [site.folder / "user-data.yml", site.folder / "protected-settings.json"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600, 0o600]
    command = json.loads(files[1].read_text(encoding="utf-8"))["commandToExecute"]
    token = command.partition(" --token ")[2].split()[0]
    assert token in files[0].read_text(encoding="utf-8")
    assert not machine.files.exists(_CONFIGURATION)
    for text in (log_of(machine), machine.files.read_text(_LOG), machine.files.read_text(r"C:\run\kubeadm\join.log")):
        assert token not in text


def drift(site: Site) -> set[str]:
    """Return what plan.yml would change on the node with variables that name its versions.

    Whatever its versions are, a machine that joined by itself has no record of its network, and BuildKit does not start
    with the machine.
    """
    versions = {
        "kube_version": _KUBERNETES,
        "container_runtime_containerd_version": _CONTAINERD,
        "cni_plugins_version": _CNI_PLUGINS,
        "kubelet_service": "launcher",
    }
    site.host_variables[CHOSEN] = {"kubernetes_node_hostname": CHOSEN}
    site.run("plan.yml", "--limit", f"{CHOSEN},localhost", variables=versions)
    plan = json.loads((site.folder / "build" / "plan.json").read_text(encoding="utf-8"))
    return {f"{one['type']} {one['name']}" for one in plan["nodes"][CHOSEN]["drift"]}


def check_refusal(site: Site, machine: Machine) -> None:
    """Check that nothing has joined, and that the log names the reason."""
    reason = "Kubernetes 1.35.0 is not cached in this image; cached: 1.37.1, 1.36.3, 1.37.0"
    assert reason in machine.files.read_text(_LOG)
    assert not machine.files.exists(_CONFIGURATION)
    assert not machine.files.exists(r"C:\etc\kubernetes\bootstrap-kubelet.conf")
    assert _REFUSED not in cluster_nodes(site)
