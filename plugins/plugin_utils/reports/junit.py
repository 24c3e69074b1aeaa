# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and copy the JUnit files that a test program on the controller wrote."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t
from xml.etree import ElementTree

_LONGEST = 300


@dataclasses.dataclass(frozen=True, kw_only=True)
class JUnitResults:
    """The test cases of one or more JUnit files."""

    passed: int = 0
    skipped: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    """The test cases that failed, each with the first line of its message."""
    problem: str = ""
    """Why the results cannot be used; empty if they can be."""

    def to_result(self) -> dict[str, t.Any]:
        """Return the results in the form in which a module returns them."""
        failed = [{"name": name, "message": message} for name, message in self.failed]
        return {"passed": self.passed, "skipped": self.skipped, "failed": failed, "problem": self.problem}


def read(folder: pathlib.Path) -> JUnitResults:
    """Read all JUnit files in a folder.

    pytest and Kubernetes' e2e.test (Ginkgo) write the same elements: a `testcase` contains `failure` or `error` if it
    failed, and `skipped` if it did not run. Sources: github.com/onsi/ginkgo, reporters/junit_report.go; pytest,
    junitxml.py.

    Args:
        folder: the folder with the files. It is missing or empty if the test program ended early.

    Returns:
        The results of all tests. `problem` says which file is invalid, or that no test ran; otherwise it is empty.
    """
    cases: list[ElementTree.Element] = []
    for path in sorted(folder.glob("*.xml")):
        try:
            # A program that the user chose wrote these files, on the controller.
            cases += ElementTree.parse(path).getroot().iter("testcase")  # noqa: S314
        except (OSError, ElementTree.ParseError) as error:
            return JUnitResults(problem=f"{path}: expected a JUnit file ({error})")
    failed = tuple((_name(case), reason) for case in cases if (reason := _reason(case)) is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    passed = len(cases) - len(failed) - skipped
    problem = "" if passed or failed else f"no test ran, according to the JUnit files in {folder}"
    return JUnitResults(passed=passed, skipped=skipped, failed=failed, problem=problem)


def copy_redacted(source: pathlib.Path, target: pathlib.Path, redact: t.Callable[[str], str]) -> None:
    """Copy a JUnit file without secrets, unless the file is missing or incomplete because a program ended early.

    Args:
        source: the JUnit file.
        target: path of the copy, whose folder is created.
        redact: function that removes secrets from a string. It is called with each text and attribute, unescaped.
    """
    try:
        # A program that the user chose wrote this file, on the controller.
        tree = ElementTree.parse(source)  # noqa: S314
    except (OSError, ElementTree.ParseError):
        return
    for element in tree.iter():
        element.text = redact(element.text) if element.text else element.text
        for name, value in element.attrib.items():
            element.set(name, redact(value))
    target.parent.mkdir(parents=True, exist_ok=True)
    tree.write(target, encoding="utf-8", xml_declaration=True)


def _name(case: ElementTree.Element) -> str:
    return " ".join((case.get("name") or "a test without a name").split())[:_LONGEST]


def _reason(case: ElementTree.Element) -> str | None:
    """Return the first line of a failure's message, which may be empty, or None if the test did not fail."""
    for kind in ("failure", "error"):
        child = case.find(kind)
        if child is not None:
            lines = (child.get("message") or child.text or "").strip().splitlines()
            return lines[0][:_LONGEST] if lines else ""
    return None
