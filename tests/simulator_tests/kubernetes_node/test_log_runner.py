# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The logs of a node's services: kube-log-runner redirects output, containerd has its own flag, the rest is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.kubelet import log_runner
from simulator.machine.services import ServiceError

from .conftest import CONFIG_V2, CONTAINERD, KUBELET, Node

pytestmark = pytest.mark.waits

RUNNER = r"C:\k\kube-log-runner.exe"
LOG = r"C:\var\log\kubelet\kubelet.log"
STANDALONE = r"C:\k\kubelet.exe --windows-service --config=C:\var\lib\kubelet\config.yaml"
CONFIGURATION = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    """Return a machine with the programs of Kubernetes, including kube-log-runner, on which containerd runs."""
    node = make_node()
    node.install_kubernetes()
    node.put(RUNNER, "kube-log-runner", node.kubernetes)
    node.write(r"C:\var\lib\kubelet\config.yaml", CONFIGURATION)
    node.start_containerd()
    return node


def start(node: Node, image: str) -> str:
    """Set the image path of the kubelet's service, start it, and return its state."""
    node.machine.services.configure("kubelet", ImagePath=image)
    node.machine.services.start("kubelet")
    service = node.machine.services.get("kubelet")
    assert service is not None
    return service.state


def programs(node: Node) -> set[str]:
    return {process.name for process in node.machine.processes.all() if process.name.startswith("kube")}


def test_log_runner_starts_the_kubelet_and_keeps_its_output(node: Node) -> None:
    node.machine.files.make_directory(r"C:\var\log\kubelet")
    assert start(node, f"{RUNNER} -log-file={LOG} -log-file-size=50Mi -log-file-age=168h {STANDALONE}") == "Running"
    assert programs(node) == {"kube-log-runner.exe", "kubelet.exe"}
    wait_for(lambda: '"Kubelet version"' in node.machine.files.read_text(LOG), "the kubelet says its version")
    node.machine.services.stop("kubelet")
    assert programs(node) == set()
    before = node.machine.files.read_text(LOG)
    node.machine.services.start("kubelet")
    wait_for(lambda: len(node.machine.files.read_text(LOG)) > len(before), "the kubelet logs again")
    assert node.machine.files.read_text(LOG).startswith(before)


def test_the_log_file_stays_open_while_log_runner_runs(node: Node) -> None:
    node.machine.files.make_directory(r"C:\var\log\kubelet")
    handles = node.machine.files.open
    with handles.hold(LOG, "r", "r"):
        with pytest.raises(ServiceError) as refused:
            start(node, f"{RUNNER} -log-file={LOG} {STANDALONE}")
        assert refused.value.code == 1053
    assert start(node, f"{RUNNER} -log-file={LOG} {STANDALONE}") == "Running"
    assert (handles.blocks(LOG, "d"), handles.blocks(LOG, "r"), handles.blocks(LOG, "w")) == (True, False, False)
    assert handles.blocks_below(r"C:\var\log")
    node.machine.services.stop("kubelet")
    wait_for(lambda: not handles.blocks(LOG, "d"), "the file is closed")


def test_an_exiting_kubelet_ends_log_runner_with_the_reason(node: Node) -> None:
    node.machine.files.make_directory(r"C:\var\log\kubelet")
    start(node, f"{RUNNER} -log-file {LOG} {KUBELET}")

    def ended() -> bool:
        service = node.machine.services.get("kubelet")
        return service is not None and service.state == "Stopped" and service.exit_code == 1067

    wait_for(ended, "the service ends")
    assert "unable to load bootstrap kubeconfig" in node.machine.files.read_text(LOG)
    assert programs(node) == set()


@pytest.mark.parametrize(
    ("version", "image"),
    [
        # The folder of the log file does not exist.
        ("1.37.1", rf"{RUNNER} -log-file=C:\no\such\folder\kubelet.log {STANDALONE}"),
        # kube-log-runner has this flag only since 1.34.
        ("1.33.13", rf"{RUNNER} -log-file=C:\kubelet.log -log-file-size=50Mi {STANDALONE}"),
        ("1.37.1", rf"{RUNNER} -log-file=C:\kubelet.log -no-such-flag {STANDALONE}"),
        ("1.37.1", rf"{RUNNER} -log-file=C:\kubelet.log"),
        ("1.37.1", rf"{RUNNER} -log-file=C:\kubelet.log C:\k\missing.exe --windows-service"),
        # The kubelet itself rejects these.
        ("1.37.1", rf"{RUNNER} -log-file=C:\kubelet.log {STANDALONE} --no-such-flag"),
        ("1.37.1", rf"{RUNNER} -log-file=C:\kubelet.log {STANDALONE.replace('--windows-service ', '')}"),
    ],
)
def test_reasons_that_prevent_the_start(node: Node, version: str, image: str) -> None:
    node.put(RUNNER, "kube-log-runner", version)
    with pytest.raises(ServiceError) as refused:
        start(node, image)
    assert refused.value.code == 1053
    assert programs(node) == set()


def test_without_rotation_an_older_one_starts(node: Node) -> None:
    node.put(RUNNER, "kube-log-runner", "1.30.4")
    assert start(node, rf"{RUNNER} -log-file=C:\kubelet.log {STANDALONE}") == "Running"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([r"C:\k\kubelet.exe", "--v=2"], [r"C:\k\kubelet.exe", "--v=2"]),
        (["C:/k/Kube-Log-Runner.EXE", "-also-stdout", "--log-file", "x", r"C:\k\kubelet.exe"], [r"C:\k\kubelet.exe"]),
    ],
)
def test_the_processes_that_run_in_the_end(argv: list[str], expected: list[str]) -> None:
    assert log_runner.command(argv) == expected


def test_containerd_logs_to_its_file_or_nowhere(make_node: Callable[..., Node]) -> None:
    node = make_node(containerd="1.7.35")
    node.start_containerd(CONFIG_V2)
    events, services = list(node.machine.services.events), node.machine.services
    files = {entry.path for entry in node.machine.files.walk("C:\\") if entry.path.endswith(".log")}
    assert not files
    assert not [text for text in events if "containerd" in text]
    services.stop("containerd", force=True)
    log = r"C:\var\log\containerd\containerd.log"
    image = rf"{CONTAINERD}\containerd.exe --run-service --config {CONTAINERD}\config.toml --log-file {log}"
    services.configure("containerd", ImagePath=f"{image} --log-level info")
    with pytest.raises(ServiceError) as refused:
        services.start("containerd")
    assert refused.value.code == 1053
    node.machine.files.make_directory(log.rpartition("\\")[0])
    services.start("containerd")
    assert "containerd successfully booted" in node.machine.files.read_text(log)
