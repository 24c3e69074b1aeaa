# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bad input is rejected before any node is accessed, with messages that contain the expected values."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site
from integration.states import state_of

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("bad_input")]

# Mistakes by host, and the parts of the message: the variable, the value, the expected values.
MISTAKES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "good": ({}, []),
    "unknown": (
        {"container_runtime_containerd_verison": "2.3.6"},
        ["container_runtime_containerd_verison", "'2.3.6'", "container_runtime_containerd_version"],
    ),
    "shared": (
        {"flannel_backend_type": "udp"},
        ["cni_flannel_backend", "flannel_backend_type", "'udp'", "host-gw, vxlan"],
    ),
    "mistyped": ({"node_prepare_timeout": "soon"}, ["node_prepare_timeout", "'soon'", "whole number"]),
    "listed": (
        {"windows_features_names": {"a": 1}},
        ["windows_features_names", "a mapping with the key 'a'", "list of strings"],
    ),
    "pair": (
        {"kube_version": "1.38.0"},
        ["kubernetes_node_version", "container_runtime_containerd_version", "1.38.0", "1.30 to 1.37"],
    ),
    "old": (
        {"container_runtime_containerd_version": "1.5.0"},
        ["container_runtime_containerd_version", "1.5.0", "1.6, 1.7, 2.0"],
    ),
    # Images and bundles have no cluster. site.yml would read it with the kubeconfig.
    "versionless": (
        {"kube_version": None},
        ["kubernetes_node_version (from kube_version)", "got nothing", "MAJOR.MINOR.PATCH"],
    ),
    "misspelt": ({"kube_vesion": "1.34.4"}, ["kube_vesion", "'1.34.4'", "Did you mean kube_version?"]),
    "fraction": ({"kube_version": "1.37"}, ["kube_version", "'1.37'", "MAJOR.MINOR.PATCH"]),
    "template": ({"cni_pods_subnet": "{{ nothing_of_the_sort }}"}, ["cni_pods_subnet", "nothing_of_the_sort"]),
    # The network of its pods is that of the cluster, regardless of the roles' default.
    "apart": ({"kube_service_addresses": "10.240.0.0/12"}, []),
    "maskless": (
        {"kube_service_addresses": "10.96.0.0"},
        ["cni_services_subnet (from kube_service_addresses)", "'10.96.0.0'", "CIDR"],
    ),
    "overlaps": (
        {"kube_service_addresses": "10.240.0.0/12", "kube_pods_subnet": "10.244.0.0/16"},
        ["cni_pods_subnet, cni_services_subnet", "10.244.0.0/16 and 10.240.0.0/12", "networks that do not overlap"],
    ),
    "calico": (
        {"kube_network_plugin": "calico", "calico_ipip_mode": "Always", "calico_bpf_enabled": True},
        ["calico_ipip_mode", "expected Never", "calico_bpf_enabled", "cni_plugin: none"],
    ),
    "cilium": ({"kube_network_plugin": "cilium"}, ["cni_plugin (from kube_network_plugin)", "cni_plugin: none"]),
    "privileged": (
        {"container_runtime": "moby", "cni_run_as": "daemonset"},
        ["cni_run_as", "expected service with container_runtime: moby", "HostProcess"],
    ),
    "inside": (
        {"kube_pods_subnet": "127.0.0.0/8"},
        ["ansible_host", "outside the network of the pods, 127.0.0.0/8 (cni_pods_subnet)"],
    ),
    "collides": (
        {"kubernetes_node_hostname": "Windows-Worker-West-1"},
        ["kubernetes_node_hostname of collides-too", "'windows-worker-west-2'", "15", "collides"],
    ),
    "collides-too": ({"kubernetes_node_hostname": "windows-worker-west-2"}, []),
    "registry": (
        {"container_runtime_registries": {"https://r.example": {}}},
        ["container_runtime_registries", "'https://r.example'", "without https://"],
    ),
    "coredns": (
        {"core_dns_versions": ["newest"]},
        ["core_dns_versions", "'newest'", "1.12.1", "image_cache_core_dns_repository", "run on Windows"],
    ),
    "reference": (
        {"container_tags": ["pause:3.10.2"]},
        ["image_cache_container_tags[0]", "'pause:3.10.2'", "registry/repository:tag"],
    ),
    "override": (
        {"containerd_url": "C:/x.tgz"},
        ["container_runtime_containerd_url", "'C:/x.tgz'", "http, https or file"],
    ),
    "folder": ({"artifact_cache": "cache"}, ["artifact_cache", "'cache'", "absolute path"]),
    "verify": ({"artifact_verify": "sometimes"}, ["artifact_verify", "'sometimes'", "warn or strict"]),
    # The simulated mirror uses plain HTTP, also for checksums.
    "clear": (
        {"artifact_verify": "strict"},
        ["artifact_sites", "http://", "nothing verifies", "kubernetes_node_sha256"],
    ),
    "signers": (
        {"artifact_allowed_signers": ["somebody"]},
        ["artifact_allowed_signers", "'somebody'", "thumbprints (40 hexadecimal digits)"],
    ),
    "nowhere": ({"kubeconfig": "/nonexistent"}, ["node_join_kubeconfig", "'/nonexistent'", "no such file"]),
    "none": ({"kubeconfig": ""}, ["node_join_kubeconfig", "KUBECONFIG", "''", "bootstrap tokens"]),
    "several": ({"kubeconfig": "/a:/b"}, ["node_join_kubeconfig", "KUBECONFIG", "'/a:/b'", "one file"]),
    "underscore": ({"kubernetes_node_hostname": "a_b"}, ["kubernetes_node_hostname of underscore", "'a_b'", "hyphens"]),
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server for each mistake. The play ends before it needs more than their counters."""
    site = start_site(*({"name": name} for name in MISTAKES))
    kubeconfig = {"kubeconfig": str(site.folder / "kubeconfig")}
    (site.folder / "kubeconfig").write_text("clusters: []\n", encoding="utf-8")
    site.host_variables = {name: kubeconfig | variables for name, (variables, _) in MISTAKES.items()}
    return site


# All playbooks that change nodes check them with the same tasks, so two of them only need a few hosts.
FEW = ["good", "unknown", "versionless", "collides", "collides-too", "nowhere", "apart"]
PLAYBOOKS = {"site.yml": list(MISTAKES), "build_image.yml": FEW, "join_nodes.yml": FEW}


@pytest.fixture(scope="module")
def refused(site: Site) -> Callable[[str], PlayRun]:
    """Return a function that runs a playbook with the mistakes, only once for all tests."""

    @functools.cache
    def run(playbook: str) -> PlayRun:
        options = ("--limit", ",".join(PLAYBOOKS[playbook]))
        return site.run(playbook, *options, variables={"winkube_image_hosts": "all"}).expect(2)

    return run


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_no_node_is_contacted(site: Site, refused: Callable[[str], PlayRun], playbook: str) -> None:
    refused(playbook)
    # Even the good host is not accessed, because a fleet is changed as a whole or not at all.
    for host in MISTAKES:
        assert site.counters(host)["connections"] == 0, host


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_network_is_not_compared_with_a_fallback(refused: Callable[[str], PlayRun], playbook: str) -> None:
    assert not refused(playbook).messages("apart")


@pytest.mark.parametrize(
    ("playbook", "host"),
    [(playbook, host) for playbook, hosts in PLAYBOOKS.items() for host in hosts if MISTAKES[host][1]],
)
def test_the_message_names_variable_value_and_what_is_accepted(
    refused: Callable[[str], PlayRun], playbook: str, host: str
) -> None:
    run = refused(playbook)
    image = playbook == "build_image.yml"
    if ("kubeconfig" in MISTAKES[host][0] and image) or (host == "versionless" and not image):
        assert not run.messages(host), "an image knows no cluster"
        return
    # The first host checks the names of all hosts together.
    messages = run.messages("good" if "hostname" in str(MISTAKES[host]) else host)
    assert messages, run.output
    for text in MISTAKES[host][1]:
        assert text in messages


class TestResources:
    """Lists of resources that are certainly mistakes."""

    @pytest.mark.parametrize(
        ("resource", "named"),
        [
            ({"type": "Direktory", "name": r"C:\k"}, ["Direktory", "Directory"]),
            ({"type": "Directory", "name": r"C:\k", "akl": "x"}, ["akl", "acl"]),
            (
                {"type": "Registry", "key": r"HKLM:\SOFTWARE\X", "value_name": "a", "value": 1, "value_type": "Word"},
                ["Word", "DWord"],
            ),
        ],
        ids=["type", "property", "choice"],
    )
    def test_are_refused(self, site: Site, resource: dict[str, Any], named: list[str]) -> None:
        run = site.converge([{"type": "Directory", "name": r"C:\before"}, resource], "--limit", "good,unknown")
        run.expect(2)
        for host in ("good", "unknown"):
            assert site.counters(host)["connections"] == 0
            for text in named:
                assert text in run.messages(host)


ONE_FOLDER = ({"type": "Directory", "name": r"C:\k"},)


@pytest.fixture(scope="module")
def versions(start_site: SiteFactory) -> Site:
    """Return a site with an Insider build and the oldest supported version."""
    return start_site({"name": "insider", "windows": "insider"}, {"name": "win19", "windows": "2019"})


@pytest.fixture(scope="module")
def strict(versions: Site) -> PlayRun:
    """Return a run that does not allow unsupported versions."""
    before = state_of(versions.machine("insider"))
    run = versions.converge(ONE_FOLDER).expect(2)
    assert state_of(versions.machine("insider")) == before
    return run


class TestWindows:
    """Versions of Windows."""

    def test_an_unknown_one_is_refused(self, strict: PlayRun) -> None:
        for text in ("29531", "20348", "26100", "17763", "allow_unsupported_windows"):
            assert text in strict.messages("insider")

    def test_2019_goes_on_with_a_warning(self, strict: PlayRun) -> None:
        assert strict.changes("win19") == [r"Directory C:\k"]
        assert "Kubernetes lists only 2022 and 2025" in strict.output

    def test_one_bad_value_stops_a_site_before_any_change(self, versions: Site, strict: PlayRun) -> None:
        before = state_of(versions.machine("win19"))
        run = versions.run("site.yml", "--skip-tags", "node_join").expect(2)
        assert "29531" in run.messages("insider")
        assert state_of(versions.machine("win19")) == before
        assert {host: versions.counters(host)["remote_commands"] for host in versions.hosts()} == {
            "insider": 1,
            "win19": 1,
        }

    def test_an_unknown_one_may_be_allowed(self, versions: Site, strict: PlayRun) -> None:
        run = versions.converge(ONE_FOLDER, "--limit", "insider", allow_unsupported_windows=True).expect()
        assert versions.machine("insider").files.is_directory(r"C:\k")
        assert "is treated as Windows Server 2025" in run.output


class TestChecksums:
    """A download with other contents than those that the publisher provides."""

    NAME = "cni-plugins-windows-amd64-v1.9.0.tgz"
    PATH = rf"C:\cache\{NAME}"

    def test_a_wrong_file_is_deleted_and_the_next_run_finishes(self, start_site: SiteFactory) -> None:
        site = start_site({"name": "unlucky"}, {"name": "lucky"})
        server = site.world.artifacts
        assert server is not None
        url = f"github.com/containernetworking/plugins/releases/download/v1.9.0/{self.NAME}"
        content, checksum = server.content(url), server.content(f"{url}.sha256")
        assert content is not None
        assert checksum is not None
        wrong = b"not what was asked for"
        server.put(f"wrong/{url}", wrong)
        server.put(f"wrong/{url}.sha256", checksum)
        resources = [
            {
                "type": "Artifact",
                "name": "cni-plugins 1.9.0",
                "path": self.PATH,
                "urls": ["{{ mirror }}/" + url],
                "checksum_url": "{{ mirror }}/" + url + ".sha256",
            },
            {"type": "Directory", "name": r"C:\after"},
        ]
        site.host_variables = {"unlucky": {"mirror": f"{server.url}/wrong"}, "lucky": {"mirror": server.url}}
        run = site.converge(resources).expect(2)
        for named in (checksum.split()[0].decode(), hashlib.sha256(wrong).hexdigest()):
            assert named.lower() in run.messages("unlucky").lower()
        unlucky, lucky = site.machine("unlucky").files, site.machine("lucky").files
        left = [entry.path for entry in unlucky.walk(r"C:\cache") if not entry.is_directory]
        assert left in ([], [f"{self.PATH}.checksum"])
        # The other node and the other resource are not affected.
        assert lucky.read_bytes(self.PATH) == content
        assert unlucky.is_directory(r"C:\after")

        site.host_variables["unlucky"]["mirror"] = server.url
        run = site.converge(resources).expect()
        assert run.changes("unlucky") == ["Artifact cni-plugins 1.9.0"]
        assert unlucky.read_bytes(self.PATH) == content
