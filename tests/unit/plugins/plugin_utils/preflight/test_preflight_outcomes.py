# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Preflight's messages about artifacts, images, patches and folders, in full."""

from __future__ import annotations

import typing as t

from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import (
    artifacts,
    cloudbase_init,
    container_images,
    folders,
    image,
    patches,
    shared_names,
)
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as checks

SHA = "ab" * 32
URL = "https://dl.example/a.zip"
SOURCES = "cni_artifact_sources"
Values = dict[str, t.Any]


def texts(problems: t.Iterable[object]) -> list[str]:
    return [str(problem) for problem in problems]


ARTIFACTS: dict[str, Values] = {
    "nothing": {},
    "a site without a URL": {SOURCES: {"sites": [{}]}},
    "a mirror that is no URL": {SOURCES: {}, "cni_artifact_mirror": "mirror"},
    "a mirror without sources": {"cni_artifact_mirror": "mirror"},
    "an unknown kind": {SOURCES: {"kinds": {"x": 1}}},
    "signers of an unknown kind": {SOURCES: {"allowed_signers": {"x": ["CN=a"]}}},
    "signers as a list": {SOURCES: {"allowed_signers": ["CN=a"]}},
    "signers that are no names": {SOURCES: {"allowed_signers": {"kubernetes": [1]}}},
    "no such mode": {SOURCES: {"verify": "always"}},
    "a rate": {SOURCES: {"limit_rate": "500K"}},
    "no rate": {SOURCES: {"limit_rate": "fast"}},
    "sources that are no mapping": {SOURCES: "x"},
    "the same in two roles": {SOURCES: {"verify": "x"}, "kubernetes_node_artifact_sources": {"verify": "x"}},
    "a cache that is no folder": {"cni_artifact_cache": "x", "kubernetes_node_artifact_cache": "x"},
    "an own URL of no file": {"cni_plugins_url": "https://me:secret@dl.example/"},
    "own URLs": {"cni_plugins_url": URL, "container_runtime_containerd_url": URL, "cni_plugins_sha256": SHA},
    "a checksum that is none": {"cni_plugins_sha256": "abc"},
    "a version that is none": {"cni_plugins_version": "1/2", "container_runtime_containerd_version": ""},
    "a version of Docker": {"container_runtime": "docker", "container_runtime_docker_version": "x y"},
    "a version that is not used": {"container_runtime": "containerd", "container_runtime_docker_version": "x y"},
    "a version of moby": {"container_runtime": "moby", "container_runtime_cri_dockerd_version": "x y"},
    "a cached version that is none": {"image_cache_containerd_versions": ["2"]},
    "cached versions as text": {"image_cache_kube_node_versions": "1.36.0"},
    "cached kinds": {"image_cache_artifacts": {"x": ["1"]}},
    "cached with an own URL": {"image_cache_moby_versions": ["1.0.0"], "image_cache_urls": {"moby": "x"}},
    "cached from a mirror": {
        "image_cache_azure_vnet_versions": ["1.5.23"],
        "image_cache_artifact_sources": {"verify": "strict", "sites": []},
    },
}


def test_artifacts() -> None:
    outcomes.check(
        "preflight/artifacts", {name: texts(artifacts.problems(values)) for name, values in ARTIFACTS.items()}
    )


def test_artifacts_of_bundles_and_of_plain_sources() -> None:
    own = {"cni_plugins_url": URL, "cni_plugin": "flannel"}
    cached = {"image_cache_azure_vnet_versions": [{"version": "1.5.23", "url": URL}]}
    strict = {SOURCES: {"verify": "strict"}, "kubernetes_node_artifact_sources": {"verify": "warn"}, **own}
    roles = ["cni", "image_cache"]
    outcomes.check(
        "preflight/unverified",
        {
            "warnings": artifacts.warnings({**own, **cached}, roles),
            "warnings of other roles": artifacts.warnings({**own, **cached}, ["kubernetes_node"]),
            "refused": texts(artifacts.refused(strict, roles)),
            "refused, of other roles": texts(artifacts.refused(strict, [])),
            "not refused": texts(artifacts.refused({**strict, SOURCES: {"verify": "warn"}}, roles)),
            "not refused by default": texts(artifacts.refused(own, roles)),
            "with a bundle": texts(artifacts.refused({**strict, "node_prepare_bundle_dir": "/b"}, roles)),
            "cached": artifacts.cached(
                {"image_cache_azure_vnet_versions": ["1.5.23"], "image_cache_artifact_mirror": "https://m.example"}
            ),
            "cached with a bundle": artifacts.cached(
                {
                    "image_cache_azure_vnet_versions": [{"version": "1.5.23", "url": URL}],
                    "image_cache_artifact_sources": {"verify": "strict"},
                    "node_prepare_bundle_dir": "/b",
                }
            ),
        },
    )


IMAGES: dict[str, Values] = {
    "nothing": {},
    "references": {
        "container_runtime_sandbox_image": "pause",
        "image_cache_nano_server_name": "nano",
        "image_cache_pause_source": "registry.example/pause:1",
    },
    "an image without a tag": {"image_cache_images": ["registry.example/a:1", "registry.example/a", "b"]},
    "tags": {"image_cache_container_tags": ["x", {"name": 1}]},
    "base images": {"image_cache_base_images": [{"name": "registry.example/a:1", "digest": "x"}]},
    "lists that are none": {"image_cache_images": "a", "image_cache_core_dns_versions": "a"},
    "an archive for Docker": {
        "container_runtime": "docker",
        "image_cache_images": [{"name": "registry.example/a:1", "namespace": "team"}],
    },
    "an archive for containerd": {"image_cache_images": [{"name": "registry.example/a:1", "namespace": "team"}]},
    "an unknown key": {"image_cache_images": [{"name": "registry.example/a:1", "x": 1}]},
    "CoreDNS without a repository": {"image_cache_core_dns_versions": ["1.12.1"]},
    "CoreDNS": {
        "image_cache_core_dns_versions": ["1.12.1", 1.12, "x y"],
        "image_cache_core_dns_repository": "registry.example/coredns",
    },
    "Windows' own images": {"image_cache_windows_base_images": ["nanoserver", "none"]},
    "built images": {"image_cache_test_images": [{}, "x", {"name": "registry.example/a:1", "base": "x", "y": 1}]},
    "no pulls at once": {"image_cache_parallel_pulls": 0},
    "pulls at once": {"image_cache_parallel_pulls": "1"},
    "pulls in words": {"image_cache_parallel_pulls": "many"},
    "a registry": {"container_runtime_registries": {"r.example": {"server": "x", "password": "s3cret"}}},
    "registries of which some are wrong": {
        "container_runtime_registries": {"a b": {}, "r.example": {"mirrors": ["https://m.example"]}, "s": {"x": 1}}
    },
    "registries of Docker": {
        "container_runtime": "moby",
        "container_runtime_registries": {
            "r.example": {"mirrors": ["https://m.example"], "headers": {"a": "b"}},
            "s.example": {"server": "https://t.example"},
        },
    },
    "registries as a list": {"container_runtime_registries": []},
}


def test_container_images() -> None:
    found = {name: texts(container_images.problems(values)) for name, values in IMAGES.items()}
    outcomes.check("preflight/container_images", found)


PATCHES: dict[str, Values] = {
    "nothing": {},
    "public ones": {"windows_patches_public": ["KB5046616", "KB1", "kb5046616"]},
    "public ones as a text": {"windows_patches_public": "KB5046616, ,KB1"},
    "private ones as a text": {"windows_patches_private": "KB5046616"},
    "the same in both": {
        "windows_patches_public": ["KB5046616"],
        "windows_patches_private": [{"kb": "KB5046616", "url": "https://x/a.msu", "sha256": SHA}],
    },
    "for two versions": {
        "windows_patches_private": [
            {"kb": "KB5046616", "url": "https://x/a.msu", "sha256": SHA, "windows": ["2022"]},
            {"kb": "KB5046616", "url": "https://x/b.msu", "sha256": SHA, "windows": ["2025"]},
        ]
    },
    "a file that is not there": {
        "windows_patches_private": [{"kb": "KB5046616", "file": "/none/a.msu", "sha256": SHA}]
    },
    "a file beside the playbook": {"windows_patches_private": [{"kb": "KB5046616", "file": "a.msu", "sha256": SHA}]},
    "a file of a bundle": {
        "windows_patches_private": [{"kb": "KB5046616", "file": "/none/a.msu", "sha256": SHA}],
        "node_prepare_bundle_dir": "/b",
    },
    "a file of a source": {
        "windows_patches_private": [{"kb": "KB5046616", "file": "a.msu", "sha256": SHA}],
        "windows_patches_source": "/none",
    },
    "a file that is required": {
        "windows_patches_private": [
            {
                "kb": "KB5046616",
                "file": "a.msu",
                "sha256": SHA,
                "requires": [{"kb": "KB5046617", "file": "/none/b.msu", "sha256": SHA}, "x"],
            }
        ]
    },
    "an entry that is none": {"windows_patches_private": [1]},
    "no update server": {"windows_patches_public": ["KB5046616"], "windows_patches_update_server": "none"},
    "signers": {"windows_patches_allowed_signers": ["CN=a", "x"]},
    "signers as a text": {"windows_patches_allowed_signers": "x"},
}


def test_patches() -> None:
    outcomes.check("preflight/patches", {name: texts(patches.problems(values)) for name, values in PATCHES.items()})


def test_folders_and_images() -> None:
    values = {
        "a_dir": "C:\\k",
        "b_dir": "C:/k/x/",
        "c_dir": "C:\\",
        "d_dir": "k",
        "e_dir": "C:\\k;x",
        "f_dir": "C:\\a\\..\\b",
        "a_log_file": "x",
        "a_artifact_cache": "x",
        "a_other": "x",
        "g_dir": "",
        "h_dir": None,
        "i_dir": 5,
        "node_prepare_bundle_dir": "/b",
    }
    roles = checks.roles()
    own = next(iter(sorted(next(role.own for role in roles if role.name == "sysprep"))))
    proxy = "http://me:s3cret@p.example:1"
    proxies = {
        "windows_settings_http_proxy": proxy,
        "windows_settings_https_proxy": "http://p.example:1",
        "container_runtime_http_proxy": proxy,
        "x_https_proxy": proxy,
        "y_http_proxy": None,
        "x_proxy": proxy,
    }
    outcomes.check(
        "preflight/folders_and_images",
        {
            "folders": texts(folders.problems(values)),
            "an image with passwords": texts(image.problems({own: 1}, proxies, roles)),
            "an image that keeps them": texts(
                image.problems({own: 1}, {**proxies, "sysprep_proxy_credentials": "keep"}, roles)
            ),
            "an image that must not": texts(
                image.problems({own: 1}, {**proxies, "sysprep_proxy_credentials": "refuse"}, roles)
            ),
            "no image": texts(image.problems({"other": 1}, proxies, roles)),
        },
    )


CLOUDBASE: dict[str, Values] = {
    "nothing": {"cloudbase_init_platform": "", "cloudbase_init_username": ""},
    "no platform": {"cloudbase_init_enabled": True},
    "own services": {
        "cloudbase_init_enabled": True,
        "cloudbase_init_metadata_services": ["a.B"],
        "cloudbase_init_unattend_metadata_services": ["a.B"],
    },
    "wrong values": {
        "cloudbase_init_enabled": True,
        "cloudbase_init_platform": "azure",
        "sysprep_cloudbase_init": False,
        "cloudbase_init_plugins": ["UserDataPlugin", "a b.C", "a.B"],
        "cloudbase_init_username": "a,b",
        "cloudbase_init_groups": ["Administrators,Users", ""],
        "cloudbase_init_serial_port": "COM1",
        "cloudbase_init_settings": {"a b": 1, "c": "x\ny", "d": [1, "a,b"], "e": {"f": {}, "g-h": 1}},
        "cloudbase_init_unattend_settings": {"a": None},
    },
    "right values": {
        "cloudbase_init_enabled": True,
        "cloudbase_init_platform": "vmware",
        "sysprep_cloudbase_init": True,
        "cloudbase_init_plugins": ["cloudbaseinit.plugins.common.mtu.MTUPlugin"],
        "cloudbase_init_username": "Node Admin",
        "cloudbase_init_groups": ["Administrators"],
        "cloudbase_init_serial_port": "COM1,115200,N,8",
        "cloudbase_init_settings": {"a": 1, "b": True, "c": "x", "d": ["x", 1], "e": {"f": "g"}},
    },
}


def test_cloudbase_init() -> None:
    outcomes.check(
        "preflight/cloudbase_init", {name: texts(cloudbase_init.problems(values)) for name, values in CLOUDBASE.items()}
    )


def test_misspelt_names() -> None:
    variables = {
        "kube_versoin": "1.36.1",
        "kube_versio": "my secret words",
        "flanel_backend_type": "yes",
        "clustr_name": ["a"],
        "allow_insecure_conection": True,
        "ansible_htp_proxy": 1,
        "kube": 1,
        "http_prox": "NO",
        "https_proxyy": "1" * 21,
        "bundle_adress": "v1.2",
        "my_kube_version": "x",
        "kube_network_plugins": 1,
        "kubeconfigs_": 1,
    }
    problems, warnings = shared_names.misspelt(variables)
    outcomes.check("preflight/misspelt", {"refused": texts(problems), "warned": warnings})
