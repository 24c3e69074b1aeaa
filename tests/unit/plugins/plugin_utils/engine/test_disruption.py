# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import SERVER_2022, answer, one

from ansible_collections.winkube.node.plugins.plugin_utils.engine.disruption import disruption
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import (
    Change,
    ServiceEffect,
    ServiceInterruption,
)
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call

FILE = {"type": "File", "name": "C:\\f", "content": "x"}
SERVICE = {"type": "Service", "name": "kubelet", "path": "C:\\k\\kubelet.exe", "arguments": ["--v=2"]}
KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\kubelet"


def change(*calls: Call, **more: t.Any) -> Change:
    return Change(why="", before={}, after={}, calls=calls, **more)


def interruption(service: str) -> ServiceInterruption:
    return ServiceInterruption(service=service)


def of(resource: dict[str, t.Any], *calls: Call, **more: t.Any) -> str:
    return disruption(one(**resource), change(*calls, **more))


def test_a_reboot_always_disrupts_pods() -> None:
    assert of(FILE, reboot="always") == "reboots the node"
    assert of({**FILE, "disrupts": False}, reboot="if_reported") == "may reboot the node"
    assert of(FILE, reboot_codes=(3010,)) == "may reboot the node"


def test_plain_changes_do_not() -> None:
    assert of(FILE) == ""
    assert of({**FILE, "restarts": ["w32time"]}) == ""
    assert of({**FILE, "disrupts": True}, harmless=True) == ""


@pytest.mark.parametrize("service", ["kubelet", "KubeLet", "containerd", "docker", "cri-dockerd", "kube-proxy", "hns"])
def test_restarting_a_service_that_pods_need_disrupts_them(service: str) -> None:
    assert of({**FILE, "restarts": ["w32time", service]}) == f"restarts {service.lower()}"
    assert of({**FILE, "restarts": [service], "disrupts": False}) == ""


def test_a_resource_states_whether_it_disrupts_pods() -> None:
    assert of({**FILE, "disrupts": True}) == "changes what pods use"
    # The more precise reason, if there is one.
    assert of({**FILE, "disrupts": True, "restarts": ["kubelet"]}) == "restarts kubelet"


def test_a_change_says_which_services_it_interrupts() -> None:
    assert of(FILE, interruptions=(interruption("KubeLet"), interruption("w32time"))) == "restarts kubelet"
    assert of(FILE, interruptions=(interruption("w32time"),)) == ""
    stops = ServiceEffect(service="flanneld", effect="stops")
    flanneld = {"type": "Service", "name": "flanneld", "state": "absent"}
    assert of(flanneld, service=stops, interruptions=(interruption("flanneld"),)) == "stops flanneld"
    assert of(flanneld, service=stops) == ""


def test_an_archive_interrupts_the_services_that_run_its_files() -> None:
    archive = one(type="Archive", name="C:\\k", path="C:\\k.zip", stops=["kubelet"])
    seen = {call.id: answer({"path": "C:\\k.zip", "exists": False}) for call in archive.observe()}
    planned = archive.plan(seen, SERVER_2022)
    assert planned is not None
    assert disruption(archive, planned) == "restarts kubelet"
    (kubelet,) = planned.interruptions
    (start,) = (call for call in planned.calls if call.id == kubelet.start)
    assert (kubelet.service, start.command) == ("kubelet", "Start-Service")


def service(status: str, command_line: str, **more: t.Any) -> str:
    resource = one(**SERVICE, **more)
    values = {"ImagePath": {"value": command_line}, "Start": {"value": 2}}
    seen = {
        "service": answer({"Name": "kubelet", "Status": status}),
        "definition": answer({"key_exists": True, "values": values}),
    }
    planned = resource.plan(seen, SERVER_2022)
    return disruption(resource, planned) if planned else "nothing to do"


OLD, SAME = "C:\\k\\kubelet.exe --v=1", "C:\\k\\kubelet.exe --v=2"


def test_a_running_service_with_other_arguments_is_restarted() -> None:
    assert service("Running", SAME) == "nothing to do"
    assert service("Running", OLD) == "restarts kubelet"
    assert service("Running", SAME, description="another") == ""


def test_a_service_that_does_not_run_may_be_started_and_changed() -> None:
    assert service("Stopped", OLD, state="running") == ""
    assert service("Running", SAME, state="stopped") == "stops kubelet"


def test_a_start_that_cuts_the_link_changes_the_network() -> None:
    assert service("Stopped", SAME, state="running", cuts_connection=True) == "changes the network"


@pytest.mark.parametrize("state", ["stopped", "absent"])
def test_a_running_service_that_has_to_stop_is_stopped(state: str) -> None:
    assert service("Running", SAME, state=state) == "stops kubelet"
