# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""plan.yml and hns_report.yml fail if a node cannot be observed, and plan.json matches its schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from integration.conftest import SiteFactory
from integration.playbooks import ROOT, PlayRun, Site, link_variables

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("plan")]

SCHEMA = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
AWAY = ["password", "off"]
LIBRARY = "library"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site(*({"name": name} for name in ("good", LIBRARY, *AWAY)), kube_version="1.37.1")
    wrong = {"ansible_password": "Not-The-Passw0rd"}
    winrm = {name: link_variables("winrm") for name in AWAY}
    # The library of the connection plugin psrp is missing; see the fixture `hidden`.
    site.host_variables = winrm | {"password": winrm["password"] | wrong, LIBRARY: link_variables("psrp")}
    site.machine("off").power.power_off()
    return site


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a controller without pypsrp."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "pypsrp").mkdir()
    (folder / "pypsrp" / "__init__.py").write_text("raise ImportError('No module named pypsrp')\n", encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


def document(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((site.folder / "build" / "plan.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, SCHEMA)
    return found


def failed(run: PlayRun) -> list[str]:
    return [name for name, counters in run.recap.items() if counters["failed"]]


@pytest.mark.waits
def test_plan_fails_where_no_node_can_be_compared(site: Site, hidden: dict[str, str]) -> None:
    run = site.run("plan.yml", "--limit", ",".join([LIBRARY, *AWAY]), environment=hidden).expect(2)
    assert sorted(failed(run)) == sorted([LIBRARY, *AWAY])
    nodes = document(site)["nodes"]
    assert {name: entry["status"] for name, entry in nodes.items()} == dict.fromkeys([LIBRARY, *AWAY], "error")
    assert all(entry["message"] in run.output for entry in nodes.values())
    assert "pypsrp" in str(nodes[LIBRARY])


@pytest.mark.waits
def test_hns_report_fails_where_no_node_can_be_asked(site: Site, hidden: dict[str, str]) -> None:
    run = site.run("hns_report.yml", "--limit", ",".join([LIBRARY, *AWAY]), environment=hidden).expect(2)
    assert sorted(failed(run)) == sorted([LIBRARY, *AWAY])


def test_plan_reports_what_it_did_not_compare(site: Site) -> None:
    run = site.run("plan.yml", "--limit", "good").expect(2)
    found = document(site)
    assert found["join_compared"] is False
    assert "Settings from the cluster were not compared: set kubeconfig" in run.output
    # On a fresh server a difference is not an error, and equal rows are merged.
    assert found["nodes"]["good"]["status"] == "drift"
    count = len(found["nodes"]["good"]["drift"])
    assert f"{count} resources differ; run site.yml to change them" in run.output
    assert "Differences are normal before site.yml has run" in run.output
    rows = [line for line in run.output.splitlines() if line.startswith("good  drift")]
    assert len(rows) < count / 2
    assert len(set(rows)) == len(rows)


def test_a_problem_that_hosts_share_is_printed_once(site: Site) -> None:
    run = site.run("plan.yml", variables={"cni_plugin": "weave", "container_runtime": "rkt"}).expect(2)
    for value in ("'weave'", "'rkt'"):
        assert len([line for line in run.output.splitlines() if value in line]) == 1, run.output
    assert f"all {len(site.hosts())} hosts: " in run.output
    entries = document(site)["nodes"].values()
    assert all(len(entry["problems"]) == 2 for entry in entries)
    assert site.counters("good")["connections"] == 0


def test_an_unknown_tag_is_refused_before_any_node_is_touched(site: Site) -> None:
    run = site.run("site.yml", "--tags", "node_join,instal").expect(2)
    assert "--tags: expected a tag of site.yml (" in run.output
    assert "got 'instal'; did you mean install?" in run.output
    assert "'node_join'" not in run.output
    assert {site.counters(host)["connections"] for host in site.hosts()} == {0}


def test_tags_of_a_playbook_that_imports_ours_are_its_own(site: Site) -> None:
    plays = [{"import_playbook": str(ROOT / "playbooks" / "bundle.yml")}]
    # For example molecule, which always skips `notest`.
    run = site.run(plays, "--tags", "mine", "--skip-tags", "notest", "--limit", "good").expect()
    assert "expected a tag" not in run.output
