# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables for patches and rollouts that are rejected by name, before a node is accessed."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import values as checked
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.patches import problems

SHA = "ab" * 32
FILE = {"url": "https://h/windows10.0-kb5046616-x64.msu?sig=SECRET", "sha256": SHA}
SUBJECT = "CN=Microsoft Windows, O=Microsoft Corporation"


def problem_texts(public: t.Any = (), private: t.Any = (), **more: t.Any) -> list[str]:
    lists = {"windows_patches_public": public, "windows_patches_private": private}
    options = {f"windows_patches_{name}": value for name, value in more.items()}
    return [str(problem) for problem in problems({**lists, **options})]


@pytest.mark.parametrize(
    ("public", "private", "options", "named"),
    [
        (["KB50"], [], {}, ["windows_patches_public[0].kb: expected", "got 'KB50'", "KB5046616"]),
        ("KB5046616, KB50", [], {}, ["windows_patches_public[1].kb: expected", "got 'KB50'"]),
        (
            ["KB5046616", {"kb": 5046616}],
            [],
            {},
            ["windows_patches_public[1]", "windows_patches_public[0] is the same"],
        ),
        (["KB5046616"], [FILE], {}, ["windows_patches_private[0]", "windows_patches_public[0] is the same"]),
        ([], [{"url": FILE["url"]}], {}, ["windows_patches_private[0].sha256", "64 hexadecimal digits"]),
        ([], [FILE | {"requires": [{"file": "x.msu"}]}], {}, ["windows_patches_private[0].requires[0].sha256"]),
        ([], [{"file": "kb5046616.msu", "sha256": SHA}], {"source": "/nowhere"}, ["private[0].file", "/nowhere"]),
        (["KB5046616"], [], {"update_server": "none"}, ["windows_patches_public[0]", "update_server is none"]),
        (
            [],
            [],
            {"allowed_signers": ["Microsoft"]},
            ["windows_patches_allowed_signers[0]: expected", "got 'Microsoft'"],
        ),
    ],
)
def test_a_message_names_the_variable(
    public: t.Any, private: t.Any, options: dict[str, t.Any], named: list[str]
) -> None:
    (message,) = problem_texts(public, private, **options)
    assert [text for text in named if text not in message] == []
    assert "SECRET" not in message


def test_all_mistakes_are_reported_at_once() -> None:
    assert len(problem_texts(["KB1", "KB5046616"], [{"url": "ftp://h/a.msu"}, "x"])) == 3


def test_correct_variables_cause_no_message(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kb5046616.msu").write_bytes(b"x")
    local = {"file": "kb5046616.msu", "sha256": SHA}
    assert problem_texts(["KB5048654"], [local], source=str(tmp_path), allowed_signers=[SUBJECT]) == []
    # Next to the playbook, or in a bundle. It is searched for when it is needed.
    assert problem_texts([], [local | {"requires": [{"file": "checkpoint.msu", "sha256": SHA}]}]) == []
    bundle = {"node_prepare_bundle_dir": "/srv/bundle", "windows_patches_source": "/elsewhere"}
    assert problems({"windows_patches_private": [local], **bundle}) == []
    assert problems({}) == []


def test_a_text_is_a_list_of_public_patches_and_of_no_others() -> None:
    assert problem_texts("KB5046616 , KB5048654,") == []
    for text in ("a.msu,b.msu", "file=a.msu", ""):
        # Only the argument specification reports it, with one message.
        assert problem_texts(private=text) == []
        (problem,) = checked.mistyped_variables({"windows_patches_private": text}, preflight.roles())
        assert str(problem).startswith("windows_patches_private: expected a list of")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_no_input_ends_in_a_traceback(value: t.Any) -> None:
    problem_texts(value, value, source=value, allowed_signers=value)


@pytest.mark.parametrize("serial", ["lots", 0, "0", -3, "0%", "101%", "", "1.5", None, [1]])
def test_a_rollout_to_all_nodes_at_once_needs_confirmation(serial: t.Any) -> None:
    (problem,) = preflight.rollout_problems({"node_maintenance_serial": serial})
    assert str(problem).startswith("node_maintenance_serial: expected a single number of nodes")
    assert "a single number of nodes, 1 or more, or a single percentage such as 10%, got" in str(problem)


def test_plausible_rollouts() -> None:
    for serial in (1, "10", "5%", "100%"):
        assert preflight.rollout_problems({"node_maintenance_serial": serial}) == []
    assert len(preflight.rollout_problems({"node_maintenance_max_failed": -1})) == 1
    assert preflight.rollout_problems({}) == []


def test_secrets_of_urls_are_not_shown() -> None:
    value = "https://user:PASSWORD@h/kb5046616.msu?sig=SECRET"
    shown = str(preflight.Problem("windows_patches_private", value, "expected list of dict"))
    assert shown == "windows_patches_private: expected list of dict, got 'https://***@h/kb5046616.msu?***'"
