# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Other versions of Kubernetes and containerd: both of kubeadm's APIs, all versions of containerd's configuration."""

from __future__ import annotations

import tomllib

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import cluster_nodes, node_name

pytestmark = pytest.mark.integration

# Kubernetes, containerd, the version of its configuration. The simulated kubeadm knows only the APIs of its version:
# v1beta3 up to 1.30, v1beta4 from 1.31 on (1.30 refuses it).
PAIRS = [("1.30.4", "1.7.35", 2), ("1.34.4", "2.0.14", 3), ("1.36.3", "2.4.2", 4)]


@pytest.mark.parametrize(
    ("kubernetes", "containerd", "configuration"),
    [pytest.param(*pair, marks=pytest.mark.xdist_group(f"versions-{pair[0]}"), id=pair[0]) for pair in PAIRS],
)
def test_a_node_joins(start_site: SiteFactory, kubernetes: str, containerd: str, configuration: int) -> None:
    site = start_site(
        {"name": "one", "windows": "2022"},
        cluster={"kind": "memory", "version": kubernetes},
        container_runtime_containerd_version=containerd,
    )
    site.run("site.yml").expect()
    node = cluster_nodes(site)[node_name("one")]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == (f"v{kubernetes}", f"containerd://{containerd}")
    text = site.machine("one").files.read_text(r"C:\Program Files\containerd\config.toml")
    assert tomllib.loads(text)["version"] == configuration
