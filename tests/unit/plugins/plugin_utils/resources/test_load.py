# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Loading users' resources: every mistake is rejected in one line with its place, value and expected values."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource
from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import (
    describe,
    properties,
    property_types,
)
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import registry_fixes

SERVICE = {"type": "Service", "name": "kubelet"}


@pytest.mark.parametrize(
    ("item", "where", "value", "accepted"),
    [
        ({"type": "Servce", "name": "x"}, "resources[0].type", "Servce", "Did you mean Service?"),
        ({"name": "x"}, "resources[0].type", None, "one of Archive, Artifact"),
        ({"type": ["Service"], "name": "x"}, "resources[0].type", None, "one of Archive"),
        ("Service", "resources[0]", "Service", "mapping"),
        (
            {**SERVICE, "startmode": "auto"},
            "resources[0] (Service kubelet).startmode",
            "startmode",
            "Did you mean start_mode?",
        ),
        (
            {**SERVICE, "start_mode": "automatic"},
            "(Service kubelet).start_mode",
            "automatic",
            "auto, delayed-auto, demand",
        ),
        ({"type": "Service"}, "resources[0] (Service).name", None, "expected a string"),
        ({**SERVICE, "dependencies": [["a"]]}, "(Service kubelet).dependencies[0]", None, "expected a string"),
        ({**SERVICE, "environment": {"A": True}}, "(Service kubelet).environment.A", True, "Put it in quotes"),
        ({**SERVICE, "environment": ["A=1"]}, "(Service kubelet).environment", None, "mapping"),
        (
            {**SERVICE, "recovery": {"actions": [{"action": "reset"}]}},
            "recovery.actions[0].action",
            "reset",
            "restart, none",
        ),
        ({**SERVICE, "recovery": {}}, "recovery.actions", None, "got nothing"),
        (
            {**SERVICE, "recovery": {"actions": [{"action": "restart", "delay_seconds": "soon"}]}},
            "recovery.actions[0].delay_seconds",
            "soon",
            "expected a number",
        ),
        ({**SERVICE, "no_log": "perhaps"}, "(Service kubelet).no_log", "perhaps", "true or false"),
        ({**SERVICE, "when": "perhaps"}, "(Service kubelet).when", "perhaps", "true or false"),
        ({**SERVICE, "windows": [2021]}, "(Service kubelet).windows", "2021", "2019, 2022"),
        ({**SERVICE, "arguments": ["--v=2"]}, "(Service kubelet).arguments", None, "path"),
        (
            {"type": "Archive", "name": "C:\\k", "path": "a.zip", "strip_components": 1.5},
            "strip_components",
            1.5,
            "whole",
        ),
        (
            {"type": "Archive", "name": "C:\\k", "path": "a.zip", "strip_components": True},
            "strip_components",
            True,
            "whole",
        ),
        ({"type": "Directory", "name": "C:\\k", "acl": "everyone"}, "(Directory C:\\k).acl", "everyone", "SDDL"),
        ({"type": "Directory", "name": "C:\\", "state": "absent"}, ".name", "C:\\", "drive"),
        ({"type": "File", "name": "C:\\a\x00b", "content": ""}, ".name", None, "null character"),
    ],
)
def test_a_mistake_is_refused_with_its_place(item: t.Any, where: str, value: t.Any, accepted: str) -> None:
    with pytest.raises(ResourceError) as caught:
        load([item])
    assert where in caught.value.where
    assert accepted in str(caught.value)
    if value is not None:
        assert caught.value.value == value
    assert "\n" not in str(caught.value)


def test_values_are_converted_as_leniently_as_by_ansible() -> None:
    (service, archive) = load(
        [
            {
                **SERVICE,
                "no_log": "yes",
                "windows": 2022,
                "start_mode": "AUTO",
                "path": "C:\\k\\kubelet.exe",
                "arguments": None,
            },
            {"type": "Archive", "name": "C:\\k", "path": "a.zip", "strip_components": "2", "check": "a.exe"},
        ]
    )
    assert (service.no_log, service.windows) == (True, ("2022",))
    assert vars(service)["start_mode"] == "auto"
    assert vars(service)["arguments"] == ()
    assert (vars(archive)["strip_components"], vars(archive)["check"]) == (2, ("a.exe",))


def test_an_item_whose_condition_is_false_is_dropped() -> None:
    assert load([{**SERVICE, "when": "no"}, {**SERVICE, "when": False}]) == []
    assert len(load([{**SERVICE, "when": "no"}, {**SERVICE, "when": "true"}])) == 1


def test_a_name_is_unique_within_a_type() -> None:
    load([SERVICE, {"type": "Directory", "name": "kubelet"}])
    with pytest.raises(
        ResourceError, match=r"resources\[1\] \(Service Kubelet\).*resources\[0\] already has this type and name"
    ):
        load([{**SERVICE, "start_mode": "auto"}, {**SERVICE, "name": "Kubelet", "start_mode": "disabled"}])


@pytest.mark.parametrize(
    "item",
    [
        {"type": "Environment", "name": "TOKEN", "no_log": True, "value": ["abcdef.0123456789abcdef"]},
        {"type": "Environment", "name": "TOKEN", "no_log": "yes", "value": {"k": "abcdef.0123456789abcdef"}},
        {
            "type": "Registry",
            "key": "HKLM:\\A",
            "value_name": "x",
            "value_type": "DWord",
            "value": "abcdef.0123456789abcdef",
            "no_log": 1,
        },
        {
            "type": "Artifact",
            "name": "a",
            "path": "C:\\a",
            "urls": ["ftp://u:abcdef.0123456789abcdef@h/x"],
            "sha256": "0" * 64,
        },
        {
            "type": "Artifact",
            "name": "a",
            "path": "C:\\a",
            "urls": ["ftp://h/x?sig=abcdef.0123456789abcdef"],
            "sha256": "0" * 64,
        },
        {
            "type": "Artifact",
            "name": "a",
            "path": "C:\\a",
            "urls": ["https://h/x"],
            "headers": "abcdef.0123456789abcdef",
        },
        {"type": "WinHttpProxy", "name": "m", "proxy": "http://u:abcdef.0123456789abcdef@p x"},
    ],
)
def test_a_secret_that_is_refused_is_not_shown(item: t.Mapping[str, t.Any]) -> None:
    with pytest.raises(ResourceError) as caught:
        load([item])
    assert "0123456789" not in f"{caught.value}{caught.value.value!r}"


@pytest.mark.parametrize("items", [{"type": "Service"}, "Service", None, 5])
def test_only_a_list_is_a_list(items: t.Any) -> None:
    with pytest.raises(ResourceError, match="expected a list of resources"):
        load(items)


def test_the_registry_fixes_are_resources() -> None:
    resources = load(registry_fixes.resources(["2019", "2022", "2025"]))
    assert len(resources) > 50
    assert {resource.type for resource in resources} == {"Registry"}


def test_every_property_has_a_description() -> None:
    for type_ in TYPES.values():
        assert type_.__doc__
        for name, field in properties(type_).items():
            assert field.metadata.get("help"), f"{type_.type}.{name}"
            assert describe(property_types(type_)[name])


_WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=3) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
_KEYS = sorted({name for type_ in TYPES.values() for name in properties(type_)} | {"when", "nonsense"})
_ALMOST = st.sampled_from(
    ["present", "absent", "running", "C:\\k", "HKLM:\\SOFTWARE\\a", "https://h/a.zip", "D:(A;;FA;;;SY)"]
)


@given(
    st.lists(
        st.builds(
            lambda type_, values: {"type": type_, **values},
            st.sampled_from(sorted(TYPES)) | _WILD,
            st.dictionaries(st.sampled_from(_KEYS), _WILD | _ALMOST, max_size=6),
        )
        | _WILD,
        max_size=3,
    )
)
def test_wild_input_loads_or_is_refused_on_one_line(items: list[t.Any]) -> None:
    problem = ""
    resources: list[Resource] = []
    try:
        resources = load(items)
    except ResourceError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1
    assert len(problem) < 2000
    for resource in resources:
        assert isinstance(resource, Resource)
        assert resource.observe()
        for call in resource.observe():
            call.to_wire()


def test_equal_resources_of_two_roles_are_one() -> None:
    item = {"type": "Directory", "name": "C:\\opt"}
    assert len(load([item, dict(item)])) == 1
