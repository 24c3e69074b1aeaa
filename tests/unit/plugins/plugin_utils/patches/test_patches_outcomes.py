# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete results with their messages: judgements, ends, results of installers, calls, reports."""

from __future__ import annotations

import dataclasses

from unit import outcomes
from unit.patch_cases import (
    ANSWERS,
    CASES,
    ENDS,
    KB,
    RESULTS,
    SIGNED,
    SKIPPED,
    UPDATE,
    answer,
    done,
    error,
    node,
    patch,
    record,
)

from ansible_collections.winkube.node.plugins.plugin_utils.patches import codes, update
from ansible_collections.winkube.node.plugins.plugin_utils.patches.files import read
from ansible_collections.winkube.node.plugins.plugin_utils.patches.outcome import PatchRecord, conclude
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch, PatchFile, judge
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult


def test_every_judgement_has_a_reason() -> None:
    outcomes.check(
        "patches/judged", {case: judge(requested, seen) for case, (requested, seen, _status) in CASES.items()}
    )


def test_every_outcome_has_a_reason() -> None:
    ends = {case: conclude(found, seen, boots=1, blocked="blocked") for case, (found, seen, _status) in ENDS.items()}
    ends["never asked"] = conclude(PatchRecord(patch=patch()), node(), boots=0)
    ends["never tried, and nothing was in the way"] = conclude(record(patch()), node(), boots=1)
    ends["an exe that is not listed"] = conclude(record(patch(".exe"), "done"), node(), boots=1)
    ends["an msu that is not listed"] = conclude(record(patch(".msu"), "done"), node(), boots=1)
    ends["done, but nobody looked"] = conclude(record(patch(".msu"), "done"), node(), boots=2)
    ends["waits for its reboot"] = conclude(record(patch(".msu"), "reboot"), node(), boots=0)
    outcomes.check("patches/ends", ends)


def test_every_answer_of_windows_update_has_a_reason() -> None:
    answers = {case: update.read(found, [patch()], 1)[KB] for case, (found, _outcome) in ANSWERS.items()}
    for code in (-1, 0, 3010, 0x00240006, -2145124330):
        answers[f"failed with {code}"] = update.read(
            answer(updates={"1": {**UPDATE, "failure_hresult_code": code}}), [patch()], 1
        )[KB]
    two = {"1": {**UPDATE, "failure_hresult_code": -1}, "2": {**UPDATE, "failure_hresult_code": -2146498526}}
    answers["the second of two knows why"] = update.read(answer(updates=two), [patch()], 1)[KB]
    one = {"1": UPDATE, "2": {**UPDATE, "installed": False}}
    answers["one of two is not installed"] = update.read(answer(updates=one), [patch()], 1)[KB]
    answers["no title"] = update.read(answer(updates={"1": {**UPDATE, "title": ""}}), [patch()], 1)[KB]
    other = {"1": {**UPDATE, "kb": ["KB5046616"]}, "2": {"kb": ["1"], "failure_hresult_code": 5}}
    answers["another failed"] = update.read(answer(updates=other, failed=True), [patch()], 1)[KB]
    answers["another failed, this one is not there"] = update.read(
        answer(updates={"2": {"kb": ["1"], "failure_hresult_code": 5}}, failed=True, hresult=5), [patch()], 1
    )[KB]
    answers["failed without a word"] = update.read(answer(updates={}, failed=True), [patch()], 1)[KB]
    filtered = {"1": {**UPDATE, "filtered_reasons": ["accept_list"]}}
    answers["filtered"] = update.read(answer(updates={}, filtered_updates=filtered), [patch()], 1)[KB]
    outcomes.check("patches/windows_update_answers", answers)


def test_every_answer_of_an_installer_has_a_reason() -> None:
    found = {case: read(patch(suffix), results, 1) for case, (suffix, results, _outcome, _words) in RESULTS.items()}
    required = dataclasses.replace(
        patch(".msu"), requires=(PatchFile(name="b.msu", sha256="1" * 64, url="https://h/b"),)
    )
    bad = {**SIGNED, "Status": "NotTrusted"}
    more: dict[str, tuple[Patch, dict[str, CallResult]]] = {
        "an msu with a checkpoint": (required, {"install": done(output=({"RestartNeeded": True},), seconds=2.5)}),
        "nothing known": (patch(".cab"), {"install": done()}),
        "a code of success in an error": (patch(".cab"), {"install": error("Error code = 0x00240006")}),
        "not signed by anybody we know": (
            patch(".cab"),
            {"signature": done(output=(bad,)), "install": error("Error code = 0x800f081e")},
        ),
        "signed well": (
            patch(".cab"),
            {"signature": done(output=({**SIGNED, "Status": "Valid"},)), "install": error("Error code = 0x800f081e")},
        ),
        "busy, and not signed by anybody": (
            patch(".msu"),
            {"signature": done(output=(bad,)), "install": error(exit_code=1618)},
        ),
        "the second file is missing": (
            required,
            {"have-0": done(), "have-1": error(), "get-1.download-0": error(exit_code=6), "install": SKIPPED},
        ),
        "the second file was not looked at": (required, {"have-0": done(), "install": SKIPPED}),
        "another hash": (
            patch(".msu"),
            {"have-0": error(output=({"exists": True, "sha256": "ff"},)), "install": SKIPPED},
        ),
        "nothing there": (patch(".msu"), {"have-0": error(output=({"exists": False},)), "install": SKIPPED}),
        "no folder": (
            patch(".msu"),
            {"get-0.folder": error("no folder"), "have-0": error(), "install": SKIPPED},
        ),
        "no room to commit": (
            patch(".msu"),
            {"get-0.download-0": done(exit_code=0), "get-0.verify-0": error("no room"), "have-0": error()},
        ),
        "a pushed file's wrong bytes": (
            dataclasses.replace(patch(".msu"), file=PatchFile(name="a.msu", sha256="0" * 64, local="/srv/a.msu")),
            {"join-0.commit": error("it has b", "ChecksumMismatch,X"), "have-0": error()},
        ),
        "only test signing": (patch(".msu"), {"testsigning": done(exit_code=0)}),
        "test signing was skipped": (patch(".msu"), {"testsigning": SKIPPED, "install": done(exit_code=0)}),
        "test signing, and it knew it": (
            patch(".msu"),
            {"testsigning": done(exit_code=0), "install": done(exit_code=2359302)},
        ),
        "untrusted, and test signing was on": (patch(".msu"), {"install": error(exit_code=-2146762487)}),
        "bcdedit said nothing but an error": (
            patch(".msu"),
            {"have-0": done(), "signature": done(), "testsigning": error("broken"), "install": SKIPPED},
        ),
        "bcdedit told it": (
            patch(".msu"),
            {"have-0": done(), "signature": done(), "testsigning": error(stdout=" denied \r\n"), "install": SKIPPED},
        ),
    }
    found |= {case: read(requested, results, 1) for case, (requested, results) in more.items()}
    outcomes.check("patches/installer_answers", found)


def test_every_code_has_a_meaning_and_a_text() -> None:
    known = sorted({*codes.MEANINGS, *codes.CAUSES, 0xFFFF, 0x10000, 0x8024FFFF})
    outcomes.check("patches/codes", {hex(code): f"{codes.meaning(code)}: {codes.describe(code)}" for code in known})
