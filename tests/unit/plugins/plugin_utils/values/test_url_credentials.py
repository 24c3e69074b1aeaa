# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Users and passwords in URLs do not appear in any output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.downloads import curl
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.variables import Problem
from ansible_collections.winkube.node.plugins.plugin_utils.values.url_credentials import (
    has_credentials,
    without_credentials,
)

PASSWORD = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1).map(
    lambda text: f"hunter{text}hunter"
)


@given(PASSWORD)
def test_whatever_is_in_a_password_no_part_of_it_is_shown(password: str) -> None:
    url = f"http://me:{password}@proxy.example:3128/x"
    assert without_credentials(url) == "http://(hidden)@proxy.example:3128/x"
    assert curl.redacted(url) == "http://proxy.example:3128/x"
    assert curl.carries_secret(url)
    for value in (url, [url], {"a": url}, {url: 1}):
        told = str(Problem("v", value, "expected another"))
        assert "hunter" not in told
    assert "proxy.example:3128" in str(Problem("v", url, "expected another"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@ss@proxy", "http://(hidden)@proxy"),
        ("token@host:1", "token@host:1"),
        ("u:p@ss@proxy:3128", "(hidden)@proxy:3128"),
        ("from http://u:p@a to http://v:q/q@b", "from http://(hidden)@a to http://(hidden)@b"),
    ],
)
def test_a_user_goes_up_to_the_last_sign(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


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
def test_what_is_no_user_stays(text: str) -> None:
    assert not has_credentials(text)
    assert without_credentials(text) == text
