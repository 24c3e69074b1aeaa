# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import typing as t

import pytest
from unit.fake_node import Fault
from unit.fake_settings import Download, Setting, World, converge, titles
from unit.scripted_machine import Warned, failure

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import UnsupportedWindows
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult, Results


def test_a_node_that_has_all_is_asked_once() -> None:
    outcome, action = converge(World({"a": "on", "b": "on"}), Setting(name="a"), Setting(name="b"))
    assert outcome.to_result(diff=True)["changed"] is False
    assert action._connection.commands == outcome.remote_commands == 1


def test_changes_are_made_in_order_in_one_batch() -> None:
    world = World({"b": "on"})
    outcome, action = converge(world, Setting(name="c"), Setting(name="b"), Setting(name="a"))
    assert world.sets() == ["c", "a"]
    assert titles(outcome) == ["Setting c", "Setting a"]
    assert action._connection.commands == 2
    result = outcome.to_result(diff=True)
    assert 0 <= result["changes"][0].pop("seconds") < 60
    assert result["changes"][0] == {
        "type": "Setting",
        "name": "c",
        "why": "is None, should be on",
        "action": "update",
        "disrupts": False,
        "disruption": "",
    }
    assert result["diff"][0] == {
        "before_header": "Setting c",
        "after_header": "Setting c",
        "before": {"value": None},
        "after": {"value": "on"},
    }
    assert result["windows"]["version"] == "2022"
    assert "diff" not in outcome.to_result(diff=False)


def test_check_mode_is_the_plan_in_one_command() -> None:
    world = World()
    outcome, action = converge(world, Setting(name="a"), Setting(name="b", reboot="always"), check_mode=True)
    assert titles(outcome) == ["Setting a", "Setting b"]
    assert action._connection.commands == 1
    assert world.settings == {}
    assert outcome.to_result(diff=False)["reboot_required"] is True


def test_the_same_question_is_asked_once() -> None:
    world = World({"a": "on"})
    outcome, _ = converge(world, Setting(name="a"), Download(name="a"), check_mode=True)
    assert world.ran("Get-Setting") == 1
    assert titles(outcome) == []


def test_resources_of_other_windows_versions_are_left_out() -> None:
    outcome, _ = converge(World(), Setting(name="a", windows=("2019",)), Setting(name="b", windows=("2022", "2025")))
    assert titles(outcome) == ["Setting b"]


@pytest.mark.parametrize(
    ("build", "more"),
    [(22000, {}), (14393, {}), (26100, {"InstallationType": "Client", "ProductName": "Windows 11 Pro"})],
)
def test_unsupported_windows_is_refused_and_nothing_done(build: int, more: dict[str, str]) -> None:
    world = World(windows={"CurrentBuild": str(build), **more})
    with pytest.raises(UnsupportedWindows, match=rf"build {build}.*17763.*20348.*26100.*allow_unsupported_windows"):
        converge(world, Setting(name="a"))
    assert world.settings == {}


@pytest.mark.parametrize(("build", "version"), [(14393, "2019"), (22000, "2022"), (25398, "23H2"), (29000, "2025")])
def test_an_allowed_unsupported_windows_counts_as_the_next_older_version(build: int, version: str) -> None:
    resources = [Setting(name=name, windows=(name,)) for name in ("2019", "2022", "23H2", "2025")]
    outcome, _ = converge(World(windows={"CurrentBuild": str(build)}), *resources, allow_unsupported_windows=True)
    assert titles(outcome) == [f"Setting {version}"]
    assert f"treated as Windows Server {version}" in outcome.warnings[0]


def test_2019_is_accepted_with_a_warning() -> None:
    outcome, _ = converge(World(windows={"CurrentBuild": "17763"}), Setting(name="a"))
    assert outcome.failures == []
    assert "2019" in outcome.to_result(diff=False)["warnings"][0]


def test_a_pending_reboot_is_reported() -> None:
    world, registry = World(), "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing"
    world.node.registry.create_key(f"{registry}\\RebootPending")
    control = "HKLM:\\SYSTEM\\CurrentControlSet\\Control"
    world.node.registry.set(f"{control}\\Session Manager", "PendingFileRenameOperations", ["x"], "MultiString")
    world.node.registry.set(f"{control}\\ComputerName\\ActiveComputerName", "ComputerName", "OLD")
    outcome, _ = converge(world)
    assert outcome.to_result(diff=False)["windows"]["pending_reboot"] == ["servicing", "file_rename", "computer_name"]


def test_the_first_error_stops_the_run_and_reports_the_finished_changes() -> None:
    world = World()
    world.broken = {"b"}
    outcome, _ = converge(world, Setting(name="a"), Setting(name="b"), Setting(name="c"))
    result = outcome.to_result(diff=False)
    assert result["failed"] is True
    assert result["msg"] == "win-1: Setting b: set: cannot set b to on"
    assert [change["name"] for change in result["changes"]] == ["a"]
    assert result["pending"] == ["Setting b", "Setting c"]
    assert "c" not in world.settings


def test_independent_resources_fail_alone_and_at_the_end() -> None:
    world = World()
    world.broken = {"b", "d"}
    outcome, action = converge(world, *(Download(name=name) for name in "abcd"), Setting(name="e"))
    assert titles(outcome) == ["Download a", "Download c", "Setting e"]
    assert outcome.failures == [f"win-1: Download {name}: set: cannot set {name} to on" for name in "bd"]
    assert action._connection.commands == 2


def test_an_independent_resource_stops_at_its_own_first_error() -> None:
    world = World()
    world.handlers["Test-Setting"] = lambda call: failure("no") if call["parameters"]["Name"] == "a" else []
    outcome, _ = converge(world, Download(name="a"), Download(name="b"))
    assert world.sets() == ["b"]
    assert outcome.failures == ["win-1: Download a: check: no"]


def test_a_failed_plan_names_node_resource_and_accepted_values() -> None:
    with pytest.raises(NodeError, match=r"win-1: plan: Setting a\.value: expected on or off, got 'impossible'"):
        converge(World(), Setting(name="a", value="impossible"))


def test_lost_work_is_observed_again_and_finished() -> None:
    world = World()
    world.has_services(kubelet="Running")
    outcome, _ = converge(world, Setting(name="a", restarts=("kubelet",)), Setting(name="b"), faults={2: "killed"})
    assert world.settings == {"a": "on", "b": "on"}
    assert outcome.failures == []
    assert "the node lost the batch" in outcome.warnings[0]


def test_services_restart_after_a_lost_batch_even_if_it_had_finished() -> None:
    world = World()
    world.has_services(kubelet="Running")
    resources = (Setting(name="a", restarts=("kubelet",)),)
    handle = world.handle

    def lose_after_it_ran(batch: dict[str, t.Any]) -> dict[str, t.Any]:
        answer = handle(batch)
        if batch.get("key") and batch["mode"] == "run" and len(world.batches) == 2:
            world.executed.clear()
            world.lose(batch["key"])
        return answer

    world.handle = lose_after_it_ran  # type: ignore[method-assign]
    outcome, _ = converge(world, *resources, faults={2: "after"})
    assert world.ran("Restart-Service") == 1
    assert outcome.failures == []


def test_work_lost_twice_fails() -> None:
    with pytest.raises(BatchLost, match="win-1: apply"):
        # Observe, apply, collect, observe, apply.
        converge(World(), Setting(name="a"), faults={2: "killed", 5: "killed"})


def test_values_of_a_no_log_resource_are_in_no_result() -> None:
    world = World({"a": "old-password"})
    outcome, action = converge(world, Setting(name="a", value="new-password", no_log=True))
    assert world.settings == {"a": "new-password"}
    assert "password" not in str(outcome.to_result(diff=True))
    assert all(call.get("secret") for call in world.batches[1]["calls"])
    assert action._connection.no_log_seen == [True, True]


def test_the_failure_of_a_no_log_resource_hides_its_values() -> None:
    world = World()
    world.broken = {"a"}
    outcome, _ = converge(world, Setting(name="a", value="new-password", no_log=True))
    assert "Setting a: set: NotSpecified Broken,Set-Setting" in outcome.failures[0]
    assert "password" not in str(outcome.to_result(diff=True))


class Explained(Download):
    """A setting that explains its failure."""

    def explain(self, call_id: str, result: CallResult) -> str | None:
        return f"That is {call_id}" if self.name == "a" else None

    def failure(self, results: Results) -> str | None:
        return f"{len(results)} calls, {results['set'].error}" if self.name == "b" else None


def test_a_resource_explains_its_failure() -> None:
    world = World()
    world.broken = {"a", "b", "c"}
    secret = Explained(name="c", no_log=True, value="password")
    outcome, _ = converge(world, Explained(name="a"), Explained(name="b"), secret)
    assert outcome.failures == [
        "win-1: Download a: set: cannot set a to on. That is set",
        "win-1: Download b: 2 calls, cannot set b to on",
        "win-1: Download c: set: NotSpecified Broken,Set-Setting (hidden: no_log)",
    ]


def test_progress_of_a_long_change_is_reported_once() -> None:
    world = World()
    world.running_answers = 3
    messages: list[str] = []
    converge(world, Setting(name="a", long=True), Setting(name="b"), notify=messages.append)
    assert messages == ["win-1: 1/2 Setting a"]


def test_warnings_of_calls_name_node_and_resource() -> None:
    world = World()
    world.handlers["Test-Setting"] = lambda _: Warned([], "slow disk")
    outcome, _ = converge(world, Setting(name="a"))
    assert outcome.warnings == ["win-1: Setting a: slow disk"]


def test_a_reboot_that_is_made_causes_no_warning() -> None:
    world = World()
    world.needs_reboot = {"a"}
    world.handlers["Test-Setting"] = lambda _: Warned([], "you must restart this server")
    outcome, _ = converge(world, Setting(name="a", reboot="if_reported"))
    assert world.reboots == 1
    assert outcome.warnings == []


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("fault", ["before", "after"])
def test_convergence_survives_a_broken_link_at_every_command(number: int, fault: Fault) -> None:
    world = World()
    world.needs_reboot = {"a"}
    outcome, _ = converge(
        world, Setting(name="a", reboot="if_reported"), Setting(name="b", long=True), faults={number: fault}
    )
    assert world.sets() == ["a", "b"]
    assert world.reboots == 1
    assert outcome.failures == []
