# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Users' settings for patches, also as text, because -e name=value is text."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from unit.roles import templates

PLAYBOOK = templates.ROLES.parent / "playbooks" / "patch_nodes.yml"


def _looking() -> dict[str, t.Any]:
    """Return the task that determines which patches a node lacks."""
    plays = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))
    (block,) = (task for task in plays[0]["tasks"] if task["name"] == "Determine which patches each node lacks")
    found: dict[str, t.Any] = block["block"][0]
    return found


@pytest.mark.parametrize(
    ("given", "ours", "expected"),
    [
        ({}, False, "10"),
        ({"windows_patches_contact_timeout": "60"}, False, "60"),
        ({"windows_patches_contact_timeout": "60"}, True, "300"),
        ({"windows_patches_contact_timeout": "60", "windows_patches_reconnect_timeout": "90"}, True, "90"),
        ({"windows_patches_contact_timeout": "600"}, True, "600"),
    ],
)
def test_times_may_be_texts(given: dict[str, str], ours: bool, expected: str) -> None:
    known = templates.templar(["windows_patches"], {**given, "node_maintenance_seen": {"ours": ours}})
    found = templates.value(known, _looking()["vars"]["windows_patches_first_contact_timeout"].strip()[2:-2])
    assert str(found) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("KB1, KB2", ["KB1", "KB2"]),
        (" KB1 ,, ", ["KB1"]),
        ("", []),
        (["KB1", {"kb": "KB2"}], ["KB1", {"kb": "KB2"}]),
    ],
)
def test_public_patches_may_be_a_text(given: object, expected: list[object]) -> None:
    known = templates.templar(["windows_patches"], {"windows_patches_public": given})
    assert templates.value(known, "windows_patches_list") == expected
