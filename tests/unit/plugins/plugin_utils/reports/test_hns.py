# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HNS table for operators with hundreds of nodes: its last line, and complete reasons."""

from __future__ import annotations

import typing as t

from unit.hns_models import CNI, Model, Pod

from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import read_facts, to_result
from ansible_collections.winkube.node.plugins.plugin_utils.reports import hns
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult


def facts(*kinds: str, **more: CallResult) -> dict[str, t.Any]:
    pods = [
        Pod(number=number, kind=kind, network=CNI, isolated=False, named=True, born=True)
        for number, kind in enumerate(kinds)
    ]
    return to_result(read_facts(Model(pods=pods, policies=[[0]]).observation(**more)))


def failed(**error: str) -> dict[str, CallResult]:
    """Return results in which no listing of HNS succeeds."""
    names = [f"{number}.{kind}" for number in (1, 2) for kind in ("policies", "namespaces", "endpoints", "networks")]
    return dict.fromkeys(names, CallResult(ok=False, error=CallError(**error)))


NONE = failed(id="CommandNotFoundException", message="The term 'Get-HnsPolicyList' is not recognized as the name")
NODES: dict[str, t.Any] = {
    "used": facts("live"),
    "stale": facts("gone", "gone", "live"),
    "plain": facts(**NONE),
    "hangs": facts("live", **failed(id="CommandTimeout", message="late")),
    "off": None,
}


def test_the_last_line_names_the_next_step() -> None:
    message = hns.totals(NODES)
    assert message == (
        "5 nodes; stale: 2 endpoints, 1 policy list, 2 namespaces; with stale objects: stale; "
        "HNS does not answer: hangs; without HNS: plain; failed: off"
    )
    many = hns.totals({f"node{number}": None for number in range(300)})
    assert many.endswith("node6, node7 and 292 more")
    assert hns.totals({"used": NODES["used"]}) == "1 node; stale: nothing"


def test_a_machine_without_hns_is_accepted_and_a_hang_names_the_cmdlet() -> None:
    (*dummy, state, why) = hns.rows("plain", NODES["plain"])[0]
    assert (state, why) == ("none", "this machine has no HNS (the Windows feature Containers is not installed)")
    (*dummy, state, why) = hns.rows("hangs", NODES["hangs"])[0]
    assert (state, why) == ("no answer", "HNS did not respond to Get-HnsPolicyList")


def test_the_cause_of_an_error_is_not_cut_off() -> None:
    message = "Task failed: off: observe HNS: " + "HTTPConnectionPool " * 20 + "[Errno 111] Connection refused"
    (row,) = hns.rows("off", None, message=message)
    line = hns.table([row])[-1]
    assert len(line) <= 170
    assert "observe HNS: HTTP" in line
    assert line.endswith("[Errno 111] Connection refused")
    assert "Task failed" not in line


def test_the_current_owner_of_a_remote_endpoints_address_is_reported() -> None:
    live, remote = (
        Pod(number=number, kind=kind, network=CNI, isolated=False, named=True, born=True, address="10.244.0.9")
        for number, kind in enumerate(("live", "remote"))
    )
    found = hns.rows("win", to_result(read_facts(Model(pods=[live, remote], policies=[]).observation())))
    (row,) = [row for row in found if row[5] == "stale"]
    assert row[6] == "default/web-0 has its address now"


def test_the_id_of_a_namespace_without_a_name_is_never_shortened() -> None:
    """Node, network and endpoint have the maximum width, which leaves little space for the reason."""
    wide = "a-node-with-a-very-long-name"
    listed = CallResult(ok=True, exit_code=0, stdout="k8s.io\nteam\n")
    found = facts("live", **{"1.ctr-namespaces": listed, "2.ctr-namespaces": listed})
    rows = hns.rows(wide, found)
    assert not found["runtime"]["asked"]
    (row,) = [row for row in rows if row[1] == "runtime"]
    filler = ("", "", "n" * 40, "a" * 30, "w" * 20, "s" * 12, "")
    (line,) = [line for line in hns.table([*rows, filler]) if "containerd_namespaces" in line]
    assert line.endswith("  in doubt      namespaces not listed: team (set containerd_namespaces)")
    assert row[5] == "in doubt"
    assert hns.totals({wide: found}).endswith(f"runtime in doubt: {wide}")


def test_a_summary_counts_what_it_names() -> None:
    rows = hns.rows("win", facts("gone", "gone", "live"), summary=True)
    reported = {(row[1], row[5]): row[2] for row in rows if row[1] in ("endpoint", "policy list", "namespace")}
    assert reported[("endpoint", "stale")] == "2 endpoints"
    assert reported[("endpoint", "in use")] == "1 endpoint"
    assert reported[("policy list", "stale")] == "1 policy list"
