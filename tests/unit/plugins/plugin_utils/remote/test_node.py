# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import hashlib
import io
import itertools
import typing as t

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from unit.fake_node import FakeAction, FakeTime, Fault
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.remote import download
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import FOLDER, Node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.values.ansible_data import plain
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Progress, RunningCall
from simulator.machine.objects import ProgramResult

CALLS = (Call(id="a", command="Get-A"), Call(id="b", command="Set-B"))


@pytest.fixture
def machine() -> ScriptedMachine:
    made: dict[str, t.Any] = {"Get-A": [1], "Set-B": [2], "Install-C": [3], "x.exe": []}
    return ScriptedMachine({name: lambda _, output=output: output for name, output in made.items()})


def make(
    machine: ScriptedMachine, faults: t.Mapping[int, Fault] | None = None, **limits: float
) -> tuple[Node, FakeAction]:
    action, time = FakeAction(machine, faults), FakeTime()
    node = Node(
        t.cast("t.Any", action),
        {"inventory_hostname": "win-1"},
        timeouts=Timeouts(**limits),  # type: ignore[arg-type]
        clock=time.clock,
        sleep=time.sleep,
    )
    return node, action


def reach(node: Node) -> None:
    """Send a first command, so that later failures belong to existing connections."""
    node.observe(CALLS[:1])


def test_an_observation_is_one_remote_command(machine: ScriptedMachine) -> None:
    node, action = make(machine)
    seen = node.observe(CALLS)
    assert seen["b"].output == (2,)
    assert node.remote_commands == action._connection.commands == 1
    assert "key" not in machine.batches[0]


def test_the_connection_is_left_as_it_was(machine: ScriptedMachine) -> None:
    node, action = make(machine, {1: "before"})
    before, attributes = action._connection, set(vars(action._connection))
    node.observe(CALLS)
    assert action._connection is before
    assert set(vars(before)) == attributes
    assert action._play_context.no_log is False


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_an_observation_is_sent_again_after_a_broken_link(machine: ScriptedMachine, fault: Fault, number: int) -> None:
    node, action = make(machine, {number: fault})
    for _ in range(2):
        assert node.observe(CALLS)["a"].output == (1,)
    assert action._connection.resets == 1


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_batch_runs_once_wherever_the_link_breaks(
    machine: ScriptedMachine, fault: Fault, number: int, long: bool
) -> None:
    node, _ = make(machine, {number: fault})
    reach(node)
    answer = node.run(Batch(calls=(Call(id="c", command="Install-C", long=long),)))
    assert answer["c"].output == (3,)
    assert machine.ran("Install-C") == 1


@pytest.mark.parametrize(("first", "second"), list(itertools.product(["before", "after"], repeat=2)))
def test_a_batch_runs_once_when_the_link_breaks_twice(machine: ScriptedMachine, first: Fault, second: Fault) -> None:
    node, _ = make(machine, {2: first, 3: second, 4: first})
    reach(node)
    assert node.run(Batch(calls=(Call(id="c", command="Install-C", long=True),))).state == "finished"
    assert machine.ran("Install-C") == 1


def test_a_broken_link_costs_one_collect_and_nothing_is_sent_again(machine: ScriptedMachine) -> None:
    node, _ = make(machine, {2: "after"})
    reach(node)
    node.run(Batch(calls=CALLS))
    assert [batch["mode"] for batch in machine.batches] == ["run", "run", "collect"]


def test_a_direct_batch_is_one_command_and_its_key_is_forgotten_with_the_next(machine: ScriptedMachine) -> None:
    node, _ = make(machine)
    node.run(Batch(calls=CALLS))
    key = machine.batches[0]["key"]
    node.observe(CALLS)
    node.observe(CALLS)
    assert node.remote_commands == 3
    assert [batch.get("forget") for batch in machine.batches] == [None, [key], None]
    assert machine.kept() == []


def test_a_long_batch_is_detached_and_collected(machine: ScriptedMachine) -> None:
    machine.running_answers = 2
    node, action = make(machine)
    messages: list[Progress] = []
    node.on_progress = messages.append
    answer = node.run(Batch(calls=(Call(id="c", command="Install-C", long=True),)))
    assert answer["c"].ok
    assert [progress.id for progress in messages] == ["c", "c"]
    key = machine.batches[0]["key"]
    assert action.async_dirs == [f"{FOLDER}\\{key}"]
    assert [batch.get("wait") for batch in machine.batches] == [None, 240, 240, 240]
    # Both are set only for this command.
    assert action._task.async_val == 0
    assert action._connection._shell.get_option("async_dir") == "%USERPROFILE%/.ansible_async"


class Hesitant(ScriptedMachine):
    """A machine whose detached process needs a moment to claim its key."""

    asked = 0
    waiting: dict[str, t.Any] | None = None

    def detach(self, batch: dict[str, t.Any]) -> None:
        self.asked, self.waiting = 0, batch

    def handle(self, batch: dict[str, t.Any]) -> dict[str, t.Any]:
        self.asked += 1
        if self.waiting is not None and self.asked > 6:
            super().detach(self.waiting)
            self.waiting = None
        return super().handle(batch)


def test_a_batch_that_claims_its_key_late_is_not_sent_again() -> None:
    machine = Hesitant({"Install-C": lambda _: [3]})
    node, action = make(machine)
    answer = node.run(Batch(calls=(Call(id="c", command="Install-C", long=True),)))
    assert answer["c"].output == (3,)
    assert machine.ran("Install-C") == 1
    assert len(action.async_dirs) == 1


def test_a_batch_that_takes_too_long_names_node_and_step(machine: ScriptedMachine) -> None:
    machine.running_answers = 100
    node, _ = make(machine, batch=0)
    with pytest.raises(NodeError, match=r"win-1: apply: not finished after 0 seconds .* at c"):
        node.run(Batch(calls=(Call(id="c", command="Install-C", long=True),)))


def test_lost_work_is_reported_with_its_progress(machine: ScriptedMachine) -> None:
    node, _ = make(machine, {2: "killed"})
    reach(node)
    with pytest.raises(BatchLost, match=r"win-1: apply: the node lost the batch at a") as caught:
        node.run(Batch(calls=CALLS))
    assert caught.value.progress == Progress(id="a", done=0, total=2, running=(RunningCall(id="a", size=None),))


def test_a_secret_batch_hides_what_the_connection_would_show(machine: ScriptedMachine) -> None:
    node, action = make(machine)
    node.run(Batch(calls=(Call(id="b", command="Set-B", secret=True),)))
    node.observe(CALLS, private=True)
    node.observe(CALLS)
    assert action._connection.no_log_seen == [True, True, False]
    assert action._play_context.no_log is False


def test_a_node_that_never_answers_is_unreachable_soon(machine: ScriptedMachine) -> None:
    node, action = make(machine, dict.fromkeys(range(1, 100), "before"))
    action._connection.unreachable = 1000
    with pytest.raises(AnsibleConnectionFailure, match="win-1: observe: connection refused"):
        node.observe(CALLS)
    assert action._connection.resets < 6
    assert action._connection.closes == action._connection.resets


def test_an_established_link_gets_a_longer_timeout(machine: ScriptedMachine) -> None:
    node, action = make(machine, {2: "after"})
    reach(node)
    action._connection.unreachable = 12
    assert node.run(Batch(calls=CALLS))["b"].ok
    assert machine.ran("Set-B") == 1


def test_a_link_that_stays_away_names_node_and_step(machine: ScriptedMachine) -> None:
    node, action = make(machine, {2: "after"}, reconnect=60)
    reach(node)
    action._connection.unreachable = 1000
    with pytest.raises(AnsibleConnectionFailure, match="win-1: features: connection refused"):
        node.run(Batch(calls=CALLS), step="features")


def test_wrong_credentials_are_not_tried_until_the_account_is_locked(machine: ScriptedMachine) -> None:
    node, action = make(machine, dict.fromkeys(range(1, 100), "before"), first_contact=1000)
    action._connection.error = AnsibleConnectionFailure("ntlm: the specified credentials were rejected by the server")
    with pytest.raises(AnsibleConnectionFailure, match="rejected"):
        node.observe(CALLS)
    assert action._connection.commands == 1


def test_a_password_that_was_right_may_be_refused_for_a_moment_after_a_reboot(machine: ScriptedMachine) -> None:
    node, action = make(machine, dict.fromkeys(range(2, 100), "before"), first_contact=1000)
    reach(node)
    action._connection.error = AnsibleConnectionFailure("ntlm: the specified credentials were rejected by the server")
    with pytest.raises(AnsibleConnectionFailure, match="rejected"):
        node.observe(CALLS)
    assert action._connection.commands == 1 + 3


@pytest.mark.parametrize("run", [True, False])
def test_a_garbled_answer_is_requested_again(machine: ScriptedMachine, run: bool) -> None:
    node, _ = make(machine, {1: "garbled"})
    answer = node.run(Batch(calls=CALLS)) if run else node.observe(CALLS)
    assert answer["b"].ok
    assert machine.ran("Set-B") == (1 if run else 2)


def test_the_message_of_a_failed_module_is_reported(machine: ScriptedMachine) -> None:
    node, _ = make(machine, {1: "garbled", 2: "garbled"})
    with pytest.raises(NodeError, match=r"(?s)win-1: observe: .*deserialization failed.*out of memory"):
        node.observe(CALLS)


def test_the_output_of_a_failed_private_batch_is_hidden(machine: ScriptedMachine) -> None:
    node, _ = make(machine, {1: "garbled", 2: "garbled"})
    with pytest.raises(NodeError, match="hidden") as caught:
        node.observe(CALLS, private=True)
    assert "out of memory" not in str(caught.value)


@pytest.mark.parametrize("fault", ["before", "after", "garbled"])
def test_a_broken_connection_costs_one_piece_of_a_download(
    machine: ScriptedMachine, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    content = b"a line of a log" * 5
    machine.node.files.write_bytes("C:\\x.log", content)
    monkeypatch.setattr(download, "PIECE", 30)
    node, dummy = make(machine, {3: fault})
    reach(node)
    target = io.BytesIO()
    assert node.fetch("C:\\x.log", len(content), hashlib.sha256(content).hexdigest(), target) == 3
    assert target.getvalue() == content
    assert node.remote_commands == 1 + 3 + 1


def test_a_batch_too_large_is_refused_before_it_is_sent(machine: ScriptedMachine) -> None:
    node, action = make(machine)
    with pytest.raises(NodeError, match="expected at most 1000000 bytes"):
        node.run(Batch(calls=(Call(id="b", command="Set-B", parameters={"Value": "x" * 1_000_000}),)))
    assert action._connection.commands == 0


def test_a_reboot_is_one_order_and_waited_for(machine: ScriptedMachine) -> None:
    node, _ = make(machine)
    reach(node)
    node.reboot(step="feature")
    assert machine.reboots == 1
    assert machine.node.power.last_reason == "winkube.node: feature"
    # The boot time was known: the reboot, the commands that are lost while the node is away, and one query after that.
    assert [batch["mode"] for batch in machine.batches[1:]].count("run") <= 3
    assert node.observe(CALLS[:1]).boot == machine.boot


def test_the_boot_time_is_unknown_after_an_upload_that_failed(machine: ScriptedMachine) -> None:
    node, action = make(machine)
    reach(node)

    def put_file(*_: str) -> None:
        machine.node.power.reset()
        action._connection.put_file = lambda *_: None
        raise ConnectionResetError

    action._connection.put_file = put_file
    node.put("local", "remote", step="upload")
    node.reboot()
    assert machine.reboots == 2
    assert machine.batches[1]["calls"] == [], "the boot time is read again"


@pytest.mark.parametrize("fault", ["before", "after", "garbled"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_node_reboots_once_wherever_the_link_breaks(machine: ScriptedMachine, fault: Fault, number: int) -> None:
    node, _ = make(machine, {1 + number: fault})
    reach(node)
    node.reboot()
    assert machine.reboots == 1
    node.observe(CALLS[:1])
    assert machine.kept() == []


def test_a_shutdown_scheduled_by_another_user_is_replaced(machine: ScriptedMachine) -> None:
    machine.node.power.shutdown(delay=1_000_000)
    node, _ = make(machine)
    node.reboot()
    assert machine.reboots == 1
    assert machine.is_on


def test_a_reboot_that_fails_names_node_and_step() -> None:
    refused = ProgramResult(5, "", "Access is denied.(5)\r\n")
    node, _ = make(ScriptedMachine({"shutdown.exe": lambda _: refused}))
    with pytest.raises(NodeError, match=r"win-1: feature: shutdown.exe ended with exit code 5: Access is denied.\(5\)"):
        node.reboot(step="feature")


def test_a_node_that_cannot_be_reached_is_not_ordered_to_reboot(machine: ScriptedMachine) -> None:
    node, _ = make(machine, dict.fromkeys(range(1, 100), "before"))
    with pytest.raises(AnsibleConnectionFailure, match="win-1: feature: connection reset by peer"):
        node.reboot(step="feature")
    assert machine.batches == []


def test_values_of_yaml_become_plain_json() -> None:
    import datetime

    from ansible.parsing.dataloader import DataLoader

    loaded = DataLoader().load("since: 2026-11-21\nname: node\ncount: 3\nlist: [yes]\n")
    assert plain(loaded) == {"since": "2026-11-21", "name": "node", "count": 3, "list": [True]}
    assert plain({"at": datetime.datetime(2026, 11, 21, 1, 2, 3, tzinfo=datetime.UTC)})["at"].startswith(
        "2026-11-21T01:02"
    )
    assert {type(key) for key in plain(loaded)} == {str}


@pytest.mark.parametrize(("watch", "waits"), [(None, [240, 240, 240]), ("C:\\x.part", [120, 240, 240])])
def test_a_node_that_reports_file_sizes_is_polled_sooner(
    machine: ScriptedMachine, watch: str | None, waits: list[int]
) -> None:
    machine.running_answers = 2
    node, _ = make(machine)
    node.run(Batch(calls=(Call(id="a", command="x.exe", watch=watch, long=True),)))
    assert [batch["wait"] for batch in machine.batches if batch["mode"] == "collect"] == waits


@pytest.mark.parametrize(
    "call", [Call(id="a", command="Get-A", secret=True), Call(id="a", command="Get-A", private=True)]
)
def test_secrets_are_not_sent_if_ansible_keeps_remote_files(
    machine: ScriptedMachine, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(constants, "DEFAULT_KEEP_REMOTE_FILES", True)
    node, _ = make(machine)
    with pytest.raises(NodeError, match=r"win-1: apply: ANSIBLE_KEEP_REMOTE_FILES .* expected false"):
        node.run(Batch(calls=(call,)))
    assert machine.batches == []
    # A user who looks for the error sees everything that is not a secret.
    assert node.observe(CALLS)["b"].output == (2,)
