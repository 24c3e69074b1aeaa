# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Container images that are built on the node: when they are built, pinned and pushed, and when nothing is done."""

from __future__ import annotations

import json
import typing as t

import pytest
from unit.resource_answers import answer, call, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

NAME = "r.example/built:1"
DIGEST = "sha256:" + "a" * 64
PIN = "io.cri-containerd.pinned=pinned"


def built(**more: t.Any) -> t.Any:
    return one(**{"type": "BuiltContainerImage", "name": NAME, "dockerfile": "FROM scratch\n", **more})


def containerd(labels: str | None) -> dict[str, CallResult]:
    """Return containerd's results: it has the name with these labels, or nothing."""
    listed = f"{NAME} application/x {DIGEST} 98.3 MiB windows/amd64 {labels}\n" if labels is not None else ""
    checked = f"{NAME} application/x {DIGEST} complete (5/5) 98.3 MiB/98.3 MiB true\n" if listed else ""
    return {"images": answer(stdout=f"REF\n{listed}", exit_code=0), "check": answer(stdout=f"REF\n{checked}")}


def docker(*, here: bool = True, marked: bool = True) -> dict[str, CallResult]:
    row = json.dumps({"Repository": "r.example/built", "Tag": "1", "ID": DIGEST, "Digest": "<none>", "Size": "9MB"})
    return {"images": answer(stdout=row if here else ""), "marked": answer(stdout=row if here and marked else "")}


def noted(value: str | None) -> dict[str, CallResult]:
    return {"pushed": answer({"exists": value is not None, "value": value})}


def ids(change: t.Any) -> list[str]:
    return [each.id for each in change.calls]


MARK = f"winkube.node.built-from={built().source}"


def test_an_image_is_built_labelled_pinned_and_pushed_once() -> None:
    requested = built(pinned=True, push=True)
    first = must(requested, **containerd(None), **noted(None))
    assert ids(first) == ["dockerfile", "build", "mark", "discard", "pin", "push", "key", "make-key", "note"]
    assert call(first, "note").parameters["Value"] == requested.source
    assert planned(requested, **containerd(f"{MARK},{PIN}"), **noted(requested.source)) is None
    assert planned(built(), **containerd(MARK)) is None


def test_a_pin_that_is_missing_is_all_that_is_set() -> None:
    change = must(built(pinned=True), **containerd(MARK))
    assert ids(change) == ["pin"]
    assert change.after == {"pinned": True}
    # A pin that is not requested stays, because it may belong to another owner.
    assert planned(built(), **containerd(f"{MARK},{PIN}")) is None


@pytest.mark.parametrize("runtime", ["containerd", "docker"])
@pytest.mark.parametrize("note", [None, "of another build"])
def test_a_push_that_failed_is_repeated_without_a_build(runtime: str, note: str | None) -> None:
    seen = containerd(MARK) if runtime == "containerd" else docker()
    change = must(built(push=True, runtime=runtime), **seen, **noted(note))
    assert ids(change) == ["push", "key", "make-key", "note"]
    assert change.after == {"pushed": True}
    assert planned(built(push=True, runtime=runtime), **seen, **noted(built().source)) is None


def test_an_image_is_pushed_if_it_is_unknown_whether_it_was() -> None:
    change = must(built(push=True), **containerd(MARK), pushed=failure("PermissionDenied", "x"))
    assert "push" in ids(change)


@pytest.mark.parametrize("here", [True, False])
def test_a_build_forgets_first_what_was_pushed(here: bool) -> None:
    """The push after it may fail, and a later run may need the pushed image again."""
    change = must(built(push=True, runtime="docker"), **docker(here=here, marked=False), **noted(built().source))
    assert ids(change)[:3] == ["forget", "dockerfile", "build"]
    assert ids(change)[-4:] == ["push", "key", "make-key", "note"]
