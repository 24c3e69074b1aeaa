# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Other versions of Kubernetes and containerd: both of kubeadm's APIs, all versions of containerd's configuration."""

from __future__ import annotations

import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.conftest import SiteFactory
from integration.playbooks import cluster_nodes, node_name

from simulator.kubernetes_node.kubeadm import real as kubeadm_real

pytestmark = pytest.mark.integration

# Kubernetes, containerd, the version of containerd's configuration. The simulated kubeadm only supports the APIs of its
# version: v1beta3 up to 1.30, v1beta4 since 1.31 (1.30 rejects it). Then the cluster: the last node is one version
# behind a real control plane, if there is one.
PAIRS: list[tuple[str, str, int, dict[str, str]]] = [
    ("1.30.4", "1.7.35", 2, {"kind": "memory", "version": "1.30.4"}),
    ("1.34.4", "2.0.14", 3, {"kind": "memory", "version": "1.34.4"}),
    ("1.36.3", "2.4.2", 4, {"kind": "auto", "version": "1.37.1"}),
]


# The kubeadm of the node: a real one of Linux, or the simulated one of Windows.
KUBEADMS = ("real", "simulated")


def cases() -> Iterator[Any]:
    """Yield each version with one kubeadm, of alternating kinds. Repetitions of a version are variants."""
    for number, pair in enumerate(PAIRS):
        # Nodes of these versions join in test_site.py and test_upgrade_nodes.py, too.
        repeated = pair[0] in ("1.36.3", "1.34.4")
        has_real = kubeadm_real.find(pair[0]) is not None
        first = "real" if number % 2 and has_real else "simulated"
        for kubeadm in KUBEADMS:
            marks = [
                pytest.mark.xdist_group(f"versions-{pair[0]}"),
                *([pytest.mark.variant] if repeated or kubeadm != first else []),
            ]
            if kubeadm == "real":
                marks.append(pytest.mark.skipif(not has_real, reason=f"KUBEBUILDER_ASSETS has no kubeadm of {pair[0]}"))
            yield pytest.param(kubeadm, *pair, marks=marks, id=f"{kubeadm}-{pair[0]}")


@pytest.fixture
def chosen(kubeadm: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the nodes use the kubeadm of the case."""
    if kubeadm == "simulated":
        monkeypatch.setenv("KUBEBUILDER_ASSETS", "")
    kubeadm_real.find.cache_clear()
    yield
    kubeadm_real.find.cache_clear()


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(("kubeadm", "kubernetes", "containerd", "configuration", "cluster"), cases())
def test_a_node_joins_and_logs(
    start_site: SiteFactory,
    tmp_path: Path,
    kubernetes: str,
    containerd: str,
    configuration: int,
    cluster: dict[str, str],
) -> None:
    site = start_site(
        {"name": "one", "windows": "2022"},
        cluster=cluster,
        kubernetes_node_version=kubernetes,
        container_runtime_containerd_version=containerd,
    )
    site.run("site.yml").expect()
    node = cluster_nodes(site)[node_name("one")]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == (f"v{kubernetes}", f"containerd://{containerd}")
    text = site.machine("one").files.read_text(r"C:\Program Files\containerd\config.toml")
    assert tomllib.loads(text)["version"] == configuration
    # kube-log-runner rotates since 1.34, and rejects the flags before that.
    service = site.machine("one").services.get("kubelet")
    assert service is not None
    assert ("-log-file-size=50Mi" in service.argv) is (kubernetes >= "1.34")
    assert service.argv[0].endswith("kube-log-runner.exe")
    left = site.machine("one").files.read_text(r"C:\var\lib\kubelet\kubeadm-flags.env")
    flags = left.strip().removeprefix("KUBELET_KUBEADM_ARGS=").strip('"').split()
    # kubeadm writes flags that the kubelet of its version has. On 1.36 there are none if the host has the node's name.
    assert service.argv[len(service.argv) - len(flags) :] == flags
    if kubernetes < "1.35":
        assert flags
    with connect(site.machine("one"), "psrp") as connection:
        result = run_action(connection, "node_logs", {"directory": str(tmp_path), "sources": ["kubelet", "containerd"]})
    assert result["without_log"] == []
    with tarfile.open(result["archive"]) as archive:
        logs = {name: archive.extractfile(name) for name in archive.getnames() if name.endswith(".log")}
        texts = {name.rpartition("/")[2]: content.read() for name, content in logs.items() if content}
    assert b"Successfully registered node" in texts["kubelet.log"]
    assert b"containerd successfully booted" in texts["containerd.log"]
