# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is observed of a machine: services, those that nssm runs, their environment, the disk; and in which order."""

from __future__ import annotations

import typing as t

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import machine_facts
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.machine_facts import DiskSpace, MachineFacts
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import ObservationOptions, first_calls
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import FactsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.windows import registry_keys
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

KUBELET = registry_keys.KUBELET_SERVICE
NSSM = {
    (KUBELET, "ImagePath"): r'"C:\Program Files\nssm\nssm.exe"',
    (KUBELET, "Start"): 2,
    (KUBELET, "Environment"): ["No_Proxy=.example.com", "malformed"],
    (f"{KUBELET}\\Parameters", "Application"): r"C:\k\kubelet.exe",
    (f"{KUBELET}\\Parameters", "AppParameters"): r'--config="C:\my config.yaml" --v=2',
    (f"{KUBELET}\\Parameters", "AppEnvironmentExtra"): ["HTTPS_PROXY=http://p:1"],
    (registry_keys.ENVIRONMENT, "HTTPS_PROXY"): "http://machine:1",
    (registry_keys.ENVIRONMENT, "NO_PROXY"): "localhost",
}


def read(values: t.Mapping[tuple[str, str], t.Any], *, disk: t.Any = None) -> MachineFacts:
    """Read facts from registry values and the service kubelet, as the node returns them."""
    (requested,) = [call for call in machine_facts.calls() if call.id == "registry"]
    asked: t.Any = requested.parameters["values"]
    output = tuple({**one, "value": values.get((one["path"], one["name"]))} for one in asked)
    services = ({"Name": "kubelet", "Status": "Running"},)
    return machine_facts.read({
        "services": CallResult(ok=True, output=services),
        "registry": CallResult(ok=True, output=output),
        "disk": CallResult(ok=True, output=(disk,)) if disk else CallResult(ok=False),
    })  # fmt: skip


def test_a_kubelet_that_nssm_runs() -> None:
    found = read(NSSM)
    kubelet = found.services["kubelet"]
    assert kubelet.command == (r"C:\k\kubelet.exe", r"--config=C:\my config.yaml", "--v=2")
    assert (kubelet.running, kubelet.start_mode) == (True, "automatic")
    # Variables of the service precede those of the machine, and Windows ignores the case of names.
    assert found.environment_of("kubelet") == {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.com"}
    assert found.environment_of("hns") == {"HTTPS_PROXY": "http://machine:1", "NO_PROXY": "localhost"}


def test_a_kubelet_that_windows_runs() -> None:
    found = read({(KUBELET, "ImagePath"): r"C:\k\kubelet.exe --v=2", (KUBELET, "Start"): 4})
    assert found.services["kubelet"].command == (r"C:\k\kubelet.exe", "--v=2")
    assert found.services["kubelet"].start_mode == "disabled"
    assert list(found.services) == ["kubelet"]


def test_the_disk() -> None:
    assert read({}, disk={"free": 1, "total": 2}).disk == DiskSpace(free=1, total=2)
    assert read({}, disk={"free": 0, "total": 0}).disk is None
    assert read({}).disk is None


def test_a_runtime_that_hangs_is_waited_for_once_per_pipe() -> None:
    calls = first_calls(ObservationOptions(hns=FactsOptions(grace=1.0)))
    clients = [call for call in calls if call.command in ("crictl.exe", "ctr.exe")]
    free = [call.id for call in clients if not {"cri.info", "cri.docker-info"} & set(call.needs)]
    assert len(clients) > 15
    assert free == ["cri.info", "cri.docker-info"]


def test_the_state_of_hns_is_read_before_a_query_starts_it() -> None:
    names = [call.command for call in first_calls(ObservationOptions())]
    assert names.index("Get-Service") < min(names.index(name) for name in names if name.startswith("Get-Hns"))
