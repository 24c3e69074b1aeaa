# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pages have lines that fit on a screen, and links to sections that exist."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change

ROOT = Path(__file__).resolve().parents[3]
WIDTH = 120
WIDEST_CODE = 160
"""Code blocks may contain the output of programs, such as tables."""
PAGES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()
DESCRIBED = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "roles/*/meta/argument_specs.yml",
        "plugins/filter/*.yml",
        "playbooks/**/*.yml",
        "changelogs/fragments/*",
    )
    for path in ROOT.glob(pattern)
)
UNCOMMON = re.compile(
    r"\b(wanted|told|tells|said|nobody|somebody|whoever|anew|beside|besides|(?<!there )is none|what came of|aside|"
    r"for ever|wish|patience|has not an?|has no more|so many)\b",
    re.IGNORECASE,
)
"""Words and phrases for which a reader stops."""
GENERATED = "docs/resources.md"
"""Its texts are those of the resource types, which tests/unit/test_messages.py checks."""
READ_BY_USERS = sorted(
    {
        *(page for page in PAGES if not page.startswith("tests/") and page != GENERATED),
        *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("roles/*/defaults/main.yml")),
        *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("inventories/**/*.*")),
        *DESCRIBED,
    }
)
_DEFAULT = re.compile(r"^\s*default: ")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def lines_of(page: str) -> t.Iterator[tuple[int, str, bool]]:
    """Yield the number of each line, its text, and whether it is code."""
    fenced = False
    for number, line in enumerate(text_of(page).splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced is not fence
        yield number, line, fenced or fence or line.startswith("    ")


def too_long(page: str) -> list[str]:
    """Return the lines that are too long; rows of tables cannot be broken."""
    found = []
    for number, line, code in lines_of(page):
        widest = WIDEST_CODE if code else WIDTH
        if len(line) > widest and not line.lstrip().startswith("|"):
            found.append(f"{page}:{number}: expected at most {widest} columns, got {len(line)}")
    return found


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = [line.lstrip("#") for _, line, code in lines_of(page) if not code and re.match(r"#{1,6} ", line)]
    plain = (re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page: str) -> None:
    assert too_long(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_to_sections_lead_to_headings(page: str) -> None:
    wrong = []
    for target, section in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", text_of(page)):
        if "://" in target or (target and not target.endswith(".md")):
            continue
        linked = (ROOT / page).parent.joinpath(target).resolve() if target else ROOT / page
        if section not in anchors(linked.relative_to(ROOT).as_posix()):
            wrong.append(f"{target}#{section}")
    assert wrong == []


@pytest.mark.parametrize("file", DESCRIBED)
def test_descriptions_and_comments_are_short(file: str) -> None:
    """Templates may be longer, because a line break in a template needs care."""
    found = []
    for number, line in enumerate(text_of(file).splitlines(), 1):
        if len(line) > WIDTH and "{{" not in line and "{%" not in line and not _DEFAULT.match(line):
            found.append(f"{file}:{number}: expected at most {WIDTH} columns, got {len(line)}")
    assert found == []


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`((?:docs|plugins|playbooks|scripts|tests)/[\w./-]+)`", text_of(page))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_fields_of_a_change_that_the_guide_names_exist() -> None:
    named = set(re.findall(r"`Change\.(\w+)`", text_of("docs/adding_a_resource_type.md")))
    assert len(named) >= 3
    assert named <= {field.name for field in dataclasses.fields(Change)}


@pytest.mark.parametrize("file", READ_BY_USERS)
def test_pages_use_common_words(file: str) -> None:
    lines = enumerate(text_of(file).splitlines(), 1)
    # Names of code in `backticks` are not prose.
    prose = ((number, re.sub(r"`[^`]*`", "", line)) for number, line in lines)
    assert [f"{file}:{number}: {line.strip()}" for number, line in prose if UNCOMMON.search(line)] == []


def test_anchors_are_those_of_github() -> None:
    assert {"what-verifies-a-download", "sources"} <= anchors("docs/caches.md")
    assert "planjson" in anchors("docs/plan.md")
    assert "siteyml-on-live-nodes" in anchors("docs/rolling_maintenance.md")
