# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments of a program that nssm runs."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, commands, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\kubelet\\Parameters"


def arguments(*given: str, **more: t.Any) -> t.Any:
    return one(type="NssmArguments", name="kubelet", arguments=list(given), **more)


def kubelet(*given: str) -> t.Any:
    return arguments(*given, arguments_from_file="C:\\flags.env", arguments_for_kubelet="1.36.3")


def seen(value: str | None, *, kind: str = "ExpandString", key_exists: bool = True) -> t.Any:
    exists = value is not None
    return answer({"exists": exists, "key_exists": key_exists, "value": value, "kind": kind if exists else None})


def flags(text: str) -> t.Any:
    return answer({"exists": True, "content": f'KUBELET_KUBEADM_ARGS="{text}"\n'})


def test_the_same_arguments_are_no_change() -> None:
    assert planned(arguments("--v=2", "--a=b c"), value=seen('--v=2 "--a=b c"')) is None
    # Quotation marks that are not necessary do not matter.
    assert planned(arguments("--v=2", "--a=b"), value=seen('"--v=2"  --a=b')) is None


def test_other_arguments_and_kinds_are_changed() -> None:
    change = must(arguments("--v=4"), value=seen("--v=2"))
    assert (change.before, change.after) == ({"arguments": "--v=2"}, {"arguments": "--v=4"})
    assert call(change, "set").parameters == {
        "LiteralPath": KEY,
        "Name": "AppParameters",
        "Value": "--v=4",
        "PropertyType": "ExpandString",
        "Force": True,
    }
    assert commands(must(arguments("--v=4"), value=seen("--v=4", kind="String"))) == ["New-ItemProperty"]


def test_a_new_service_gets_its_key() -> None:
    assert commands(must(arguments("--v=4"), value=seen(None, key_exists=False))) == [
        "@read-registry",
        "New-Item",
        "New-ItemProperty",
    ]
    assert commands(must(arguments("--v=4"), value=seen(None))) == ["New-ItemProperty"]


def test_arguments_that_do_not_exist_may_stay_away() -> None:
    for key_exists in (False, True):
        assert planned(arguments("--v=4", if_exists=True), value=seen(None, key_exists=key_exists)) is None
    assert must(arguments("--v=4", if_exists=True), value=seen("--v=2")).after == {"arguments": "--v=4"}


def test_flags_of_kubeadm_are_added_and_replace_flags_of_the_same_name() -> None:
    change = must(
        kubelet("--v=2", "--node-labels=a=b"),
        value=seen("--v=2"),
        flags=flags("--node-labels=site=x --pod-infra-container-image=pause --hostname-override=win1"),
    )
    # The kubelet of 1.36 does not have the flag for the pause image.
    assert change.after == {"arguments": "--v=2 --node-labels=site=x --hostname-override=win1"}
    (warning,) = change.warnings
    assert warning.endswith("kubelet 1.36.3 does not support; they are left out: --pod-infra-container-image=pause")
    missing = answer({"exists": False, "content": None})
    assert planned(kubelet("--v=2"), value=seen("--v=2"), flags=missing) is None


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"arguments": ["%TEMP%"]}, "expected no %, because nssm expands environment variables"),
        ({"arguments": [], "arguments_for_kubelet": "new"}, "expected MAJOR.MINOR.PATCH such as 1.37.1, got 'new'"),
    ],
)
def test_properties_that_cannot_be(properties: dict[str, t.Any], message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        one(type="NssmArguments", name="kubelet", **properties)
