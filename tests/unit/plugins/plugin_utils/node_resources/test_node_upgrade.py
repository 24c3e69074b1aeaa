# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubeadm.exe of each step of an upgrade."""

from __future__ import annotations

from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import upgrade
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import kubernetes_node, node_upgrade
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions.node_upgrade import cached

BETWEEN, LAST = "1.36.3", "1.37.1"
SHA256 = "ab" * 32
CACHED = ["v1.35.4", {"version": BETWEEN, "url": "https://mirror.example/k8s-1.36.3.tar.gz", "sha256": SHA256}]


def test_each_step_has_a_program_of_its_own() -> None:
    settings = samples.kubernetes(version=LAST)
    found = node_upgrade.programs(settings, [BETWEEN, LAST], cached(["v1.35.4", BETWEEN]))
    load(found)
    artifacts = [one for one in found if one["type"] == "Artifact"]
    assert [one["name"] for one in artifacts] == [f"kubernetes {BETWEEN}", f"kubernetes {LAST}"]
    folders = [one["name"] for one in found if one["type"] == "Archive"]
    assert [f"{folder}\\kubeadm.exe" for folder in folders] == [upgrade.program(BETWEEN), upgrade.program(LAST)]


def test_the_last_step_uses_the_archive_of_the_node_itself() -> None:
    settings = samples.kubernetes(version=f"v{LAST}", url="https://own.example/node.tar.gz", sha256=SHA256)
    own = [one for one in kubernetes_node.resources(settings) if one["type"] == "Artifact"]
    (step, _archive) = node_upgrade.programs(settings, [LAST], {})
    assert step in own


def test_a_step_uses_the_archive_that_the_nodes_cache() -> None:
    step, _archive = node_upgrade.programs(samples.kubernetes(version=LAST), [BETWEEN], cached(CACHED))
    expected = {"urls": ["https://mirror.example/k8s-1.36.3.tar.gz"], "sha256": SHA256}
    assert expected.items() <= step.items()


def test_cached_versions_may_have_no_archive_of_their_own() -> None:
    assert cached([*CACHED, {"sha256": SHA256}]) == {
        "1.35.4": node_upgrade.Origin(),
        BETWEEN: node_upgrade.Origin("https://mirror.example/k8s-1.36.3.tar.gz", SHA256),
    }
