# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data of an offline join: what it is for is read before it is used, and damaged data is refused."""

from __future__ import annotations

import base64
import contextlib

import hypothesis
import hypothesis.strategies as st
import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.active_directory import offline_data
from simulator.windows.directory.offline_data import encode

DATA = encode("corp.example.com", "CORP", "WIN1", "pässword-of-the-account", "dc1.corp.example.com")


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("computer", ["A", "WIN1", "FIFTEEN-LETTERS"])
@pytest.mark.parametrize("domain", ["a.b", "corp.example.com", "corp1.example.com"])
def test_the_domain_and_the_computer_are_read(domain: str, computer: str) -> None:
    found = offline_data.read(text(encode(domain, "CORP", computer, "secret", "dc1")))
    assert (found.domain, found.computer) == (domain, computer)


def test_the_dns_name_of_the_domain_counts() -> None:
    # lpDomain, the first name in the data, may be the NetBIOS name.
    name = "corp.example.com".encode("utf-16-le")
    other = DATA.replace(name, "CORP            ".encode("utf-16-le"), 1)
    assert other != DATA
    assert offline_data.read(text(other)).domain == "corp.example.com"


def test_the_file_of_djoin_is_accepted() -> None:
    # djoin.exe writes UTF-16 with a byte order mark and a final NUL.
    lines = "\r\n".join(text(DATA)[start : start + 64] for start in range(0, len(text(DATA)), 64))
    assert offline_data.read(f"\ufeff{lines}\0\n").computer == "WIN1"
    assert offline_data.normalized(f"\ufeff{lines}\0\n") == text(DATA)


@pytest.mark.parametrize(
    ("computer", "expected"),
    [("win1", True), ("WIN1", True), ("WIN10", False), ("win", False)],
)
def test_data_is_for_one_computer(computer: str, *, expected: bool) -> None:
    assert offline_data.read(text(DATA)).is_for(computer) is expected


def test_only_the_netbios_name_counts() -> None:
    found = offline_data.read(text(encode("a.b", "A", "A-LONG-COMPUTER", "secret", "dc1")))
    assert found.is_for("a-long-computer-name")


def test_data_in_another_form_says_nothing() -> None:
    # A package of Windows 8 without the part of Windows 7: ulODJFormat is 2.
    other = DATA.replace(
        b"\x01\0\0\0\x01\0\0\0\x04\0\x02\0\x01\0\0\0\x01\0\0\0", b"\x01\0\0\0\x01\0\0\0\x04\0\x02\0\x01\0\0\0\x02\0\0\0"
    )
    assert other != DATA
    found = offline_data.read(text(other))
    assert (found.domain, found.computer) == ("", "")
    assert found.is_for("ANY")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("?", "it is not base64"),
        ("", "the value does not begin with the header of serialized data"),
        (text(b"something else"), "the value does not begin with the header of serialized data"),
        (text(DATA[:40]), "it is incomplete"),
        (text(DATA[:300]), "it is incomplete"),
        (text(DATA[:20] + b"\x02" + DATA[21:]), "it is not the data of an offline join"),
    ],
)
def test_damaged_data_is_refused(given: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        offline_data.read(given)


@hypothesis.given(place=st.integers(0, len(DATA) - 1), value=st.integers(0, 255))
def test_no_other_error_escapes(place: int, value: int) -> None:
    damaged = bytearray(DATA)
    damaged[place] = value
    with contextlib.suppress(ValueError):
        offline_data.read(text(bytes(damaged)))
