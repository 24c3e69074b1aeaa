# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The changes that the mutation run makes to Python, YAML, Jinja and PowerShell."""

from __future__ import annotations

import textwrap

import pytest

from mutation import jinja_mutants, powershell_mutants, python_mutants, sources, template_mutants, yaml_mutants


def changes(path: str, text: str) -> set[str]:
    """Return the complete texts of all mutants of a text."""
    return {mutant.apply(text) for mutant in sources.find(path, text)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a == b)", {"f(a != b)", "pass"}),
        ("x = a < b < c", {"x = a <= b < c", "x = a < b <= c"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a is not None", {"x = a is None"}),
        ("x = a and b and c", {"x = a or b and c", "x = a and b or c"}),
        ("x = not a", {"x = (a)"}),
        ("x = a - b", {"x = a + b"}),
        ("x = True", {"x = False"}),
        ("x = 7", {"x = 8"}),
        ("x = 'ä' + 'b'", {"x = \"ämutated\" + 'b'", "x = 'ä' + \"bmutated\"", "x = 'ä' - 'b'"}),
        ("x = 'for people'", set()),
        ("x = f'{a} == {b}'", set()),
        ("x: dict[str, int] | None = f(a)", set()),
        ("Alias = str | None", set()),
        ("Kind = t.Literal['a', 'b']", set()),
        ("_Names = Mapping[str, list[int]] | None", set()),
        ("Tree: TypeAlias = 'dict'", set()),
        ("FIRST = list(a)[0]", {"FIRST = list(a)[1]"}),
        ("x = list(a)[0]", {"x = list(a)[1]"}),
        ('x = d[str(a) == "b"]', {'x = d[str(a) != "b"]', 'x = d[str(a) == "bmutated"]'}),
        ("x = str | None", {"x = str & None"}),
        ("def f():\n    Alias = str | None", {"def f():\n    Alias = str & None"}),
        ("x = 1.5", {"x = 4.0"}),
        ("x = -1.0", {"x = -3.0"}),
        ("x = 1e308", set()),
        ("x = b'a b'", {"x = b'a bmutated'"}),
        ("x = [a, b]", {"x = [ b]", "x = [a, ]"}),
        ("x = {k: v, **more}", {"x = { **more}"}),
        ("x = f(a, b=c)", {"x = f(a, )"}),
        ("x = t.cast('list[str]', a or b)", {"x = t.cast('list[str]', a and b)"}),
        ("x = broadcast('a')", {'x = broadcast("amutated")'}),
        ("def f(): return False", {"def f(): return True"}),
        ("x += a", {"pass"}),
        ("if a: raise b", {"if (not a): raise b", "if a: pass"}),
        ("while a: break", {"while (not a): break", "while a: continue"}),
        ("x = a if b else c", {"x = a if (not b) else c"}),
        ("x = [a for a in b if c]", {"x = [a for a in b if (not c)]"}),
        ("@dataclass(frozen=True)\nclass A:\n    'Text.'", set()),
        ("def f(a: int = 1) -> 'x': return a", {"def f(a: int = 2) -> 'x': return a", *()}),
    ],
)
def test_changes_of_python(before: str, after: set[str]) -> None:
    found = changes("plugins/a.py", before)
    if "return a" in before:
        after = after | {"def f(a: int = 1) -> 'x': return None"}
    assert found == after


def test_an_offset_counts_characters_while_python_counts_bytes() -> None:
    text = "x = ('äöü€', a == b)\n"
    assert "x = ('äöü€', a != b)\n" in changes("plugins/a.py", text)


YAML = textwrap.dedent("""\
    # A role's tasks.
    - name: Say it
      ansible.builtin.debug:
        msg: text for people
        count: 2
      when: a == 'b'
      no_log: true

    - name: Other
      win_service: {name: kubelet, state: started}
      tags: [always, x]
    """)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("when: a == 'b'", """when: "not (a == 'b')\""""),
        ("a == 'b'", "a != 'b'"),
        ("a == 'b'", "a == 'bmutated'"),
        ("no_log: true", "no_log: false"),
        ("  no_log: true", "  "),
        ("count: 2", "count: 3"),
        ("state: started", "state: stopped"),
        ("name: kubelet, state", "state"),
        ("[always, x]", "[x]"),
        ("[always, x]", "[always, ]"),
        ("always", '"alwaysmutated"'),
        (YAML[YAML.index("- name: Other") :].rstrip(), ""),
    ],
)
def test_changes_of_yaml(before: str, after: str) -> None:
    assert YAML.replace(before, after, 1) in changes("roles/a/tasks/main.yml", YAML)


def test_names_messages_and_comments_stay() -> None:
    found = [mutant for mutant in yaml_mutants.find("roles/a/tasks/main.yml", YAML) if mutant.operator != "drop item"]
    assert found
    for mutant in found:
        for text in ("- name: Say it", "msg: text for people", "# A role's tasks."):
            assert text in mutant.apply(YAML) or mutant.describe(YAML).startswith("drop entry: ansible.builtin.debug")


def test_a_list_that_goes_takes_no_comment_of_the_next_with_it() -> None:
    text = "a:\n  - b\n  - c\n# Of d.\nd: e\n"
    assert "a:\n  - b\n  \n# Of d.\nd: e\n" in changes("roles/a/vars/main.yml", text)
    assert "\n# Of d.\nd: e\n" in changes("roles/a/vars/main.yml", text)


def test_changes_of_expressions_leave_the_header_of_a_block_alone() -> None:
    text = "that: >-\n  a > b\nx: 1\n"
    assert "that: >-\n  a >= b\nx: 1\n" in changes("playbooks/a.yml", text)
    assert not any(">=-" in changed for changed in changes("playbooks/a.yml", text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{{ a if b else c }}", "{{ a if not b else c }}"),
        ("{{ a is defined }}", "{{ a is not defined }}"),
        ("{{ a is not defined }}", "{{ a is defined }}"),
        ("{{ not a }}", "{{ a }}"),
        ("{{ a | default('x') | bool }}", "{{ a  | bool }}"),
        ("{{ a | default('x') | bool }}", "{{ a | default('x')  }}"),
        ("{{ a | default('x') }}", "{{ a | default('xmutated') }}"),
        ("{{ a and true }}", "{{ a or true }}"),
        ("{{ a and true }}", "{{ a and false }}"),
        ("{{ a + 10 }}", "{{ a + 11 }}"),
    ],
)
def test_changes_of_jinja(before: str, after: str) -> None:
    found = {mutant.apply(before) for mutant in jinja_mutants.of_template("a.j2", before, 0, len(before))}
    assert after in found


def test_quoted_text_in_jinja_is_not_code() -> None:
    text = "{{ a == 'b or c == d 10' }}"
    assert {mutant.operator for mutant in jinja_mutants.of_template("a.j2", text, 0, len(text))} == {"comparison"}


def test_lines_of_a_template_go_but_its_statements_stay() -> None:
    text = "{% if a %}\nkey: {{ b }}\n{% endif %}\n# comment\n"
    found = template_mutants.find("a.j2", text)
    assert [mutant.line for mutant in found if mutant.operator == "drop line"] == [2]


def test_changes_of_powershell_leave_texts_and_comments_alone() -> None:
    text = "# -eq 1\nif ($a -eq 'x -and 5' -and -not $b) { throw 'y' }\n$limit = 10\n    throw 'no'\n"
    found = {(mutant.line, mutant.operator) for mutant in powershell_mutants.find("a.ps1", text)}
    assert found == {(2, "comparison"), (2, "and/or"), (2, "drop not"), (3, "number"), (4, "drop statement")}


def test_unreadable_or_equivalent_changes_are_not_mutants() -> None:
    text = "x = 1\n"
    (mutant,) = python_mutants.find("plugins/a.py", text)
    assert sources.differs(mutant, text)
    broken = python_mutants.make("plugins/a.py", text, 0, 3, "(", "broken")
    same = python_mutants.make("plugins/a.py", text, 1, 2, "  ", "blank")
    assert not sources.differs(broken, text)
    assert not sources.differs(same, text)
