# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cleanup repairs that an earlier, incomplete cleanup has left."""

from __future__ import annotations

import typing as t

import pytest
from unit.hns_models import CNI, Model, Pod, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupPlan, CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import read_facts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult


def journal(services: str = '["kubelet", "kube-proxy"]') -> CallResult:
    uplink = '{"mac": "AA", "alias": "Ethernet", "addresses": [["10.0.0.5", 24]], "routes": [], "dns": []}'
    content = f'{{"key": "k", "services": {services}, "uplinks": [{uplink}]}}'
    path = "C:\\ProgramData\\winkube\\hns\\cleanup.json"
    return result([{"path": path, "exists": True, "content": content}])


def test_an_incomplete_earlier_cleanup_is_repaired_in_any_scope() -> None:
    services = result(
        [
            {"Name": "containerd", "Status": "Running"},
            {"Name": "kubelet", "Status": "Stopped"},
            {"Name": "kube-proxy", "Status": "Running"},
        ]
    )
    plans: list[CleanupPlan] = []
    for scope in ("stale", "all"):
        facts = read_facts(Model(pods=[], policies=[]).observation(files=journal(), services=services))
        plans.append(make_plan(CleanupRequest(scope=t.cast("t.Any", scope)), facts))
    for plan in plans:
        assert not plan.empty
        assert plan.start == ("kubelet", "kube-proxy")
        assert [uplink.mac for uplink in plan.uplinks] == ["AA"]
        assert plan.repair == ("service kubelet was left stopped", "Ethernet has lost its static address")


def test_an_adapter_gets_back_what_it_had_before_the_first_cleanup() -> None:
    # Since then, the adapter has had the wrong address.
    adapter = {
        "adapters": [{"Name": "Ethernet", "ifIndex": 5, "MacAddress": "AA", "HardwareInterface": True, "Status": "Up"}],
        "interfaces": [{"InterfaceIndex": 5, "Dhcp": "Disabled"}],
        "addresses": [
            {"InterfaceIndex": 5, "IPAddress": "10.9.9.9", "PrefixLength": 8, "PrefixOrigin": "Manual"},
        ],
        "routes": [],
        "dns": [],
    }
    links = {name: result(items) for name, items in adapter.items()}
    model = Model(pods=[Pod(number=0, kind="live", network=CNI, isolated=False, named=True, born=True)], policies=[])
    fresh = make_plan(CleanupRequest(scope="all"), read_facts(model.observation(**links)))
    assert [uplink.addresses for uplink in fresh.uplinks] == [(("10.9.9.9", 8),)]
    repaired = make_plan(CleanupRequest(scope="all"), read_facts(model.observation(files=journal(), **links)))
    assert [uplink.addresses for uplink in repaired.uplinks] == [(("10.0.0.5", 24),)]


@pytest.mark.parametrize("content", ['{"key": "k", "serv', "[" * 100_000], ids=["truncated", "nested"])
def test_an_unreadable_journal_is_only_removed(content: str) -> None:
    path = "C:\\ProgramData\\winkube\\hns\\cleanup.json"
    broken = result([{"path": path, "exists": True, "content": content}])
    plan = make_plan(CleanupRequest(scope="stale"), read_facts(Model(pods=[], policies=[]).observation(files=broken)))
    assert not plan.empty
    assert not plan.start
    assert not plan.repair
