# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docs/rbac.yaml and docs/rbac_calico.yaml grant every right that a run checks."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.winkube.node.plugins.module_utils.cluster_access import NEEDS, RequiredAccess

DOCS = Path(__file__).resolve().parents[3] / "docs"
OF_CALICO = ("calico", "calico_read", "calico_removal", "calico_affinity", "calico_windows")
# The namespace exists only with the Tigera operator. A comment in the file names this right.
LEFT_OUT = {("create", "configmaps", "tigera-operator")}


def rules(*names: str) -> list[tuple[str, t.Mapping[str, t.Any]]]:
    """Return the rules of roles that are bound, each with its namespace (empty: everywhere)."""
    documents = [one for name in names for one in yaml.safe_load_all((DOCS / name).read_text("utf-8")) if one]
    bound = {
        (one["roleRef"]["kind"], one["metadata"].get("namespace", ""), one["roleRef"]["name"])
        for one in documents
        if one["kind"].endswith("RoleBinding")
    }
    found = []
    for one in documents:
        namespace = one["metadata"].get("namespace", "")
        if (one["kind"], namespace, one["metadata"]["name"]) in bound:
            found += [(namespace, rule) for rule in one["rules"]]
    return found


def granted(need: RequiredAccess, verb: str, given: list[tuple[str, t.Mapping[str, t.Any]]]) -> bool:
    """Return whether a rule grants one verb of a right (kubernetes.io: Using RBAC Authorization)."""
    return any(
        namespace in ("", need.namespace)
        and need.group in rule["apiGroups"]
        and need.resource in rule["resources"]
        and verb in rule["verbs"]
        # A request that creates an object has no name, so a rule with names never allows it.
        and ("resourceNames" not in rule or (verb != "create" and need.name in rule["resourceNames"]))
        for namespace, rule in given
    )


def missing(purpose: str, *names: str) -> set[tuple[str, str, str]]:
    given = rules(*names)
    lacking = {
        (verb, need.resource, need.namespace)
        for need in NEEDS[purpose]
        for verb in need.verbs
        if not granted(need, verb, given)
    }
    return lacking - LEFT_OUT


@pytest.mark.parametrize("purpose", [one for one in NEEDS if one not in OF_CALICO])
def test_the_account_has_the_rights_of_a_run(purpose: str) -> None:
    assert missing(purpose, "rbac.yaml") == set()


@pytest.mark.parametrize("purpose", OF_CALICO)
def test_calico_needs_the_second_document(purpose: str) -> None:
    assert missing(purpose, "rbac.yaml", "rbac_calico.yaml") == set()
    assert missing(purpose, "rbac.yaml") != set()


def test_names_limit_a_right_except_for_creating() -> None:
    need = RequiredAccess("x", ("get",), "configmaps", "kube-system", name="a")
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get", "create"]}
    assert granted(need, "get", [("kube-system", rule)])
    assert not granted(need, "create", [("kube-system", rule)])
    assert not granted(need._replace(name="b"), "get", [("kube-system", rule)])
    assert not granted(need, "get", [("kube-flannel", rule)])
