# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""node_doctor.yml with Ansible's own command line: the table, the files, the exit status, and unknown clusters.

test_node_doctor_faults.py tests every cause.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from integration import doctor_faults, joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site

pytestmark = [pytest.mark.integration, pytest.mark.waits, pytest.mark.xdist_group("node_doctor")]

NODES = {"n19": "2019", "n22": "2022", "n25": "2025"}
EVIL = "<script>alert(1)</script>\x1b[31m"
BROKEN = {"n19": "containerd_stopped", "n22": "certificate_expired", "n25": "node_deleted"}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    servers = [joined_nodes.server(name, windows=windows) for name, windows in NODES.items()]
    others = [{"name": "plain", "windows": "2022"}, {"name": "off", "windows": "2022"}]
    site = start_site(*servers, *others, cluster={"kind": "memory"}, node_doctor_hns_grace=0.1)
    joined_nodes.join(site, list(NODES))
    site.machine("off").power.power_off()
    return site


def document(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((site.folder / "build" / "doctor.json").read_text(encoding="utf-8"))
    return found


def page(site: Site) -> str:
    return (site.folder / "build" / "doctor.html").read_text(encoding="utf-8")


def failed(run: PlayRun) -> list[str]:
    return sorted(name for name, counters in run.recap.items() if counters["failed"])


def test_healthy_nodes_pass_with_two_commands_each(site: Site) -> None:
    run = site.run("node_doctor.yml", "--limit", ",".join(NODES)).expect()
    assert "3 nodes: 3 without a cause, 0 with causes, 0 not diagnosed" in run.output
    for name in NODES:
        assert site.counters(name)["remote_commands"] == run.commands(name) == 2
        assert run.recap[name]["changed"] == 0
    found = document(site)
    assert {name: (one["result"], one["status"]) for name, one in found["hosts"].items()} == dict.fromkeys(
        NODES, ("healthy", "Ready")
    )


@contextlib.contextmanager
def broken(site: Site) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name, fault in BROKEN.items():
            stack.enter_context(doctor_faults.FAULTS[fault].breaks(site, site.machine(name)))
        yield


def test_causes_are_reported_and_fail_only_their_hosts(site: Site) -> None:
    with broken(site):
        run = site.run("node_doctor.yml").expect(2)
        assert failed(run) == sorted(site.hosts())
        assert all(run.commands(name) <= 2 for name in NODES)
        found = document(site)
        assert {name: one.get("causes", [{}])[0].get("cause") for name, one in found["hosts"].items()} == {
            "n19": "runtime_stopped",
            "n22": "certificate_expired",
            "n25": "node_missing",
            "plain": "not_prepared",
            "off": None,
        }
        assert found["hosts"]["off"]["result"] == "unreachable"
        assert found["counts"] == {"healthy": 0, "causes": 4, "not_diagnosed": 1}
        table = run.output.partition("HOST ")[2].partition("\n\n")[0]
        rows = {line.split()[0]: line for line in table.splitlines()}
        assert "the container runtime is not running" in rows["n19"]
        assert "not in the cluster" in rows["n25"]
        assert (
            "- the kubelet's certificate has expired (n22): Run site.yml, which joins the machine again" in run.output
        )
        assert "30 days ago" in run.messages("n22")
        assert "5 nodes: 0 without a cause, 4 with causes, 1 not diagnosed" in run.output
        assert "The kubelet&#39;s certificate has expired" in page(site)
    run = site.run("node_doctor.yml", "--limit", "n19,plain").expect(2)
    assert failed(run) == ["plain"]


def test_what_a_node_reports_is_escaped(site: Site) -> None:
    machine = site.machine("n22")
    text = machine.files.read_text(doctor_faults.KUBELET_CONFIG)
    # JSON is YAML, and the document must not contain the key twice.
    settings = yaml.safe_load(text) | {"enforceNodeAllocatable": [EVIL]}
    with doctor_faults.written(machine, doctor_faults.KUBELET_CONFIG, json.dumps(settings, default=str)):
        run = site.run("node_doctor.yml", "--limit", "n22").expect(2)
    assert "\x1b" not in run.output
    assert "<script>" not in page(site)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page(site)
    assert document(site)["hosts"]["n22"]["causes"][0]["cause"] == "kubelet_configuration_invalid"


def test_without_a_kubeconfig_the_cluster_is_unknown(site: Site) -> None:
    run = site.run("node_doctor.yml", "--limit", "n19", variables={"kubeconfig": ""}).expect()
    assert "The cluster was not queried, so its view of the nodes is unknown: no kubeconfig was given" in run.output
    assert document(site)["hosts"]["n19"]["status"] == "not asked"


def test_check_mode_writes_no_files(site: Site) -> None:
    (site.folder / "build" / "doctor.json").unlink()
    site.run("node_doctor.yml", "--check", "--limit", "n19").expect()
    assert not (site.folder / "build" / "doctor.json").exists()


# The last test: the cluster does not start again.
def test_an_api_server_that_is_down_is_named(site: Site) -> None:
    assert site.world.cluster is not None
    site.world.cluster.stop()
    run = site.run("node_doctor.yml", "--limit", "n19").expect(2)
    causes = document(site)["hosts"]["n19"]["causes"]
    assert [one["cause"] for one in causes] == ["api_unreachable"]
    assert "the controller cannot reach it either" in causes[0]["evidence"][1]
    assert "The cluster was not queried" in run.output
