# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The effects of HNS networks on the link, on static addresses and on ports; hangs and restarts of the service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns import fixtures
from simulator.kubernetes_node.hns import ports as hns_ports
from simulator.machine import commands, faults
from simulator.machine.objects import CmdletError, ProcessEndedError, PSObject
from simulator.machine.status import describe
from simulator.windows.networking import port_ranges

from .conftest import Node

pytestmark = pytest.mark.waits

ADDRESS = "127.9.4.11"
UPLINK = {
    "static": True,
    "addresses": [f"{ADDRESS}/24", "127.9.4.12/24"],
    "gateway": "127.9.4.1",
    "dns": ["127.9.4.2", "127.9.4.3"],
    "routes": [{"destination": "10.9.0.0/16", "next_hop": "127.9.4.254", "metric": 5}],
}
SWITCH = "vEthernet (Ethernet)"


def run(node: Node, command: str, pipeline: list[object] | None = None, **parameters: object) -> list[PSObject]:
    found = commands.run(node.machine, command, parameters, pipeline=pipeline).objects
    return [item for item in found if isinstance(item, PSObject)]


def status(node: Node) -> dict[str, Any]:
    return describe(node.machine)


def static_node(make_node: Callable[..., Node], windows: str = "2022", **uplink: object) -> Node:
    return make_node(windows, address=ADDRESS, uplink={**UPLINK, **uplink}, port_pool_seconds=5)


def remove_all(node: Node) -> None:
    run(node, "Remove-HnsEndpoint", list(run(node, "Get-HnsEndpoint")))
    run(node, "Remove-HnsNetwork", list(run(node, "Get-HnsNetwork")))


def test_only_the_first_and_the_last_external_network_touch_the_switch(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "calico", running=0, remote=0)
    remove = {str(item["Name"]): item for item in run(node, "Get-HnsNetwork")}
    run(node, "Remove-HnsEndpoint", list(run(node, "Get-HnsEndpoint")))

    run(node, "Remove-HnsNetwork", [remove["Calico"]])
    assert node.machine.network.drops == 0
    assert SWITCH in status(node)["network"]
    run(node, "Remove-HnsNetwork", [remove["External"]])

    assert node.machine.network.drops == 1, "at once: whoever asked for it gets no answer"
    assert not node.machine.network.is_up
    assert list(status(node)["network"]) == ["Ethernet"]
    wait_for(lambda: node.machine.network.is_up, "the link comes back")
    assert status(node)["network"]["Ethernet"]["addresses"] == [f"{node.machine.address}/24"], "DHCP gave it again"


def test_the_interfaces_of_the_host(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw", running=0, remote=0)
    hns.store(node.machine).create_network("nat", "NAT", "172.20.0.0/20", "172.20.0.1")

    shown = status(node)["network"]
    assert shown["vEthernet (cbr0_ep)"]["addresses"] == ["10.244.0.2/24"]
    assert shown["vEthernet (nat)"]["addresses"] == ["172.20.0.1/20"]
    assert [item["destination"] for item in shown[SWITCH]["routes"]] == ["10.244.100.0/24", "10.244.101.0/24"]
    assert "Ethernet" not in shown, "the card itself has no TCP/IP now"
    assert {item["Name"] for item in run(node, "Get-NetAdapter")} == {"Ethernet", *shown}
    hns.store(node.machine).remove_network(run(node, "Get-HnsNetwork")[-1]["ID"])  # type: ignore[arg-type]
    assert "vEthernet (nat)" not in status(node)["network"]


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_a_static_address_is_lost_with_the_switch_until_it_is_set_again(
    make_node: Callable[..., Node], windows: str
) -> None:
    node = static_node(make_node, windows)
    fixtures.populate(node.machine, "flannel-vxlan", running=0, remote=0)
    before = status(node)["network"]
    assert before == {
        SWITCH: {
            "addresses": [f"{ADDRESS}/24", "127.9.4.12/24"],
            "dhcp": False,
            "gateway": "127.9.4.1",
            "dns": ["127.9.4.2", "127.9.4.3"],
            "static_dns": True,
            "routes": [{"destination": "10.9.0.0/16", "next_hop": "127.9.4.254", "metric": 5}],
        }
    }, "what was on the node for long is as the administrator set it"

    remove_all(node)

    lost = status(node)["network"]["Ethernet"]
    assert (lost["dhcp"], lost["gateway"], lost["dns"], lost["routes"]) == (True, "", [], [])
    assert [text.startswith("169.254.") for text in lost["addresses"]] == [True]
    wait_for(lambda: node.machine.network.is_linked, "the card has its link again")
    assert not node.machine.network.is_up, "but nobody finds the node"
    (index,) = [item["InterfaceIndex"] for item in run(node, "Get-NetIPInterface", InterfaceAlias="Ethernet")]
    run(node, "New-NetIPAddress", InterfaceIndex=index, IPAddress=ADDRESS, PrefixLength=24, DefaultGateway="127.9.4.1")
    assert node.machine.network.is_up
    run(node, "New-NetIPAddress", InterfaceIndex=index, IPAddress="127.9.4.12", PrefixLength=24)
    run(node, "Set-DnsClientServerAddress", InterfaceIndex=index, ServerAddresses=["127.9.4.2", "127.9.4.3"])
    run(
        node,
        "New-NetRoute",
        InterfaceIndex=index,
        DestinationPrefix="10.9.0.0/16",
        NextHop="127.9.4.254",
        RouteMetric=5,
    )
    assert status(node)["network"]["Ethernet"] == before[SWITCH]


def test_a_static_address_is_lost_to_a_new_switch_too(make_node: Callable[..., Node]) -> None:
    node = static_node(make_node)
    hns.store(node.machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")

    assert status(node)["network"][SWITCH]["dhcp"]
    wait_for(lambda: node.machine.network.drops == 1, "the link drops")
    wait_for(lambda: node.machine.network.is_linked, "the card has its link again")
    assert not node.machine.network.is_up
    run(node, "Set-NetIPInterface", InterfaceAlias=SWITCH, Dhcp="Disabled")
    run(node, "New-NetIPAddress", InterfaceAlias=SWITCH, IPAddress=ADDRESS, PrefixLength=24)
    assert node.machine.network.is_up


@pytest.mark.parametrize(
    ("uplink", "found"),
    [
        ({"dhcp": ADDRESS}, True),
        ({"dhcp": "127.9.4.99"}, False),
        ({"loses": []}, True),
        ({"loses": ["appear"]}, True),
        ({"loses": ["vanish"]}, False),
    ],
)
def test_ways_to_keep_a_static_address(make_node: Callable[..., Node], uplink: dict[str, object], found: bool) -> None:
    """The address stays with a DHCP reservation, or if `loses` of the uplink does not contain `vanish`."""
    node = static_node(make_node, **uplink)
    fixtures.populate(node.machine, "flannel-vxlan", running=0, remote=0)

    remove_all(node)

    wait_for(lambda: node.machine.network.is_linked, "the card has its link again")
    assert node.machine.network.is_up is found
    if "loses" in uplink and found:
        assert status(node)["network"]["Ethernet"]["routes"][0]["destination"] == "10.9.0.0/16"


def test_a_lost_address_is_lost_over_a_reboot(make_node: Callable[..., Node]) -> None:
    node = static_node(make_node)
    fixtures.populate(node.machine, "flannel-vxlan", running=0, remote=0)
    remove_all(node)

    node.machine.power.reset()

    assert not node.machine.network.is_up


def test_ports_close_with_the_address_and_commands_live_on(make_node: Callable[..., Node]) -> None:
    class Ports:
        """Records how a machine changes its ports."""

        events: list[str]

        def __init__(self) -> None:
            self.events = []

        def drop_link(self, seconds: float) -> None:
            self.events.append("drop")

        def close_ports(self, *, forget_shells: bool = True) -> None:
            self.events.append("off" if forget_shells else "close")

        def open_ports(self) -> None:
            self.events.append("open")

        def forget_shells(self) -> None:
            self.events.append("forget")

    node = static_node(make_node)
    ports = Ports()
    node.machine.network.attach(ports)
    fixtures.populate(node.machine, "flannel-vxlan", running=0, remote=0)
    remove_all(node)
    assert ports.events == ["drop", "close"]
    run(node, "New-NetIPAddress", InterfaceAlias="Ethernet", IPAddress=ADDRESS, PrefixLength=24)
    wait_for(lambda: ports.events[2:] == ["open"], "the ports open once the link is there")
    assert node.machine.network.is_up


def test_port_pools_are_released_late(make_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    for module in (hns_ports, port_ranges):
        monkeypatch.setattr(module, "time", clock)
    node = make_node(port_pool_seconds=200, time_scale=0.02)  # four real seconds
    store = hns.store(node.machine)
    network = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    policy = hns.PolicyList(hns.new_id(), "10.96.0.1", 443, 6, 6443)
    store.put_policy(policy)
    store.put_policy(hns.PolicyList(hns.new_id(), "10.96.0.2", 443, 6, 6443, dsr=True))

    def pools() -> dict[str, Any]:
        return dict(status(node)["hns"]["port_pools"])

    assert pools()["reserved"] == {network.id: [49152, 49215], policy.id: [49216, 49279]}, "DSR needs none"
    store.remove_policy(policy.id)
    store.remove_network(network.id)
    assert pools()["releasing"] == sorted([network.id, policy.id])
    early = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    assert pools()["networks_made_too_early"] == 1
    store.remove_network(early.id)
    clock.now += 3.9
    assert set(pools()["reserved"]) == {network.id, policy.id, early.id}
    clock.now += 0.2
    assert pools()["reserved"] == {}
    store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    assert pools()["networks_made_too_early"] == 1


def test_ports_run_out(make_node: Callable[..., Node]) -> None:
    store = hns.store(make_node().machine)
    for number in range(256):
        store.put_policy(hns.PolicyList(hns.new_id(), "10.96.0.1", number, 6, 80))
    with pytest.raises(hns.HnsError, match=r"The specified port already exists\. \(0x803b0013\)"):
        store.put_policy(hns.PolicyList(hns.new_id(), "10.96.0.1", 999, 6, 80))


class Call:
    """A cmdlet that runs in a thread, in a process that a test can end."""

    def __init__(self, node: Node, command: str) -> None:
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.outcome: object = None

        def work() -> None:
            try:
                self.outcome = commands.run(node.machine, command, {}, stop=self.stop).objects
            except (CmdletError, ProcessEndedError) as error:
                self.outcome = error
            self.ended.set()

        threading.Thread(target=work, daemon=True).start()


def hang(node: Node, **fault: object) -> None:
    faults.set_fault(node.machine, {"kind": "hns_hang", **fault})


def blocked(node: Node) -> int:
    return int(status(node)["hns"]["hang"]["blocked"])


def test_a_hang_until_the_service_restarts(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node, until="restart")
    call = Call(node, "Get-HnsNetwork")
    wait_for(lambda: blocked(node) == 1, "the call hangs")
    with pytest.raises(hns.HnsError, match="0x5b4"):
        hns.store(node.machine).require()

    run(node, "Restart-Service", Name="hns", Force=True)

    assert call.ended.wait(60)
    assert isinstance(call.outcome, CmdletError)
    assert "The remote procedure call failed." in str(call.outcome)
    assert [item["Name"] for item in run(node, "Get-HnsNetwork")] == ["cbr0"]
    assert run(node, "Get-HnsEndpoint") == run(node, "Get-HnsPolicyList") == []


def test_a_hang_that_only_a_reboot_helps_against(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node, until="reboot")
    run(node, "Restart-Service", Name="hns", Force=True)
    call = Call(node, "Get-HnsNetwork")
    wait_for(lambda: blocked(node) == 1, "it hangs again")

    node.machine.power.reset()

    assert call.ended.wait(60)
    assert isinstance(call.outcome, ProcessEndedError)
    assert len(run(node, "Get-HnsNetwork")) == 1


def test_a_hang_of_a_single_call_stays_one_when_the_service_restarts(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node, until="reboot", calls=1)
    run(node, "Restart-Service", Name="hns", Force=True)
    call = Call(node, "Get-HnsNetwork")
    wait_for(lambda: blocked(node) == 1, "the call hangs")

    assert len(run(node, "Get-HnsNetwork")) == 1, "the next one does not"

    call.stop.set()
    assert call.ended.wait(60)


def test_a_service_that_cannot_be_stopped(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node, until="reboot", stop_fails=True)

    with pytest.raises(CmdletError) as caught:
        run(node, "Restart-Service", Name="hns", Force=True)

    assert caught.value.error_id.startswith("StopServiceFailed,")
    assert describe(node.machine)["services"]["hns"]["state"] == "Running"  # type: ignore[index]
    assert len(node.machine.part(hns.HnsState).endpoints) == 5, "nothing was lost by it"
    node.machine.power.reset()
    run(node, "Restart-Service", Name="hns", Force=True)


def test_a_single_call_that_hangs_ends_with_its_process(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node, calls=1, commands=["Get-HnsEnd*"])
    assert len(run(node, "Get-HnsNetwork")) == 1, "other cmdlets do not"
    call = Call(node, "Get-HnsEndpoint")
    wait_for(lambda: blocked(node) == 1, "the call hangs")
    assert len(run(node, "Get-HnsEndpoint")) == 5, "the next one does not"
    assert not call.ended.is_set()

    call.stop.set()

    assert call.ended.wait(60)
    assert isinstance(call.outcome, ProcessEndedError)


def test_calls_continue_when_a_hang_is_over(make_node: Callable[..., Node]) -> None:
    node = make_node()
    fixtures.populate(node.machine, "flannel-host-gw")
    hang(node)
    call = Call(node, "Get-HnsNetwork")
    wait_for(lambda: blocked(node) == 1, "the call hangs")
    hang(node, value=False)
    assert call.ended.wait(60)
    assert isinstance(call.outcome, list)
    assert len(call.outcome) == 1


@pytest.mark.parametrize("fault", [{"until": "never"}, {"calls": 0}, {"calls": "two"}, {"commands": "Get-HnsNetwork"}])
def test_bad_hangs(make_node: Callable[..., Node], fault: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="hns_hang"):
        hang(make_node(), **fault)


def test_dependent_services_stop_and_start_with_hns(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.machine.services.create(
        "nvagent", r"C:\Windows\System32\svchost.exe -k nv", DependOnService=["hns"], DisplayName="Agent"
    )
    node.machine.services.start("nvagent")
    with pytest.raises(CmdletError) as caught:
        run(node, "Restart-Service", Name="hns")
    assert caught.value.error_id.startswith("ServiceHasDependentServices,")
    first = node.machine.services.get("nvagent")

    run(node, "Restart-Service", Name="hns", Force=True)

    again = node.machine.services.get("nvagent")
    assert first is not None
    assert again is not None
    assert again.state == "Running"
    assert first.process_id != again.process_id
