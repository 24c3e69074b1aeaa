# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real kubeadm that runs for a simulated node in the node's folder. The files that it writes are adapted to Windows.

`KUBEBUILDER_ASSETS` (envtest's convention) names a folder that may contain `kubeadm-VERSION` or `kubeadm`. kubeadm for
Linux checks what only Linux has, so its preflight is replaced by the simulator's own. kubeadm treats containerd's named
pipe as a Unix socket. It finds no service manager, so the simulator starts the kubelet service as soon as kubeadm
reports that it is starting the kubelet.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import threading
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING

from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.kubeadm import join as kubeadm_join
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE, JoinConfiguration
from simulator.kubernetes_node.kubelet.health import Answerer
from simulator.machine.objects import Invocation, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"
_LINUX_ONLY = re.compile(r"^\t?\[WARNING |^W\d{4} .*(checks\.go|grpc: )|^\[preflight\] WARNING")


@functools.cache
def find(version: str) -> Path | None:
    """Return the path of a real kubeadm with this version, or None if there is none."""
    named = os.environ.get("KUBEBUILDER_ASSETS", "")
    if not named:
        return None
    folder = Path(named).expanduser()
    exact = folder / f"kubeadm-{version}"
    if exact.is_file():
        return exact
    plain = folder / "kubeadm"
    if not plain.is_file():
        return None
    message = subprocess.run(
        [str(plain), "version", "-o", "short"], capture_output=True, text=True, check=False, timeout=30
    )
    return plain if message.stdout.strip() == f"v{version}" else None


def plain(program: Path, arguments: list[str], config: str | None) -> ProgramResult:
    """Run a kubeadm command that has no side effects, such as `config validate`.

    If `config` is given, it is written to a file, whose path replaces the argument that consists of one NUL character.
    """
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        words = list(arguments)
        if config is not None:
            file = Path(folder, "config.yaml")
            file.write_text(config, encoding="utf-8")
            words = [str(file) if word == "\0" else word for word in words]
        done = subprocess.run(
            [str(program), *words], capture_output=True, text=True, check=False, timeout=60, env=_environment(folder)
        )
    return ProgramResult(done.returncode, done.stdout, done.stderr)


def join(
    machine: Machine,
    invocation: Invocation,
    program: Path,
    arguments: list[str],
    config: str | None,
    requested: JoinConfiguration,
) -> ProgramResult | None:
    """Run `kubeadm join`.

    Args:
        arguments: the arguments of the join, without --config.
        config: the contents of the configuration file, or None if there is none.
        requested: the settings of the join.

    Returns:
        The result of kubeadm, or None if kubeadm cannot run because another program uses the port of the kubelet's
        health check.
    """
    answerer = Answerer.start()
    if answerer is None:
        return None
    root = machine.files.real("C:\\")
    words = [str(program), "join", "--rootfs", str(root), "--ignore-preflight-errors", "all", *arguments]
    file = root / f".kubeadm-{uuid.uuid4().hex}.yaml"
    if config is not None:
        file.touch(mode=0o600)
        file.write_text(config, encoding="utf-8")
        words += ["--config", f"/{file.name}"]
    if os.geteuid() != 0:
        words = ["unshare", "-r", *words]
    try:
        return _run(machine, invocation, words, requested)
    finally:
        answerer.close()
        file.unlink(missing_ok=True)


def upgrade(machine: Machine, invocation: Invocation, program: Path, arguments: list[str]) -> ProgramResult:
    """Run `kubeadm upgrade node`, which does not restart a worker's kubelet and so does not check its health.

    Args:
        arguments: the arguments of `upgrade node`.
    """
    root = machine.files.real("C:\\")
    words = [str(program), "upgrade", "node", "--rootfs", str(root), "--ignore-preflight-errors", "all", *arguments]
    if os.geteuid() != 0:
        words = ["unshare", "-r", *words]
    socket = _runtime_endpoint(machine)
    link = _link_certificate(machine)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment("/"),
        )
        threading.Thread(target=_end_with, args=(process, invocation), daemon=True).start()
        printed, complained = process.communicate()
    finally:
        if link:
            link.unlink(missing_ok=True)
    correct(machine, socket)
    kept = [line for line in complained.splitlines(keepends=True) if not _LINUX_ONLY.match(line)]
    return ProgramResult(process.returncode, _windows_text(printed), "".join(kept))


def _end_with(process: subprocess.Popen[str], invocation: Invocation) -> None:
    """End a real process when its simulated process ends."""
    while process.poll() is None:
        if invocation.stop.wait(0.1):
            process.kill()


def _runtime_endpoint(machine: Machine) -> str:
    """Return the container runtime's endpoint from files that kubeadm wrote, or an empty string if there is none."""
    named = re.compile(r"(?:containerRuntimeEndpoint: |--container-runtime-endpoint=)(npipe:\S*?)(?=[\s\"]|$)")
    for name in ("instance-config.yaml", "kubeadm-flags.env"):
        path = f"{kubeadm_join.KUBELET}\\{name}"
        if machine.files.is_file(path) and (found := named.search(machine.files.read_text(path))):
            return found[1]
    return ""


def _environment(home: str) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "HOME": home}


def _run(machine: Machine, invocation: Invocation, words: list[str], requested: JoinConfiguration) -> ProgramResult:
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment("/"),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complained: list[str] = []
    reader = threading.Thread(target=_collect, args=(process.stderr, complained), daemon=True)
    reader.start()
    attendant = threading.Thread(target=_attend, args=(process, machine, invocation), daemon=True)
    attendant.start()
    printed: list[str] = []
    for line in process.stdout:
        printed.append(line)
        if line.startswith("[kubelet-start] Starting the kubelet"):
            correct(machine, requested.cri_socket)
            _take_over(machine, kubeadm_join.BOOTSTRAP)
            kubeadm_join.start_kubelet(machine, complained)
    code = process.wait()
    reader.join(5)
    attendant.join(5)
    correct(machine, requested.cri_socket)
    if code == 0:
        _annotate(machine, requested)
    kept = [line for line in complained if not _LINUX_ONLY.match(line)]
    return ProgramResult(
        code, _windows_text("".join(printed)), "".join(line if line.endswith("\n") else line + "\n" for line in kept)
    )


def _collect(stream: IO[str], lines: list[str]) -> None:
    lines.extend(stream)


def _attend(process: subprocess.Popen[str], machine: Machine, invocation: Invocation) -> None:
    """Wait until the real kubeadm ends. Kill it if the simulated kubeadm process ends.

    Meanwhile, let kubeadm find the kubelet's certificate, whose path in the kubeconfig is a Windows path. On Linux,
    this path is the name of a file in the current folder, so create a link with this name.
    """
    link: Path | None = None
    try:
        while process.poll() is None:
            if invocation.stop.wait(0.05):
                process.kill()
            link = link or _link_certificate(machine)
    finally:
        if link:
            link.unlink(missing_ok=True)


def _link_certificate(machine: Machine) -> Path | None:
    if not machine.files.is_file(kubeadm_join.KUBELET_CONF):
        return None
    named = re.search(r"(?m)^\s+client-certificate: (C:\S+)$", machine.files.read_text(kubeadm_join.KUBELET_CONF))
    if not named or not machine.files.is_file(named[1]):
        return None
    link = machine.files.real("C:\\") / named[1]
    target = os.path.relpath(machine.files.real(named[1]), link.parent)
    link.symlink_to(target)
    return link


def correct(machine: Machine, cri_socket: str) -> None:
    """Make the files that kubeadm for Linux wrote look as if kubeadm.exe had written them.

    Args:
        cri_socket: the container runtime's endpoint; if empty, the endpoint of containerd.
    """
    folder = kubeadm_join.KUBELET
    for name in ("config.yaml", "instance-config.yaml", "kubeadm-flags.env"):
        path = f"{folder}\\{name}"
        if not machine.files.is_file(path):
            continue
        before = machine.files.read_text(path)
        text = re.sub(r"unix://(npipe:\S*?)(?=[\s\"]|$)", r"\1", before)
        text = re.sub(r"unix:///(?:var/)?run/containerd/containerd\.sock", cri_socket or PIPE, text)
        if name == "config.yaml":
            text = _kubelet_configuration(text)
        if text != before:
            machine.files.write_text(path, text)


def _take_over(machine: Machine, path: str) -> None:
    """Rewrite a file that the real kubeadm wrote, so that programs that watch the node's files notice the change."""
    if machine.files.is_file(path):
        machine.files.write_bytes(path, machine.files.read_bytes(path))


def _kubelet_configuration(text: str) -> str:
    text = re.sub(r"(?m)^(staticPodPath:|\s+clientCAFile:) (/\S+)$",
                  lambda match: f"{match[1]} C:" + match[2].replace("/", "\\"), text)  # fmt: skip
    text = re.sub(r"(?m)^resolvConf:.*\n", "", text)
    return (
        re.sub(r"(?m)^(rotateCertificates:)", r'resolvConf: ""' + "\n" + r"\1", text, count=1)
        if "rotateCertificates:" in text
        else text + 'resolvConf: ""\n'
    )


def _annotate(machine: Machine, requested: JoinConfiguration) -> None:
    """Correct the container runtime's endpoint in the Node's annotation, which only some versions of kubeadm set."""
    try:
        client = Client(machine, read_kubeconfig(machine, kubeadm_join.KUBELET_CONF))
    except KubeconfigError:
        return
    try:
        found = client.get(f"/api/v1/nodes/{requested.node_name}")
        if (found["metadata"].get("annotations") or {}).get(_SOCKET, "").startswith("unix://"):
            client.patch(
                f"/api/v1/nodes/{requested.node_name}", {"metadata": {"annotations": {_SOCKET: requested.cri_socket}}}
            )
    except (ApiError, OSError):
        pass  # the annotation is optional: the node exists and is Ready
    finally:
        client.close()


def _windows_text(text: str) -> str:
    return re.sub(r"\"(/(?:etc|var)/[^\"]*)\"", lambda match: '"' + match[1].replace("/", "\\\\") + '"', text)
