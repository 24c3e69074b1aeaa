# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is computed aside comes out as if it were computed here, and leaves nothing here."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible.utils.display import Display

from ansible_collections.winkube.node.plugins.action.node_state import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.actions.forked_templating import ProcessSlots, run_forked

pytestmark = pytest.mark.waits


def test_the_answer_comes_from_a_process_that_leaves_nothing_behind() -> None:
    done: list[int] = []

    def compute() -> dict[str, Any]:
        done.append(os.getpid())
        return {"pid": os.getpid(), "text": "ä" * 300_000}

    answer = run_forked(ProcessSlots(), compute)
    assert answer["text"] == "ä" * 300_000
    assert answer["pid"] != os.getpid()
    assert done == []
    with pytest.raises(ChildProcessError):
        # Other tests of this process may have children.
        os.waitpid(answer["pid"], os.WNOHANG)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    raise RuntimeError("only there")


def _warn() -> None:
    Display().warning("look out")


@pytest.mark.parametrize("trouble", [_die, _raise, _warn])
def test_trouble_there_has_it_computed_here(trouble: Callable[[], None]) -> None:
    here = os.getpid()

    def compute() -> int:
        if os.getpid() != here:
            trouble()
        return os.getpid()

    assert run_forked(ProcessSlots(), compute) == here


def test_an_answer_that_json_does_not_know_is_computed_here() -> None:
    known = object()
    assert run_forked(ProcessSlots(), lambda: known) is known


def test_an_error_is_raised_here() -> None:
    with pytest.raises(RuntimeError, match="only there"):
        run_forked(ProcessSlots(), _raise)


def test_no_more_compute_at_once_than_there_are_slots() -> None:
    slots = ProcessSlots(1)
    reader, writer = os.pipe()
    with slots.one():
        child = os.fork()
        if not child:
            with slots.one():
                os.write(writer, b"got it")
            os._exit(0)
        os.set_blocking(reader, False)
        with pytest.raises(BlockingIOError):
            os.read(reader, 10)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"got it"
    os.close(reader)
    os.close(writer)


def test_a_file_system_without_locks_sets_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    slots = ProcessSlots(1)
    with slots.one(), slots.one():
        assert run_forked(slots, lambda: 1) == 1


def _finalized(value: object, **variables: object) -> Any:
    templar = Templar(loader=DataLoader(), variables=variables)
    return ActionModule.finalize_task_arg("resources", value, templar, None)


def test_options_are_templated_as_ansible_does() -> None:
    resources = [{"type": "Directory", "name": "C:\\k", "when": True}]
    assert _finalized(trust_as_template("{{ all }}"), all=resources) == resources
    named = [{"type": trust_as_template("{{ kind }}"), "name": "C:\\k", "when": True}]
    assert _finalized(named, kind="Directory") == resources
    assert _finalized("not {{ trusted }}") == "not {{ trusted }}"
    assert _finalized(3) == 3


def test_an_undefined_variable_is_named() -> None:
    with pytest.raises(AnsibleUndefinedVariable, match="'missing' is undefined"):
        _finalized(trust_as_template("{{ missing }}"))
