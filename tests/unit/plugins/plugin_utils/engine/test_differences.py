# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""--diff of a file is a unified diff of its text, which Ansible itself prints."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.plugins.callback.default import CallbackModule
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.engine.differences import before_and_after
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change
from ansible_collections.winkube.node.plugins.plugin_utils.resources.file import File

CONFIG = "version = 4\nroot = 'C:\\\\ProgramData'\n[plugins]\nsnapshotter = 'windows'\n"


def printed(before: dict[str, Any], after: dict[str, Any], **more: Any) -> list[str]:
    """Return what ansible-playbook --diff prints for a change of a file, without the headers."""
    change = Change(before=before, after=after, calls=(), why="differs")
    planned = Planned(position=0, resource=File(name="C:\\f", content="x", **more), change=change)
    text = CallbackModule()._get_diff([planned.diff()])
    return [line for line in text.splitlines() if line and not line.startswith(("---", "+++", "@@"))]


def test_a_changed_line_is_shown_as_a_removed_and_an_added_line() -> None:
    lines = printed({"content": CONFIG.replace("windows", "overlay")}, {"content": CONFIG})
    assert [line for line in lines if line[0] in "+-"] == ["-snapshotter = 'overlay'", "+snapshotter = 'windows'"]
    assert " version = 4" in lines


def test_a_new_file_has_its_text_and_its_access_list() -> None:
    lines = printed({"state": "absent"}, {"state": "present", "content": "a\nb\n", "acl": "D:P(A;;FA;;;SY)"})
    assert lines == ["-state: absent", "+state: present", "+acl: D:P(A;;FA;;;SY)", "+a", "+b"]


def test_values_without_a_text_form_stay_readable() -> None:
    assert before_and_after({"value": 0}, {"value": 1}) == ({"value": 0}, {"value": 1})
    lines = printed({"acl": "D:(A;;FA;;;WD)"}, {"acl": "D:P(A;;FA;;;SY)"})
    assert [line.split() for line in lines if line[0] in "+-"] == [
        ["-", '"acl":', '"D:(A;;FA;;;WD)"'],
        ["+", '"acl":', '"D:P(A;;FA;;;SY)"'],
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\r\nb\r\n", "a\nb\n", ["-a\\r", "-b\\r", "+a", "+b"]),
        ("\ufeffa\n", "a\n", ["-(byte-order mark)a", "+a"]),
        # If a line differs, too, only that is shown.
        ("\ufeffa\r\nb\r\n", "a\nc\n", [" a", "-b", "+c"]),
        ("a", "a\n", ["-a", "\\ No newline at end of file", "+a"]),
    ],
)
def test_differing_line_ends_and_marks_are_shown(before: str, after: str, lines: list[str]) -> None:
    assert printed({"content": before}, {"content": after}) == lines


def test_hidden_values_stay_hidden() -> None:
    lines = printed({"content": "old s3cret\n"}, {"content": "new s3cret\n"}, no_log=True)
    assert lines
    assert "s3cret" not in "\n".join(lines)


def test_several_texts_have_their_names() -> None:
    before, after = before_and_after({"one": "a\nb", "two": "c"}, {"one": "a\nx", "two": "c\nd", "number": 3})
    assert before == "one:\na\nb\n\\ No newline at its end\ntwo:\nc"
    assert after == "number: 3\none:\na\nx\n\\ No newline at its end\ntwo:\nc\nd"


@given(st.dictionaries(st.sampled_from(["content", "acl", "state"]), st.text("ab\r\n\ufeff"), min_size=1), st.data())
def test_a_difference_is_always_shown(before: dict[str, str], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(before)))
    after = {**before, key: before[key] + data.draw(st.text("ab\r\n\ufeff", min_size=1))}
    old, new = before_and_after(before, after)
    assert old != new
