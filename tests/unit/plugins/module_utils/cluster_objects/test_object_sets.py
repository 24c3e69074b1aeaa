# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A set of objects is applied, recorded, and cleaned up; nothing is written if nothing differs."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.cluster_objects.changes import shown
from ansible_collections.winkube.node.plugins.module_utils.cluster_objects.kinds import Reference, reference
from ansible_collections.winkube.node.plugins.module_utils.cluster_objects.run import ObjectSet, ObjectSetError

LABEL = "example.com/part-of"
RECORD = Reference("v1", "ConfigMap", "kube-system", "record")
Object = dict[str, t.Any]


class MemoryApi:
    """Objects by identity. An applied object replaces the labels and all other fields, as a single manager would."""

    manager = "winkube"

    def __init__(self) -> None:
        self.needs_data = False
        self.replaced: Reference | None = None
        self.objects: dict[Reference, Object] = {}
        self.writes: list[tuple[str, str]] = []
        self.served: set[str] = set()
        self.conflict: Reference | None = None
        self.fails_at: str = ""

    def knows(self, api_version: str) -> bool:
        return api_version in self.served

    def read(self, of: Reference) -> Object | None:
        return copy.deepcopy(self.objects.get(of))

    def apply(self, of: Reference, item: t.Mapping[str, t.Any], *, dry_run: bool) -> Object:
        if of == self.conflict:
            raise ApiError('Apply failed with 1 conflict: conflict with "helm": .data.a', 409)
        if (
            of.namespace not in ("", "kube-system")
            and Reference("v1", "Namespace", "", of.namespace) not in self.objects
        ):
            raise ApiError(f'namespaces "{of.namespace}" not found', 404)
        if self.needs_data and "data" not in item:
            raise ApiError("data: Required value", 422)
        result = copy.deepcopy(dict(item))
        result["metadata"] |= {"managedFields": [{"manager": "winkube", "operation": "Apply"}], "uid": f"uid of {of}"}
        if dry_run:
            return result
        if str(of) == self.fails_at:
            raise ApiError("the API server cannot be reached")
        self.writes.append(("apply", str(of)))
        self.objects[of] = {**result, "status": {"now": len(self.writes)}}
        return result

    def remove_label(self, of: Reference, label: str) -> None:
        self.writes.append(("remove label", str(of)))
        del self.objects[of]["metadata"]["labels"][label]

    def delete(self, of: Reference, uid: str) -> bool:
        if of == self.replaced or uid != f"uid of {of}":
            raise ApiError("the UID in the precondition differs", 409)
        self.writes.append(("delete", str(of)))
        return self.objects.pop(of, None) is not None


def config_map(name: str, value: str = "1", namespace: str = "kube-system", label: str = "site") -> Object:
    about = {"name": name, "namespace": namespace, "labels": {LABEL: label}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"a": value}}


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: "site"}}}


def run(api: MemoryApi, *items: Object) -> dict[str, str]:
    """Apply a set, and return what was done with each object."""
    objects = ObjectSet(api, RECORD, LABEL)
    planned = objects.plan(items)
    if any(one.action != "unchanged" for one in planned):
        objects.perform(planned)
    return {one.of.name: one.action for one in planned}


def test_a_second_run_writes_nothing() -> None:
    api = MemoryApi()
    assert run(api, config_map("a"), config_map("b")) == {"a": "created", "b": "created"}
    assert api.writes == [("apply", f"ConfigMap kube-system/{name}") for name in ("record", "a", "b")]
    api.writes.clear()
    assert run(api, config_map("a"), config_map("b")) == {"a": "unchanged", "b": "unchanged"}
    assert api.writes == []


def test_only_what_differs_is_written() -> None:
    api = MemoryApi()
    run(api, config_map("a"), config_map("b"))
    api.writes.clear()
    assert run(api, config_map("a"), config_map("b", "2")) == {"a": "unchanged", "b": "changed"}
    assert api.writes == [("apply", "ConfigMap kube-system/b")]


def test_what_is_no_longer_in_the_set_is_removed_once() -> None:
    api = MemoryApi()
    run(api, config_map("a"), config_map("b"))
    api.writes.clear()
    assert run(api, config_map("a")) == {"a": "unchanged", "b": "removed"}
    assert api.writes == [("delete", "ConfigMap kube-system/b"), ("apply", "ConfigMap kube-system/record")]
    api.writes.clear()
    assert run(api, config_map("a")) == {"a": "unchanged"}
    assert api.writes == []


def given_before(api: MemoryApi, **about: t.Any) -> Reference:
    """Create the object `a` as another program does, without the set's label; return its identity."""
    item = config_map("a")
    item["metadata"] = {"name": "a", "namespace": "kube-system", **about}
    api.objects[reference(item)] = item
    return reference(item)


@pytest.mark.parametrize("needs_data", [False, True])
def test_an_object_that_existed_before_stays_as_it_is(needs_data: bool) -> None:
    api = MemoryApi()
    of = given_before(api)
    assert run(api, config_map("a")) == {"a": "changed"}
    assert run(api, config_map("a")) == {"a": "unchanged"}
    api.writes.clear()
    # An API server removes fields that only the set has applied, or rejects the object if it needs them.
    api.needs_data = needs_data
    assert run(api) == {"a": "kept"}
    assert api.writes[0] == ("remove label", f"{of}")
    assert api.objects[of]["data"] == {"a": "1"}
    assert api.objects[of]["metadata"]["labels"] == {}
    assert run(api) == {}


def test_the_fields_of_an_object_that_stays_are_given_up_if_only_labels_differ() -> None:
    api = MemoryApi()
    web = namespace("web")
    api.objects[reference(web)] = {**web, "metadata": {"name": "web"}}
    run(api, web)
    api.writes.clear()
    assert run(api) == {"web": "kept"}
    assert api.writes[0] == ("apply", "Namespace web")
    assert "labels" not in api.objects[reference(web)]["metadata"]


def test_an_object_that_replaced_one_of_the_set_stays() -> None:
    api = MemoryApi()
    run(api, config_map("a"))
    of = given_before(api)
    assert run(api, config_map("a")) == {"a": "changed"}
    assert run(api) == {"a": "kept"}
    assert of in api.objects


def test_without_a_record_nothing_that_exists_is_removed() -> None:
    api = MemoryApi()
    run(api, config_map("a"))
    del api.objects[RECORD]
    assert run(api, config_map("a"), config_map("b")) == {"a": "unchanged", "b": "created"}
    assert run(api) == {"a": "kept", "b": "removed"}


@pytest.mark.parametrize(
    "also",
    [
        {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
        {"annotations": {"meta.helm.sh/release-name": "csi-driver-smb"}},
        {"managedFields": [{"manager": "argocd", "operation": "Apply"}]},
    ],
)
def test_an_object_that_others_have_applied_later_stays(also: Object) -> None:
    api = MemoryApi()
    run(api, config_map("a"), config_map("b"))
    of = reference(config_map("a"))
    api.objects[of]["metadata"] |= also
    # Others may only have written to this object, as controllers and `kubectl rollout restart` do.
    entries = [{"manager": "winkube", "operation": "Apply"}, {"manager": "kubectl-rollout", "operation": "Update"}]
    entries.append({"manager": "controller", "operation": "Apply", "subresource": "status"})
    api.objects[reference(config_map("b"))]["metadata"] |= {"managedFields": entries, "annotations": {"x": "y"}}
    assert run(api) == {"a": "kept", "b": "removed"}
    assert api.objects[of]["metadata"]["labels"] == {}


def test_an_object_that_is_replaced_during_the_run_is_not_removed() -> None:
    api = MemoryApi()
    run(api, config_map("a"))
    api.replaced = reference(config_map("a"))
    with pytest.raises(ApiError, match="precondition"):
        run(api)
    assert api.replaced in api.objects


def test_namespaces_and_replaced_objects_stay() -> None:
    api = MemoryApi()
    run(api, namespace("web"), config_map("a", namespace="web"))
    other = config_map("a", namespace="web")
    del other["metadata"]["labels"]
    api.objects[reference(other)] = other
    api.writes.clear()
    assert run(api) == {"web": "kept", "a": "kept"}
    assert api.writes == [("apply", "ConfigMap kube-system/record")]


def test_an_object_that_is_gone_is_forgotten() -> None:
    api = MemoryApi()
    run(api, config_map("a"))
    del api.objects[reference(config_map("a"))]
    assert run(api) == {"a": "gone"}
    assert run(api) == {}


def test_objects_of_a_new_namespace_are_created_with_it() -> None:
    api = MemoryApi()
    assert run(api, namespace("web"), config_map("a", namespace="web")) == {"web": "created", "a": "created"}


def test_a_run_that_ends_early_leaves_nothing_unrecorded() -> None:
    api = MemoryApi()
    api.fails_at = "ConfigMap kube-system/b"
    with pytest.raises(ApiError):
        run(api, config_map("a"), config_map("b"))
    api.fails_at = ""
    assert run(api) == {"a": "removed", "b": "gone"}
    assert list(api.objects) == [RECORD]


def test_a_conflict_ends_the_run_before_the_first_change() -> None:
    api = MemoryApi()
    api.conflict = reference(config_map("b"))
    with pytest.raises(ObjectSetError, match=r"ConfigMap kube-system/b: another program .*\"helm\".*force_conflicts"):
        run(api, config_map("a"), config_map("b"))
    assert api.writes == []


def test_an_unknown_api_ends_the_run_before_the_first_change() -> None:
    api = MemoryApi()
    rule = {**config_map("rules"), "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
    with pytest.raises(
        ObjectSetError, match=r"expected a cluster that supports PrometheusRule \(monitoring.coreos.com/v1\)"
    ):
        run(api, config_map("a"), rule)
    assert api.writes == []
    api.served.add("monitoring.coreos.com/v1")
    assert run(api, rule) == {"rules": "created"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "[1]",
        '[{"api_version": "v1", "kind": "Pod", "namespace": "kube-system", "name": "a"}]',
        '[{"api_version": "v1", "kind": "ConfigMap", "namespace": "", "name": "a"}]',
    ],
)
def test_a_record_that_cannot_be_read_ends_the_run(text: str) -> None:
    api = MemoryApi()
    run(api, config_map("a"))
    api.objects[RECORD]["data"]["objects"] = text
    with pytest.raises(ObjectSetError, match="ConfigMap kube-system/record: expected a list of objects"):
        run(api, config_map("a"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Widget"}, r"Widget kube-system/a: expected one of .*, got Widget \(v1\)"),
        ({"metadata": {"namespace": "x"}}, "ConfigMap: expected metadata.name, got nothing"),
        ({"metadata": {"name": "a"}}, "ConfigMap a: expected metadata.namespace, got nothing"),
        ({"kind": "Namespace"}, "Namespace kube-system/a: expected no metadata.namespace, got kube-system"),
    ],
)
def test_objects_that_cannot_be_applied_are_refused(change: Object, message: str) -> None:
    with pytest.raises(ObjectSetError, match=message):
        run(MemoryApi(), {**config_map("a"), **change})


def test_an_object_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(ObjectSetError, match="expected each object once, got ConfigMap kube-system/a more than once"):
        run(MemoryApi(), config_map("a"), config_map("a", "2"))


def test_a_difference_shows_no_data_of_secrets() -> None:
    secret = {**config_map("a", "s3cret"), "kind": "Secret"}
    assert "s3cret" not in shown(secret)
    assert "(hidden)" in shown(secret)
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "s3cret", "other": "kept"}
    applied = shown({**secret, "metadata": {**secret["metadata"], "annotations": annotations}})
    assert "s3cret" not in applied
    assert "kept" in applied
    assert "s3cret" in shown(config_map("a", "s3cret"))
