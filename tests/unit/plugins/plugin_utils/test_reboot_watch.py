# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import base64

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.winkube.node.plugins.plugin_utils._reboot_watch import BOOT_TIME, RebootWatch

ORDER = "C:\\Windows\\System32\\shutdown.exe /r /t 2 /c 'x'"
LOST = ConnectionError("reset by peer")


def encoded(script: str) -> str:
    text = base64.b64encode(script.encode("utf-16-le")).decode()
    return f"PowerShell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand {text}"


class Node:
    """What a node answers in turn: an exception, or a boot time, or to an order its exit code."""

    def __init__(self, *answers: Exception | bytes) -> None:
        self.answers = list(answers)
        self.orders = 0

    def __call__(self, command: str, in_data: bytes | None = None) -> tuple[int, bytes, bytes]:
        self.orders += command == encoded(ORDER)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return 0, answer, b""


@pytest.mark.parametrize(
    ("answers", "orders"),
    [
        # The boot time before, the order's answer, then looks at the boot time.
        ([b"1", b"", b"1", b"2"], 1),
        ([b"1", LOST, b"2"], 1),
        ([b"1", LOST, LOST, b"2"], 1),
        ([b"1", LOST, b"1", b"", b"1", b"2"], 2),
        ([b"1", LOST, b"1\r\n", b'{"rc": 1115}', b"1", b"2"], 2),
        ([b"1", LOST, b"1", LOST, b"1", b"", b"2"], 3),
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
    while seen != b"2":
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
