# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Users and passwords in URLs do not appear in any output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils.redaction.urls import (
    carries_secret,
    has_user,
    redact_url,
    redact_users,
)
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.variables import Problem

PASSWORD = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1).map(
    lambda text: f"hunter{text}hunter"
)


@given(PASSWORD)
def test_no_part_of_any_password_is_shown(password: str) -> None:
    url = f"http://me:{password}@proxy.example:3128/x"
    assert redact_users(url) == "http://***@proxy.example:3128/x"
    assert redact_url(url) == "http://proxy.example:3128/x"
    assert carries_secret(url)
    for value in (url, [url], {"a": url}, {url: 1}):
        reported = str(Problem("v", value, "expected another"))
        assert "hunter" not in reported
    assert "proxy.example:3128" in str(Problem("v", url, "expected another"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@ss@proxy", "http://***@proxy"),
        ("token@host:1", "token@host:1"),
        ("u:p@ss@proxy:3128", "***@proxy:3128"),
        ("from http://u:p@a to http://v:q/q@b", "from http://***@a to http://***@b"),
    ],
)
def test_user_information_ends_at_the_last_at_sign(text: str, shown: str) -> None:
    assert redact_users(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://host/a/@scope/b",
        "https://host:8443/a@b",
        "https://host:8443?to=a@b",
        "https://[::1]:8443/a@b",
        "http://a:3128,http://b:3128",
        "r.example:5000/pause:3.10@sha256:00",
        "pause:3.10@sha256:00",
        "C:\\a@b",
        "me@example.com",
    ],
)
def test_an_at_sign_outside_of_user_information_is_kept(text: str) -> None:
    assert not has_user(text)
    assert redact_users(text) == text
