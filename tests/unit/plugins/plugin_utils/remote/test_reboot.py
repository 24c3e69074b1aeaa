# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import base64
import contextlib
import re

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import BOOT_TIME, RebootWatch, file_time

ORDER = "C:\\Windows\\System32\\shutdown.exe /r /t 2 /c 'x'"
LOST = ConnectionError("reset by peer")
LOGON = "Get-Item -LiteralPath 'HKLM:\\SOFTWARE\\X\\AutoLogonChecked' -ErrorAction Stop; 'success-0f-1e'"
BOOTED = "2026-11-21T12:00:00.1234567Z"
FILE_TIME = 134397360001234567


def encoded(script: str) -> str:
    text = base64.b64encode(script.encode("utf-16-le")).decode()
    return f"PowerShell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand {text}"


class Node:
    """What a node answers in turn: an exception, or a boot time, or to an order its exit code."""

    def __init__(self, *answers: Exception | bytes) -> None:
        self.answers = list(answers)
        self.orders = 0
        self.commands: list[str] = []

    def __call__(self, command: str, in_data: bytes | None = None) -> tuple[int, bytes, bytes]:
        self.commands.append(command)
        self.orders += command == encoded(ORDER)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return 0, answer, b""


@pytest.mark.parametrize(
    ("answers", "orders"),
    [
        # The boot time before, the order's answer, then looks at the boot time.
        ([b"before", b"", b"before", b"after"], 1),
        ([b"before", LOST, b"after"], 1),
        ([b"before", LOST, LOST, b"after"], 1),
        ([b"before", LOST, b"before", b"", b"before", b"after"], 2),
        ([b"before", LOST, b"before\r\n", b'{"rc": 1115}', b"before", b"after"], 2),
        ([b"before", LOST, b"before", LOST, b"before", b"", b"after"], 3),
    ],
)
def test_an_order_that_was_lost_is_given_again_until_the_node_has_it(
    answers: list[Exception | bytes], orders: int
) -> None:
    node = Node(*answers)
    watch = RebootWatch(node)
    watch(encoded(BOOT_TIME), in_data=None)
    try:
        watch(encoded(ORDER), in_data=None)
    except AnsibleConnectionFailure as error:
        assert error.__cause__ is LOST  # noqa: PT017 - some of these are lost, some are not
    seen = b""
    while seen != b"after":
        try:
            seen = watch(encoded(BOOT_TIME), in_data=None)[1]
        except ConnectionError:
            continue
    assert node.answers == []
    assert node.orders == orders


def test_other_commands_pass() -> None:
    node = Node(b"a", LOST)
    assert RebootWatch(node)("whoami")[1] == b"a"
    with pytest.raises(ConnectionError):
        RebootWatch(node)("x -EncodedCommand ä")


def ask(watch: RebootWatch, script: str) -> bytes:
    return watch(encoded(script), in_data=None)[1]


def test_a_node_that_has_said_when_it_booted_is_not_asked_again() -> None:
    node = Node(b"", b"%d True" % (FILE_TIME + 600 * 10**7))
    watch = RebootWatch(node, BOOTED)
    assert ask(watch, BOOT_TIME) == b"%d" % FILE_TIME
    ask(watch, ORDER)
    assert ask(watch, BOOT_TIME) == b"%d" % (FILE_TIME + 600 * 10**7)
    assert ask(watch, LOGON) == b"success-0f-1e"
    assert (len(node.commands), node.orders) == (2, 1)


def test_a_node_that_goes_down_is_not_taken_for_one_that_is_back() -> None:
    # Windows computes its boot time from its clock, which may have been set meanwhile by some milliseconds.
    node = Node(b"", b"%d False" % (FILE_TIME + 5994), b"%d True" % (FILE_TIME - 5994))
    watch = RebootWatch(node, BOOTED)
    before = ask(watch, BOOT_TIME)
    ask(watch, ORDER)
    assert ask(watch, BOOT_TIME) == before
    assert ask(watch, BOOT_TIME) == before
    node.answers = [b"no logon screen"]
    assert ask(watch, LOGON) == b"no logon screen"


def test_a_node_that_still_configures_updates_is_waited_for_on_the_node() -> None:
    node = Node(b"", b"%d False" % (FILE_TIME + 10**9), b"success-0f-1e")
    watch = RebootWatch(node, BOOTED)
    ask(watch, ORDER)
    ask(watch, BOOT_TIME)
    assert ask(watch, LOGON) == b"success-0f-1e"
    sent = base64.b64decode(node.commands[-1].rpartition(" ")[2]).decode("utf-16-le")
    assert sent.endswith(LOGON)
    assert "Start-Sleep" in sent


@pytest.mark.parametrize("lost", [False, True])
def test_a_node_that_goes_down_slowly_is_waited_for_on_the_node(lost: bool) -> None:
    node = Node(LOST if lost else b"", b"%d True" % (FILE_TIME + 10**9))
    watch = RebootWatch(node, BOOTED)
    with contextlib.suppress(AnsibleConnectionFailure):
        ask(watch, ORDER)
    ask(watch, BOOT_TIME)
    sent = base64.b64decode(node.commands[-1].rpartition(" ")[2]).decode("utf-16-le")
    assert sent.endswith(BOOT_TIME)
    # Whether a lost order arrived is to be known at once.
    assert ("Start-Sleep" in sent) is not lost
    # Another boot is one whose time differs either way: after it the clock may be behind.
    asked = re.search(r"if \(\[Math\]::Abs\((.*)\.ToFileTime\(\) - (\d+)\) -le (\d+)\) \{ Start-Sleep", sent)
    assert (asked is None) is lost
    assert asked is None or asked.group(2, 3) == (str(FILE_TIME), str(10**6))


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (BOOTED, b"%d" % FILE_TIME),
        ("2026-11-21T12:00:00Z", b"134397360000000000"),
        ("2026-11-21T12:00:00.5Z", b"134397360005000000"),
        ("2026-13-21T12:00:00Z", b""),
        ("yesterday", b""),
        ("", b""),
    ],
)
def test_file_times(moment: str, expected: bytes) -> None:
    assert file_time(moment) == expected
