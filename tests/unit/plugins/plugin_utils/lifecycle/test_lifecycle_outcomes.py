# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete results of many cases: calls for images and joins, parsing their results, and reasons for errors."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from typing import Any

import pytest
from unit import outcomes
from unit.resource_answers import SERVER_2022

from ansible_collections.winkube.node.plugins.plugin_utils.engine import managed_marks
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import uplink
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import (
    image_identity,
    image_proxies,
    join_state,
    known_failures,
    kubeadm_failures,
    sealing,
    sysprep,
    sysprep_failures,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_state import JoinState
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.node_names import NameClaim, problems
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallError, CallResult, Observation

LISTENERS = [sysprep.WinRmListener("*", "AB12"), sysprep.WinRmListener("IP:10.0.0.5", "")]


def ok(*output: Any) -> CallResult:
    return CallResult(ok=True, output=output)


def test_every_call_of_an_image() -> None:
    removal = image_proxies.findings(proxies({"HTTP_PROXY": SECRET}))[0].removal
    found = {
        "look": sysprep.inspection_calls(),
        "registries": sysprep.registry_calls(node_paths.CONTAINERD_REGISTRIES),
        "contents": (sysprep.content_call(["C:\\a", "C:\\b"]),),
        "identity": image_identity.inspection_calls(["packer"]),
        "end": sealing.calls(sealed("power_off", removal)),
        "end by the builder": sealing.calls(sealed("leave_running")),
        "end by a command": sealing.calls(sealed("shutdown_command")),
        "task": sealing.arming_calls("12345678"),
        "follow": sealing.follow_calls("12345678"),
        "logs": sysprep_failures.log_calls(),
        "proxies": image_proxies.calls(),
        "proxies of another docker": image_proxies.calls("D:\\daemon.json"),
        "join": join_state.calls(),
        "join by name": join_state.calls("cp.example"),
    }
    outcomes.check("lifecycle/calls", {case: outcomes.calls(calls) for case, calls in found.items()})


def sealed(end: sealing.End, *removals: Call) -> sealing.Sealing:
    """Return the parts of the batch that ends a build."""
    found = image_identity.MachineIdentity(accounts=("packer",), user_apps=("App_1_x64__8w",), certificates=("CD34",))
    return sealing.Sealing(
        key="12345678",
        end=end,
        preparing=(*sysprep.preparing_calls(["C:\\Windows\\Temp\\*"]), *image_identity.app_calls(found)),
        secrets=sysprep.secret_calls("delayed-auto", ["C:\\a", "C:\\b"], removals),
        sysprep=sysprep.sysprep_call("C:\\unattend.xml", 3.0),
        timeout=3.0,
        lasting=image_identity.removal_calls(found),
        closing=(*image_identity.closing_calls(found), *sysprep.winrm_calls(LISTENERS)),
    )


def test_the_reason_of_a_failure_comes_from_the_logs() -> None:
    def reason(*contents: str | None) -> str:
        return sysprep_failures.reason(Observation(calls={"logs": ok(*({"content": text} for text in contents))}))

    ending = "sysprep's log ends with:\n"
    assert reason(None, "") == "sysprep left no log"
    assert reason("  \n", "activity\n") == f"{ending}activity"
    assert reason("error\n", "activity\n") == f"{ending}error"
    assert reason("\n".join(map(str, range(20)))) == ending + "\n".join(map(str, range(8, 20)))
    app = "Package Contoso was installed for a user, but not provisioned for all users."
    assert reason("", app).startswith("the app package Contoso was installed for one user only. Set sysprep_user_apps")
    old = f"{app}\n=== Beginning of a new sysprep run ===\nBitLocker is on for the OS volume."
    assert reason("", old).startswith("the volume of Windows is encrypted")


@pytest.mark.parametrize(("data", "least"), [(sysprep_failures.DATA, 10), (kubeadm_failures.DATA, 5)])
def test_each_known_failure_has_a_pattern_and_a_source(data: str, least: int) -> None:
    failures = known_failures.load(data)
    assert len(failures) >= least
    for failure in failures:
        assert re.compile(failure.pattern).search("") is None
        assert "." in failure.source


SECRET = "http://me:S3cret@proxy.example:3128"


def proxies(
    machine: dict[str, object] | None = None,
    notes: dict[str, object] | None = None,
    services: dict[str, object] | None = None,
    *daemons: str,
) -> Observation:
    def values(given: dict[str, object] | None) -> dict[str, Any]:
        return {"values": {name: {"value": value} for name, value in given.items()}} if given is not None else {}

    asked: Any = image_proxies.calls()[0].parameters["values"]
    names = [entry["path"].rpartition("\\")[2] for entry in asked[2:]]
    entries = [{"value": (services or {}).get(name)} for name in names]
    files = [{"path": f"C:\\{number}.json", "content": text} for number, text in enumerate(daemons)]
    return Observation(calls={"proxies": ok(values(machine), values(notes), *entries), "docker-proxies": ok(*files)})


def test_passwords_of_proxies_are_found_and_removed() -> None:
    everywhere = proxies(
        {"Path": "C:\\", "HTTP_PROXY": SECRET, "no_proxy": "me:x@h:1", "URL": SECRET, "MAIL": "me:x@h:1", "none": None},
        {"Service x": "auto", "Environment HTTP_PROXY": json.dumps({"value": SECRET})},
        {
            "containerd": [f"HTTPS_PROXY={SECRET}", "NO_PROXY=.svc", f"X={SECRET}", "ftp_proxy=a:b@h:1"],
            "kubelet": [f"HTTP_PROXY={SECRET}"],
            "docker": f"HTTP_PROXY={SECRET}",
            "flanneld": ["A=b"],
        },
        "\ufeff" + json.dumps({"mtu": 1400, "proxies": {"http-proxy": SECRET, "no-proxy": ".svc", "x": "a:b@h:1"}}),
        json.dumps({"proxies": {"http-proxy": "http://proxy:3128"}}),
        json.dumps({"proxies": [1]}),
        "[]",
        "",
    )
    found = image_proxies.findings(everywhere)
    named = {one.place: outcomes.calls([one.removal]) for one in found}
    outcomes.check("lifecycle/proxies", named | {"refusal": [image_proxies.refusal(found)]})
    assert image_proxies.findings(proxies()) == []
    assert managed_marks.KEY in "".join(named["the collection's record of Environment HTTP_PROXY"]).replace(
        "\\\\", "\\"
    )


NOW = datetime.datetime(2026, 11, 1, 12, 0, 0, tzinfo=datetime.UTC)


WINDOWS = dataclasses.replace(SERVER_2022, computer_name="win-b", active_computer_name="win-a")


def machine(
    *,
    kubeconfig: str | None = None,
    note: str | None = None,
    record: str | None = None,
    service: bool = False,
    parameters: str | None = None,
) -> Observation:
    quiet = dict.fromkeys((call.id for call in uplink.calls()), ok())
    calls = {
        "kubeconfig": ok(
            {"exists": kubeconfig is not None, "content": kubeconfig},
            {"exists": note is not None, "content": note},
            {"exists": record is not None, "content": record},
        ),
        "service": ok({"exists": service}, {"exists": parameters is not None, "value": parameters}),
        **quiet,
    }
    return Observation(calls=calls, time="2026-11-01T12:00:30.1234567+00:00")


KUBECONFIG = 'clusters:\n- cluster:\n    server: "https://10.0.0.1:6443"\n  name: x\n'


def test_the_report_of_a_machine_is_read() -> None:
    plain = machine()
    failed = CallResult(ok=False, error=CallError(message="DNS name does not exist"))
    unresolved = Observation(calls={**plain.calls, "resolve": failed}, time="no time")
    found = {
        "a plain machine": plain,
        "a node": machine(kubeconfig=KUBECONFIG, note='{"plugin": "flannel"}', service=True),
        "a node whose files cannot be read": machine(kubeconfig="server: \n", note="{"),
        "a note that is a list": machine(note="[]"),
        "a node with commands left": machine(kubeconfig=KUBECONFIG, record="2\n"),
        "a node with a record that is not a number": machine(kubeconfig=KUBECONFIG, record="two"),
        "a machine from an image": machine(service=True, parameters=r"-File C:\k\kubelet-launcher.ps1"),
        "a machine whose nssm runs the kubelet": machine(service=True, parameters="--v=4"),
        "a machine whose join failed": machine(record="0\n"),
        "no endpoint": unresolved,
        "an endpoint": Observation(calls={**plain.calls, "resolve": ok({"Name": "x"})}),
    }
    read = {case: join_state.read(seen, WINDOWS, NOW) for case, seen in found.items()}
    unnamed = dataclasses.replace(WINDOWS, active_computer_name="")
    outcomes.check(
        "lifecycle/machines", {**read, "a machine without an active name": join_state.read(plain, unnamed, NOW)}
    )


def state(**more: Any) -> JoinState:
    usual = {"joined": False, "server": "", "prepared": True, "computer_name": "win-a", "clock_skew": 0.0}
    return JoinState(**{**usual, "windows": WINDOWS, **more})


JOINED = {"joined": True, "server": "10.0.0.1:6443"}
PROBLEMS: dict[str, tuple[JoinState, dict[str, Any]]] = {
    "none": (state(), {}),
    "another name": (state(), {"node_name": "win-b"}),
    "the same name in capitals": (state(), {"node_name": "WIN-A"}),
    "the same first 15 letters": (state(computer_name="a" * 15), {"node_name": "a" * 16}),
    "other first 15 letters": (state(computer_name="a" * 14), {"node_name": "a" * 16}),
    "it is renamed first": (state(), {"node_name": "win-b", "next_name": "win-b"}),
    "it is renamed to something else": (state(), {"node_name": "win-a", "next_name": "win-b"}),
    "another name, but it has joined": (state(**JOINED), {"node_name": "win-b"}),
    "no name": (state(computer_name=""), {"node_name": "win-b"}),
    "a node that is refused": (state(**JOINED), {"refuse_joined": True}),
    "a node of an unknown cluster that is refused": (state(joined=True), {"refuse_joined": True}),
    "no node that would be refused": (state(), {"refuse_joined": True}),
    "not prepared": (state(prepared=False), {"require_prepared": True}),
    "not prepared, and nobody cares": (state(prepared=False), {}),
    "another cluster": (state(**JOINED), {"cluster_servers": ["10.0.0.9:6443", "10.0.0.8:6443"]}),
    "the cluster's second address": (state(**JOINED), {"cluster_servers": ["10.0.0.9:6443", "10.0.0.1:6443"]}),
    "a node of an unknown cluster": (state(joined=True), {"cluster_servers": ["10.0.0.9:6443"]}),
    "no node of a cluster": (state(server="x"), {"cluster_servers": ["10.0.0.9:6443"]}),
    "no endpoint": (state(unresolved="does not exist"), {}),
    "no endpoint, but it has joined": (state(unresolved="does not exist", **JOINED), {}),
    "ahead": (state(clock_skew=61.4), {}),
    "behind": (state(clock_skew=-90.0), {}),
    "just right": (state(clock_skew=60.0), {}),
    "ahead, and nobody cares": (state(clock_skew=600.0), {"skew_limit": 0}),
}


def test_machines_that_cannot_join_get_the_reason() -> None:
    usual = {"cluster_servers": [], "skew_limit": 60.0, "refuse_joined": False, "require_prepared": False}
    found = {
        case: list(join_state.problems(seen, **{**usual, **options})) for case, (seen, options) in PROBLEMS.items()
    }
    outcomes.check("lifecycle/join_problems", found)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({"os": "linux"}, "that is a node with the operating system linux"),
        ({"os": "windows", "addresses": ["1", "2"]}, "that is a node at 1, 2, not at 192.0.2.1"),
        ({"os": None}, "that is a node at an unknown address, not at 192.0.2.1"),
        ({"os": "", "addresses": None}, "that is a node at an unknown address, not at 192.0.2.1"),
    ],
)
def test_a_name_that_is_taken_is_refused_in_full(node: dict[str, Any], why: str) -> None:
    claim = NameClaim(host="image-1", name="win-x", address="192.0.2.1")
    remedy = "set kubernetes_node_hostname for this host"
    assert problems([claim], {"win-x": node}) == {"image-1": f"the machine reports the name win-x, but {why}; {remedy}"}
