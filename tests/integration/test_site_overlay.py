# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One node with flannel's overlay, on a server that a user prepared before: network, access lists, secrets."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.watching import secrets_written
from kubernetes import client
from unit.users import plant

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import locations

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("test_site-overlay")]

LEFTOVERS = (r"C:\ProgramData\winkube\join.yaml", r"C:\etc\kubernetes\bootstrap-kubelet.conf")
SECRETS: dict[str, dict[str, set[str]]] = {}
"""For each file, the users that could read the secrets that the run with an overlay wrote."""
PRIVATE = (
    r"C:\etc\kubernetes",
    r"C:\etc\kubernetes\manifests",
    r"C:\etc\kubernetes\kubelet.conf.d\50-windows.conf",
    r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
    r"C:\ProgramData\winkube\cache",
)
READABLE = (
    r"C:\k\kubelet.exe",
    r"C:\k\kube-proxy\config.yaml",
    r"C:\etc\cni\net.d",
    r"C:\opt\cni\bin\flannel.exe",
    r"C:\opt\flannel\flanneld.exe",
    r"C:\run\flannel",
    r"C:\var\lib\kubelet\config.yaml",
    r"C:\var\log\kubelet\kubelet.log",
    r"C:\var\log\containerd",
    r"C:\var\log\pods",
)


def attack(site: Site) -> None:
    """Prepare the server as a malicious user: folders, a program, a static pod, an archive with its checksum."""
    files, version = site.machine("overlay").files, site.world.cluster.version  # type: ignore[union-attr]
    archive = locations.resource("kubernetes", version, cache_dir=r"C:\ProgramData\winkube\cache")["path"]
    plant(files, archive, b"trojan")
    plant(files, f"{archive}.checksum", hashlib.sha512(b"trojan").hexdigest().encode())
    plant(files, r"C:\k\version.dll")
    plant(files, r"C:\etc\kubernetes\manifests\evil.yaml")
    plant(files, r"C:\var\lib\kubelet\kubeadm-flags.env")


@pytest.fixture(scope="module")
def overlay(start_site: SiteFactory) -> tuple[Site, PlayRun]:
    """Return one node with flannel's overlay, on a server that a user prepared before.

    Only Linux nodes can use the cluster's own endpoint.
    """
    site = start_site({"name": "overlay", "windows": "2022"}, cluster={"kind": "memory"}, flannel_backend_type="vxlan")
    assert site.world.cluster is not None
    endpoint = site.world.cluster.server.removeprefix("https://")
    core = client.CoreV1Api(cluster_api(site))
    info = core.read_namespaced_config_map("cluster-info", "kube-public").data["kubeconfig"]
    data = {"kubeconfig": info.replace(endpoint, "lb-apiserver.kubernetes.local:6443")}
    core.patch_namespaced_config_map("cluster-info", "kube-public", {"data": data})
    refused = site.run("site.yml").expect(2)
    assert "it cannot resolve the name of the control plane endpoint" in refused.messages("overlay")
    assert refused.recap["overlay"]["changed"] == 0
    site.variables["node_join_api_server"] = endpoint
    attack(site)
    with secrets_written(site.machine("overlay")) as SECRETS["seen"]:
        return site, site.run("site.yml").expect()


def test_a_node_joins_at_the_endpoint_that_it_is_given(overlay: tuple[Site, PlayRun]) -> None:
    site, _ = overlay
    assert site.world.cluster is not None
    machine = site.machine("overlay")
    assert f"server: {site.world.cluster.server}\n" in machine.files.read_text(r"C:\etc\kubernetes\kubelet.conf")
    assert not machine.files.exists(r"C:\ProgramData\winkube\discovery.conf")
    config = client.CoreV1Api(cluster_api(site)).read_namespaced_config_map("kube-proxy-windows", "kube-system").data
    assert site.world.cluster.server in config["kubeconfig.conf"]


def test_an_overlay_network(overlay: tuple[Site, PlayRun]) -> None:
    site, _ = overlay
    node = cluster_nodes(site)[node_name("overlay")]
    assert node["ready"]
    status: Any = site.node("overlay").status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "flannel.4096"]
    assert (network["type"], network["vni"], network["subnet"]) == ("Overlay", 4096, node["pod_cidr"])
    machine = site.machine("overlay")
    proxy = machine.files.read_text(r"C:\k\kube-proxy\config.yaml")
    (source_vip,) = [line.split()[1] for line in proxy.splitlines() if "sourceVip" in line]
    # host-local gives it to no pod, because a file with its name exists.
    assert machine.files.is_file(rf"C:\var\lib\cni\networks\flannel.4096\{source_vip}")


# test_network_matrix.py runs site.yml twice for all networks.
@pytest.mark.variant
def test_an_overlay_network_stays(overlay: tuple[Site, PlayRun]) -> None:
    site, _ = overlay
    run = site.run("site.yml").expect()
    assert run.recap["overlay"]["changed"] == 0


def test_secrets_are_closed_at_every_moment_of_a_join(overlay: tuple[Site, PlayRun]) -> None:
    written = {path: who for path, who in SECRETS["seen"].items() if "\\Temp\\" not in path}
    assert {path: who for path, who in written.items() if who} == {}
    assert {*LEFTOVERS, r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"} <= set(written)


def test_only_administrators_write_what_runs_as_system(overlay: tuple[Site, PlayRun]) -> None:
    files = overlay[0].machine("overlay").files
    for path in (*PRIVATE, *READABLE):
        assert files.exists(path), path
        assert files.who_may_write(path) == set(), path
        assert files.who_may_read(path) == (set() if path in PRIVATE else {"BU"}), path
    # Containers that run as ContainerUser write to their volumes with the rights of Users.
    assert files.who_may_write(r"C:\var\lib\kubelet\pods") == {"BU"}


def test_files_planted_by_a_user_are_not_used(overlay: tuple[Site, PlayRun]) -> None:
    site, run = overlay
    files = site.machine("overlay").files
    for path in (r"C:\k\version.dll", r"C:\etc\kubernetes\manifests\evil.yaml"):
        assert not files.exists(path), path
    assert files.descriptor(r"C:\var\lib\kubelet\kubeadm-flags.env").owner == "BA"
    reported = " ".join(run.output.split())
    for folder in (r"C:\ProgramData\winkube", r"C:\k", r"C:\etc\kubernetes", r"C:\var\lib\kubelet"):
        assert f"Directory {folder}: users other than administrators" in reported, folder
