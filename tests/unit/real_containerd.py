# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The real containerd, started with a CNI configuration: what its log says about the network.

Linux's containerd loads CNI configurations with the same code as that of Windows (containerd/go-cni).
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import typing as t
from pathlib import Path

import pytest

VERSIONS = ("1.7.35", "2.4.2")
_LOADED = "Start cni network conf syncer for default"
"""The line after containerd has loaded its CNI configuration (internal/cri/server/service.go, Run)."""
_CONFIG = """version = {version}
root = '{folder}/root'
state = '{folder}/state'
[{server}grpc{end}]
  address = '{socket}'
  uid = {uid}
  gid = {gid}
[{server}ttrpc{end}]
  address = '{socket}.ttrpc'
  uid = {uid}
  gid = {gid}
[plugins.'io.containerd.internal.v1.opt']
  path = '{folder}/opt'
[plugins.'io.containerd.nri.v1.nri']
  disable = true
[plugins.'{runtime}'.cni]
  {programs}
  conf_dir = '{folder}/net.d'
[plugins.'{images}']
  {snapshotter}
"""
_CRI = "io.containerd.grpc.v1.cri"
_OLD = {
    "version": 2,
    "server": "",
    "end": "",
    "runtime": _CRI,
    "images": f"{_CRI}'.'containerd",
    "snapshotter": "snapshotter = 'native'",
    "programs": "bin_dir = '{folder}/bin'",
}
_NEW = {
    "version": 4,
    "server": "plugins.'io.containerd.server.v1.",
    "end": "'",
    "runtime": "io.containerd.cri.v1.runtime",
    "images": "io.containerd.cri.v1.images",
    "snapshotter": "snapshotter = 'native'",
    "programs": "bin_dirs = ['{folder}/bin']",
}


def program(version: str) -> Path:
    """Return the path of the real containerd, or skip the test.

    Args:
        version: one of `VERSIONS`.
    """
    found = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/nonexistent") / f"containerd-{version}"
    if not found.exists():
        pytest.skip(f"KUBEBUILDER_ASSETS names no folder with containerd-{version}")
    return found


def cni_problems(containerd: Path, file: str, text: str, folder: Path) -> list[str]:
    """Start containerd with one CNI configuration, and return the lines of its log that report a problem with it.

    Args:
        containerd: the program.
        file: name of the CNI configuration file.
        text: content of this file.
        folder: an empty folder for all files of this containerd.
    """
    (folder / "net.d").mkdir()
    (folder / "net.d" / file).write_text(text, encoding="utf-8")
    _stand_ins(folder / "bin", text)
    # The path of a socket has at most 107 characters.
    socket = Path("/tmp") / f"winkube-containerd-{os.getpid()}-{time.monotonic_ns()}.sock"
    keys = _OLD if containerd.name.startswith("containerd-1.") else _NEW
    programs = str(keys["programs"]).format(folder=folder)
    values = {**keys, "programs": programs, "folder": folder, "socket": socket, "uid": os.getuid(), "gid": os.getgid()}
    config = folder / "config.toml"
    config.write_text(_CONFIG.format(**values), encoding="utf-8")
    try:
        log = _log_of([str(containerd), "--config", str(config)], folder / "containerd.log")
    finally:
        for path in (socket, Path(f"{socket}.ttrpc")):
            path.unlink(missing_ok=True)
    assert "Ignoring unknown key" not in log, log
    return [line for line in log.splitlines() if "cni" in line.lower() and _is_a_problem(line)]


def _is_a_problem(line: str) -> bool:
    # containerd 1.7 logs `failed to load cni during init` as an error, and 2.4 as a warning.
    return "level=error" in line or "level=warning" in line


def _stand_ins(folder: Path, text: str) -> None:
    """Create an executable for every plugin that the configuration names."""
    folder.mkdir()
    try:
        names = set(_types(json.loads(text)))
    except ValueError:
        names = set()
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (folder / name).chmod(0o755)


def _types(value: object) -> t.Iterator[str]:
    """Yield the plugins in a configuration: itself, its plugins, their delegates and IPAM."""
    if isinstance(value, list):
        for one in value:
            yield from _types(one)
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        for key in ("plugins", "delegate", "ipam"):
            yield from _types(value.get(key))


def _log_of(command: list[str], file: Path) -> str:
    """Run containerd until it has loaded its CNI configuration, and return its log.

    Raises:
        AssertionError: containerd did not get that far. The message contains the log.
    """
    with file.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 30
        while _LOADED not in file.read_text(encoding="utf-8"):
            running = process.poll() is None and time.monotonic() < end
            assert running, f"containerd has not loaded its CNI configuration:\n{file.read_text(encoding='utf-8')}"
            time.sleep(0.02)
    finally:
        process.terminate()
        process.wait(10)
    return file.read_text(encoding="utf-8")
