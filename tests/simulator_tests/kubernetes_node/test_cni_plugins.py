# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CNI plugins add pods as configured: networks, addresses, policies, and the errors of the plugins and HNS."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.hns import acls
from simulator.machine import commands
from simulator.machine.faults import set_fault
from simulator.machine.objects import PSObject

from .conftest import BIN_DIR, CONF_DIR, Node

PODS, SERVICES, DNS = "10.244.0.0/16", "10.96.0.0/12", "10.96.0.10"
SUBNET = "10.244.9.0/24"
WIRE_SERVER = [
    *({"Type": "ACL", "Protocols": "6", "Action": "Block", "Direction": "Out", "Priority": 200, "RuleType": "Switch",
       "RemoteAddresses": "168.63.129.16/32", "RemotePorts": port} for port in ("80", "32526")),
    *({"Type": "ACL", "Action": "Allow", "Direction": direction, "Priority": 65500} for direction in ("In", "Out")),
]  # fmt: skip
AZURE = {"subnet": "10.240.0.0/16", "primary": "10.240.0.4", "secondary": ["10.240.0.5", "10.240.0.6"]}


def second_form(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy in the format of HNS's second API."""
    return {"Type": policy["Type"], "Settings": {key: value for key, value in policy.items() if key != "Type"}}


def installed(node: Node, *plugins: dict[str, Any], name: str, version: str = "1.0.0", program: str = "1.9.0") -> None:
    """Write a conflist and the executables of its plugins."""
    for plugin in ("flannel", "host-local", "win-bridge", "win-overlay", "azure-vnet", "azure-vnet-ipam", "sdnbridge",
                   "sdnoverlay", "nat"):  # fmt: skip
        node.put(rf"{BIN_DIR}\{plugin}.exe", plugin, program)
    document = {"cniVersion": version, "name": name, "plugins": list(plugins)}
    node.write(rf"{CONF_DIR}\10-test.conflist", json.dumps(document))


def add(node: Node, sandbox: str = "a" * 64, **options: Any) -> Any:
    """Add a pod as containerd does, and return its HNS endpoint."""
    config = cni.ready(node.machine, CONF_DIR, [BIN_DIR])
    attachment = cni.add(node.machine, config, sandbox, hns.new_id(), **options)
    return node.machine.part(hns.HnsState).endpoints[attachment.endpoint]


def refused(node: Node, **options: Any) -> str:
    with pytest.raises(cni.CniError) as raised:
        add(node, **options)
    return str(raised.value)


def flannel(node: Node, delegate: dict[str, Any], name: str = "cbr0") -> None:
    installed(node, {"type": "flannel", "delegate": delegate}, name=name)
    lines = (f"FLANNEL_NETWORK={PODS}", "FLANNEL_SUBNET=10.244.9.1/24", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true")
    node.write(r"C:\run\flannel\subnet.env", "\n".join(lines))


def network(node: Node, name: str = "cbr0", kind: str = "L2Bridge", subnet: str = SUBNET) -> hns.Network:
    return hns.store(node.machine).create_network(name, kind, subnet, subnet.replace(".0/", ".1/").split("/")[0])


# -- win-bridge and win-overlay


def test_a_pod_of_win_bridge_has_the_policies_of_its_configuration(make_node: Callable[..., Node]) -> None:
    node = make_node()
    network(node)
    values = [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": [SERVICES]}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": SERVICES, "NeedEncap": True}},
        *map(second_form, WIRE_SERVER),
    ]
    policies = [{"name": "EndpointPolicy", "value": value} for value in values]
    dns = {"nameservers": [DNS], "search": ["svc.cluster.local"]}
    flannel(node, {"type": "win-bridge", "apiVersion": 2, "Policies": policies, "dns": dns})

    endpoint = add(node)

    assert (endpoint.name, endpoint.address, endpoint.gateway) == ("a" * 64 + "_cbr0", "10.244.9.2", "10.244.9.2")
    nat, route, *rules = endpoint.policies
    assert nat == {"Type": "OutBoundNAT", "ExceptionList": [SERVICES, PODS]}, "flannel's network is not translated"
    assert route == {"Type": "ROUTE", "DestinationPrefix": SERVICES, "NeedEncap": True}
    assert [(rule["Action"], rule["Direction"], rule["Priority"]) for rule in rules] == [
        ("Block", "Out", 200), ("Block", "Out", 200), ("Allow", "In", 65500), ("Allow", "Out", 65500)]  # fmt: skip
    assert endpoint.dns == hns.Dns((DNS,), ("svc.cluster.local",))


def test_host_local_gives_the_first_pod_the_address_of_the_bridge(make_node: Callable[..., Node]) -> None:
    """HNS refuses it (microsoft/SDN#333). The next attempt gets the next address."""
    node = make_node("2019")
    found = network(node)
    hns.store(node.machine).add_endpoint("cbr0_ep", found.id, "10.244.9.2")
    flannel(node, {"type": "win-bridge", "apiVersion": 2})

    assert "(0x803b002f)" in refused(node)
    assert add(node).address == "10.244.9.3"
    assert add(node, "b" * 64).address == "10.244.9.4"
    cni.remove(node.machine, "cbr0", "a" * 64)
    assert add(node, "c" * 64).address == "10.244.9.5", "a released address is not assigned again at once"


@pytest.mark.parametrize(
    ("delegate", "kind", "subnet", "message"),
    [
        ({"apiVersion": 2}, "", "", 'error while getting network cbr0: Network name "cbr0" not found'),
        ({"apiVersion": 2}, "Overlay", SUBNET, "network cbr0 is of unexpected type: Overlay"),
        ({"apiVersion": 2}, "L2Bridge", "10.200.0.0/24", "not part of any configured subnet(s). (0x803b001e)"),
        ({}, "L2Bridge", SUBNET, "failed to find HNSEndpoint"),
        ({"apiVersion": 2, "name": "x"}, "", "", "must not have 'name' field, it'll be set by flannel"),
        ({"apiVersion": 2, "ipam": {}}, "", "", "must not have 'ipam' field, it'll be set by flannel"),
        ({"type": "win-overlay", "apiVersion": 2}, "", "", "error while GetNetworkByName(cbr0): Network name"),
        ({"type": "win-overlay", "apiVersion": 2}, "L2Bridge", SUBNET, "is of unexpected type: L2Bridge"),
        ({"type": "win-overlay", "apiVersion": 2, "endpointMacPrefix": "0E2A"}, "Overlay", SUBNET, "format xx-xx"),
        ({"type": "ptp"}, "", "", 'failed to find plugin "ptp" in path'),
    ],
)
def test_what_win_plugins_refuse(
    make_node: Callable[..., Node], delegate: dict[str, Any], kind: str, subnet: str, message: str
) -> None:
    node = make_node()
    if kind:
        network(node, "cbr0", kind, subnet)
    flannel(node, delegate)

    text = refused(node)

    assert text.startswith('plugin type="flannel" name="cbr0" failed (add): ')
    assert message in text
    assert hns.store(node.machine).endpoints() == []


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"Type": "OutBoundNAT", "ExceptionList": [PODS]}, ""),  # replaced by the policy with flannel's network
        ({"Type": "ROUTE", "DestinationPrefix": SERVICES, "NeedEncap": True}, "0x803b000d"),
        ({"Type": "SDNRoute"}, "0x803b000d"),
        ({"Type": "SDNRoute", "Settings": {"DestinationPrefix": "services"}}, "0x803b000d"),
        ({"Type": "ACL", "Settings": {"Action": "Deny", "Direction": "Out"}}, "0x803b000d"),
        ({"Type": "Routing", "Settings": {}}, "0x803b000e"),
    ],
)
def test_hns_refuses_policies_of_a_wrong_form(
    make_node: Callable[..., Node], policy: dict[str, Any], code: str
) -> None:
    node = make_node()
    network(node)
    flannel(node, {"apiVersion": 2, "policies": [{"name": "EndpointPolicy", "value": policy}]})

    if code:
        assert "failed to create the new HostComputeEndpoint: hcnCreateEndpoint failed in Win32: " in refused(node)
        assert code in refused(node)
    else:
        assert add(node).policies == [{"Type": "OutBoundNAT", "ExceptionList": [PODS]}]


def test_win_overlay_takes_the_provider_address_from_the_network(make_node: Callable[..., Node]) -> None:
    node = make_node()
    hns.store(node.machine).create_network("flannel.4096", "Overlay", SUBNET, "10.244.9.1", 4096)
    flannel(node, {"type": "win-overlay", "apiVersion": 2}, "flannel.4096")

    endpoint = add(node)

    assert endpoint.mac == "0E-2A-0A-F4-09-02"
    assert endpoint.policies == [
        {"Type": "PA", "PA": node.machine.address},
        {"Type": "OutBoundNAT", "ExceptionList": [SUBNET]},
    ]


def test_flannel_needs_its_subnet_file(make_node: Callable[..., Node]) -> None:
    node = make_node()
    flannel(node, {"apiVersion": 2})
    node.machine.files.write_text(r"C:\run\flannel\subnet.env", f"FLANNEL_NETWORK={PODS}\n")
    assert "/run/flannel/subnet.env is missing FLANNEL_SUBNET, FLANNEL_MTU, FLANNEL_IPMASQ" in refused(node)
    node.machine.files.delete(r"C:\run\flannel\subnet.env")
    assert "loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: The system cannot find the file" in refused(node)


# -- Microsoft's SDN plugins


def bridge(**changes: Any) -> dict[str, Any]:
    return {
        "type": "sdnbridge",
        "capabilities": {"portMappings": True},
        "ipam": {"type": "host-local", "subnet": SUBNET},
        "dns": {"Nameservers": [DNS], "Search": ["svc.cluster.local"]},
        "optionalFlags": {"forceBridgeGateway": True, "allowAclPortMapping": True},
        "AdditionalArgs": [
            {"Name": "EndpointPolicy", "Value": second_form({"Type": "OutBoundNAT", "Exceptions": [PODS]})}
        ],
        **changes,
    }


def test_sdnbridge_creates_its_network_and_maps_ports(make_node: Callable[..., Node]) -> None:
    node = make_node()
    installed(node, bridge(), name="l2bridge", version="0.3.0", program="0.3.3")

    endpoint = add(node, pod_namespace="shop", ports=[{"hostPort": 80, "containerPort": 8080, "protocol": "tcp"}])

    found = hns.store(node.machine).network_named("l2bridge")
    assert found is not None
    assert (found.kind, found.subnet, found.gateway) == ("L2Bridge", SUBNET, "10.244.9.1")
    assert (endpoint.address, endpoint.gateway) == ("10.244.9.2", "10.244.9.2")
    assert endpoint.dns == hns.Dns((DNS,), ("shop.svc.cluster.local",))
    assert [item["Type"] for item in endpoint.policies] == ["NAT", "ACL", "OutBoundNAT"]
    assert endpoint.policies[0] == {"Type": "NAT", "Protocol": "tcp", "InternalPort": 8080, "ExternalPort": 80}
    assert endpoint.policies[2]["ExceptionList"] == [PODS]


@pytest.mark.parametrize(
    ("conf", "version", "program", "message"),
    [
        (bridge(), "0.3.1", "0.3.3", 'incompatible CNI versions; config is "0.3.1", plugin supports ["0.2.0" "0.3.0"'),
        (bridge(), "1.1.0", "0.3.3", 'config is "1.1.0"'),
        (bridge(), "0.3.0", "0.3.1", "hcnCreateNetwork failed in Win32: The parameter is incorrect. (0x57)"),
        (bridge(type="sdnoverlay"), "0.3.0", "0.3.3", "(0x57)"),
        (bridge(ipam={"type": "host-local", "ranges": [[{"subnet": SUBNET}]]}), "0.3.0", "0.3.3",
         "no IP ranges specified"),
    ],
)  # fmt: skip
def test_what_sdn_plugins_refuse(
    make_node: Callable[..., Node], conf: dict[str, Any], version: str, program: str, message: str
) -> None:
    node = make_node()
    installed(node, conf, name="l2bridge", version=version, program=program)

    assert message in refused(node)
    assert hns.store(node.machine).networks() == []


def test_sdn_plugins_do_not_check_the_type_of_their_network(make_node: Callable[..., Node]) -> None:
    node = make_node()
    found = network(node, "l2bridge", "NAT")
    installed(node, bridge(ipam={}, type="sdnbridge.exe"), name="l2bridge", version="0.2.0", program="0.3.1")

    endpoint = add(node)

    assert (endpoint.network, endpoint.address) == (found.id, "10.244.9.2"), "HNS chose the address"
    config = cni.ready(node.machine, CONF_DIR, [BIN_DIR])
    with pytest.raises(cni.CniError, match="cannot create endpoint without a namespace"):
        cni.add(node.machine, config, "d" * 64, "")


# -- azure-vnet

WRONG_DNS = f"Wrong DNS configuration: {{Nameservers:[{DNS}] Domain: Search:[] Options:[]}}"
NO_EXCEPTIONS = {"Type": "OutBoundNAT", "ExceptionList": []}


def azure(*policies: dict[str, Any], **changes: Any) -> dict[str, Any]:
    own = [{"Type": "OutBoundNAT", "ExceptionList": ["10.240.0.0/16"]}, *policies]
    return {
        "type": "azure-vnet",
        "mode": "bridge",
        "bridge": "azure0",
        "ipam": {"type": "azure-vnet-ipam"},
        "dns": {"Nameservers": [DNS, "168.63.129.16"], "Search": ["svc.cluster.local"]},
        "AdditionalArgs": [{"Name": "EndpointPolicy", "Value": policy} for policy in own],
        **changes,
    }


def test_azure_vnet_creates_its_network_at_the_first_pod(make_node: Callable[..., Node]) -> None:
    node = make_node(azure=AZURE)
    conf = azure(*WIRE_SERVER, {"Type": "Unknown"}, windowsSettings={"enableLoopbackDSR": True})
    installed(node, conf, name="azure", version="0.3.0", program="1.6.21")

    endpoint = add(node, pod_namespace="shop")

    (found,) = hns.store(node.machine).networks()
    assert (found.name, found.kind, found.subnet, found.gateway) == ("azure", "L2Bridge", "10.240.0.0/16", "10.240.0.1")
    assert (endpoint.name, endpoint.address) == ("aaaaaaaa-eth0", "10.240.0.5")
    assert endpoint.dns.search == ("shop.svc.cluster.local",)
    assert [item["Type"] for item in endpoint.policies] == ["OutBoundNAT", "ACL", "ACL", "ACL", "ACL", "OutBoundNAT"]
    assert endpoint.policies[-1]["Destinations"] == ["10.240.0.5"]
    for address, port, protocol, open_ in (
        ("168.63.129.16", 80, 6, False), ("168.63.129.16", 32526, 6, False), ("168.63.129.16", 53, 17, True),
        ("10.0.0.1", 80, 6, True)):  # fmt: skip
        assert acls.allows(endpoint.policies, "Out", address, port, protocol) is open_, (address, port)
    state = json.loads(node.machine.files.read_text(r"C:\Windows\System32\azure-vnet.json"))
    assert list(state["Network"]["ExternalInterfaces"]["Ethernet"]["Networks"]["azure"]["Endpoints"]) == [endpoint.name]


def test_azure_vnet_assigns_secondary_addresses_and_releases_them(make_node: Callable[..., Node]) -> None:
    node = make_node(azure=AZURE)
    installed(node, azure(), name="azure", version="0.3.0", program="1.6.21")
    assert [add(node, name * 64).address for name in "ab"] == ["10.240.0.5", "10.240.0.6"]

    message = "Failed to allocate pool: Failed to delegate: Failed to allocate address: No available addresses"
    assert message in refused(node, sandbox="c" * 64)
    cni.remove(node.machine, "azure", "a" * 64)
    assert add(node, "c" * 64).address == "10.240.0.5"
    node.machine.power.reset()
    # All addresses are free again, but HNS still has the endpoints of the pods from before the reboot.
    assert "aaaaaaaa-eth0 due to error: hcnCreateEndpoint failed in Win32: An address provided is" in refused(node)
    for endpoint in hns.store(node.machine).endpoints():
        hns.store(node.machine).remove_endpoint(endpoint.id)
    assert add(node).address == "10.240.0.5"


@pytest.mark.parametrize(
    ("conf", "program", "message"),
    [
        (azure(dns={"Nameservers": [DNS]}), "1.4.58", f"Failed to getDNSSettings: {WRONG_DNS}"),
        (azure(dns={"Nameservers": [DNS]}), "1.6.21", f"Failed to getEndpointDNSSettings: {WRONG_DNS}"),
        (azure(mode="none"), "1.5.48", "createNetworkInternal: Failed to create network: Network mode is invalid"),
        (azure(mode="none"), "1.6.15", "failed to create endpoint: Network mode is invalid"),
        (azure(NO_EXCEPTIONS), "1.6.21", "failed to create endpoint: OutBoundNAT policy not set"),
    ],
)
def test_what_azure_vnet_refuses(
    make_node: Callable[..., Node], conf: dict[str, Any], program: str, message: str
) -> None:
    node = make_node(azure=AZURE)
    installed(node, conf, name="azure", version="0.3.0", program=program)

    assert message in refused(node)
    assert assigned(node) == []


@pytest.mark.parametrize(("program", "kind"), [("1.6.15", "L2Tunnel"), ("1.6.16", "L2Bridge")])
def test_azure_vnet_ignores_the_mode_since_1_6_16(make_node: Callable[..., Node], program: str, kind: str) -> None:
    node = make_node(azure=AZURE)
    installed(node, azure(mode="tunnel"), name="azure", version="0.3.0", program=program)
    add(node)
    assert [item.kind for item in hns.store(node.machine).networks()] == [kind]


def assigned(node: Node) -> list[str]:
    """Return the addresses that azure-vnet-ipam has assigned."""
    path = r"C:\Windows\System32\azure-vnet-ipam.json"
    spaces = json.loads(node.machine.files.read_text(path))["IPAM"]["AddressSpaces"]
    pools = [pool for space in spaces.values() for pool in space["Pools"].values()]
    return [address for pool in pools for address, record in pool["Addresses"].items() if record["InUse"]]


def test_azure_vnet_outside_azure(make_node: Callable[..., Node]) -> None:
    node = make_node()
    installed(node, azure(), name="azure", version="0.3.0", program="1.6.21")

    assert "Failed to delegate: Failed to allocate pool: Invalid address space" in refused(node)
    log = node.machine.files.read_text(r"C:\Windows\System32\azure-vnet-ipam.log")
    assert "[ipam] wireserver call failed with: Get" in log
    assert hns.store(node.machine).networks() == []


def test_azure_vnet_with_an_invalid_state_and_with_a_locked_one(make_node: Callable[..., Node]) -> None:
    node = make_node(azure=AZURE)
    installed(node, azure(), name="azure", version="0.3.0", program="1.6.21")
    node.write(r"C:\Windows\System32\azure-vnet-ipam.json", "\0\0\0")
    assert r"Failed to start IPAM plugin, err:invalid character '\x00' looking for beginning" in refused(node)
    node.machine.files.delete(r"C:\Windows\System32\azure-vnet-ipam.json")
    other = node.machine.processes.begin("azure-vnet.exe", "NT AUTHORITY\\SYSTEM")
    node.write(r"C:\Windows\System32\azure-vnet.json.lock", str(other.id))
    assert "store of network plugin: error Acquiring store lock: timed out locking store" in refused(node)
    node.machine.processes.end(other)
    assert add(node).address == "10.240.0.5"


# -- HNS


def test_another_owner_of_the_adapter(make_node: Callable[..., Node]) -> None:
    node = make_node(azure=AZURE)
    installed(node, azure(), name="azure", version="0.3.0", program="1.6.21")
    set_fault(node.machine, {"kind": "adapter_taken", "by": "LAN switch"})

    assert (
        "failed to create endpoint: Failed to create hcn network: azure due to error: "
        "hcnCreateNetwork failed in Win32: An adapter was not found. (0x803b0006)"
    ) in refused(node)
    set_fault(node.machine, {"kind": "adapter_taken", "value": False})
    assert add(node).address == "10.240.0.5"


def test_get_hnsendpoint_prints_the_policies(make_node: Callable[..., Node]) -> None:
    node = make_node()
    network(node)
    policy = second_form({"Type": "SDNRoute", "DestinationPrefix": SERVICES, "NeedEncap": True})
    flannel(node, {"apiVersion": 2, "policies": [{"name": "EndpointPolicy", "value": policy}]})
    add(node)

    objects = commands.run(node.machine, "Get-HnsEndpoint", {}).objects
    (found,) = [item for item in objects if isinstance(item, PSObject)]

    route, nat = found["Policies"]  # type: ignore[misc]
    assert (route["Type"], route["DestinationPrefix"], route["NeedEncap"]) == ("ROUTE", SERVICES, True)
    assert (nat["Type"], nat["ExceptionList"]) == ("OutBoundNAT", [PODS])
    assert found["GatewayAddress"] == "10.244.9.2"
