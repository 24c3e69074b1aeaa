# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Command lines: `split` is the inverse of `join`, and flags in an environment file take precedence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.windows.command_line import (
    flags_of,
    join,
    merge_flags,
    quote,
    split,
)

_ARGUMENT = st.text(alphabet=st.sampled_from('ab \\"\t\n=-é'), max_size=12)
_PROGRAM = st.text(alphabet=st.sampled_from("ab \\:.é"), min_size=1, max_size=12).filter(
    lambda text: text.strip(" \t") == text and not text.endswith("\\")
)


@given(_PROGRAM, st.lists(_ARGUMENT, max_size=5))
def test_joined_arguments_split_into_the_same_arguments(program: str, arguments: list[str]) -> None:
    assert split(join([program, *arguments])) == [program, *arguments]


def test_a_line_end_behind_a_backslash_doubles_nothing() -> None:
    assert quote("C:\\x\\\n") == '"C:\\x\\\n"'
    assert quote("C:\\a b\\") == '"C:\\a b\\\\"'


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        # Microsoft, "Parsing C command-line arguments": the examples of its table.
        (r'x "a b c" d e', ["a b c", "d", "e"]),
        (r'x "ab\"c" "\\" d', ['ab"c', "\\", "d"]),
        (r'x a\\\b d"e f"g h', [r"a\\\b", "de fg", "h"]),
        (r"x a\\\"b c d", [r"a\"b", "c", "d"]),
        (r'x a\\\\"b c" d e', [r"a\\b c", "d", "e"]),
        ('x a"b"" c d', ['ab" c d']),
        ("x", []),
    ],
)
def test_arguments_are_split_as_microsoft_documents(line: str, arguments: list[str]) -> None:
    assert split(line) == ["x", *arguments]


def test_the_program_is_quoted_only_by_quotation_marks() -> None:
    assert split(r'"C:\Program Files\containerd\bin\containerd.exe" --run-service') == [
        r"C:\Program Files\containerd\bin\containerd.exe",
        "--run-service",
    ]
    assert split("") == []


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ('KUBELET_KUBEADM_ARGS="--a=1 --b=2"\n', ["--a=1", "--b=2"]),
        (
            '\ufeffX=1\r\nKUBELET_KUBEADM_ARGS="--root=C:\\\\var\\\\lib --s=\\"x\\""\r\n',
            ["--root=C:\\var\\lib", '--s="x"'],
        ),
        ("KUBELET_KUBEADM_ARGS=--a=1 --b", ["--a=1", "--b"]),  # before kubeadm 1.11
        ('KUBELET_KUBEADM_ARGS="C:\\unknown"', ["C:\\unknown"]),  # written manually: not one of Go's escapes
        ("KUBELET_KUBEADM_ARGS=\n", []),
        ("OTHER=--a", []),
        ("", []),
    ],
)
def test_flags_are_read_as_kubeadm_writes_them(content: str, flags: list[str]) -> None:
    assert flags_of(content, "KUBELET_KUBEADM_ARGS") == flags


@pytest.mark.parametrize(
    ("arguments", "added", "merged"),
    [
        (["--a=1", "--b=2"], ["--b=3"], ["--a=1", "--b=3"]),
        (["--a", "1", "--b=2"], ["--a=3"], ["--b=2", "--a=3"]),
        (["--v=2"], ["-v=4"], ["-v=4"]),
        (["--a=1"], [], ["--a=1"]),
        (["--f=x", "--f=y"], ["--f=p", "--f=q"], ["--f=p", "--f=q"]),
        (["--node-ip=1"], ["--node-ip-x=2"], ["--node-ip=1", "--node-ip-x=2"]),
    ],
)
def test_added_flags_replace_their_namesakes(arguments: list[str], added: list[str], merged: list[str]) -> None:
    assert merge_flags(arguments, added) == merged


_FLAG = st.builds("--{}={}".format, st.sampled_from("abc"), st.sampled_from("123"))


@given(st.lists(_FLAG), st.lists(_FLAG))
def test_merging_twice_changes_nothing(arguments: list[str], added: list[str]) -> None:
    merged = merge_flags(arguments, added)
    assert merge_flags(merged, added) == merged
    assert merged[len(merged) - len(added) :] == added
