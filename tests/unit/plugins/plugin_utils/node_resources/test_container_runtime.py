# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role container_runtime. The contents of files are in the golden files."""

from __future__ import annotations

import json

import pytest
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import containerd, docker
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.docker import Engine
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import Variables


def test_containerd_starts_after_its_configuration_is_complete() -> None:
    found = containerd.resources(samples.containerd(registries={"r.example": {"mirrors": ["http://m"]}}))
    names = [one["name"] for one in found]
    assert names[-1] == "containerd"
    assert names.index("C:\\containerd\\certs.d\\r.example\\hosts.toml") < len(names) - 1
    assert names.index("container runtime") < names.index("C:\\containerd\\bin")


def test_a_log_file_has_flags_and_a_folder() -> None:
    logged = samples.containerd()
    arguments = containerd.resources(logged)[-1]["arguments"]
    assert arguments[-4:] == ["--log-file", logged.log_file, "--log-level", "info"]
    assert logged.log_folders == ["C:\\var\\log\\containerd"]
    silent = samples.containerd(log_file="")
    assert containerd.resources(silent)[-1]["arguments"] == ["--run-service", "--config", "C:\\containerd\\config.toml"]
    assert silent.log_folders == []


def test_exclusions_of_defender_can_be_disabled() -> None:
    kinds = {one["type"] for one in containerd.resources(samples.containerd(defender_exclusions=False))}
    assert "DefenderExclusion" not in kinds
    excluded = named(containerd.resources(samples.containerd()), "container runtime")
    assert excluded["paths"] == ["C:\\containerd", "C:\\data"]


def test_programs_are_replaced_one_by_one_while_their_services_are_stopped() -> None:
    archive = named(containerd.resources(samples.containerd()), "C:\\containerd\\bin")
    assert archive["stops"] == ["kubelet", "containerd"]
    assert archive["check"] == [member.removeprefix("bin/") for member in archive["members"]]


def test_a_proxys_password_is_hidden() -> None:
    hidden = containerd.resources(samples.containerd(downloads=samples.downloads(samples.PASSWORD)))[-1]
    assert hidden["no_log"] is True
    assert hidden["environment"]["NO_PROXY"] == "localhost"
    assert containerd.resources(samples.containerd())[-1]["no_log"] is False
    daemon = docker.resources(samples.docker(downloads=samples.downloads(samples.PASSWORD)))
    assert named(daemon, "C:\\docker-data\\config\\daemon.json")["no_log"] is True


class TestDocker:
    def test_the_users_daemon_json_settings_take_precedence(self) -> None:
        own = {"data-root": "D:\\docker", "debug": True}
        found = docker.daemon_configuration(samples.docker(docker_daemon=own))
        assert (found["data-root"], found["debug"], found["log-driver"]) == ("D:\\docker", True, "json-file")
        assert "proxies" not in found

    def test_daemon_json_has_the_proxy(self) -> None:
        settings = samples.docker(downloads=samples.downloads(samples.PASSWORD))
        file = named(docker.resources(settings), "C:\\docker-data\\config\\daemon.json")
        assert json.loads(file["content"])["proxies"]["no-proxy"] == "localhost"
        assert file["restarts"] == ["docker"]
        assert "BA" in file["acl"]
        assert "BU" not in file["acl"]

    def test_archives_stop_docker_only_if_they_replace_it(self) -> None:
        found = docker.resources(samples.docker())
        assert named(found, "C:\\docker")["stops"][-1] == "docker"
        for folder in ("C:\\cri-dockerd", "C:\\nssm"):
            assert named(found, folder)["stops"] == ["flanneld", "kube-proxy", "kubelet", "cri-dockerd"]

    def test_nssm_is_taken_from_its_versions_folder(self) -> None:
        archive = named(docker.resources(samples.docker(nssm_version="2.25")), "C:\\nssm")
        assert archive["members"] == ["nssm-2.25/win64/nssm.exe"]
        assert named(docker.resources(samples.docker()), "cri-dockerd")["path"] == "C:\\nssm\\win64\\nssm.exe"

    def test_cri_dockerd_starts_after_docker_and_its_own_settings(self) -> None:
        found = docker.resources(samples.docker())
        names = [one.get("name") or one.get("value_name") for one in found]
        assert names.index("docker") < names.index("AppParameters") < names.index("cri-dockerd")
        assert found[-1]["dependencies"] == ["docker"]

    @pytest.mark.parametrize("kind", ["moby", "docker"])
    def test_the_build_is_the_one_that_the_runtime_names(self, kind: str) -> None:
        host = {"container_runtime": kind} | {
            f"container_runtime_{name}_{what}": f"{name} {what}"
            for name in ("moby", "docker")
            for what in ("version", "url", "sha256")
        }
        found = Variables(host, lambda value: value).read(Engine, "container_runtime")
        assert found == Engine(kind=kind, version=f"{kind} version", url=f"{kind} url", sha256=f"{kind} sha256")
