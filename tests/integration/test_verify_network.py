# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""verify_network.yml with an account that has the rights in docs/rbac.yaml: its report, and that nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from integration import fork_server, forked_runs
from integration.limited_account import limited_kubeconfig
from integration.network_kubelet import NetworkKubelets
from integration.playbooks import ROOT
from simulator_tests.cluster.node_client import Client
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster

pytestmark = [pytest.mark.waits, pytest.mark.integration]

SELECTOR = "/api/v1/namespaces?labelSelector=winkube.node%2Fpurpose%3Dnetwork-check"
NODES = {"win1": "windows", "win2": "windows", "lin1": "linux"}
QUICK = {"verify_network_attempts": 2, "verify_network_result_timeout": 2, "verify_network_connect_timeout": 1,
         "verify_network_pod_timeout": 30, "verify_network_cleanup_timeout": 60}  # fmt: skip
PAUSES = {fork_server.PAUSES: "0.15"}
"""The module polls once per second, and waits five seconds before it repeats a probe. The model network responds after
0.2 seconds."""


@pytest.fixture(scope="module")
def kubeconfig(cluster: SimulatedCluster, folder: Path) -> Path:
    return limited_kubeconfig(cluster, folder)


@pytest.fixture(scope="module")
def kubelets(admin: Client) -> Iterator[NetworkKubelets]:
    with NetworkKubelets(admin, NODES) as kubelets:
        kubelets.wait()
        yield kubelets


@pytest.fixture(autouse=True)
def sound(kubelets: NetworkKubelets) -> Iterator[None]:
    """Repair the network after each test."""
    yield
    kubelets.removes_namespaces = True
    network = kubelets.network
    for fault in (network.broken, network.silent, network.enforcing, network.no_image):
        fault.clear()


def command(folder: Path, kubeconfig: Path, **variables: Any) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a run. No host of the inventory exists."""
    (folder / "hosts.json").write_text(json.dumps({"node_windows": {"hosts": {"windows01": {}}}}), encoding="utf-8")
    given = json.dumps({"kubeconfig": str(kubeconfig), **QUICK, **variables})
    playbook = str(ROOT / "playbooks" / "verify_network.yml")
    words = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts.json", playbook, "-e", given]
    home = {"LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1", **PAUSES}
    return words, {**os.environ, **home}


def run(folder: Path, kubeconfig: Path, *options: str, **variables: Any) -> tuple[int, str, Mapping[str, Any]]:
    """Run the playbook, and return its exit status, its output and its JSON report."""
    words, environment = command(folder, kubeconfig, **variables)
    code, output = forked_runs.execute([*words, *options], folder, environment)
    report = folder / "build" / "network.json"
    document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return code, output, document


def namespaces(admin: Client) -> list[str]:
    return [one["metadata"]["name"] for one in admin.get(SELECTOR)["items"]]


def rows(document: Mapping[str, Any], status: str) -> set[tuple[str, str, str]]:
    return {(one["check"], one["from"], one["to"]) for one in document["results"] if one["status"] == status}


def test_a_network_that_works_passes(
    tmp_path: Path, kubeconfig: Path, admin: Client, kubelets: NetworkKubelets
) -> None:
    # The cluster's own controller removes the namespace here.
    kubelets.removes_namespaces = False
    code, output, document = run(tmp_path, kubeconfig)
    assert code == 0, output
    assert document["ok"] is True
    assert rows(document, "failed") == rows(document, "not_run") == set()
    assert {kind for kind, _source, _target in rows(document, "passed")} == {
        "pod_to_pod", "service_ip", "service_dns", "node_port", "outbound"
    }  # fmt: skip
    # No program enforces policies here.
    assert document["counts"]["not_applicable"] == 2
    assert f"{len(document['results'])} checks on 2 of 2 Windows nodes and 1 Linux node: 0 failed, 0 not run" in output
    assert "The pod network passed." in (tmp_path / "build" / "network.html").read_text(encoding="utf-8")
    assert namespaces(admin) == []


def test_what_is_broken_fails_the_run(
    tmp_path: Path, kubeconfig: Path, admin: Client, kubelets: NetworkKubelets
) -> None:
    kubelets.network.broken = {("win1", "lin1")}
    code, output, document = run(tmp_path, kubeconfig)
    assert code == 2, output
    assert ("pod_to_pod", "win1", "lin1") in rows(document, "failed")
    assert ("pod_to_pod", "lin1", "win1") in rows(document, "passed")
    assert f"{document['problem']}; see build/network.html" in output
    assert namespaces(admin) == []


def test_a_policy_is_enforced_or_the_run_fails(
    tmp_path: Path, kubeconfig: Path, admin: Client, kubelets: NetworkKubelets
) -> None:
    kubelets.network.enforcing = {"linux"}
    code, output, document = run(tmp_path, kubeconfig, verify_network_policy="expected")
    assert code == 2, output
    assert {target for kind, _source, target in rows(document, "failed")} == {"win1", "win2"}
    assert ("network_policy", "win1", "lin1") in rows(document, "passed")
    assert namespaces(admin) == []


def test_containers_that_never_end_do_not_pass(
    tmp_path: Path, kubeconfig: Path, admin: Client, kubelets: NetworkKubelets
) -> None:
    kubelets.network.silent = {"win1", "win2"}
    code, output, document = run(tmp_path, kubeconfig, verify_network_result_timeout=1)
    assert code == 2, output
    assert rows(document, "failed") == set()
    assert all(source.startswith("lin") for _kind, source, _target in rows(document, "passed"))
    assert "not run (" in output
    assert "the probe started, but reported no result within 2 seconds" in output
    more = {"verify_network_result_timeout": 1, "verify_network_allow_not_run": True}
    code, output, document = run(tmp_path, kubeconfig, **more)
    assert code == 0, output
    assert namespaces(admin) == []


def test_a_run_without_rights_creates_nothing(
    cluster: SimulatedCluster, tmp_path: Path, kubeconfig: Path, admin: Client
) -> None:
    binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/winkube:verify-network"
    kept = admin.get(binding)
    admin.request("DELETE", binding)
    try:
        code, output = wait_for(lambda: _denied(tmp_path, kubeconfig), "the account has lost its rights")
        assert code == 2
        assert "create namespaces" in output or "namespaces (to create and delete the namespace" in output
        assert namespaces(admin) == []
    finally:
        del kept["metadata"]["resourceVersion"]
        del kept["metadata"]["uid"]
        admin.request("POST", binding.rpartition("/")[0], kept)


def _denied(folder: Path, kubeconfig: Path) -> tuple[int, str] | None:
    code, output, _document = run(folder, kubeconfig)
    return (code, output) if "lacks permissions" in output else None


def module_process(admin: Client) -> int:
    """Return the process of the module, which its namespace records."""
    (namespace,) = admin.get(SELECTOR)["items"]
    return int(json.loads(namespace["metadata"]["annotations"]["winkube.node/network-check"])["process"])


def family(pid: int) -> list[int]:
    """Return a process and its descendants, parents first."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, children.read_text(encoding="utf-8").split())
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_leaves_nothing_for_long(
    tmp_path: Path, kubeconfig: Path, admin: Client, kubelets: NetworkKubelets, number: signal.Signals
) -> None:
    kubelets.network.silent = set(NODES)
    words, environment = command(tmp_path, kubeconfig, verify_network_result_timeout=600)
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        (left,) = wait_for(lambda: namespaces(admin), "the run has begun")
        pods = f"/api/v1/namespaces/{left}/pods"
        wait_for(lambda: "probe-0" in str(admin.get(pods)["items"]), "there is a probe")
        if number == signal.SIGINT:
            # As the terminal does for Ctrl-C.
            os.killpg(process.pid, number)
        else:
            # Each of Ansible's workers has its own session. End the module first, which is the last descendant.
            for each in [module_process(admin), *family(process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, number)
        process.wait(90)
    if number == signal.SIGINT:
        # The run itself deletes its namespace.
        wait_for(lambda: namespaces(admin) == [], "the namespace is gone")
        return
    assert namespaces(admin) == [left]
    kubelets.network.silent = set()
    code, output, document = run(tmp_path, kubeconfig)
    assert code == 0, output
    assert document["interrupted"] == [left], output + json.dumps(admin.get(SELECTOR)["items"])
    assert namespaces(admin) == []


def test_check_mode_lists_the_checks(tmp_path: Path, kubeconfig: Path, admin: Client) -> None:
    code, output, document = run(tmp_path, kubeconfig, "--check")
    assert (code, document) == (0, {}), output
    assert "this is a run in check mode" in output
    assert namespaces(admin) == []
