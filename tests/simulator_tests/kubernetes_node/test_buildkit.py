# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""buildkitd as a service, and the errors of buildctl when it cannot build."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from simulator.kubernetes_node.docker.build import add_layer
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.services import ServiceError

from .conftest import Node

FOLDER = r"C:\Program Files\buildkit"
CONFIG = r"C:\ProgramData\buildkitd\buildkitd.toml"


def install(node: Node, *arguments: str) -> None:
    for program in ("buildctl", "buildkitd"):
        node.put(f"{FOLDER}\\{program}.exe", program, "0.29.0")
    line = " ".join([f'"{FOLDER}\\buildkitd.exe"', *arguments])
    node.machine.services.create("buildkitd", line, Start=3)


def build(node: Node, dockerfile: str, name: str = "r.example/built:1") -> tuple[int, str]:
    node.write(r"C:\b\Dockerfile", dockerfile)
    result = node.run(f"{FOLDER}\\buildctl.exe", "build", "--frontend", "dockerfile.v0", "--local", r"context=C:\b",
                      "--local", r"dockerfile=C:\b", "--output", f"type=image,name={name}")  # fmt: skip
    return result.exit_code, result.stderr


def test_buildkit_needs_containerd_and_known_flags(make_node: Callable[..., Node]) -> None:
    node = make_node()
    install(node, "--run-service")
    with pytest.raises(ServiceError, match="1053"):
        node.machine.services.start("buildkitd")
    assert "open //./pipe/buildkitd" in build(node, "FROM x.y/z:1\n")[1]
    node.start_containerd()
    node.machine.services.start("buildkitd")
    node.machine.services.stop("buildkitd")
    node.machine.services.configure("buildkitd", ImagePath=f'"{FOLDER}\\buildkitd.exe" --windows-service')
    with pytest.raises(ServiceError):
        node.machine.services.start("buildkitd")


def test_buildkit_uses_the_address_in_its_configuration(node: Node, registry: SimulatedRegistry) -> None:
    host = registry.url.partition("://")[2]
    mirror = f"[registry.'mcr.microsoft.com']\n  mirrors = ['{host}']\n[registry.'{host}']\n  http = true\n"
    install(node, "--run-service")
    node.write(CONFIG, mirror)
    node.machine.services.start("buildkitd")
    base = "FROM mcr.microsoft.com/windows/nanoserver:ltsc2022\n"
    assert build(node, f'{base}CMD ["cmd"]\n')[0] == 0
    assert "r.example/built:1" not in node.ctr("images", "list", "-q").stdout
    node.write(CONFIG, f"[worker.containerd]\n  namespace = 'k8s.io'\n{mirror}")
    node.machine.services.stop("buildkitd")
    node.machine.services.start("buildkitd")
    assert build(node, f'{base}CMD ["cmd"]\n')[0] == 0
    # The base image is in the content store, but has no name.
    assert node.ctr("images", "list", "-q").stdout == "r.example/built:1\n"
    assert "Access is denied" in build(node, f"{base}COPY Dockerfile /Dockerfile\n")[1]
    assert "not found" in build(node, f"{base}USER ContainerAdministrator\nCOPY nothing /x\n")[1]
    assert "no match for platform" in build(node, "FROM mcr.microsoft.com/windows/nanoserver:ltsc2025\n")[1]


def test_a_diff_id_is_the_digest_of_the_uncompressed_layer() -> None:
    layers: list[bytes] = []
    config: dict[str, Any] = {}
    for content in (b"first", b"second"):
        add_layer(layers, config, {"Files/a.txt": content})
    expected = [f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}" for layer in layers]
    assert config == {"rootfs": {"type": "layers", "diff_ids": expected}}
    assert len(set(expected)) == 2
