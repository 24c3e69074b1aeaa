# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which patches a node has according to its own report, and how attempts and results change that."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.patch_cases import (
    ANSWERS,
    CASES,
    ENDS,
    HOTFIX,
    KB,
    RESULTS,
    SKIPPED,
    error,
    node,
    patch,
    record,
)

from ansible_collections.winkube.node.plugins.plugin_utils.patches import codes, update
from ansible_collections.winkube.node.plugins.plugin_utils.patches.files import read
from ansible_collections.winkube.node.plugins.plugin_utils.patches.outcome import Attempt, PatchRecord, conclude
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import (
    Patch,
    PatchFile,
    judge,
)
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_patch_comes_from_windows(case: str) -> None:
    requested, seen, status = CASES[case]
    verdict = judge(requested, seen)
    assert (verdict.status, bool(verdict.why)) == (status, True)


def test_a_patch_for_another_windows_gets_a_hint_how_to_skip_it() -> None:
    why = judge(patch(build=(26100, 2314)), node(9999)).why
    assert why == (
        "it is for build 26100, but the node has 20348.9999; "
        'set windows: ["2025"] in its entry, so that other nodes skip the patch'
    )
    skipped = judge(patch(build=(26100, 2314), windows=("2025",)), node(9999))
    assert skipped.status == "skipped"
    # The build of an unsupported Windows Server has no such name.
    assert judge(patch(build=(19045, 1)), node(9999)).why == "it is for build 19045, but the node has 20348.9999"


@given(st.integers(1, 99999), st.integers(1, 99999))
def test_a_later_cumulative_update_contains_an_earlier(have: int, expected: int) -> None:
    status = judge(patch(build=(20348, expected)), node(have)).status
    assert status == ("installed" if have == expected else "superseded" if have > expected else "to_install")


@pytest.mark.parametrize("case", ENDS)
def test_an_installer_s_word_is_not_enough(case: str) -> None:
    found, seen, status = ENDS[case]
    assert conclude(found, seen, boots=1, blocked="a reboot is pending").status == status


def test_rolled_back_is_reported_only_after_an_observation() -> None:
    found = record(patch(".msu"), "reboot")
    assert "rolled back" in conclude(found, node(), boots=1).why
    assert "rolled back" not in conclude(found, node(), boots=2).why


def test_a_staged_patch_waits_for_its_reboot() -> None:
    found = record(patch(".msu"), "reboot")
    assert found.wants_reboot(0)
    assert not found.wants_reboot(1)
    assert conclude(found, node(), boots=0).status == "needs_reboot"


@pytest.mark.parametrize(
    ("requested", "outcomes", "boots", "again"),
    [
        (patch(), (), 0, True),
        (patch(), ("temporary", "temporary"), 0, True),
        (patch(), ("temporary", "temporary", "temporary"), 0, False),
        (patch(), ("failed",), 1, False),
        (patch(), ("not_offered",), 0, False),
        (patch(), ("not_offered",), 1, True),
        (patch(), ("not_offered", "not_offered"), 1, False),
        (patch(".msu"), ("reboot",), 1, True),
        (patch(".msu"), ("reboot", "reboot"), 1, False),
        (patch(".exe"), ("reboot",), 1, False),
        (patch(".exe"), ("done",), 0, False),
        (patch(".msu"), ("done",), 0, True),
        (patch(".msu"), ("done", "done"), 1, False),
        (patch(".msu"), ("reboot",), 0, False),
        (patch(".msu"), ("not_applicable",), 0, False),
        (patch(".msu"), ("not_applicable",), 1, True),
        (patch(".msu"), ("already",), 1, False),
    ],
)
def test_only_what_may_succeed_is_tried_again(
    requested: Patch, outcomes: tuple[str, ...], boots: int, again: bool
) -> None:
    assert record(requested, *outcomes).wants_attempt(boots) is again


def test_installed_and_unobserved_patches_are_not_installed() -> None:
    assert not PatchRecord(patch=patch()).wants_attempt(0)
    assert not record(patch(), seen=node(hotfixes=HOTFIX)).wants_attempt(0)


def test_a_record_knows_what_happened() -> None:
    found = PatchRecord(patch=patch())
    assert (found.last, found.changed, found.first) == (None, False, None)
    found.record_state(judge(patch(), node()))
    assert (found.is_fresh(0), found.is_fresh(1)) == (True, False)
    found.attempts.append(Attempt(outcome="temporary", why="busy"))
    assert (found.is_fresh(0), found.changed) == (False, False)
    found.attempts.append(Attempt(outcome="done", why="installed"))
    found.record_state(judge(patch(), node(hotfixes=HOTFIX)), 1)
    assert (found.is_fresh(1), found.changed) == (True, True)
    assert found.first == judge(patch(), node())
    assert found.verdict == judge(patch(), node(hotfixes=HOTFIX))


@pytest.mark.parametrize("case", ANSWERS)
def test_windows_update_s_answer_is_read(case: str) -> None:
    given_answer, outcome = ANSWERS[case]
    attempt = update.read(given_answer, [patch()], 0)[KB]
    assert (attempt.outcome, bool(attempt.why)) == (outcome, True)


@given(st.text() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_answer_of_windows_update_is_taken_for_an_installation(text: str) -> None:
    attempt = update.read(CallResult(ok=True, output=(text,)), [patch()], 0)[KB]
    assert attempt.outcome == "temporary"


@pytest.mark.parametrize("case", RESULTS)
def test_an_installer_s_answer_is_read(case: str) -> None:
    extension, results, outcome, words = RESULTS[case]
    requested = patch(extension)
    attempt = read(requested, results, 0)
    assert (attempt.outcome, words in attempt.why) == (outcome, True), attempt.why
    assert attempt.test_signing is case.startswith("test signing")


def test_a_url_s_signature_is_in_no_message() -> None:
    requested = dataclasses.replace(
        patch(".msu"), file=PatchFile(name="a.msu", sha256="0" * 64, url="https://u:p@h/a.msu?sig=S")
    )
    attempt = read(requested, {"get-0.download-0": error(exit_code=22), "have-0": error(), "install": SKIPPED}, 0)
    assert "https://h/a.msu" in attempt.why
    assert not {"sig", "u:p"} & set(attempt.why.replace("?", " ").split())
    assert "sig=" not in repr(requested)


@given(st.integers(-(2**31), 2**32 - 1))
def test_every_code_has_a_text_and_a_meaning(code: int) -> None:
    assert codes.describe(code)
    assert codes.meaning(code) == codes.meaning(code & 0xFFFFFFFF)
    assert codes.meaning(code) != "done" or code == 0
