# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How nodes join: what they register with, what runs around kubeadm, where tokens come from, and what it costs."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.control_plane_host import control_plane_host, hide_cluster_info, token_commands
from integration.limited_account import limited_kubeconfig
from integration.playbooks import PlayRun, Site, bootstrap_tokens, cluster_api, cluster_nodes, node_name
from integration.watching import secrets_written
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.artifacts.archives import zip_archive
from simulator.windows.directory.domain_directory import DomainDirectory
from simulator.windows.directory.membership import DomainMembership

pytestmark = pytest.mark.integration

VERSION = "1.37.1"
HOSTS = {"plain": "2019", "nssm": "2022", "late": "2025"}
SITE = r"HKLM\SOFTWARE\Site"
SITE_KEY = SITE.replace("HKLM", "HKLM:")
PROVIDER = b"a program that provides credentials"
LIBRARY = b"a plugin of Container Credential Guard"
CLSID = "{CCC2A336-D7F3-4818-A213-272B7924213E}"
SECRET = "hunter2-of-the-site"
JOIN_DOMAIN = "winkube.node.node_join : Join the Active Directory domain"
DOMAIN = {
    "node_join_domain": "corp.example.com",
    "node_join_domain_user": "CORP\\joiner",
    "node_join_domain_password": SECRET,
}
TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}
RESERVED = {
    "kubernetes_node_system_reserved": {"cpu": "500m", "memory": "2Gi"},
    "kubernetes_node_eviction_hard": {"nodefs.available": "5%"},
}
PLAIN: dict[str, Any] = {
    **RESERVED,
    "node_join_node_taints": [TAINT],
    "node_join_kubelet_arguments": {"node-labels": "rack=7"},
    "node_join_node_labels": {"site": "a", "node-role.kubernetes.io/windows": ""},
    "node_join_node_annotations": {"example.com/owner": "Team A"},
}
LABELLED = {"node_join_kubelet_arguments": {"node-labels": "rack=8"}, "node_join_node_taints": [TAINT]}
MAXIMUM = {"plain": 5, "nssm": 12}
"""The maximum number of remote commands of the join of a prepared node, and of the first run on a new machine."""
READERS: dict[str, dict[str, set[str]]] = {}
"""For each host and file, the users that could read the secrets that the host's join wrote."""


def adds(name: str, *more: str) -> list[str]:
    """Return a program that writes a registry value."""
    return ["reg.exe", "add", SITE, "/v", name, "/t", "REG_SZ", "/d", *(more or ("done",)), "/f"]


BEFORE = [adds("Before1"), {"program": "reg.exe", "arguments": adds("Before2", SECRET)[1:], "secret": True}]
AFTER = [adds("After1"), ["reg.exe", "query", rf"{SITE}\Missing"], adds("After3")]


@pytest.fixture(scope="module")
def site(cluster_kind: str, kubeadm: None, start_site: SiteFactory) -> Site:
    """Return a site with three servers, and a cluster without nodes."""
    domain = DomainDirectory("corp.example.com", users={"joiner": SECRET}, joiners=["joiner"])
    nodes = [{"name": name, "windows": windows, "directory": domain} for name, windows in HOSTS.items()]
    site = start_site(*nodes, cluster={"kind": cluster_kind}, kubernetes_node_version=VERSION)
    assert site.world.cluster is not None
    assert site.world.artifacts is not None
    site.world.artifacts.put("site.example/acr-windows.exe", PROVIDER)
    provider = {
        "name": "acr",
        "version": "1.0.0",
        "url": f"{site.world.artifacts.url}/site.example/acr-windows.exe",
        "sha256": hashlib.sha256(PROVIDER).hexdigest(),
        "match_images": ["*.example.com"],
        "environment": {"REGISTRY_PASSWORD": SECRET},
    }
    archive = zip_archive({"x64/plugin.dll": LIBRARY})
    site.world.artifacts.put("site.example/plugin-1.0.zip", archive)
    plugin = {
        "name": "vault",
        "version": "1.0",
        "url": f"{site.world.artifacts.url}/site.example/plugin-1.0.zip",
        "sha256": hashlib.sha256(archive).hexdigest(),
        "member": "x64/plugin.dll",
        "clsid": CLSID,
    }
    site.host_variables = {
        "plain": PLAIN,
        "nssm": {
            "kubelet_service": "nssm",
            "kubernetes_node_credential_providers": [provider],
            "kubernetes_node_ccg_plugins": [plugin],
            **LABELLED,
        },
        "late": {**DOMAIN, "pre_kubeadm_commands": BEFORE, "post_kubeadm_commands": AFTER},
    }
    site.variables["kubeconfig"] = str(limited_kubeconfig(site.world.cluster, site.folder))
    return site


@pytest.fixture(scope="module")
def own_tokens(site: Site) -> dict[str, str]:
    """Return the tokens that the cluster has from the beginning."""
    return bootstrap_tokens(site)


@pytest.fixture(scope="module")
def prepared(site: Site, own_tokens: dict[str, str]) -> PlayRun:
    """Return the run that joins the first of two prepared nodes."""
    site.run("site.yml", "--limit", "plain,late", "--tags", "install").expect()
    run = site.run("site.yml", "--limit", "plain", "--tags", "join").expect()
    site.counted["prepared"] = {host: site.counters(host) for host in HOSTS}
    return run


@pytest.fixture(scope="module")
def control_plane(site: Site, prepared: PlayRun, cluster_kind: str) -> dict[str, Any]:
    """Let tokens come from a control plane host from now on, and make cluster-info readable only with credentials."""
    hide_cluster_info(site)
    return control_plane_host(site, real=cluster_kind == "real")


@pytest.fixture(scope="module")
def joined(site: Site, control_plane: dict[str, Any]) -> PlayRun:
    """Return the run that prepares and joins a new machine, and joins a prepared one, whose last commands fail."""
    with secrets_written(site.machine("late")) as READERS["late"]:
        run = site.run("site.yml", "-vvv", variables=control_plane).expect(2)
    site.counted["joined"] = {host: site.counters(host) for host in HOSTS}
    site.counted["joined"]["late"]["boots"] = site.machine("late").power.boots
    return run


@pytest.fixture(scope="module")
def finished(site: Site, joined: PlayRun, control_plane: dict[str, Any]) -> PlayRun:
    """Return the next run, after the reason of the failure is gone."""
    registry = site.machine("late").registry
    registry.set(rf"{SITE_KEY}\Missing", "there", "1")
    for name in ("Before1", "After1"):
        registry.set(SITE_KEY, name, "kept")
    run = site.run("site.yml", "--limit", "nssm,late", variables=control_plane).expect()
    site.counted["finished"] = {host: site.counters(host) for host in HOSTS}
    return run


def node(site: Site, host: str) -> Any:
    """Return the node of a host as the API returns it."""
    return client.CoreV1Api(cluster_api(site)).read_node(node_name(host))


def value(site: Site, name: str) -> Any:
    """Return a value that a program around kubeadm wrote on the third host."""
    return site.machine("late").registry.data(SITE_KEY, name)


def test_a_node_registers_with_its_taints_and_labels(site: Site, joined: PlayRun) -> None:
    for host, rack in (("plain", "7"), ("nssm", "8")):
        found = node(site, host)
        taints = [(one.key, one.value, one.effect) for one in found.spec.taints or ()]
        assert ("os", "windows", "NoSchedule") in taints, host
        # A label that only the kubelet sets.
        assert found.metadata.labels["rack"] == rack


def test_labels_that_kubelets_may_not_set_and_annotations_are_set_through_the_api(site: Site, joined: PlayRun) -> None:
    metadata = node(site, "plain").metadata
    assert metadata.labels["site"] == "a"
    assert metadata.labels["node-role.kubernetes.io/windows"] == ""
    assert metadata.annotations["example.com/owner"] == "Team A"


def test_the_pods_of_the_network_are_ready_when_the_run_ends(site: Site, joined: PlayRun) -> None:
    for namespace in ("kube-flannel", "kube-system"):
        pods = client.CoreV1Api(cluster_api(site)).list_namespaced_pod(namespace).items
        here = [one for one in pods if one.spec.node_name in (node_name("plain"), node_name("nssm"))]
        assert len(here) == 2, namespace
        for pod in here:
            assert ("Ready", "True") in [(one.type, one.status) for one in pod.status.conditions], pod.metadata.name


def test_reserved_resources_and_thresholds_reach_the_kubelet(site: Site, joined: PlayRun) -> None:
    text = site.machine("plain").files.read_text(r"C:\etc\kubernetes\kubelet.conf.d\50-windows.conf")
    found = yaml.safe_load(text)
    assert found["systemReserved"] == RESERVED["kubernetes_node_system_reserved"]
    # The defaults of Windows are kept for the others.
    assert found["evictionHard"] == {"memory.available": "500Mi", "nodefs.available": "5%"}


def test_nssm_runs_the_kubelet(site: Site, joined: PlayRun) -> None:
    service = site.machine("nssm").services.get("kubelet")
    assert service is not None
    assert service.state == "Running"
    assert service.argv[0].endswith(r"nssm\win64\nssm.exe")
    assert cluster_nodes(site)[node_name("nssm")]["ready"]
    key = r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet\Parameters"
    line = str(site.machine("nssm").registry.data(key, "AppParameters"))
    assert "--node-labels=" in line
    assert "--windows-service" not in line
    assert site.machine("nssm").registry.data(key, "AppStderr") == r"C:\var\log\kubelet\kubelet.log"


def test_the_kubelet_has_a_credential_provider(site: Site, joined: PlayRun) -> None:
    files = site.machine("nssm").files
    assert files.read_bytes(r"C:\k\credential-providers\acr.exe") == PROVIDER
    path = r"C:\etc\kubernetes\credential-providers.yaml"
    (provider,) = yaml.safe_load(files.read_text(path))["providers"]
    assert provider["matchImages"] == ["*.example.com"]
    assert files.who_may_read(path) == set()
    assert files.who_may_write(r"C:\k\credential-providers\acr.exe") == set()
    assert SECRET not in joined.output


def test_a_plugin_for_gmsas_is_registered(site: Site, joined: PlayRun) -> None:
    machine = site.machine("nssm")
    library = r"C:\Program Files\ccg-plugins\vault\plugin.dll"
    assert machine.files.read_bytes(library) == LIBRARY
    assert machine.files.who_may_write(library) == set()
    server = rf"HKLM:\SOFTWARE\Classes\CLSID\{CLSID}\InprocServer32"
    assert machine.registry.data(server, "") == library
    assert machine.registry.key_exists(rf"HKLM:\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\{CLSID}")


def test_joins_need_few_remote_commands(site: Site, joined: PlayRun) -> None:
    counted = {
        "plain": site.counted["prepared"]["plain"]["remote_commands"],
        "nssm": site.counted["joined"]["nssm"]["remote_commands"],
    }
    print("remote commands of joins:", counted)
    assert {host: number <= MAXIMUM[host] for host, number in counted.items()} == dict.fromkeys(MAXIMUM, True)


def test_a_machine_joins_its_domain_before_the_cluster(site: Site, joined: PlayRun) -> None:
    late = site.machine("late")
    assert late.part(DomainMembership).domain == "corp.example.com"
    assert node_name("late") in cluster_nodes(site)
    assert JOIN_DOMAIN in joined.changed_tasks("late")
    assert joined.output.index(f"TASK [{JOIN_DOMAIN}]") < joined.output.index(
        "TASK [winkube.node.node_join : Join the node]"
    )
    assert "Domain corp.example.com" in joined.changes("late")
    # Other hosts have no domain.
    assert site.machine("plain").part(DomainMembership).domain == ""


def test_each_machine_has_a_token_of_the_control_plane_host(
    site: Site, own_tokens: dict[str, str], joined: PlayRun
) -> None:
    commands = token_commands(site)
    created = [one for one in commands if one.startswith("token create ")]
    deleted = [one.split() for one in commands if one not in created]
    assert (len(created), len(deleted)) == (2, 2)
    for command in created:
        assert command.startswith("token create --ttl=1800s --groups=system:bootstrappers:winkube:node-token ")
    requests = client.CertificatesV1Api(cluster_api(site)).list_certificate_signing_request().items
    for command, verb, token_id in deleted:
        # Only its public part was in a command line.
        assert (command, verb, len(token_id)) == ("token", "delete", 6)
        (own,) = [one for one in requests if one.spec.username == f"system:bootstrap:{token_id}"]
        assert [condition.reason for condition in own.status.conditions] == ["ApprovedByWinkube"]
        # Not even at this verbosity.
        assert f"{token_id}." not in joined.output
    assert bootstrap_tokens(site) == own_tokens


def test_no_file_with_the_token_can_be_read_or_stays(site: Site, joined: PlayRun) -> None:
    written = {path: who for path, who in READERS["late"].items() if "\\Temp\\" not in path}
    assert {r"C:\ProgramData\winkube\join.yaml", r"C:\ProgramData\winkube\discovery.conf"} <= set(written)
    assert {path: who for path, who in written.items() if who} == {}
    files = site.machine("late").files
    assert files.is_file(r"C:\etc\kubernetes\kubelet.conf")
    for name in ("discovery.conf", "join.yaml"):
        assert not files.exists(rf"C:\ProgramData\winkube\{name}")


def test_a_program_that_fails_after_kubeadm_is_named(site: Site, joined: PlayRun) -> None:
    message = joined.messages("late")
    assert "post_kubeadm_commands[1]: exit code 1: " in message
    assert [value(site, name) for name in ("Before1", "After1", "After3")] == ["done", "done", None]
    assert value(site, "Before2") == SECRET
    assert SECRET not in joined.output


def test_the_next_run_continues_with_the_program_that_failed(site: Site, finished: PlayRun) -> None:
    assert [value(site, name) for name in ("Before1", "After1", "After3")] == ["kept", "kept", "done"]
    assert not site.machine("late").files.exists(r"C:\ProgramData\winkube\join-commands.txt")
    # The machine has joined, so it needs no token.
    assert len(token_commands(site)) == 4
    wait_for(lambda: cluster_nodes(site)[node_name("late")]["ready"], "the node is ready", 60)


def test_only_hosts_that_were_added_are_changed(site: Site, joined: PlayRun, finished: PlayRun) -> None:
    # Tasks for all hosts of a run count for the first host.
    assert joined.changes("plain") == []
    assert site.counted["joined"]["plain"]["remote_commands"] <= 3
    assert finished.changed_tasks("nssm") == []
    assert site.counted["finished"]["nssm"]["remote_commands"] <= 3


def test_a_member_is_not_joined_again(site: Site, finished: PlayRun) -> None:
    assert JOIN_DOMAIN not in finished.changed_tasks("late")
    assert site.machine("late").power.boots == site.counted["joined"]["late"]["boots"]


# test_a_member_is_not_joined_again repeats a run, too.
@pytest.mark.variant
def test_a_further_run_runs_no_program_again(site: Site, finished: PlayRun, control_plane: dict[str, Any]) -> None:
    site.machine("late").registry.set(SITE_KEY, "After3", "kept")
    run = site.run("site.yml", variables=control_plane).expect()
    assert {host: counters["changed"] for host, counters in run.recap.items()} == dict.fromkeys(HOSTS, 0)
    assert value(site, "After3") == "kept"
    assert {host: site.counters(host)["remote_commands"] <= 3 for host in HOSTS} == dict.fromkeys(HOSTS, True)


def test_bad_settings_are_refused_before_any_node_is_touched(site: Site, finished: PlayRun) -> None:
    bad = {
        "kubernetes_node_eviction_hard": {"nodefs.inodesFree": "5%"},
        "kubernetes_node_kubelet_configuration": {"featureGates": {"CPUManager": True}, "maxPodz": 5},
        "node_join_node_labels": {"kubernetes.io/os": "linux"},
        "node_join_pre_kubeadm_commands": [["setup.cmd"]],
        "node_join_domain": "CORP",
    }
    run = site.run("site.yml", variables=bad).expect(2)
    for text in (
        "kubernetes_node_eviction_hard.nodefs.inodesFree: expected one of the signals memory.available",
        "kubernetes_node_kubelet_configuration.featureGates.CPUManager: expected a feature gate of Kubernetes 1.37",
        "kubernetes_node_kubelet_configuration.maxPodz: expected a field of KubeletConfiguration",
        "node_join_node_labels.kubernetes.io/os: expected a different label",
        "node_join_pre_kubeadm_commands[0][0]: expected a program whose name ends in .exe",
        "node_join_domain: expected the DNS name of a domain, such as corp.example.com",
    ):
        assert text in " ".join(run.output.split()), text
    assert {host: site.counters(host)["remote_commands"] for host in HOSTS} == dict.fromkeys(HOSTS, 0)


# Unit tests of cluster_check also cover this.
@pytest.mark.variant
def test_a_version_from_the_cluster_is_compared_before_any_node_is_touched(site: Site, finished: PlayRun) -> None:
    unset = {"kube_version": "", "kubernetes_node_version": "{{ winkube_cluster.node_version | default('') }}"}
    bad = {"kubernetes_node_kubelet_configuration": {"maxPodz": 5}}
    run = site.run("site.yml", variables={**unset, **bad}).expect(2)
    assert "kubernetes_node_kubelet_configuration.maxPodz: expected a field" in " ".join(run.output.split())
    assert {host: site.counters(host)["remote_commands"] for host in HOSTS} == dict.fromkeys(HOSTS, 0)
