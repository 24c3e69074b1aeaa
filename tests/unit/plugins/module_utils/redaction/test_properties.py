# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What holds for every redaction: no secret is left, a second time changes nothing, other text stays."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.secret_forms import FORMS, HARMLESS, SECRET

from ansible_collections.winkube.node.plugins.module_utils.redaction.texts import Redaction, redact_value
from ansible_collections.winkube.node.plugins.module_utils.redaction.urls import has_user, redact_url, redact_users

PLUGINS = Path(__file__).parents[5] / "plugins"
ALONE = st.text(string.ascii_letters + string.digits + "-_.~!", min_size=8, max_size=40).map(lambda text: f"Zq7x{text}")
"""Secrets that need no quotes anywhere."""
PASSWORD = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1).map(
    lambda text: f"hunter{text}hunter"
)
USER = st.text(string.ascii_letters + string.digits + "._-%", max_size=20)
SCHEME = st.sampled_from(["http", "https", "ftp", "socks5h", "HTTP"])
HOST = st.sampled_from(["h", "proxy.example:3128", "[2001:db8::1]:8080", "192.0.2.1"])
REST = st.sampled_from(["", "/", "/a/b.zip", "/@scope/b", "/a?b=c", "/a#b"])
PIECES = (*":@/.,=?#&<>[] a1~", '"', "'", "\\", "://", "http://", "me:pw@", "***")
URLISH = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
"""Texts that resemble URLs."""
LINES = st.sampled_from([*FORMS.values(), *HARMLESS])


@given(st.sampled_from([name for name in FORMS if SECRET in FORMS[name]]), ALONE)
def test_no_secret_is_left_in_any_form(form: str, secret: str) -> None:
    assert secret not in Redaction().text(FORMS[form].replace(SECRET, secret))


@given(st.lists(LINES, max_size=5).map("\n".join))
def test_redacting_a_log_twice_changes_nothing(text: str) -> None:
    once = Redaction().text(text)
    assert Redaction().text(once) == once


@given(st.lists(st.sampled_from(HARMLESS), max_size=6).map("\n".join))
def test_ordinary_lines_stay_in_any_order(text: str) -> None:
    assert Redaction().text(text) == text


@given(SCHEME, USER, PASSWORD, HOST, REST)
def test_no_part_of_a_password_is_left(scheme: str, user: str, password: str, host: str, rest: str) -> None:
    url = f"{scheme}://{user}:{password}@{host}{rest}"
    assert has_user(url)
    for shown in (redact_users(url), redact_url(url), redact_value(url)):
        assert "hunter" not in shown
    if "@" not in rest:
        assert redact_users(url) == f"{scheme}://***@{host}{rest}"


@given(SCHEME, PASSWORD.filter(lambda text: not set(text) & set("/?#")), HOST, REST)
def test_a_token_in_place_of_a_user_is_a_secret(scheme: str, token: str, host: str, rest: str) -> None:
    url = f"{scheme}://{token}@{host}{rest}"
    for shown in (redact_users(url), redact_url(url), redact_value(url)):
        assert "hunter" not in shown


@given(USER.filter(bool), PASSWORD, st.sampled_from(["h:80", "proxy.example:3128", "proxy.example"]))
def test_a_proxy_without_a_scheme_may_have_a_password(user: str, password: str, host: str) -> None:
    value = f"{user}:{password.replace('/', '')}@{host}"
    assert redact_users(value) == f"***@{host}"
    assert "hunter" not in redact_value(value)


@given(SCHEME, HOST, st.sampled_from(["", "/", "/a/b.zip", "/a/c.tar.gz"]))
def test_urls_without_secrets_stay(scheme: str, host: str, rest: str) -> None:
    url = f"{scheme}://{host}{rest}"
    assert [redact_users(url), redact_url(url), redact_value(url)] == [url] * 3
    assert not has_user(url)


@given(URLISH)
@pytest.mark.parametrize("redact", [redact_users, redact_url, redact_value])
def test_redacting_a_value_twice_changes_nothing(redact: object, text: str) -> None:
    assert callable(redact)
    once = redact(f"https://{text}")
    assert redact(once) == once


@given(URLISH)
def test_a_value_has_a_user_if_there_is_something_to_redact(text: str) -> None:
    assert has_user(text) == (redact_users(text, "another") != text)


def test_nothing_else_redacts() -> None:
    """Placeholders and patterns of users in URLs are in this package only."""
    theirs = re.compile(
        r"""["'(]\*\*\*["')]|["' ]\((?:changed, |details )?hidden[,:)]|\(\?<=://\)|(?<!\w)_?redacted?\w*\s*="""
    )
    found = [
        f"{path.relative_to(PLUGINS)}: {line.strip()}"
        for path in PLUGINS.rglob("*.py")
        if "redaction" not in path.parts
        for line in path.read_text(encoding="utf-8").splitlines()
        if theirs.search(line)
    ]
    assert found == []
