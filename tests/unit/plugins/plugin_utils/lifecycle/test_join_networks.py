# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines that cannot have the expected pod network: outside Azure, with too few addresses, or without patches."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from unit.resource_answers import SERVER_2022, answer, failure

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state, node_network
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_state import ExpectedNetwork, JoinState
from ansible_collections.winkube.node.plugins.plugin_utils.windows import azure_platform

TAG = "7783-7084-3265-9085-8269-3286-77"
AZURE = ExpectedNetwork(plugin="azure", mode="bridge", max_pods=30)


def state(build: int = 20348, ubr: int = 2700, **given: t.Any) -> JoinState:
    windows = dataclasses.replace(SERVER_2022, build=build, ubr=ubr)
    fields = {"joined": False, "server": "", "prepared": False, "computer_name": "WIN1", "clock_skew": 0.0}
    return JoinState(**{**fields, "windows": windows, **given})


def refused(found: JoinState, expected: ExpectedNetwork) -> str:
    return "; ".join(join_state.network_problems(found, expected))


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        (state(), ExpectedNetwork(), ""),
        (state(), ExpectedNetwork(plugin="none", mode=""), ""),
        (state(azure=True, secondary_addresses=30), AZURE, ""),
        # The number is unknown if the metadata service does not answer.
        (state(azure=True), AZURE, ""),
        (state(), AZURE, "it is not an Azure virtual machine"),
        (
            state(azure=True, secondary_addresses=29),
            AZURE,
            "have 29 secondary addresses for pods, expected at least 30",
        ),
        (state(azure=True, secondary_addresses=29), AZURE, "{maxPods: 29}"),
        (state(azure=True, secondary_addresses=0), ExpectedNetwork(plugin="azure", mode="bridge"), "have 0 secondary"),
        (state(17763, 1431, azure=True, secondary_addresses=30), AZURE, "expected 1432 (KB4571748) or newer"),
        (state(17763, 1432, azure=True, secondary_addresses=30), AZURE, ""),
        (state(26100, 6898), ExpectedNetwork(plugin="flannel", mode="vxlan"), "expected 6899 (KB5066835) or newer"),
        (state(26100, 6899), ExpectedNetwork(plugin="flannel", mode="vxlan"), ""),
        (state(26100, 2314), ExpectedNetwork(plugin="flannel", mode="host-gw"), ""),
        (state(26100, 2314), ExpectedNetwork(plugin="sdnoverlay", mode="overlay"), "with sdnoverlay"),
        (state(20348, 1), ExpectedNetwork(plugin="sdnoverlay", mode="overlay"), ""),
    ],
)
def test_what_a_network_expects_of_a_machine(found: JoinState, expected: ExpectedNetwork, said: str) -> None:
    problems = refused(found, expected)
    assert said in problems
    assert bool(said) is bool(problems)


def test_a_node_that_has_the_network_already_is_not_refused() -> None:
    joined = state(26100, 2314, joined=True, cni={"plugin": "flannel", "mode": "vxlan"})
    assert refused(joined, ExpectedNetwork(plugin="flannel", mode="vxlan")) == ""
    assert refused(joined, ExpectedNetwork(plugin="sdnoverlay", mode="overlay")) != ""


def test_the_asset_tag_identifies_azure() -> None:
    assert azure_platform.is_azure(answer({"SMBIOSAssetTag": TAG}))
    assert azure_platform.is_azure(answer({"SMBIOSAssetTag": "x"}, {"SMBIOSAssetTag": f" {TAG} "}))
    for other in (answer({"SMBIOSAssetTag": "x"}), answer({"SMBIOSAssetTag": None}), answer(), None):
        assert not azure_platform.is_azure(other)
    assert not azure_platform.is_azure(failure("InvalidArgument", "HRESULT 0x80041010"))


def test_the_metadata_service_is_asked_only_for_azure_cni() -> None:
    plain, counting = join_state.calls(), join_state.calls(counts_addresses=True)
    assert azure_platform.CHASSIS in {call.id for call in plain}
    assert [call.id for call in counting if call not in plain] == [azure_platform.ADDRESSES]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ([{"ipv4": {"ipAddress": [{}, {}, {}]}}], 2),
        ([{"ipv4": {"ipAddress": [{}, {}]}}, {"ipv4": {"ipAddress": [{}, {}, {}]}}], 3),
        ([{"ipv4": {"ipAddress": []}}], 0),
        ([], 0),
        ({"error": "Bad request"}, None),
        ([{}], None),
        (None, None),
    ],
)
def test_secondary_addresses_are_counted(text: object, number: int | None) -> None:
    result = answer(stdout=json.dumps(text), exit_code=0)
    assert azure_platform.secondary_addresses(result) == number


def test_an_unknown_number_of_addresses() -> None:
    assert azure_platform.secondary_addresses(None) is None
    assert azure_platform.secondary_addresses(answer(stdout="<html>", exit_code=0)) is None
    assert azure_platform.secondary_addresses(answer(stdout="[]", exit_code=28)) is None
    assert azure_platform.secondary_addresses(failure("NotSpecified", "curl")) is None


def test_a_network_that_does_not_support_the_version_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    known = join_state.catalogue()["sdnbridge"]
    supported = dataclasses.replace(known.supported, windows=("2019", "2022"), reason="It is older.")
    monkeypatch.setattr(join_state, "catalogue", lambda: {"sdnbridge": dataclasses.replace(known, supported=supported)})
    expected = ExpectedNetwork(plugin="sdnbridge", mode="bridge")
    assert refused(state(), expected) == ""
    assert refused(state(26100, 6899), expected) == (
        "it runs Windows Server 2025, expected Windows Server 2019 or 2022 with sdnbridge. It is older."
    )


@pytest.mark.parametrize(
    ("plugin", "mode", "networks", "said"),
    [
        ("flannel", "host-gw", {}, []),
        ("flannel", "host-gw", {"cbr0": "l2bridge", "nat": "nat"}, []),
        ("flannel", "host-gw", {"cbr0": "nat"}, ["cbr0 has the type nat, expected L2Bridge"]),
        ("flannel", "vxlan", {"cbr0": "nat"}, []),
        ("calico", "vxlan", {"External": "L2Bridge", "Calico": "Overlay"}, ["External has the type L2Bridge"]),
        ("azure", "bridge", {"azure": "Overlay"}, ["azure has the type Overlay, expected L2Bridge"]),
        ("none", "none", {"": "nat"}, []),
    ],
)
def test_hns_networks_of_the_right_name_and_the_wrong_type(
    plugin: str, mode: str, networks: dict[str, str], said: list[str]
) -> None:
    network = node_network.read({"hns-networks": answer(*({"Name": a, "Type": b} for a, b in networks.items()))})
    expected = ExpectedNetwork(plugin=plugin, mode=mode)
    problems = refused(state(network=network, azure=True, secondary_addresses=9), expected)
    assert [text for text in said if text in problems] == said
    assert bool(problems) is bool(said)
    # A change of a recorded network removes the former network first.
    recorded = {"plugin": "sdnbridge", "mode": "bridge", "network": "l2bridge"}
    other = state(network=network, azure=True, secondary_addresses=9, joined=True, cni=recorded)
    assert "has the type" not in refused(other, expected)


def test_hns_networks_are_unknown_without_hns() -> None:
    assert node_network.read({"hns-networks": failure("ObjectNotFound", "CommandNotFoundException")}).hns == {}
    assert node_network.networks_call().timeout is not None
