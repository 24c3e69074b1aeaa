# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines with Docker, and the results of docker.exe and dockerd.exe on them."""

from __future__ import annotations

import json
from typing import Any

from simulator.machine.objects import ProgramResult

from .conftest import Node

DOCKER, JSON = r"C:\Program Files\docker", r"C:\ProgramData\docker\config\daemon.json"


def put(node: Node, version: str = "28.5.1", **daemon: Any) -> None:
    """Write dockerd and docker to a machine, and a daemon.json if `daemon` contains settings."""
    for name in ("docker", "dockerd"):
        node.put(rf"{DOCKER}\{name}.exe", name, version)
    if daemon:
        node.write(JSON, json.dumps(daemon))


def started(node: Node, version: str = "28.5.1", **daemon: Any) -> Node:
    put(node, version, **daemon)
    node.machine.services.create("docker", rf'"{DOCKER}\dockerd.exe" --run-service', Start=2)
    node.machine.services.start("docker")
    return node


def docker(node: Node, *words: str, code: int = 0, **options: Any) -> str:
    result = node.run(rf"{DOCKER}\docker.exe", *words, **options)
    assert result.exit_code == code, result
    return result.stdout if code == 0 else result.stderr


def listed(node: Node, *more: str) -> list[dict[str, str]]:
    lines = docker(node, "image", "ls", "--digests", "--no-trunc", "--format", "{{json .}}", *more).splitlines()
    return [json.loads(line) for line in lines]


def dockerd_exe(node: Node, *words: str) -> ProgramResult:
    """Run dockerd.exe with arguments with which it exits by itself."""
    return node.run(rf"{DOCKER}\dockerd.exe", *words, timeout=60)
