# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The known causes, their order, and the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import causes
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.causes import FoundCause, finding, ranked
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

EFFECTS = {"not_ready": "the node is not Ready", "pods": "pods fail", "risk": "may disrupt pods"}


def order(*names: str) -> list[tuple[str, str]]:
    return [(one.finding.cause, one.consequence_of) for one in ranked(finding(name, "x") for name in names)]


def test_independent_causes_come_first_and_in_the_order_of_the_file() -> None:
    assert order("kube_proxy_stopped", "kubelet_stopped", "runtime_stopped", "disk_full") == [
        ("disk_full", ""),
        ("runtime_stopped", ""),
        # The first cause in the order of the file that leads to it.
        ("kubelet_stopped", "disk_full"),
        ("kube_proxy_stopped", "runtime_stopped"),
    ]
    assert order("kube_proxy_stopped") == [("kube_proxy_stopped", "")]


def test_findings_of_one_cause_become_one() -> None:
    merged = ranked([finding("disk_full", "a", ""), finding("disk_full", "b", "a")])
    assert [one.finding for one in merged] == [FoundCause(cause="disk_full", evidence=("a", "b"))]


def test_long_evidence_is_shortened() -> None:
    (text,) = finding("disk_full", "a" * 300 + "b" * 16000).evidence
    assert len(text) == 600
    assert text.startswith("aaa")
    assert text.endswith("bbb")


def test_a_cause_that_leads_to_another_precedes_it() -> None:
    names = list(causes.known())
    # Only a reboot that installs HNS comes after what it explains, because it rarely is the cause.
    wrong = [
        (name, other)
        for name, cause in causes.known().items()
        for other in cause.leads_to
        if names.index(other) < names.index(name) and name != "pending_reboot"
    ]
    assert wrong == []


def test_no_two_causes_explain_each_other() -> None:
    known = causes.known()
    assert [(a, b) for a in known for b in known[a].leads_to if a in known[b].leads_to] == []


def test_an_unknown_cause_in_the_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = causes.KnownCauses(
        causes={"a": causes.KnownCause(title="", effect="risk", explanation="", fix="", leads_to=("b",), source="")}
    )
    monkeypatch.setattr(causes, "load_data", lambda _type, _name: broken)
    with pytest.raises(ResourceError, match="expected the name of a cause, got 'b'"):
        causes.known.__wrapped__()


def test_the_page_lists_every_cause(repository: Path) -> None:
    page = (repository / "docs" / "node_doctor.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(name, cause.title, EFFECTS[cause.effect]) for name, cause in causes.known().items()]


def test_fixes_name_existing_variables_and_playbooks(repository: Path) -> None:
    texts = " ".join(cause.fix for cause in causes.known().values())
    playbooks = set(re.findall(r"\b(\w+)\.yml\b", texts))
    assert playbooks <= {path.stem for path in (repository / "playbooks").glob("*.yml")}
    roles = "|".join(path.name for path in (repository / "roles").iterdir())
    variables = set(re.findall(rf"\b((?:{roles})_\w+)\b", texts)) - set(roles.split("|"))
    specified = " ".join(
        path.read_text(encoding="utf-8") for path in (repository / "roles").glob("*/meta/argument_specs.yml")
    )
    assert len(variables) > 4
    assert {name for name in variables if f"{name}:" not in specified} == set()
