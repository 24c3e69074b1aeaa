# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing nodes' results, even unusual ones: HNS objects, runtimes, CNI files, services, adapters, journals."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.hns_models import result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import cni as hns_cni
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import objects
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import runtime as hns_runtime
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import services as hns_services
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import uplink as hns_uplink
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.journal import JOURNAL, Journal
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.objects import HnsNetwork
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.runtime import Programs, Runtime
from ansible_collections.winkube.node.plugins.plugin_utils.hns.guard import addresses as hns_guard
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.containerd import SIZES
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult
from ansible_collections.winkube.node.plugins.plugin_utils.wire.scopes import Scope

ID = "8f3b6c0de1c54f0d9a4b0f4f6d7c5e2a8f3b6c0de1c54f0d9a4b0f4f6d7c5e2a"
OTHER = "1" * 64
MISSING = CallResult(ok=False, error=CallError(id="CommandNotFoundException", category="ObjectNotFound"))
FAILED = CallResult(ok=False, exit_code=1, stderr="fatal: connection error\n", error=CallError(id="NativeCommandError"))
KEYS = [
    "ID", "Id", "Name", "Type", "Data", "Containers", "ResourceList", "References", "Policies", "VIPs", "Namespace",
    "SharedContainers", "Subnets", "AddressPrefix", "ExternalPort", "State", "Protocol", "VirtualNetwork",
    "IsRemoteEndpoint", "IsDefault",
]  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


def printed(text: str) -> CallResult:
    return CallResult(ok=True, exit_code=0, stdout=text)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), ODD), max_size=3))
def test_objects_of_any_shape_are_read(items: list[dict[str, t.Any]]) -> None:
    objects.read_objects(dict.fromkeys(objects.LISTINGS, items))


def test_ids_are_the_same_whatever_their_case() -> None:
    found = objects.read_objects(
        {
            "endpoints": [{"ID": "ab-1", "VirtualNetwork": "cd-2", "Namespace": {"ID": "ef-3"}}],
            "networks": [{"ID": "CD-2", "Name": "cbr0", "Type": "l2bridge"}],
            "namespaces": [{"ID": "EF-3"}],
            "policies": [{"ID": "P", "References": "/endpoints/ab-1"}],
        }
    )
    (endpoint,), (network,), (namespace,) = found.endpoints, found.networks, found.namespaces
    assert endpoint.network == network.id
    assert network.external
    assert found.in_namespace(namespace) == {endpoint.id} == found.policies[0].endpoints


# --- Runtimes.


def read_runtime(installed: str = "containerd", **answers: CallResult) -> Runtime:
    return hns_runtime.read(answers, installed.split())


def pods(*identities: str, state: str = "SANDBOX_READY") -> CallResult:
    items = [{"id": one, "metadata": {"name": "web", "namespace": "default"}, "state": state} for one in identities]
    return printed(json.dumps({"items": items}))


def test_an_owner_is_found_by_the_beginning_of_its_id() -> None:
    runtime = read_runtime(
        pods=pods(ID), containers=printed(f"{OTHER}\n"), ctr=printed(f"{ID}\n"), leases=printed(f"{ID}\n")
    )
    for claim in (ID, ID.upper(), ID[:12], ID[:8]):
        owner = runtime.find(claim)
        assert owner is not None
        assert owner.name == "default/web"
    assert runtime.find(OTHER[:12]) is not None
    assert runtime.find(ID[:7]) is None
    assert runtime.find(ID[:8] + "0000") is None
    assert runtime.has_leases


def test_one_client_of_the_runtime_is_sufficient_and_required() -> None:
    alone = read_runtime(pods=MISSING, containers=MISSING, ctr=printed(f"{ID}\n"), leases=printed(""))
    assert not alone.problem
    assert alone.find(ID) is not None
    assert "neither crictl nor ctr" in read_runtime(pods=MISSING, containers=MISSING, ctr=MISSING).problem
    assert read_runtime("", pods=pods(ID)).problem == "neither the containerd service nor the docker service can run"


@pytest.mark.parametrize("broken", ["pods", "containers", "ctr"])
def test_a_client_that_fails_is_a_problem(broken: str) -> None:
    answers = {"pods": pods(ID), "containers": printed(""), "ctr": printed(f"{ID}\n"), broken: FAILED}
    assert "connection error" in read_runtime(**answers).problem


@pytest.mark.parametrize("text", ["[]", '{"items": 1}', '{"items": [{}]}', "no JSON", '{"items": ["x"]}'])
def test_an_answer_that_cannot_be_read_is_a_problem(text: str) -> None:
    assert "crictl pods" in read_runtime(pods=printed(text), ctr=printed("")).problem


def test_a_sandbox_under_construction_has_only_a_lease() -> None:
    runtime = read_runtime(
        pods=pods(OTHER), containers=printed(""), ctr=printed(OTHER), leases=printed(f"{OTHER}\n{ID}\nnot-an-id\n")
    )
    assert {owner.kind for owner in runtime.owners.values()} == {"pod", "creating"}


def test_containers_of_other_namespaces_are_asked_for() -> None:
    """nerdctl and BuildKit run containers in addition to the kubelet's, with their own ids."""
    known = {
        "pods": pods(OTHER),
        "ctr-namespaces": printed("buildkit\nk8s.io\n"),
        "ctr-of:buildkit": printed("z9nerd-Build_1\n"),
    }
    runtime = read_runtime(**known)
    assert not runtime.problem
    assert runtime.find("z9nerd-build_1") is not None
    assert runtime.find("z9nerd-build") is not None
    more = read_runtime(**{**known, "ctr-namespaces": printed("buildkit\nk8s.io\nmine\n")})
    assert "namespaces that were not queried: mine (set containerd_namespaces)" in more.problem
    # After measuring container images, the collection's own namespace remains, without containers.
    own = read_runtime(**{**known, "ctr-namespaces": printed(f"buildkit\nk8s.io\n{SIZES}\n")})
    assert not own.problem
    skipped = CallResult(ok=False, skipped="ctr-namespaces failed")
    hangs = read_runtime(**{**known, "ctr-namespaces": FAILED, "ctr-of:buildkit": skipped})
    assert hangs.problem == "ctr namespaces list: fatal: connection error"
    needs = {call.id: call.needs for call in hns_runtime.calls(Programs())}
    assert needs["ctr-of:buildkit"] == ("ctr-namespaces",)
    for name in ("ctr-namespaces", "ctr-of:buildkit"):
        assert "connection error" in read_runtime(**{**known, name: FAILED}).problem


def test_docker_names_the_kubelets_pods() -> None:
    lines = [
        {"ID": ID, "Names": "k8s_POD_web-1_default_uid_0", "State": "running"},
        {"ID": OTHER, "Names": "db", "State": "exited"},
    ]
    runtime = read_runtime("docker", docker=printed("\n".join(map(json.dumps, lines))))
    first, second = runtime.find(ID), runtime.find(OTHER)
    assert first is not None
    assert second is not None
    assert (first.name, first.running, second.name, second.running) == ("default/web-1", True, "db", False)
    assert read_runtime("docker", docker=printed("oops")).problem.startswith("docker ps")
    assert read_runtime("docker", docker=MISSING).problem


def test_each_kind_is_listed_once() -> None:
    assert [call.id for call in hns_runtime.calls(Programs())] == [
        "pods", "containers", "ctr", "leases", "ctr-namespaces", "ctr-of:default", "ctr-of:moby",
        "ctr-of:buildkit", "docker",
    ]  # fmt: skip


# --- CNI.


def network(name: str, kind: str = "L2Bridge") -> HnsNetwork:
    return HnsNetwork(id="X", name=name, type=kind)


def test_networks_of_cnis_are_known_by_configuration_and_by_name() -> None:
    document = {"name": "Prod", "plugins": [{"type": "flannel", "delegate": {"type": "win-overlay"}}]}
    cni = hns_cni.read(
        {
            "cni-content": result([{"content": json.dumps(document)}, {"content": "{"}, {"content": "[]"}]),
            "cni-folders": result([{"FullName": hns_cni.HOST_LOCAL + "\\cbr0"}]),
            "cni-state": result(
                [
                    {"path": hns_cni.SUBNET_ENV, "exists": True, "content": "FLANNEL_NETWORK=10.244.0.0/16\n"},
                    {"path": "C:\\k\\azure-vnet.json", "exists": False},
                ]
            ),
        }
    )
    assert cni.overlay
    assert cni.pods_subnet == "10.244.0.0/16"
    for name in ("prod", "cbr0", "vxlan0", "flannel.4096", "azure", "azure-10-1", "Calico", "External", "l2bridge"):
        assert cni.made(network(name)), name
    for name, kind in (("nat", "NAT"), ("Default Switch", "ICS"), ("lab", "Transparent"), ("azure", "NAT")):
        assert not cni.made(network(name, kind)), name
    assert hns_cni.state_of(cni, ["cbr0"], False) == (hns_cni.SUBNET_ENV, hns_cni.HOST_LOCAL + "\\cbr0")
    assert hns_cni.state_of(cni, ["azure"], False) == ()
    assert len(hns_cni.state_of(cni, [], True)) == 2


def test_no_default_route_is_in_the_subnets_of_pods() -> None:
    assert hns_cni.inside("10.244.3.0/24", ["10.244.0.0/16"])
    for destination in ("0.0.0.0/0", "::/0", "10.0.0.0/8", "10.245.0.0/24", "nonsense"):
        assert not hns_cni.inside(destination, ["10.244.0.0/16", "nonsense", "fd00::/64"])


# --- Services.


def test_services_start_in_the_documents_order_and_stop_before_the_runtime() -> None:
    names = ["flanneld", "kubelet", "docker", "kube-proxy", "csi-proxy", "unknown"]
    assert hns_services.start_order(names, overlay=False) == (
        "docker", "csi-proxy", "kubelet", "kube-proxy", "flanneld"
    )  # fmt: skip
    assert hns_services.start_order(names, overlay=True) == (
        "docker", "csi-proxy", "kubelet", "flanneld", "kube-proxy"
    )  # fmt: skip
    assert hns_services.stop_order(names) == ("kube-proxy", "flanneld", "kubelet", "csi-proxy")


def test_a_runtime_that_is_disabled_is_not_asked() -> None:
    keys = [{"path": f"HKLM:\\SYSTEM\\CurrentControlSet\\Services\\{name}", "value": mode} for name, mode in
            (("docker", 4), ("containerd", 2), ("kubelet", 3))]  # fmt: skip
    listed = [{"Name": "Docker", "Status": "Stopped"}, {"Name": "containerd", "Status": "Stopped"}]
    found = hns_services.read({"services": result(listed), "service-keys": result(keys)})
    assert [(service.name, service.start_mode) for service in found] == [
        ("docker", "disabled"),
        ("containerd", "automatic"),
    ]
    # A service that is stopped, but may start again, counts as running. Then it is unknown which containers exist.
    assert hns_services.installed_runtimes(found) == ("containerd",)


# --- Adapters.

CARDS: dict[str, t.Any] = {
    "adapters": [
        {"Name": "Ethernet", "ifIndex": 5, "MacAddress": "00-aa", "HardwareInterface": True},
        {"Name": "vEthernet (Ethernet)", "ifIndex": 20, "MacAddress": "00-AA", "HardwareInterface": False},
        {"Name": "vEthernet (nat)", "ifIndex": 30, "MacAddress": "00-BB", "HardwareInterface": False},
    ],
    "interfaces": [{"InterfaceIndex": 20, "Dhcp": "Disabled"}, {"InterfaceIndex": 30, "Dhcp": "Disabled"}],
    "addresses": [
        {"InterfaceIndex": 20, "IPAddress": "10.0.0.5", "PrefixLength": 24, "PrefixOrigin": "Manual"},
        {"InterfaceIndex": 20, "IPAddress": "fe80::1", "PrefixLength": 64, "PrefixOrigin": "WellKnown"},
        {"InterfaceIndex": 30, "IPAddress": "172.20.0.1", "PrefixLength": 24, "PrefixOrigin": "Manual"},
    ],
    "routes": [
        {"InterfaceIndex": 20, "DestinationPrefix": "0.0.0.0/0", "NextHop": "10.0.0.1", "RouteMetric": 256},
        {"InterfaceIndex": 20, "DestinationPrefix": "10.0.0.0/24", "NextHop": "0.0.0.0", "RouteMetric": 256},
    ],
    "dns": [{"InterfaceIndex": 20, "ServerAddresses": "10.0.0.2"}],
}


def adapters(**more: t.Any) -> hns_uplink.AdapterFacts:
    return hns_uplink.read({name: result(items) for name, items in {**CARDS, **more}.items()})


def test_static_settings_of_external_adapters_are_found() -> None:
    (uplink,) = adapters().uplinks
    assert uplink == hns_uplink.Uplink(
        mac="00-AA",
        alias="Ethernet",
        addresses=(("10.0.0.5", 24),),
        routes=(("0.0.0.0/0", "10.0.0.1", 256),),
        dns=("10.0.0.2",),
    )
    assert hns_uplink.Uplink.from_json(json.loads(json.dumps(uplink.to_json()))) == uplink
    assert not hns_uplink.lost(uplink, adapters())
    assert not adapters(interfaces=[{"InterfaceIndex": 20, "Dhcp": "Enabled"}]).uplinks


@pytest.mark.parametrize(
    "change",
    [
        {"interfaces": [{"InterfaceIndex": 20, "Dhcp": "Enabled"}]},
        {"addresses": []},
        {"routes": []},
        {"dns": [{"InterfaceIndex": 20, "ServerAddresses": []}]},
    ],
)
def test_an_adapter_that_lost_a_setting_is_found(change: dict[str, t.Any]) -> None:
    (uplink,) = adapters().uplinks
    assert hns_uplink.lost(uplink, adapters(**change))


ALONE = [
    {"Name": "Ethernet", "ifIndex": 20, "MacAddress": "00-aa", "HardwareInterface": True, "Status": "Up"},
    {"Name": "Storage", "ifIndex": 30, "MacAddress": "00-cc", "HardwareInterface": True, "Status": "Up"},
    # Tunnels have no address.
    {"Name": "Teredo", "ifIndex": 40, "MacAddress": "", "HardwareInterface": False, "Status": "Up"},
    {"Name": "Modem", "ifIndex": 41, "MacAddress": "", "HardwareInterface": True, "Status": "Up"},
]


@pytest.mark.parametrize(
    ("change", "at_risk"),
    [
        ({}, ["Ethernet", "Storage"]),
        # A switch has either of them, so no first network will be created.
        ({"Name": "vEthernet (Storage)", "MacAddress": "00-CC", "HardwareInterface": False}, []),
        ({"Name": "vEthernet (Ethernet)", "MacAddress": "00-AA", "HardwareInterface": False}, []),
        ({"Name": "vEthernet (nat)", "MacAddress": "00-BB", "HardwareInterface": False}, ["Ethernet", "Storage"]),
    ],
)
def test_adapters_are_at_risk_until_one_has_a_switch(change: dict[str, t.Any], at_risk: list[str]) -> None:
    links = adapters(adapters=[*ALONE, *([{"ifIndex": 50, "Status": "Up", **change}] if change else [])])
    assert [one.alias for one in links.at_risk] == at_risk
    assert [one.alias for one in links.uplinks] == ["Ethernet", "Storage"]


def test_an_unplugged_adapter_is_not_at_risk() -> None:
    links = adapters(adapters=[ALONE[0], {**ALONE[1], "Status": "Disconnected"}])
    assert [one.alias for one in links.at_risk] == ["Ethernet"]


@settings(deadline=None)
@given(st.text(max_size=30))
def test_only_a_guards_own_note_is_read(content: str) -> None:
    uplinks = adapters(adapters=ALONE).at_risk
    note = hns_guard.calls(uplinks, content, network_timeout=9, settle=1)[0].parameters["content"]
    assert hns_guard.noted({"note": result([{"exists": True, "content": note}])}) == (content, uplinks)
    assert hns_guard.noted({"note": result([{"exists": True, "content": content}])}) == ("", ())
    assert hns_guard.noted({"note": result([{"exists": False}])}) == ("", ())
    assert hns_guard.noted({}) == ("", ())


def test_all_calls_that_restore_an_adapter_run_in_any_case() -> None:
    (uplink,) = adapters().uplinks
    calls = hns_uplink.restore_calls(uplink, Scope("u."))
    assert all(call.always and call.on_error == "continue" for call in calls)
    made = {call.command for call in calls if call.unless}
    assert made == {"New-NetIPAddress", "New-NetRoute", "Set-DnsClientServerAddress"}
    assert calls[-1].id == "u.check"


# --- Journals.


@settings(deadline=None)
@given(st.text(max_size=20), st.lists(st.text(max_size=9), max_size=3))
def test_a_journal_contains_what_was_written(key: str, services: list[str]) -> None:
    journal = Journal(key=key, services=tuple(services), uplinks=adapters().uplinks)
    call = journal.write_call()
    assert Journal.read({"exists": True, "content": call.parameters["content"]}) == journal


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_other_file_in_its_place_is_ignored(content: str) -> None:
    journal = Journal.read({"exists": True, "content": content})
    assert journal == Journal(key="")
    assert Journal.read({"path": JOURNAL, "exists": False}) is None
    assert Journal.read(None) is None
