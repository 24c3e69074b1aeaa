# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""dockerd: its command line, its service and its configuration, including rejected ones."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.docker import dockerd, dockerd_config
from simulator.machine.services import ServiceError
from simulator.windows.system import event_log_store

from .conftest import Node
from .docker_nodes import DOCKER, docker, dockerd_exe, put, started

FILE = r"unable to configure the Docker daemon with file C:\ProgramData\docker\config\daemon.json: "
MERGED = "merged configuration validation from file and command line flags failed: "


@pytest.mark.parametrize(
    ("daemon", "flags", "message"),
    [
        ({"storage-driver": "overlay2"}, [], "the following directives don't match any configuration option"),
        ({"live-restore": True}, [], "don't match any configuration option: live-restore"),
        ({"debug": True}, ["-D"], "specified both as a flag and in the configuration file"),
        ({"hosts": ["npipe://"]}, ["-H", "npipe://"], "hosts: (from flag: npipe://, from file: [npipe://])"),
        ({"registry-mirrors": "http://m"}, [], f"{FILE}json: cannot unmarshal string into Go struct field"),
        ({"registry-mirrors": ["mirror.example"]}, [], f"{FILE}{MERGED}invalid mirror: no scheme"),
        ({"hosts": ["unix:///var/run/docker.sock"]}, [], "invalid bind address"),
        ({"log-level": "loud"}, [], f"{FILE}{MERGED}invalid logging level: loud"),
        ({"bridge": "lab"}, [], "network lab not found"),
        ({}, ["--config-file", r"C:\none.json"], r"open C:\none.json: The system cannot find the file"),
        ({}, ["--iptables=false"], "unknown flag: --iptables"),
        ({}, ["now"], 'unknown command "now"'),
    ],
)
def test_dockerd_refuses(
    make_node: Callable[..., Node], daemon: dict[str, Any], flags: list[str], message: str
) -> None:
    """On the command line, dockerd prints the reason. As a service it ends, and the reason is in the event log."""
    node = make_node()
    put(node, **daemon)
    if "--config-file" in flags:
        node.write(r"C:\ProgramData\docker\config\daemon.json", '{"wrong": 1}')
    result = dockerd_exe(node, *flags)
    assert (result.exit_code, message in result.stderr) == (1, True), result.stderr
    line = " ".join([rf'"{DOCKER}\dockerd.exe"', "--run-service", *flags])
    node.machine.services.create("docker", line, Start=2)
    with pytest.raises(ServiceError) as raised:
        node.machine.services.start("docker")
    assert raised.value.code == 1053
    assert message in node.machine.services.events[-1]
    (event,) = event_log_store.events(node.machine, "Application")
    assert (event.provider, event.level, message in event.message) == ("docker", 2, True)


def test_dockerd_reads_its_configuration(make_node: Callable[..., Node]) -> None:
    node = make_node()
    options = {"log-driver": "json-file", "log-opts": {"max-size": "50m"}, "features": {"x": True}, "debug": True}
    started(
        node,
        **options,
        **{"data-root": r"C:\docker", "bridge": "none", "labels": ["a=b"], "exec-opts": ["isolation=process"]},
    )
    about = json.loads(docker(node, "info", "--format", "{{json .}}"))
    assert (about["DockerRootDir"], about["Debug"], about["Labels"]) == (r"C:\docker", True, ["a=b"])
    assert hns.store(node.machine).networks() == []
    assert node.machine.files.is_directory(r"C:\docker\windowsfilter")
    assert "does not model docker swarm" in docker(node, "swarm", "init", code=1)
    assert "unknown flag: --frob" in docker(node, "image", "ls", "--frob", code=125)


KEYS = ["hosts", "labels", "debug", "proxies", "http-proxy", "data-root", "log-opts", "mtu", "registry-mirrors", "x"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(document=JSON_VALUES | st.dictionaries(st.sampled_from(KEYS), JSON_VALUES) | st.binary(max_size=12))
def test_any_daemon_json_is_accepted_or_refused(document: Any) -> None:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    files = SimpleNamespace(is_file=lambda _: True, read_bytes=lambda _: data)
    machine: Any = SimpleNamespace(files=files)
    with contextlib.suppress(dockerd_config.DockerdError):
        found = dockerd_config.read(machine, dockerd_config.read_flags(["--run-service"], "28.5.1"), "28.5.1")
        assert all(host.startswith(("npipe://", "tcp://")) for host in found.hosts)
        assert all(isinstance(item, str) for item in (*found.mirrors, *found.labels, *found.proxies.values()))


def test_flags_depend_on_the_version(make_node: Callable[..., Node]) -> None:
    old, new = make_node(), make_node()
    put(old, "20.10.24", proxies={"http-proxy": "http://p:3128"})
    put(new, "28.5.1", proxies={"http-proxy": "http://p:3128"})
    assert "unknown flag: --validate" in dockerd_exe(old, "--validate").stderr
    assert dockerd_exe(new, "--validate").stderr == "configuration OK\n"
    result = dockerd_exe(old)
    assert "don't match any configuration option: http-proxy" in result.stderr


def test_dockerd_needs_the_feature_containers(make_node: Callable[..., Node]) -> None:
    node = make_node(features=[])
    put(node)
    result = dockerd_exe(node)
    assert (result.exit_code, "ensure that the Containers feature is installed" in result.stderr) == (1, True)


def test_dockerd_registers_its_service(make_node: Callable[..., Node]) -> None:
    node = make_node()
    put(node)
    assert dockerd_exe(node, "--register-service", "--service-name", "engine", "-D").exit_code == 0
    service = node.machine.services.get("engine")
    assert service is not None
    assert service.argv == [rf"{DOCKER}\dockerd.exe", "--run-service", "--service-name", "engine", "-D"]
    assert (service.display_name, service.start) == ("Docker Engine", 2)
    node.machine.services.start("engine")
    assert dockerd.connect(node.machine) is not None
    node.machine.services.stop("engine")
    assert dockerd_exe(node, "--unregister-service", "--service-name", "engine").exit_code == 0
    assert not node.machine.services.exists("engine")
    assert dockerd_exe(node, "--unregister-service").exit_code == 1
