# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Docker as a node's runtime: services with nssm, rejected versions and variables, no change of the runtime."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest
from unit.resource_answers import answer, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import nssm
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.values.version_support import docker_problems
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import Version, supported
from ansible_collections.winkube.node.plugins.plugin_utils.windows import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

CONTAINERD, DOCKER = "npipe:////./pipe/containerd-containerd", "npipe:////./pipe/cri-dockerd"
DROPIN = "C:\\etc\\kubernetes\\kubelet.conf.d\\50-windows.conf"


def seen(*, joined: bool = True, line: str | None = None, dropin: str = "", config: str = "") -> dict[str, CallResult]:
    """Return a node's results for NodeRuntime."""
    return {
        "joined": answer({"path": "C:\\etc\\kubernetes\\kubelet.conf", "exists": joined}),
        "settings": answer(
            {"path": DROPIN.upper(), "content": dropin},
            {"path": "C:\\var\\lib\\kubelet\\config.yaml", "content": config},
        ),
        "service": answer({"exists": line is not None, "value": line}),
    }


def runtime(name: str) -> object:
    return one(type="NodeRuntime", name=name)


@pytest.mark.parametrize("name", ["containerd", "docker"])
def test_a_machine_outside_a_cluster_may_have_any_runtime(name: str) -> None:
    other = DOCKER if name == "containerd" else CONTAINERD
    assert planned(runtime(name), **seen(joined=False, dropin=f"containerRuntimeEndpoint: {other}\n")) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "current"),
    [
        ({}, "containerd"),
        ({"dropin": f"kind: KubeletConfiguration\ncontainerRuntimeEndpoint: {DOCKER}\n"}, "docker"),
        ({"dropin": f'containerRuntimeEndpoint: "{DOCKER}"\n'}, "docker"),
        ({"config": f"containerRuntimeEndpoint: {DOCKER}\n"}, "docker"),
        (
            {"dropin": f"containerRuntimeEndpoint: {CONTAINERD}\n", "config": f"containerRuntimeEndpoint: {DOCKER}\n"},
            "containerd",
        ),
        # Flags take precedence over the configuration, and the last flag counts.
        (
            {
                "line": f"k.exe --container-runtime-endpoint={DOCKER}",
                "dropin": f"containerRuntimeEndpoint: {CONTAINERD}\n",
            },
            "docker",
        ),
        (
            {"line": f"k.exe --container-runtime-endpoint={DOCKER} --container-runtime-endpoint={CONTAINERD}"},
            "containerd",
        ),
    ],
)
def test_a_node_that_has_joined_keeps_its_runtime(answers: dict[str, str], current: str) -> None:
    other = "docker" if current == "containerd" else "containerd"
    assert planned(runtime(current), **seen(**answers)) is None  # type: ignore[arg-type]
    with pytest.raises(
        ResourceError,
        match=f"expected {current}, which this node already uses in its cluster.*Drain the node.*kubeadm reset.*"
        f"to {current} for this node",
    ):
        planned(runtime(other), **seen(**answers))  # type: ignore[arg-type]


def test_an_unknown_runtime_endpoint_is_left_unchanged() -> None:
    answers = seen(dropin="containerRuntimeEndpoint: npipe:////./pipe/another\n")
    assert planned(runtime("docker"), **answers) is None  # type: ignore[arg-type]


def parameters(arguments: list[str]) -> dict[str, dict[str, object]]:
    made = nssm.parameters(
        "flanneld",
        application="C:\\opt\\flannel\\flanneld.exe",
        arguments=arguments,
        log_dir="C:\\var\\log\\flannel",
        environment={"NODE_NAME": "win1"},
    )
    load(made)
    return {str(item["value_name"]): item for item in made}


def test_nssm_reads_program_environment_and_logs_from_the_registry() -> None:
    made = parameters(["-kube-subnet-mgr"])
    assert {item["key"] for item in made.values()} == {
        "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\flanneld\\Parameters"
    }
    assert made["Application"]["value"] == "C:\\opt\\flannel\\flanneld.exe"
    assert made["AppEnvironmentExtra"]["value"] == ["NODE_NAME=win1"]
    assert made["AppStderr"]["value"] != made["AppStdout"]["value"]
    assert all(item["restarts"] == ["flanneld"] for item in made.values())


@hypothesis.given(
    st.lists(st.text(st.characters(exclude_characters="%\x00", exclude_categories=("Cs",)), min_size=1), min_size=1)
)
def test_a_program_of_nssm_gets_its_arguments_as_they_were(arguments: list[str]) -> None:
    line = str(parameters(arguments)["AppParameters"]["value"])
    assert command_line.split(f"x {line}")[1:] == arguments


def test_nssm_would_expand_a_percent_sign() -> None:
    with pytest.raises(ValueError, match="expected no %"):
        parameters(["--name=%PATH%"])


@pytest.mark.parametrize(
    ("kubernetes", "engine", "adapter", "problem"),
    [
        ("1.37.1", "29.2.1", "0.4.10", None),
        ("1.30.0", "23.0.0", "0.3.0", None),
        ("1.23.17", "29.2.1", "0.4.10", "expected Kubernetes 1.30 to 1.37, which runs on Docker through cri-dockerd"),
        ("1.24.0", "29.2.1", "0.4.10", "expected Kubernetes 1.30 to 1.37"),
        ("1.37.1", "20.10.27", "0.4.10", "expected docker 23.0.0 or newer"),
        ("1.37.1", "29.2.1", "0.2.6", "expected cri-dockerd 0.3.0 or newer"),
    ],
)
def test_compatible_versions(kubernetes: str, engine: str, adapter: str, problem: str | None) -> None:
    reported = docker_problems(Version.parse(kubernetes), Version.parse(engine), Version.parse(adapter))
    assert [one.expected for one in reported] == ([] if problem is None else [problem])


def values(**more: object) -> dict[str, object]:
    return {
        "container_runtime_moby_version": "29.2.1",
        "container_runtime_docker_version": "25.0.14",
        "container_runtime_cri_dockerd_version": "0.4.10",
        **more,
    }


def test_mobys_defaults_are_accepted() -> None:
    assert preflight.docker_problems("moby", f"{supported()['kubernetes']['newest']}.0", values()) == []


def test_mirantis_archive_is_requested() -> None:
    (problem,) = preflight.docker_problems("docker", "1.37.1", values())
    assert "container_runtime_docker_url (from docker_url)" in str(problem)
    assert "container_runtime: moby needs no URL" in str(problem)
    assert (
        preflight.docker_problems("docker", "1.37.1", values(container_runtime_docker_url="https://x/docker.zip")) == []
    )


@pytest.mark.parametrize("name", ["cni_flannel_image", "cni_kube_proxy_image"])
def test_host_process_images_are_refused(name: str) -> None:
    (problem,) = preflight.docker_problems("moby", "1.37.1", values(**{name: "registry.example/image:1"}))
    assert problem.variable == name
    assert "which only containerd can run" in str(problem)


def test_mirrors_that_docker_would_never_ask_are_refused() -> None:
    mirrors = {"mirrors": ["http://m:5000"]}
    given = {
        "registry.k8s.io": mirrors,
        "docker.io": mirrors,
        "registry.example": {"server": "https://registry.example"},
    }
    (problem,) = preflight.docker_problems("moby", "1.37.1", values(container_runtime_registries=given))
    assert "got mirrors of registry.k8s.io." in str(problem)


def test_an_invalid_version_is_reported_with_its_variable() -> None:
    (problem,) = preflight.docker_problems("moby", "1.37.1", values(container_runtime_cri_dockerd_version="latest"))
    assert problem.variable == "container_runtime_cri_dockerd_version"
