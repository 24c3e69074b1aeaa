# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role kubernetes_node. The contents of files are in the golden files."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_commands import JoinCommand
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubelet_flags
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.credential_providers import CredentialProvider
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import kubernetes_node
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.kubernetes_node import (
    KubernetesSettings,
    kubelet_configuration,
    kubelet_service,
    resources,
)
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.sddl import ADMINISTRATORS_ONLY_FILE


def archive(settings: KubernetesSettings) -> dict[str, t.Any]:
    (found,) = [one for one in resources(settings) if one["type"] == "Archive"]
    return found


@pytest.mark.parametrize(
    ("version", "megabytes", "days", "flags"),
    [
        ("1.33.8", 50, 7, []),
        ("1.34.0", 50, 7, ["-log-file-size=50Mi", "-log-file-age=168h"]),
        ("1.36.3", 20, 0, ["-log-file-size=20Mi"]),
        ("1.36.3", 0, 7, []),
    ],
)
def test_the_log_runner_gets_the_flags_that_it_knows(version: str, megabytes: int, days: int, flags: list[str]) -> None:
    settings = samples.kubernetes(version=version, kubelet_log_max_mb=megabytes, kubelet_log_max_days=days)
    assert settings.log_rotation == flags


def test_without_a_log_file_the_kubelet_runs_by_itself() -> None:
    service = kubelet_service(samples.kubernetes(kubelet_log_file=""))
    assert service["path"] == "C:\\k\\kubelet.exe"
    assert service["arguments"][0] == "--windows-service"
    unpacked = archive(samples.kubernetes(kubelet_log_file=""))
    assert "kube-log-runner.exe" not in unpacked["check"]
    assert "C:\\var\\log\\kubelet" not in [
        one.get("name") for one in resources(samples.kubernetes(kubelet_log_file=""))
    ]


def test_the_sites_flags_come_last_and_in_order() -> None:
    service = kubelet_service(samples.kubernetes(kubelet_arguments={"v": 4, "node-ip": "10.0.0.1"}))
    assert service["arguments"][-2:] == ["--node-ip=10.0.0.1", "--v=4"]
    assert service["path"] == "C:\\k\\kube-log-runner.exe"
    assert service["arguments"][3] == "C:\\k\\kubelet.exe"


def test_the_kubelet_waits_for_its_runtime() -> None:
    assert kubelet_service(samples.kubernetes())["dependencies"] == ["containerd"]
    assert kubelet_service(samples.kubernetes(is_docker=True))["dependencies"] == ["cri-dockerd"]
    assert samples.kubernetes(is_docker=True).cri_socket == "npipe:////./pipe/cri-dockerd"


def test_the_users_drop_in_settings_take_precedence() -> None:
    found = kubelet_configuration(samples.kubernetes(kubelet_configuration={"maxPods": 20, "resolvConf": "x"}))
    assert (found["maxPods"], found["resolvConf"], found["cgroupsPerQOS"]) == (20, "x", False)


def test_a_changed_drop_in_restarts_the_kubelet() -> None:
    file = named(resources(samples.kubernetes()), "C:\\etc\\kubernetes\\kubelet.conf.d\\50-windows.conf")
    assert file["restarts"] == ["kubelet"]
    assert yaml.safe_load(file["content"])["enforceNodeAllocatable"] == []


def test_kube_proxy_is_stopped_where_it_is_a_service() -> None:
    assert archive(samples.kubernetes())["stops"] == ["kubelet"]
    stops = archive(samples.kubernetes(is_docker=True))["stops"]
    assert stops == ["flanneld", "kube-proxy", "kubelet"]


def test_the_kubelets_port_is_opened_for_its_clients_if_configured() -> None:
    rule = named(resources(samples.kubernetes(kubelet_clients=("10.0.0.0/24",))), "kubelet-in-tcp")
    assert (rule["local_ports"], rule["remote_addresses"]) == (["10250"], ["10.0.0.0/24"])
    closed = resources(samples.kubernetes(open_kubelet_port=False))
    assert "FirewallRule" not in {one["type"] for one in closed}


def test_folders_are_protected_before_they_are_filled() -> None:
    found = resources(samples.kubernetes())
    folders = {one["name"]: number for number, one in enumerate(found) if one["type"] == "Directory" and "acl" in one}
    first = next(number for number, one in enumerate(found) if one["type"] == "Artifact")
    assert max(folders.values()) < first
    node_key = next(one for one in found if one.get("name") == "C:\\var\\lib\\kubelet\\pki")
    assert "BU" not in node_key["acl"]
    pods = next(one for one in found if one.get("name") == "C:\\var\\lib\\kubelet")
    assert (pods["open_folders"], pods["shallow"]) == (["pods"], True)


def test_a_proxys_password_is_hidden() -> None:
    assert kubelet_service(samples.kubernetes())["no_log"] is False
    secret = samples.kubernetes(downloads=samples.downloads(samples.PASSWORD))
    assert kubernetes_node.kubelet_service(secret)["no_log"] is True


PROVIDER: dict[str, t.Any] = {"name": "acr", "version": "1.2.3", "match_images": ("*.azurecr.io",)}


def provided(**more: t.Any) -> list[dict[str, t.Any]]:
    """Return the resources with a credential provider."""
    provider = CredentialProvider(**{**PROVIDER, "url": "https://site.example/azure-acr-windows.exe", **more})
    return resources(samples.kubernetes(credential_providers=(provider,)))


def test_a_credential_provider_is_downloaded_and_configured() -> None:
    found = provided(arguments=("C:\\k\\azure.json",), environment={"B": "2", "A": "1"}, cache_duration="10m")
    (program,) = [one for one in found if one["name"] == "credential provider acr"]
    assert (program["members"], program["check"]) == (["acr.exe"], ["acr.exe"])
    assert program["destination"] == "C:\\k\\credential-providers"
    assert program["path"].endswith("azure-acr-windows.exe")
    file = named(found, "C:\\etc\\kubernetes\\credential-providers.yaml")
    assert yaml.safe_load(file["content"]) == {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [
            {
                "name": "acr",
                "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
                "matchImages": ["*.azurecr.io"],
                "defaultCacheDuration": "10m",
                "args": ["C:\\k\\azure.json"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            }
        ],
    }
    assert (file["acl"], file["restarts"]) == (ADMINISTRATORS_ONLY_FILE, ["kubelet"])
    flags = found[-1]["arguments"]
    assert "--image-credential-provider-bin-dir=C:\\k\\credential-providers" in flags
    assert "--image-credential-provider-config=C:\\etc\\kubernetes\\credential-providers.yaml" in flags
    # The folder is closed before the program is put there, because the kubelet runs it as SYSTEM.
    places = [one.get("name") for one in found]
    assert places.index("C:\\k\\credential-providers") < places.index("credential provider acr")
    load(found)


@pytest.mark.parametrize("more", [{}, {"arguments": ("--key=hunter2",)}, {"environment": {"KEY": "hunter2"}}])
def test_the_configuration_of_credential_providers_is_never_shown(more: dict[str, t.Any]) -> None:
    """Without secrets, it may replace a configuration that has some."""
    assert named(provided(**more), "C:\\etc\\kubernetes\\credential-providers.yaml")["no_log"] is True


def test_a_provider_in_an_archive_gets_its_name() -> None:
    found = provided(url="https://site.example/acr.tar.gz", member="bin/azure-acr.exe")
    (program,) = [one for one in found if one["name"] == "credential provider acr"]
    assert (program["members"], program["renames"]) == (["bin/azure-acr.exe"], {"bin/azure-acr.exe": "acr.exe"})
    assert program["strip_components"] == 1
    load(found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": "acr.exe"}, "name: expected at most 63 letters, digits, ., - and _, without .exe, beginning"),
        ({"name": "a/b"}, "name: expected at most 63 letters"),
        ({"match_images": ()}, r"match_images: expected at least one registry, such as \*\.azurecr\.io"),
        ({"cache_duration": "12 hours"}, "cache_duration: expected a duration such as 12h0m0s"),
    ],
)
def test_a_provider_that_the_kubelet_would_refuse(more: dict[str, t.Any], message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        CredentialProvider(**{**PROVIDER, **more})


def test_without_providers_the_kubelet_gets_no_flags_for_them() -> None:
    assert not any("credential" in argument for argument in kubelet_service(samples.kubernetes())["arguments"])


def test_nssm_runs_the_kubelet_as_an_ordinary_program() -> None:
    settings = samples.kubernetes(kubelet_service="nssm", nssm_dir="C:\\nssm", kubelet_arguments={"v": 4})
    found = resources(settings)
    service = found[-1]
    assert (service["name"], service["path"]) == ("kubelet", "C:\\nssm\\win64\\nssm.exe")
    assert "arguments" not in service
    (arguments,) = [one for one in found if one["type"] == "NssmArguments"]
    # As a service of its own, the kubelet would not start under nssm.
    assert "--windows-service" not in arguments["arguments"]
    assert arguments["arguments"][-1] == "--v=4"
    assert arguments["arguments_from_file"].endswith("kubeadm-flags.env")
    values = {one["value_name"]: one["value"] for one in found if one.get("key", "").endswith("kubelet\\Parameters")}
    assert values["Application"] == "C:\\k\\kubelet.exe"
    assert values["AppStderr"] == "C:\\var\\log\\kubelet\\kubelet.log"
    assert "AppParameters" not in values
    assert "kube-log-runner.exe" not in archive(settings)["check"]
    load(found)


def test_a_script_runs_the_kubelet_of_a_machine_that_joins_by_itself() -> None:
    settings = samples.kubernetes(
        kubelet_service="launcher",
        nssm_dir="C:\\nssm",
        kubelet_arguments={"v": 4},
        network_labels={"winkube.node/pod-network": "calico"},
        post_kubeadm_commands=(JoinCommand(program="a.exe", arguments=("b c", "s3cret")), ("reg.exe", "/x")),
    )
    found = resources(settings)
    service = found[-1]
    assert (service["name"], service["path"], service["start_mode"]) == (
        "kubelet",
        "C:\\nssm\\win64\\nssm.exe",
        "auto",
    )
    files = {one["name"]: one for one in found if one["type"] == "File"}
    script, own = files["C:\\k\\kubelet-launcher.ps1"], files["C:\\k\\kubelet-launcher.json"]
    # Windows PowerShell reads a file without a byte-order mark in the code page of the system.
    assert script["content"].isascii()
    values = json.loads(own["content"])
    assert values["arguments"][-2:] == ["--v=4", "--node-labels=winkube.node/pod-network=calico"]
    assert not any("windows-service" in argument for argument in values["arguments"])
    assert [one["arguments"] for one in values["post_commands"]] == ['"b c" s3cret', "/x"]
    assert (own["no_log"], "BU" in own["acl"]) == (True, False)
    # The join changes nothing of the service.
    assert "arguments_from_file" not in service
    assert kubernetes_node.started_with(settings, ["--node-labels=site=x"]) == {}
    parameters = {
        one["value_name"]: one["value"] for one in found if one.get("key", "").endswith("kubelet\\Parameters")
    }
    assert parameters["AppParameters"].endswith("-File C:\\k\\kubelet-launcher.ps1")
    load(found)


def test_the_scripts_settings_are_readable_without_commands() -> None:
    found = resources(samples.kubernetes(kubelet_service="launcher", nssm_dir="C:\\nssm"))
    (own,) = [one for one in found if one.get("name") == "C:\\k\\kubelet-launcher.json"]
    assert "no_log" not in own
    assert "acl" not in own


@pytest.mark.parametrize("manager", ["native", "nssm"])
def test_the_kubelet_starts_with_flags_before_kubeadm_has_written_them(manager: str) -> None:
    settings = samples.kubernetes(kubelet_service=manager, kubelet_arguments={"node-labels": "a=b", "v": 4})
    started = kubernetes_node.started_with(settings, ["--node-labels=site=x", "--register-with-taints=os=w:NoSchedule"])
    ((key, line),) = started.items()
    assert key == {"native": "command_line", "nssm": "parameters"}[manager]
    assert line.endswith(" --v=4 --node-labels=site=x --register-with-taints=os=w:NoSchedule")
    assert "a=b" not in line
    assert ("--windows-service" in line) is (manager == "native")
    assert line.startswith("C:\\k\\kube-log-runner.exe ") is (manager == "native")


def test_reserved_resources_and_thresholds_are_in_the_drop_in() -> None:
    found = kubelet_configuration(
        samples.kubernetes(
            kube_reserved={"cpu": "250m"},
            system_reserved={"memory": "2Gi"},
            eviction_hard={"nodefs.available": "5%"},
            kubelet_configuration={"systemReserved": {"memory": "3Gi"}},
        )
    )
    assert found["kubeReserved"] == {"cpu": "250m"}
    # The site's own configuration overrides it.
    assert found["systemReserved"] == {"memory": "3Gi"}
    assert found["evictionHard"] == {"memory.available": "500Mi", "nodefs.available": "5%"}


@pytest.mark.parametrize(
    ("version", "present", "absent"),
    [
        ("1.30.4", ["--config-dir="], ["--resolv-conf=", "--cgroups-per-qos=", "--feature-gates="]),
        (
            "1.29.9",
            ["--resolv-conf=", "--cgroups-per-qos=false", "--enforce-node-allocatable="],
            ["--config-dir=", "--feature-gates="],
        ),
        ("1.22.17", ["--feature-gates=WindowsHostProcessContainers=true", "--resolv-conf="], ["--config-dir="]),
    ],
)
def test_kubelets_without_drop_ins_get_flags(version: str, present: list[str], absent: list[str]) -> None:
    arguments = kubelet_service(samples.kubernetes(version=version))["arguments"]

    def has(flag: str) -> bool:
        return any(argument.startswith(flag) for argument in arguments)

    assert [flag for flag in present if not has(flag)] == []
    assert [flag for flag in absent if has(flag)] == []


def test_the_users_feature_gates_replace_the_collections() -> None:
    settings = samples.kubernetes(version="1.22.17", kubelet_arguments={"feature-gates": "A=true"})
    arguments = kubelet_service(settings)["arguments"]
    assert [one for one in arguments if one.startswith("--feature-gates")] == ["--feature-gates=A=true"]


@pytest.mark.parametrize(
    ("version", "kept"), [("1.23.17", True), ("1.26.0", True), ("1.27.0", False), ("1.30.4", False)]
)
def test_kubelets_before_1_27_need_the_flag_of_kubeadm_for_their_runtime(version: str, kept: bool) -> None:
    flags = ["--container-runtime=remote", "--node-ip=10.0.0.1"]
    found = kubelet_flags.part(flags, version)
    assert (flags[0] in found.kept) is kept
    assert flags[1] in found.kept
