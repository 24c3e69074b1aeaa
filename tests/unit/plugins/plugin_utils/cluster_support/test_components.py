# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Each component of cluster_support can be requested alone, and what it needs comes with it."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from unit.gmsa_samples import SPEC

from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.catalogue import support_catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.components import (
    COMPONENT_LABEL,
    COMPONENTS,
    support_objects,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.demo import demo_services
from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.exporter import alert_groups
from ansible_collections.winkube.node.plugins.plugin_utils.cluster_support.settings import SupportSettings
from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

ROOT = Path(__file__).parents[5]
OFF = {"kube_proxy_account": False, "runtime_classes": False}
OUTPUT = {"name": "forward", "host": "logs.example"}


def settings(**given: t.Any) -> SupportSettings:
    """Return the settings with the role's defaults."""
    text = (ROOT / "roles" / "cluster_support" / "defaults" / "main.yml").read_text(encoding="utf-8")
    values = {
        **{name.removeprefix("cluster_support_"): value for name, value in yaml.safe_load(text).items()},
        "cloud_provider": "",
        "kubernetes_version": "1.37.1",
        "api_server": "api.example:6443",
        "kubeconfig": "admin.conf",
        **given,
    }
    known = of_role("cluster_support")
    return SupportSettings(**{name: known[f"cluster_support_{name}"].convert(value) for name, value in values.items()})


def names(**given: t.Any) -> dict[str, list[str]]:
    """Return the objects by component, as KIND NAME."""
    found: dict[str, list[str]] = {}
    for one in support_objects(settings(**given)):
        found.setdefault(one["metadata"]["labels"][COMPONENT_LABEL], []).append(
            f"{one['kind']} {one['metadata']['name']}"
        )
    return found


def test_by_default_nothing_runs_on_the_nodes() -> None:
    assert names() == {
        "kube-proxy-account": ["ServiceAccount kube-proxy-windows", "ClusterRoleBinding kube-proxy-windows"],
        "runtime-classes": [f"RuntimeClass windows-{year}" for year in (2019, 2022, 2025)],
    }
    assert names(**OFF) == {}


def test_every_component_can_be_requested_alone() -> None:
    requests: dict[str, dict[str, t.Any]] = {
        "kube-proxy-account": {"kube_proxy_account": True},
        "runtime-classes": {"runtime_classes": True},
        "windows-exporter": {"windows_exporter": True},
        "prometheus": {"prometheus_rules": True},
        "log-shipper": {"log_shipper": True, "log_outputs": [OUTPUT]},
        "csi-smb": {"csi_drivers": ["smb"]},
        "csi-azure-disk": {"csi_drivers": ["azure_disk"]},
        "csi-azure-file": {"csi_drivers": ["azure_file"]},
        "gmsa": {"gmsa_credential_specs": [{"name": "web", "credspec": SPEC}]},
        "demo": {"demo": True},
    }
    for component, given in requests.items():
        assert list(names(**{**OFF, **given})) == [component]
    # The namespace goes with HostProcess pods, and cloud-node-manager with the drivers of Azure.
    assert set(COMPONENTS) - set(requests) == {"namespace", "cloud-node-manager"}
    assert list(names(**OFF, windows_exporter=True, namespace="monitoring")) == ["namespace", "windows-exporter"]
    azure = ["cloud-node-manager", "csi-azure-disk", "csi-azure-file"]
    assert list(names(**OFF, cloud_provider="azure")) == azure
    assert names(**OFF, cloud_provider="external") == {}


@pytest.mark.parametrize(
    ("version", "image"),
    [
        ("1.30.4", "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager:v1.30.18"),
        ("1.36.3", "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.36.5"),
        # There is no release for 1.37 yet.
        ("1.37.1", "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.36.5"),
    ],
)
def test_cloud_node_manager_follows_kubernetes(version: str, image: str) -> None:
    assert images(cloud_provider="azure", kubernetes_version=version)["cloud-node-manager"] == image


def images(**given: t.Any) -> dict[str, str]:
    """Return the images of the containers by name."""
    pods = [
        one["spec"]["template"]["spec"]
        for one in support_objects(settings(**given))
        if "template" in one.get("spec", {})
    ]
    return {each["name"]: each["image"] for pod in pods for each in pod["containers"]}


def test_an_old_kubernetes_needs_an_image_of_the_users() -> None:
    with pytest.raises(
        ValueError, match=r"expected Kubernetes 1.30 or newer for Azure's cloud-node-manager, got 1.29.1"
    ):
        images(cloud_provider="azure", kubernetes_version="1.29.1")
    own = {"cloud_node_manager": {"cloud_node_manager": "registry.example/cnm:1"}}
    found = images(cloud_provider="azure", kubernetes_version="1.29.1", images=own)
    assert found["cloud-node-manager"] == "registry.example/cnm:1"


def test_images_can_be_replaced_by_name_only() -> None:
    own = {"windows_exporter": {"windows_exporter": "registry.example/exporter:1"}}
    assert images(windows_exporter=True, images=own)["windows-exporter"] == "registry.example/exporter:1"
    with pytest.raises(ValueError, match=r"cluster_support_images: expected only the programs .*, got exporter"):
        images(images={"exporter": {}})
    with pytest.raises(
        ValueError, match=r"cluster_support_images\.windows_exporter: expected only the names windows_exporter, got x"
    ):
        images(windows_exporter=True, images={"windows_exporter": {"x": "y"}})


def test_the_log_shipper_needs_an_output_with_a_name() -> None:
    with pytest.raises(ValueError, match="cluster_support_log_outputs: expected at least one output of Fluent Bit"):
        names(log_shipper=True)
    with pytest.raises(ValueError, match=r"cluster_support_log_outputs\[1\].name: expected the name of an output"):
        names(log_shipper=True, log_outputs=[OUTPUT, {"host": "x"}])


def test_a_new_output_replaces_the_pods_of_the_log_shipper() -> None:
    def of(**output: t.Any) -> tuple[t.Any, t.Any]:
        objects = support_objects(settings(**OFF, log_shipper=True, log_outputs=[{**OUTPUT, **output}]))
        data = json.loads(base64.b64decode(objects[0]["data"]["fluent-bit.yaml"]))
        marks = {
            one["spec"]["template"]["metadata"]["annotations"]["winkube.node/configuration"] for one in objects[1:]
        }
        return data["pipeline"]["outputs"], marks

    outputs, before = of()
    assert outputs == [{"match": "*", **OUTPUT}]
    assert len(before) == 1
    assert of()[1] == before
    outputs, after = of(match="event.*", shared_key="s3cret")
    assert outputs[0]["match"] == "event.*"
    assert after != before


@pytest.mark.parametrize("name", ["log_builds", "demo_builds", "csi_drivers"])
def test_unknown_choices_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ResourceError, match=rf"cluster_support_{name}.*expected .*, got 'windows-2016'"):
        settings(**{name: ["windows-2016"]})


def test_all_pods_of_daemon_sets_are_host_process_pods_on_windows() -> None:
    objects = support_objects(
        settings(
            windows_exporter=True, log_shipper=True, log_outputs=[OUTPUT], csi_drivers=["smb"], cloud_provider="azure"
        )
    )
    pods = [one["spec"]["template"]["spec"] for one in objects if one["kind"] == "DaemonSet"]
    assert len(pods) == 8
    for pod in pods:
        assert pod["hostNetwork"] is True
        assert pod["securityContext"]["windowsOptions"]["hostProcess"] is True
        assert pod["nodeSelector"]["kubernetes.io/os"] == "windows"
        # Docker cannot run them. The exception removes the taint of the cloud provider.
        is_exception = pod["containers"][0]["name"] == "cloud-node-manager"
        assert ("affinity" in pod) is not is_exception
        # They run on nodes that the cloud provider has not initialized.
        assert {"operator": "Exists"} in pod["tolerations"]


def test_the_ports_on_the_nodes_are_unique() -> None:
    objects = support_objects(settings(windows_exporter=True, csi_drivers=["smb"], cloud_provider="azure"))
    pods = [one["spec"]["template"]["spec"] for one in objects if one["kind"] == "DaemonSet"]
    ports = [port["hostPort"] for pod in pods for each in pod["containers"] for port in each.get("ports", ())]
    assert sorted(ports) == [9182, 29605, 29615]


def test_the_port_of_the_exporter_is_opened_only_on_request() -> None:
    (opened,) = support_objects(settings(**OFF, windows_exporter=True, windows_exporter_port=9999))
    assert "localport=9999" in str(opened["spec"]["template"]["spec"]["initContainers"])
    (closed,) = support_objects(settings(**OFF, windows_exporter=True, windows_exporter_open_port=False))
    assert "firewall" not in str(closed)


def test_the_services_of_the_demo_are_those_that_are_called() -> None:
    given = settings(demo=True, demo_builds=["windows-2019", "windows-2025"])
    services = [one["metadata"]["name"] for one in support_objects(given) if one["kind"] == "Service"]
    assert services == demo_services(given) == ["win-webserver", "iis-windows-2019", "iis-windows-2025"]


def test_every_program_names_its_source_and_fixed_images() -> None:
    known = support_catalogue()
    for program in known.programs.values():
        assert program.source
        for image in (*program.images.values(), *program.images_by_build.values()):
            assert re.search(r":[\w.-]*\d[\w.-]*$", image), image
            assert not image.endswith(":latest")
        if program.images_by_build:
            assert set(program.images_by_build) == set(known.builds)


def test_alerts_use_metrics_of_the_enabled_collectors() -> None:
    collectors = settings().windows_exporter_collectors
    rules = [rule for group in alert_groups() for rule in group["rules"]]
    metrics = {name for rule in rules for name in re.findall(r"windows_(\w+?)_\w+", rule["expr"])}
    # time is not enabled by default; service, logical_disk and memory are (README.md of windows_exporter).
    assert metrics == {"service", "logical", "memory", "time"}
    assert "time" in collectors.split(",")
    for rule in rules:
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("warning", "critical")
