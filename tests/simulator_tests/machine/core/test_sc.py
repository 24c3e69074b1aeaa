# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""sc.exe: what it accepts, prints and writes to the registry."""

from __future__ import annotations

import struct

import pytest
from simulator_tests.waiting import wait_for

pytestmark = pytest.mark.waits

KEY = r"HKLM:\SYSTEM\CurrentControlSet\Services\mine"
HOST = r"C:\Windows\System32\svchost.exe"


@pytest.fixture
def sc(shell):
    """Return a function that runs sc.exe on a machine with a service `mine`."""

    def run(*words):
        return shell.program("sc.exe", *words)

    run.data = lambda name: shell.machine.registry.data(KEY, name)
    run.shell = shell
    assert run("create", "mine", "binpath=", HOST).exit_code == 0
    return run


def test_a_value_may_follow_its_option_without_a_blank(sc):
    """Tutorials of Microsoft write options like this: https://github.com/dotnet/docs/issues/36520."""
    assert sc("config", "mine", "start=delayed-auto", "DisplayName=", "Mine").exit_code == 0
    service = sc.shell.machine.services.get("mine")
    assert (service.start, service.delayed, service.display_name) == (2, True, "Mine")
    assert sc("failure", "mine", "reset=0", "actions=restart/60000/restart/60000/run/1000").exit_code == 0
    assert sc("query", "state=all").exit_code == 0


def test_create_writes_its_options(sc):
    line = r'"C:\Program Files\x y\z.exe" --a "b c"'
    result = sc("create", "other", "type=", "own", "error=", "normal", "binpath=", line, "start=", "delayed-auto",
                "depend=", "RpcSs/nsi", "displayname=", "The other")  # fmt: skip
    assert result.stdout == "[SC] CreateService SUCCESS\r\n"
    service = sc.shell.machine.services.get("other")
    assert service.image_path == line
    assert (service.start, service.delayed, service.dependencies) == (2, True, ["RpcSs", "nsi"])
    assert (service.display_name, service.account) == ("The other", "LocalSystem")


def test_unknown_arguments_are_refused(sc):
    for words in (
        ["start=sometimes"],
        ["start= auto"],
        ["start=", "sometimes"],
        ["start="],
        ["start", "auto"],
        ["bogus=", "1"],
    ):
        assert sc("config", "mine", *words).exit_code == 1639, words
    assert sc("create", "other", "start=", "auto").exit_code == 1639
    assert sc("frobnicate", "mine").exit_code == 1639
    assert sc.data("Start") == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("create", "mine", "binpath=", "x"), 1073, "[SC] CreateService FAILED 1073:"),
        (("config", "nope", "start=", "auto"), 1060, "[SC] OpenService FAILED 1060:"),
        (("delete", "nope"), 1060, "[SC] OpenService FAILED 1060:"),
        (("start", "nope"), 1060, "[SC] StartService: OpenService FAILED 1060:"),
        (("query", "nope"), 1060, "[SC] EnumQueryServicesStatus:OpenService FAILED 1060:"),
        (("stop", "mine"), 1062, "[SC] ControlService FAILED 1062:"),
        (("failure", "nope", "reset=", "1", "actions=", "restart/1"), 1060, "[SC] OpenService FAILED 1060:"),
        (("create", "a", "binpath=", "x", "obj=", r".\someone"), 1057, "[SC] CreateService FAILED 1057:"),
        (("create", "a", "binpath=", "x", "obj=", r".\Administrator"), 1057, "[SC] CreateService FAILED 1057:"),
        (("config", "mine", "obj=", r".\Administrator"), 1057, "[SC] ChangeServiceConfig FAILED 1057:"),
        (("create", "n" * 257, "binpath=", "x"), 123, "[SC] CreateService FAILED 123:"),
        (
            ("create", "a", "binpath=", "x", "obj=", r"NOSUCH\user", "password=", "x"),
            1057,
            "[SC] CreateService FAILED 1057:",
        ),
        (("create", "a", "binpath=", "x", "start=", "boot"), 87, "[SC] CreateService FAILED 87:"),
        (("config", "mine", "depend=", "RpcSs/mine"), 1059, "[SC] ChangeServiceConfig FAILED 1059:"),
    ],
)
def test_failures_have_the_code_of_windows(sc, words, code, message):
    result = sc(*words)
    assert result.exit_code == code
    assert result.stdout.startswith(message + "\r\n\r\n")


@pytest.mark.parametrize(
    ("account", "password"),
    [
        (r".\Administrator", ["password=", "x"]),
        ("CONTOSO\\svc$", []),
        ("LocalSystem", []),
        (r"NT AUTHORITY\LocalService", []),
        (r"NT SERVICE\mine", []),
    ],
)
def test_accounts_with_and_without_a_password(sc, account, password):
    assert sc("create", "n" * 256, "binpath=", "x", "obj=", account, *password).exit_code == 0
    assert sc("config", "mine", "obj=", account, *password).exit_code == 0
    assert sc.data("ObjectName") == account


def test_start_and_stop(sc):
    started = sc("start", "mine")
    assert started.exit_code == 0
    assert "STATE              : 2  START_PENDING" in started.stdout
    assert sc("start", "mine").exit_code == 1056
    assert "STATE              : 4  RUNNING" in sc("query", "mine").stdout
    assert f"PID                : {sc.shell.machine.services.get('mine').process_id}" in sc("queryex", "mine").stdout
    assert sc("stop", "mine").exit_code == 0
    assert "STATE              : 1  STOPPED" in sc("query", "mine").stdout


def test_a_running_service_that_is_deleted_goes_when_it_stops(sc):
    sc("start", "mine")
    assert sc("delete", "mine").exit_code == 0
    assert sc("delete", "mine").exit_code == 1072
    assert sc("create", "mine", "binpath=", HOST).exit_code == 1072
    sc.shell.machine.services.halt()
    assert sc("query", "mine").exit_code == 1060


def test_failure_actions_have_the_layout_of_windows(sc):
    assert sc("failure", "mine", "reset=", "86400", "actions=", "restart/5000/restart/10000//0").exit_code == 0
    data = sc.data("FailureActions")
    assert struct.unpack("<5I6I", data) == (86400, 0, 0, 3, 0x14, 1, 5000, 1, 10000, 0, 0)
    shown = sc("qfailure", "mine").stdout
    assert "RESET_PERIOD (in seconds)    : 86400" in shown
    assert shown.count("RESTART -- Delay = ") == 2
    assert sc("failure", "mine", "reset=", "INFINITE", "actions=", "reboot/60000").exit_code == 0
    assert struct.unpack_from("<I", sc.data("FailureActions"))[0] == 0xFFFFFFFF


def test_failure_refuses_half_of_an_action_and_a_reset_alone(sc):
    for words in (("actions=", "restart/5000"), ("reset=", "1"), ("reset=", "1", "actions=", "restart"),
                  ("reset=", "x", "actions=", "restart/1"), ("reset=", "1", "actions=", "panic/1")):  # fmt: skip
        assert sc("failure", "mine", *words).exit_code == 1639, words
    assert sc.data("FailureActions") is None


def test_recovery_restarts_a_service_that_crashed(sc):

    sc("failure", "mine", "reset=", "0", "actions=", "restart/1000")
    sc("start", "mine")
    before = sc.shell.machine.services.get("mine").process_id
    sc.shell.machine.services.crash("mine")
    wait_for(lambda: sc.shell.machine.services.get("mine").state == "Running", "the service runs again")
    assert sc.shell.machine.services.get("mine").process_id != before


def test_config_changes_only_what_it_names(sc):
    sc("config", "mine", "start=", "delayed-auto", "depend=", "RpcSs")
    sc("config", "mine", "start=", "auto", "depend=", "/", "displayname=", "Mine")
    service = sc.shell.machine.services.get("mine")
    assert (service.start, service.delayed, service.dependencies) == (2, False, [])
    assert (service.display_name, service.image_path) == ("Mine", HOST)


def test_qc_shows_the_configuration(sc):
    sc("config", "mine", "depend=", "RpcSs/nsi", "start=", "delayed-auto")
    lines = sc("qc", "mine").stdout.split("\r\n")
    assert lines[0] == "[SC] QueryServiceConfig SUCCESS"
    assert "        START_TYPE         : 2   AUTO_START  (DELAYED)" in lines
    assert "        BINARY_PATH_NAME   : " + HOST in lines
    position = lines.index("        DEPENDENCIES       : RpcSs")
    assert lines[position + 1] == "                           : nsi"


def test_query_lists_what_runs(sc):
    running = sc("query").stdout
    assert "SERVICE_NAME: RpcSs" in running
    assert "SERVICE_NAME: mine" not in running
    assert "SERVICE_NAME: mine" in sc("query", "state=", "all").stdout
    assert "SERVICE_NAME: RpcSs" not in sc("query", "type=", "service", "state=", "inactive").stdout


def test_description_flag_and_sid_type(sc):
    assert sc("description", "mine", "runs pods").exit_code == 0
    assert sc("failureflag", "mine", "1").exit_code == 0
    assert sc("sidtype", "mine", "unrestricted").exit_code == 0
    assert [sc.data(name) for name in ("Description", "FailureActionsOnNonCrashFailures", "ServiceSidType")] == [
        "runs pods", 1, 1,
    ]  # fmt: skip
    assert "DESCRIPTION:  runs pods" in sc("qdescription", "mine").stdout
    assert "TRUE" in sc("qfailureflag", "mine").stdout
    assert sc("sidtype", "mine", "big").exit_code == 1639


def test_access_lists(sc):
    assert sc("sdshow", "mine").stdout.strip().startswith("D:(A;;")
    assert sc("sdset", "mine", "D:(A;;GA;;;SY)").exit_code == 0
    assert sc("sdshow", "mine").stdout.strip() == "D:(A;;GA;;;SY)"
    assert sc("sdset", "mine", "nonsense").exit_code == 87
