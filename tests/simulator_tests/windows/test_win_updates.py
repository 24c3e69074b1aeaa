# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows Update through `ansible.windows.win_updates`: its real action plugin, the module as simulated."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.ansible.windows.plugins.action import win_updates as plugin
from simulator_tests.waiting import wait_for
from simulator_tests.windows.updates import DECEMBER, NOVEMBER

from simulator.machine import faults, modules
from simulator.machine.ansible_actions import Elevations
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError
from simulator.machine.session import Session
from simulator.windows.updates import update_catalogue, update_session, windows_update
from simulator.windows.updates.component_store import PROVIDER, store_of

pytestmark = pytest.mark.waits

DOTNET = "KB5066743"
UNTIL_DECEMBER = {"windows_update": {"until": "2024-12-31"}}
POLICY = windows_update.POLICY
SCRIPT = "ansible.windows.win_updates.ps1"


@pytest.fixture
def server(server: Callable[..., Machine]) -> Callable[..., Machine]:
    """Return a function that makes a machine to which Microsoft offers the updates of 2024."""

    def make(windows: str = "2022", **entry: object) -> Machine:
        return server(windows, **{**UNTIL_DECEMBER, **entry})

    return make


def ask(machine: Machine, **arguments: Any) -> dict[str, Any]:
    """Run the module once, with arguments and a result that were converted to JSON and back."""
    process = machine.processes.begin("powershell.exe", "Administrator")
    try:
        session = Session(machine, process, "Administrator")
        answer = modules.run(session, SCRIPT, "", json.loads(json.dumps(arguments)))
    finally:
        machine.processes.end(process)
    found: dict[str, Any] = json.loads(json.dumps(answer))
    return found


class Task(plugin.ActionModule):  # type: ignore[misc]
    """The action plugin without a connection: it runs the module on a simulated machine."""

    def __init__(self, machine: Machine, **arguments: Any) -> None:
        check, wait = arguments.pop("check_mode", False), arguments.pop("async_val", 0)
        task = SimpleNamespace(args=arguments, check_mode=check, async_val=wait, action="ansible.windows.win_updates")
        super().__init__(task, None, None, None, None, None)
        self._machine = machine
        self.asked: list[str] = []

    def _execute_module(self, *, module_args: dict[str, Any], **_rest: object) -> dict[str, Any]:
        self.asked.append(module_args.get("_operation", "start"))
        return ask(self._machine, **module_args, _ansible_check_mode=self._task.check_mode)

    def run_now(self) -> dict[str, Any]:
        """Run like `run`, but without checking the arguments of the task."""
        if self._task.async_val:
            return ask(self._machine, **self._task.args, _operation_options={"wait": True})
        result: dict[str, Any] = self._collect()
        return result

    def _collect(self) -> dict[str, Any]:
        try:
            result = self._run_sync({}, dict(self._task.args), False, 60)
        except plugin._ReturnResultException as error:
            result = {"failed": True, "msg": str(error), **error.result}
        result["updates"] = {name: self._get_update_info(name) for name in self._selected_updates}
        result["filtered"] = {self._updates[name]["kb"][0]: why for name, why in self._filtered_updates.items()}
        return result  # type: ignore[no-any-return]


def play(machine: Machine, **arguments: Any) -> dict[str, Any]:
    """Run a task, and return its result; `kbs` contains the updates by KB number."""
    answer = Task(machine, **arguments).run_now()
    infos = answer["updates"].values()
    return answer | {"kbs": {f"KB{kb}": info for info in infos for kb in info["kb"]}}


def offered(machine: Machine, **arguments: Any) -> set[str]:
    return set(play(machine, state="searched", category_names=["*"], **arguments)["kbs"])


class TestWhatIsOffered:
    def test_the_newest_of_each_chain_and_nothing_superseded(self, server: Any) -> None:
        assert offered(server()) == {DECEMBER}
        machine = server(updates=[], windows_update={"until": "2024-12-31"})
        assert offered(machine) == {DECEMBER, "KB5044099"}

    def test_all_there_is_without_a_limit(self, server: Any) -> None:
        newest = {update.kb for update in update_catalogue.newest(update_catalogue.for_build(20348))}
        found = offered(server(windows_update={}))
        assert found < newest
        assert {DOTNET, "KB2267602", "KB890830"} < found
        assert DECEMBER not in found

    def test_no_superseded_article_though_it_is_asked_for(self, server: Any) -> None:
        answer = play(server(), accept_list=[rf"\b{NOVEMBER}\b"], category_names=["*"])
        assert (answer["kbs"], answer["changed"], answer["filtered"]) == ({}, False, {DECEMBER: ["accept_list"]})

    def test_updates_that_a_fleet_file_offers(self, server: Any) -> None:
        own = {"kb": "KB5999001", "reboots": 0, "title": "Private (KB5999001)"}
        assert offered(server(windows_update={"offers": [DECEMBER, own, "KB404"]})) == {DECEMBER, "KB5999001"}

    def test_lists_and_categories(self, server: Any) -> None:
        machine = server(windows_update={})
        answer = play(machine, state="searched", reject_list=["malicious"])
        assert set(answer["kbs"]) == {DOTNET, "KB5087545"}
        assert answer["filtered"] == {"KB890830": ["reject_list"], "KB2267602": ["category_names"]}
        assert set(play(machine, state="searched", category_names=["DefinitionUpdates"])["kbs"]) == {"KB2267602"}
        assert set(play(machine, state="searched", accept_list=[r"\.NET Framework"])["kbs"]) == {DOTNET}

    def test_an_invalid_pattern(self, server: Any) -> None:
        answer = play(server(), accept_list=["("])
        assert (answer["failed"], "parsing" in answer["msg"]) == (True, True)


class TestWhereFrom:
    def managed(self, machine: Machine) -> Machine:
        machine.registry.write(POLICY, {"WUServer": "http://wsus:8530"})
        machine.registry.write(f"{POLICY}\\AU", {"UseWUServer": 1, "NoAutoUpdate": 1})
        return machine

    def test_updates_that_are_not_automatic_can_be_asked_for(self, server: Any) -> None:
        machine = server()
        machine.registry.write(f"{POLICY}\\AU", {"NoAutoUpdate": 1})
        assert offered(machine) == {DECEMBER}

    def test_a_server_offers_what_is_approved(self, server: Any) -> None:
        machine = self.managed(server(wsus={"url": "http://wsus:8530", "approved": []}))
        assert offered(machine) == set()
        assert offered(machine, server_selection="windows_update") == {DECEMBER}
        machine = self.managed(server(wsus={"url": "http://WSUS:8530/", "approved": ["KB5044281", DECEMBER]}))
        assert offered(machine, server_selection="managed_server") == {DECEMBER}

    def test_a_server_that_is_not_there(self, server: Any) -> None:
        answer = play(self.managed(server()))
        assert (answer["failed"], "0x8024402C" in answer["msg"]) == (True, True)

    @pytest.mark.parametrize(
        ("policy", "expected"),
        [
            ({"DisableWindowsUpdateAccess": 1}, "0x8024002F"),
            ({"DoNotConnectToWindowsUpdateInternetLocations": 1}, "0x8024002E"),
        ],
    )
    def test_policies_that_forbid_updates(self, server: Any, policy: dict[str, object], expected: str) -> None:
        machine = server()
        machine.registry.write(POLICY, policy)
        assert expected in play(machine)["msg"]

    def test_updates_without_an_update_server(self, server: Any) -> None:
        assert "0x8024402C" in play(server(windows_update=False))["msg"]

    def test_a_disabled_service(self, server: Any) -> None:
        machine = server()
        machine.services.configure("wuauserv", Start=4)
        answer = play(machine)
        assert (answer["failed"], "0x80070422" in answer["msg"]) == (True, True)
        machine.services.configure("wuauserv", Start=3)
        assert offered(machine) == {DECEMBER}


class TestInstalling:
    def test_searching_and_checking_change_nothing(self, server: Any) -> None:
        machine = server()
        before = machine.families.status["updates"](machine)
        assert not play(machine, state="searched")["changed"]
        assert play(machine, check_mode=True)["changed"], "it would install something"
        assert machine.families.status["updates"](machine) == before

    def test_downloading_installs_nothing(self, server: Any) -> None:
        machine = server()
        answer = play(machine, state="downloaded")
        info = answer["kbs"][DECEMBER]
        assert (answer["changed"], info["downloaded"], info["installed"]) == (True, True, False)
        assert store_of(machine).downloaded == {DECEMBER}

    def test_a_cumulative_update_and_its_reboot(self, server: Any) -> None:
        machine = server()
        answer = play(machine)
        info = answer["kbs"][DECEMBER]
        assert (answer["changed"], answer["reboot_required"], info["installed"]) == (True, True, True)
        assert machine.power.pending_reasons() == ["features", "updates", "file renames"]
        assert offered(machine) == set(), "what is pending is offered no more"
        machine.power.reset()
        assert machine.windows.ubr == 2966
        answer = play(machine)
        assert (answer["changed"], answer["reboot_required"], answer["kbs"]) == (False, False, {})

    def test_nothing_more_before_a_reboot_that_is_pending(self, server: Any) -> None:
        machine = server(windows_update={})
        assert play(machine, accept_list=["KB5087545"])["reboot_required"]
        answer = play(machine, accept_list=[DOTNET])
        assert (answer["failed"], "A reboot is required" in answer["msg"]) == (True, True)

    def test_updates_in_neither_list_are_in_the_event_log(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server(windows_update={"offers": ["KB2267602", "KB890830"]})
        answer = play(machine, category_names=["*"])
        assert [info["installed"] for info in answer["kbs"].values()] == [True, True]
        assert (answer["reboot_required"], offered(machine)) == (False, set())
        assert "KB890830" not in {item["HotFixID"] for item in shell.all("Get-HotFix")}
        table = {"LogName": "System", "ProviderName": PROVIDER, "Id": 19}
        messages = [str(item["Message"]) for item in shell.all("Get-WinEvent", FilterHashtable=table)]
        assert ["KB890830" in messages[0], "KB2267602" in messages[1], len(messages)] == [True, True, 2]

    def test_a_dotnet_update_shows_under_its_childs_article(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server(windows_update={"offers": [DOTNET]})
        play(machine)
        machine.power.reset()
        listed = {item["HotFixID"] for item in shell.all("Get-HotFix")}
        assert ("KB5066139" in listed, DOTNET in listed) == (True, False)

    def test_async_returns_the_result_of_the_module(self, server: Any) -> None:
        machine = server()
        answer = play(machine, async_val=60, reject_list=["nothing"])
        assert (answer["changed"], answer["installed_update_count"], answer["reboot_required"]) == (True, 1, True)
        (info,) = answer["updates"].values()
        assert (info["kb"], info["installed"], info["downloaded"]) == ([DECEMBER.removeprefix("KB")], True, True)
        assert not [process for process in machine.processes.all() if process.name == "powershell.exe"]

    def test_under_async_what_is_filtered_and_what_fails(self, server: Any) -> None:
        machine = server(windows_update={"offers": [DECEMBER, DOTNET]})
        faults.set_fault(machine, {"kind": "update_fails", "kb": DECEMBER, "hresult": "0x80073712"})
        answer = ask(machine, accept_list=[DECEMBER], _operation_options={"wait": True})
        (info,) = answer["updates"].values()
        assert (answer["failed"], answer["failed_update_count"], info["failure_hresult_code"]) == (
            True,
            1,
            0x80073712 - (1 << 32),
        )
        (filtered,) = answer["filtered_updates"].values()
        assert (filtered["kb"], filtered["filtered_reasons"]) == ([DOTNET.removeprefix("KB")], ["accept_list"])


class TestFailures:
    def test_one_update_fails_and_the_rest_is_installed(self, server: Any) -> None:
        machine = server(windows_update={"offers": [DECEMBER, DOTNET]})
        faults.set_fault(machine, {"kind": "update_fails", "kb": DECEMBER, "times": None})
        answer = play(machine)
        assert (answer["failed"], "Failed to install all updates" in answer["msg"]) == (True, True)
        assert answer["kbs"][DECEMBER]["failure_hresult_code"] == 0x800F0922
        assert (answer["kbs"][DOTNET]["installed"], answer["reboot_required"]) == (True, True)

    def test_a_download_that_fails(self, server: Any) -> None:
        machine = server()
        faults.set_fault(machine, {"kind": "update_fails", "kb": DECEMBER, "at": "download", "hresult": "0x80240034"})
        answer = play(machine)
        assert (answer["failed"], answer["kbs"][DECEMBER]["failure_hresult_code"]) == (True, 0x80240034)
        assert not machine.power.pending_reboot

    def test_a_full_disk(self, server: Any) -> None:
        machine = server()
        faults.set_fault(machine, {"kind": "disk_full", "free": 1 << 20})
        assert play(machine)["kbs"][DECEMBER]["failure_hresult_code"] == 0x80070070

    def test_another_installation_runs(self, server: Any) -> None:
        machine = server()
        store_of(machine).working = "KB5999001"
        assert play(machine)["kbs"][DECEMBER]["failure_hresult_code"] == 0x80240016

    def test_an_update_that_is_rolled_back_is_offered_again(self, server: Any) -> None:
        machine = server()
        faults.set_fault(machine, {"kind": "update_fails", "kb": DECEMBER, "at": "boot"})
        assert play(machine)["kbs"][DECEMBER]["installed"]
        machine.power.reset()
        assert (machine.windows.ubr, offered(machine)) == (2849, {DECEMBER})


class TestTheSession:
    def test_the_scheduled_task_survives_its_client(self, server: Any) -> None:
        machine = server()
        started = ask(machine)
        assert [entry["task"] for entry in read_to_the_end(machine, started)][-1] == "exit"
        again = ask(machine, _operation="poll", _operation_options=started["poll_options"])
        assert [entry["task"] for entry in again["output"]] == ["exit"], "it is told until it is cancelled"
        ask(machine, _operation="cancel", _operation_options=started["cancel_options"])
        assert update_session.find(machine, started["poll_options"]["pipe_name"]) is None

    def test_the_progress_of_an_installation(self, server: Any) -> None:
        machine = server()
        output = read_to_the_end(machine, ask(machine))
        tasks = list(dict.fromkeys(entry["task"] for entry in output))
        assert tasks == ["search_result", "download", "download_result", "install", "install_result", "exit"]

    def test_a_reboot_ends_the_installation(self, server: Any) -> None:
        machine = server()
        started = ask(machine)
        machine.power.reset()
        answer = ask(machine, _operation="poll", _operation_options=started["poll_options"])
        assert (answer["failed"], "server pipe" in answer["msg"]) == (True, True)

    def test_cancelling_does_not_stop_an_installation(self, server: Any) -> None:
        machine = server(update_seconds=300)
        started = ask(machine)
        wait_for(lambda: store_of(machine).working == DECEMBER)
        ask(machine, _operation="cancel", _operation_options=started["cancel_options"])
        wait_for(lambda: machine.power.pending_reboot)

    def test_a_reboot_while_it_is_waited_for(self, server: Any) -> None:
        machine = server(update_seconds=1000000)
        ended: list[type[BaseException]] = []

        def wait() -> None:
            try:
                ask(machine, _operation_options={"wait": True})
            except ProcessEndedError as error:
                ended.append(type(error))

        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_for(lambda: store_of(machine).working == DECEMBER)
        machine.power.reset()
        waiting.join(60)
        assert ended == [ProcessEndedError]
        assert store_of(machine).working == ""

    def test_become_is_not_necessary(self, server: Any) -> None:
        machine = server()
        assert play(machine)["changed"]
        assert machine.part(Elevations).runs == []


def read_to_the_end(machine: Machine, started: dict[str, Any]) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    while not output or output[-1]["task"] != "exit":
        output += ask(machine, _operation="poll", _operation_options=started["poll_options"])["output"]
    return output
