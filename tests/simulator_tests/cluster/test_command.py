# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`python -m simulator.cluster` runs a cluster until it gets a signal, and leaves no files and no processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from simulator_tests.waiting import wait_for

from simulator.cluster import ClusterUnavailableError, real_unavailable, start_cluster

pytestmark = pytest.mark.waits

TESTS = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["memory", pytest.param("real", marks=pytest.mark.control_plane)])
def test_the_command_serves_until_it_is_stopped(kind: str, tmp_path: Path) -> None:
    if kind == "real" and (reason := real_unavailable()):
        pytest.skip(reason)
    file, temporary = tmp_path / "out" / "kubeconfig", tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "simulator.cluster", "--kind", kind, "--kubeconfig", str(file)]
    command += ["--address", "127.0.0.9", "--cluster-name", "tried"]
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(command, cwd=TESTS, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert (facts["kind"], facts["version"]) == (kind, "1.37.1")
        assert facts["server"].startswith("https://127.0.0.9:")
        assert file.stat().st_mode & 0o777 == 0o600
        config = yaml.safe_load(file.read_text())
        assert config["clusters"][0]["cluster"]["server"] == facts["server"]
        children = list(_children(process.pid))
        programs = {Path(f"/proc/{one}/comm").read_text().strip() for one in children}
        assert {"etcd", "kube-apiserver", "kube-scheduler"} <= programs or kind == "memory"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert process.returncode == 0
    assert not file.exists()
    assert list(temporary.iterdir()) == []
    wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in children), "its programs are gone")


@pytest.mark.control_plane
def test_programs_end_when_their_starter_is_killed(tmp_path: Path) -> None:
    if reason := real_unavailable():
        pytest.skip(reason)
    command = [
        sys.executable,
        "-m",
        "simulator.cluster",
        "--kind",
        "real",
        "--kubeconfig",
        str(tmp_path / "kubeconfig"),
    ]
    (temporary := tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(command, cwd=TESTS, env=environment, stdout=subprocess.PIPE, text=True)
    # The process is killed during its start, when some programs of the control plane run.
    children = wait_for(lambda: len(found := _children(process.pid)) >= 3 and found, "some programs run")
    process.kill()
    process.wait()
    wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in children), "its programs are gone")
    wait_for(lambda: not list(temporary.iterdir()), "its folder is gone")


def test_a_fork_does_not_stop_the_cluster() -> None:
    with start_cluster("memory") as cluster:
        if (child := os.fork()) == 0:
            cluster.stop()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert cluster.kubeconfig.exists()


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_without_programs_the_real_kind_fails_and_auto_means_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(ClusterUnavailableError, match="KUBEBUILDER_ASSETS is not the path of a folder"):
        start_cluster("real")
    with start_cluster() as cluster:
        assert cluster.kind == "memory"
    cluster.stop()  # a second stop does nothing
