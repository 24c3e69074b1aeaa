# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Processes of HostProcess pods that are ended from outside: their containers exit, and the kubelet restarts them."""

from __future__ import annotations

import time

import pytest
from simulator_tests.waiting import wait_for

from .conftest import Admin, Node
from .test_pods import join, running, statuses, with_flannel

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("simulated_kubeadm")]


def test_a_killed_process_of_a_pod_is_started_again_by_the_kubelet_only(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    read = with_flannel(node, cluster)
    running(read)
    machine = node.machine
    machine.services.stop("kubelet", force=True)
    for process in machine.processes.all():
        if process.name == "flanneld.exe":
            machine.processes.kill(process)
    time.sleep(0.5)  # five times watch_seconds
    assert [process.name for process in machine.processes.all() if process.name == "flanneld.exe"] == []

    machine.services.start("kubelet")

    def restarted() -> bool:
        return any(item["restartCount"] > 0 and "running" in item["state"] for item in statuses(read()))

    wait_for(restarted, "the container is started again")
    (last,) = [item["lastState"]["terminated"] for item in statuses(read())]
    assert (last["exitCode"], last["reason"]) == (-1, "Error")
