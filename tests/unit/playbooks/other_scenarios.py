# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of all playbooks except site.yml, and of roles that are used alone."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

from unit.playbooks.cluster_scenarios import clusters
from unit.playbooks.fleet import HOSTS, KUBECONFIG, LOOSE, LOST, PLAIN, PROXY, RESULTS, cluster, facts, member
from unit.playbooks.inspection_scenarios import inspections
from unit.playbooks.rehearsal import Rehearsal
from unit.playbooks.replace_scenarios import replacements
from unit.playbooks.reset_scenarios import RESETS
from unit.playbooks.upgrade_scenarios import upgrades
from unit.playbooks.verification_scenarios import verifications

BUNDLE = {
    "bundle_server": {"pid": 4711, "token": "t"},
    "bundle_info": {
        "bundle_sites": [{"url": "http://10.0.0.9:8080/t"}],
        "bundle_images": {"a": "b"},
        "bundle_patches": {"KB1": {"url": "http://10.0.0.9:8080/t/kb1.msu"}},
        "bundle_pushed": "C:\\bundle",
    },
}
BUNDLE_VARIABLES = {
    "bundle_dir": "/site/bundle",
    "bundle_public_key": "/site/key.pub",
    "bundle_max_age": 30,
    "bundle_allow_older": True,
    "bundle_bind": "10.0.0.9",
    "bundle_port": 8080,
    "bundle_certificate": "/site/cert.pem",
    "bundle_certificate_key": "/site/cert.key",
}
IMAGE = {
    "image_disk_gib": 30,
    "image_release": "20261126.1a2b3c4d",
    "image_release_number": 3,
    "image_sbom": False,
    "image_notes_dir": "/site/notes",
    "image_notes_path": "",
}
COMPARED = {
    "compare_images_before": "/site/a.json",
    "compare_images_after": "/site/b.json",
    "compare_images_report": "/site/c.json",
    "compare_images_page": "/site/c.html",
}
VHD = {"resource_group": "built", "storage_account": "built1", "container": "vhds", "blob": "a.vhd"}
PUBLISHED = {
    "publish_image_release": "20261126.1a2b3c4d",
    "publish_image_number": 3,
    "publish_image_vhd": VHD,
    "publish_image_managed_image": {},
    "publish_image_copy": VHD | {"storage_account": "public1"},
    "publish_image_gallery": {"resource_group": "g", "gallery": "nodes", "definition": "w", "location": "westeurope"},
    "publish_image_subscription": "1",
    "publish_image_auth_mode": "key",
    "publish_image_endpoint_suffix": "core.example",
    "publish_image_folder": "/site/vhd",
    "publish_image_timeout": 60,
}
PUBLICATION: dict[str, t.Any] = {
    "image_publication": {
        "release": "20261126.1a2b3c4d",
        "gallery_version": "2026.1126.3",
        "tags": {"release": "20261126.1a2b3c4d"},
        "vhd": VHD,
        "target": PUBLISHED["publish_image_copy"],
        "gallery": PUBLISHED["publish_image_gallery"],
        "storage_profile": {"os_disk": {}},
        "publishing_profile": {"target_regions": []},
    },
    "tempfile": {"path": "/site/vhd/vhd-1"},
    "azure.azcollection.azure_rm_storageblob_info": {"blob": None},
    "azure.azcollection.azure_rm_galleryimageversion_info": [
        {"versions": None},
        {"versions": {"provisioning_state": "Succeeded"}},
    ],
}
ZONE = "topology.kubernetes.io/zone"
RINGS = {"node_maintenance_ring_label": ZONE, "node_maintenance_ring_order": ["c"]}
MISSING = {"changed": True, "missing": ["KB1"]}
PATCHES = {"windows_patches_public": ["KB1"], "windows_patches_private": [{"file": "a.msu", "sha256": 64 * "a"}]}


def images() -> dict[str, Rehearsal]:
    """Return runs that build images and bundles, and join machines from images."""
    builders = {"image_builders": ["win1"], "node_windows": ["win2"]}
    release = {"image_release": {"release": "20261126.1a2b3c4d", "gallery_version": "2026.1126.0"}}
    build = Rehearsal("build_image.yml", PLAIN, release, groups=builders, variables={"kube_version": "v1.36.3"})
    push = {**BUNDLE_VARIABLES, "bundle_push": True, **LOOSE, **PROXY}
    # A host with Docker comes first. The other one uses the default runtime.
    plain = {name: value for name, value in HOSTS["new"].items() if name != "container_runtime"}
    new = {"docker": HOSTS["docker"], "new": plain}
    return {
        "build_image/plain": build,
        "build_image/full": replace(
            build,
            variables={**build.variables, **push, **PATCHES, **IMAGE, "winkube_image_hosts": "win2"},
            results={**BUNDLE, **release},
        ),
        "compare_images/plain": Rehearsal("compare_images.yml", {}, {}, COMPARED),
        "publish_image/plain": Rehearsal("publish_image.yml", {}, PUBLICATION, PUBLISHED),
        "bundle/plain": Rehearsal("bundle.yml", PLAIN),
        "bundle/full": Rehearsal(
            "bundle.yml",
            PLAIN,
            variables={
                **BUNDLE_VARIABLES,
                **PATCHES,
                **PROXY,
                "bundle_key": "/site/key",
                "bundle_key_passphrase": "secret",
                "bundle_windows": ["2025"],
                "bundle_parallel": 2,
                "bundle_refresh": "yes",
                "bundle_prune": "yes",
                "windows_patches_source": "/site/patches",
                "kube_version": "v1.36.3",
                "container_runtime_registries": {"a.example": {"mirrors": ["http://m.example"]}},
            },
        ),
        "join_nodes/pushed-bundle": Rehearsal(
            "join_nodes.yml",
            new,
            {**RESULTS, **BUNDLE, "cluster_info": cluster()},
            {**KUBECONFIG, **push, "node_join_kubeconfig_context": "prod", "node_join_approval": "cluster"},
        ),
        "join_nodes/live": Rehearsal(
            "join_nodes.yml", {"live": HOSTS["live"]}, RESULTS, {"node_join_kubeconfig": "/site/own.conf"}
        ),
        "join_nodes/without-kubeconfig": Rehearsal("join_nodes.yml", {"live": HOSTS["live"]}, RESULTS),
    }


def tokens_and_hns() -> dict[str, Rehearsal]:
    """Return runs of join_token.yml, and of reset_nodes.yml that only clear HNS."""
    token = {
        "cluster_info": {"api_server": "lb:6443", "ca_cert_hash": "sha256:00", "node_version": "1.37.1"},
        "bootstrap_token": {"token": "aaaaaa.1", "token_id": "aaaaaa", "expires": "noon"},
    }
    written = {"join_user_data": {"files": {"user_data_file": "/site/user-data.yml"}}}
    three: Mapping[str, Mapping[str, t.Any]] = {"win1": {}, "win2": {}, "win3": {}}
    hns = Rehearsal("reset_nodes.yml", three, tags=["role::hns_cleanup"])
    broken = {"hns_cleanup@win1": {"failed": True, "msg": "HNS hangs"}}
    return {
        "join_token/plain": Rehearsal("join_token.yml", {}, token, KUBECONFIG),
        "join_token/full": Rehearsal(
            "join_token.yml",
            {},
            token,
            {
                "node_join_kubeconfig": "/own.conf",
                "node_join_kubeconfig_context": "prod",
                "winkube_token_ttl": 60,
                "winkube_token_file": "/site/token.json",
            },
        ),
        "join_user_data/plain": Rehearsal("join_user_data.yml", {}, {**token, **written}, KUBECONFIG),
        "join_user_data/check": Rehearsal("join_user_data.yml", {}, {**token, **written}, KUBECONFIG, checks=True),
        "join_user_data/full": Rehearsal(
            "join_user_data.yml",
            {},
            {**token, **written},
            {
                "node_join_kubeconfig": "/own.conf",
                "node_join_kubeconfig_context": "prod",
                "kubernetes_node_install_dir": "D:\\k",
                "winkube_token_ttl": 60,
                "winkube_user_data_kubernetes": "1.36.3",
                "winkube_user_data_runtime": "2.2.9",
                "winkube_user_data_network": "cni-plugins=1.8.0",
                "winkube_user_data_release_notes": "/site/notes.json",
                "winkube_user_data_file": "/site/user-data.yml",
                "winkube_extension_file": "/site/settings.json",
            },
        ),
        "reset_nodes/no": Rehearsal("reset_nodes.yml", three, {"pause": {"user_input": "no"}}),
        "reset_nodes/yes": replace(hns, results={"pause": {"user_input": "yes"}, **broken}),
        "reset_nodes/two-at-a-time": replace(hns, variables={"reset_confirmation": True, "winkube_serial": 2}),
        "reset_nodes/check": replace(hns, results=broken, checks=True),
    }


def labelled(nodes: Mapping[str, Mapping[str, t.Any]], **labels: dict[str, str]) -> dict[str, t.Any]:
    """Return the result of the query of nodes with these labels. No earlier run left one of them cordoned."""
    found = {
        name: {**node, "ours": False, "cordoned_before": False, "labels": labels[name]} for name, node in nodes.items()
    }
    return {"Query the nodes in the cluster": {"nodes": found}}


_SEE, _INSTALL = "Check which patches are missing", "Install Windows patches"
_PATCHED = {name: {"ansible_host": f"10.0.0.{number}"} for number, name in enumerate(("one", "two", "done"), start=1)}
_CHECK_RESULT = {
    name: {"status": "would drain", "ours": name == "two", "cordoned_before": name == "two"} for name in _PATCHED
}
_PATCH_VARIABLES = {
    "node_maintenance_kubeconfig_context": "prod",
    "node_maintenance_serial": 2,
    "node_maintenance_max_failed": 1,
    "node_maintenance_force": True,
    "node_maintenance_delete_emptydir_data": True,
    "node_maintenance_grace_period": 0,
    "node_maintenance_host_process": False,
    "hns_cleanup_containerd_namespaces": ["a"],
    "windows_patches_source": "https://mirror.example/patches",
    "windows_patches_reconnect_timeout": 400,
    "winkube_patch_report": "/site/patch.json",
}
"""A value other than the default for each variable of patch_nodes.yml."""


def _patch_run() -> Rehearsal:
    """Return a run in which everything succeeds. An earlier run left node `two` cordoned."""
    drained = {name: {"status": "drained", "cordoned_by": "patch_nodes", "pods": []} for name in _PATCHED}
    results = {
        "Query the nodes in the cluster": {"nodes": _CHECK_RESULT},
        f"{_SEE}@one": MISSING,
        f"{_SEE}@two": MISSING,
        f"{_SEE}@done": {"changed": False},
        "Cordon and drain": {"changed": True, "nodes": drained},
        f"{_INSTALL}@one": {"changed": True, "reboots": 1},
        f"{_INSTALL}@two": {"changed": True, "reboots": 0},
        "Wait until the nodes and their HostProcess DaemonSets are ready": {"nodes": {}, "waiting": []},
        "Uncordon": {"nodes": {name: {"failed": False, "unschedulable": False} for name in _PATCHED}},
    }
    return Rehearsal("patch_nodes.yml", _PATCHED, results, {**KUBECONFIG, **PATCHES})


def patches() -> dict[str, Rehearsal]:
    """Return runs of patch_nodes.yml."""
    run = _patch_run()

    def on(results: Mapping[str, t.Any], **variables: t.Any) -> Rehearsal:
        return replace(run, results={**run.results, **results}, variables={**run.variables, **variables})

    full = {**BUNDLE_VARIABLES, **_PATCH_VARIABLES, **LOOSE, **PROXY}
    lost = "Remove stale HNS endpoints, and restart pods without an endpoint@one"
    by_zone = labelled(_CHECK_RESULT, two={}, one={ZONE: "b"}, done={ZONE: "c"})
    also_done = {f"{_SEE}@done": MISSING, f"{_INSTALL}@done": {"changed": True, "reboots": 0}}
    unknown = {"nodes": {"one": {"status": "failed"}}, "msg": "no such node"}
    return {
        "patch_nodes/plain": run,
        "patch_nodes/full": on(BUNDLE, **full),
        "patch_nodes/check": replace(run, checks=True),
        "patch_nodes/nothing": replace(run, variables=KUBECONFIG),
        "patch_nodes/without-drain": replace(run, variables={**PATCHES, "node_maintenance_drain": False}),
        "patch_nodes/one-fails": on({f"{_INSTALL}@one": {"failed": True, "msg": "0x800f0982"}}),
        "patch_nodes/lost": on(
            {f"{_INSTALL}@two": LOST, lost: LOST, f"{_SEE}@done": LOST}, node_maintenance_max_failed=2
        ),
        "patch_nodes/rings": on({**by_zone, **also_done}, node_maintenance_serial=3, **RINGS),
        "patch_nodes/unknown-label": on(labelled(_CHECK_RESULT, one={}, two={}, done={}), **RINGS),
        "patch_nodes/not-seen": on({"Query the nodes in the cluster": unknown}),
    }


def roles() -> dict[str, Rehearsal]:
    """Return runs of plays that use a role alone."""

    def play(*names: str, tasks_from: str = "main") -> list[dict[str, t.Any]]:
        tasks = [
            {
                "name": f"Role {name}",
                "ansible.builtin.import_role": {"name": f"winkube.node.{name}", "tasks_from": tasks_from},
            }
            for name in names
        ]
        return [{"name": "Roles alone", "hosts": "all:!localhost", "gather_facts": False, "tasks": tasks}]

    alone = ("windows_settings", "windows_features", "container_runtime", "cni", "kubernetes_node", "image_cache")
    hosts: Mapping[str, Mapping[str, t.Any]] = {"win1": {}}
    tuned = {
        "hns_cleanup_scope": "networks",
        "hns_cleanup_networks": ["cbr0"],
        "hns_cleanup_protected_networks": ["nat"],
        "sysprep_unattend": "C:\\u.xml",
        **LOOSE,
    }
    last = play("hns_cleanup", "windows_patches", "sysprep")
    results = {**RESULTS, "join_info": facts("win1"), "cluster_info": cluster(), "node_state": {}}
    joined = {
        "Create a bootstrap token for each node": {"tokens": {"win1": "a.b"}, "token_ids": {"win1": "a"}},
        "Wait until the nodes are registered": {"nodes": {"win1": member(11)}, "waiting": []},
    }
    maintained = {"nodes_drain": {"nodes": {"win1": {"status": "drained", "cordoned_by": "", "ours": False}}}}
    return {
        "roles/preparing": Rehearsal(play(*alone), hosts, variables={"kube_version": "1.36.3", **LOOSE}),
        "roles/no-version": Rehearsal(play("kubernetes_node"), hosts),
        "roles/ending": Rehearsal(last, hosts, variables=PATCHES),
        "roles/ending-tuned": Rehearsal(last, hosts, variables={**tuned, **PROXY}),
        "roles/node_prepare": Rehearsal(
            play("node_prepare"), hosts, BUNDLE, {"kube_version": "1.36.3", "bundle_dir": "/site/bundle"}
        ),
        "roles/node_prepare-tagged": Rehearsal(
            play("node_prepare"), hosts, variables={"kube_version": "1.36.3"}, tags=["cni", "image_cache"]
        ),
        "roles/node_join": Rehearsal(play("node_join"), hosts, {**results, **joined}, KUBECONFIG),
        "roles/node_maintenance": Rehearsal(play("node_maintenance"), hosts, maintained, KUBECONFIG),
    }


OTHERS: dict[str, Rehearsal] = {
    **images(),
    **inspections(),
    **clusters(),
    **tokens_and_hns(),
    **RESETS,
    **patches(),
    **upgrades(),
    **replacements(),
    **verifications(),
    **roles(),
}
