# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl.exe: real transfers, options by version, and curl's errors."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from simulator_tests.waiting import wait_for

from simulator.artifacts import ArtifactServer
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError, ProgramResult

pytestmark = pytest.mark.waits

MakeMachine = Callable[..., Machine]
FILE = "/example.com/file.bin"
CONTENT = bytes(range(256)) * 400


@pytest.fixture
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as running:
        running.put(FILE, CONTENT)
        yield running


def curl(machine: Machine, *arguments: str, stdin: str = "", **environment: str) -> ProgramResult:
    variables = {**machine.environment(), **environment}
    return machine.programs.run("curl.exe", list(arguments), stdin=stdin.encode(), environment=variables)


def test_a_file_is_downloaded(machine: Machine, server: ArtifactServer) -> None:
    result = curl(machine, "-fsSL", "-o", r"C:\dl\x\file.bin", "--create-dirs", server.url + FILE)
    assert result == ProgramResult(0, "", "")
    assert machine.files.read_bytes(r"C:\dl\x\file.bin") == CONTENT


def test_a_folder_that_does_not_exist_is_a_write_error(machine: Machine, server: ArtifactServer) -> None:
    result = curl(machine, "-sS", "-o", r"C:\none\file.bin", server.url + FILE)
    assert (result.exit_code, machine.files.exists(r"C:\none")) == (23, False)


def test_the_configuration_comes_from_standard_input(machine: Machine, server: ArtifactServer) -> None:
    server.fault("signature", signature='a"b')
    config = (
        f'# a comment\nurl = "{server.url}{FILE}?sig=a%22b"\n--output "C:\\\\file.bin"\nfail\nheader = "X-A: \\"b\\""\n'
    )
    assert curl(machine, "-sS", "--config", "-", stdin=config).exit_code == 0
    assert machine.files.read_bytes(r"C:\file.bin") == CONTENT


def test_an_unknown_option_of_the_configuration_is_a_warning(machine: Machine, server: ArtifactServer) -> None:
    result = curl(machine, "--config", "-", stdin=f'frobnicate\nurl = "{server.url}/none"\n')
    assert result.stderr.startswith("Warning: <stdin>:1: warning: 'frobnicate' is unknown\n")
    assert (result.exit_code, result.stdout) == (0, "not found\n")


@pytest.mark.parametrize(
    ("windows", "options", "known"),
    [
        ("2019", ["--retry-all-errors"], False),
        ("2022", ["--retry-all-errors"], True),
        ("2019", ["--parallel"], False),
        ("2019", ["-Z"], False),
        ("2019", ["--ssl-revoke-best-effort"], False),
        ("2019", ["--ssl-no-revoke"], True),
        ("2019", ["--fail-with-body"], False),
        ("2022", ["--fail-with-body"], True),
        ("2019", ["--compressed"], False),
        ("2025", ["--compressed"], True),
        ("2022", ["--frobnicate"], False),
    ],
)
def test_options_depend_on_the_version(
    make_machine: MakeMachine, server: ArtifactServer, windows: str, options: list[str], known: bool
) -> None:
    machine: Machine = make_machine(windows)
    result = curl(machine, "-s", *options, "-o", "NUL", server.url + FILE)
    assert result.exit_code == (0 if known else 2)
    assert known or result.stderr.startswith(f"curl: option {options[0]}: ")


def test_the_version_is_the_one_in_the_box(make_machine: MakeMachine) -> None:
    versions = [curl(make_machine(key), "--version").stdout.split()[1] for key in ("2019", "2022")]
    assert versions == ["7.55.1", "8.9.1"]


def test_http_errors_fail_only_when_asked(machine: Machine, server: ArtifactServer) -> None:
    plain = curl(machine, "-s", server.url + "/none")
    assert (plain.exit_code, plain.stdout) == (0, "not found\n")
    failed = curl(machine, "-sS", "--fail", "-o", r"C:\x", server.url + "/none")
    assert (failed.exit_code, failed.stderr) == (22, "curl: (22) The requested URL returned error: 404\n")
    assert not machine.files.exists(r"C:\x")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://nowhere.invalid/x", 6),
        ("http://127.0.0.1:1/x", 7),
        ("gopherx://127.0.0.1/", 1),
        ("http://", 3),
        ("http://127.0.0.1:99999/", 3),
    ],
)
def test_errors_before_the_request(machine: Machine, url: str, code: int) -> None:
    result = curl(machine, "-sS", url)
    assert result.exit_code == code
    assert result.stderr.startswith(f"curl: ({code}) ")


def test_no_url_and_no_value_are_usage_errors(machine: Machine) -> None:
    assert curl(machine, "-s").exit_code == 2
    assert "option -o: requires parameter" in curl(machine, "-o").stderr
    assert "expected a proper numerical parameter" in curl(machine, "--max-time", "x", "http://h/").stderr


def test_files_that_do_not_exist(make_machine: MakeMachine, server: ArtifactServer) -> None:
    new, old = make_machine("2022"), make_machine("2019")
    for option, cause in (("-K", r"cannot read config from 'C:\none'"), ("-H", r"Failed to open C:\none")):
        value = r"C:\none" if option == "-K" else r"@C:\none"
        result = curl(new, option, value, server.url + FILE)
        expected = f"curl: {cause}\ncurl: option {option}: error encountered when reading a file\ncurl: try "
        assert (result.exit_code, result.stderr.startswith(expected)) == (26, True), result.stderr
        assert curl(old, option, value, "-o", "NUL", server.url + FILE).exit_code == 0
    assert "this makes an empty POST." in curl(old, "-d", r"@C:\none", "-o", "NUL", server.url + FILE).stderr


def test_a_url_without_a_file_name_is_a_write_error(make_machine: MakeMachine, server: ArtifactServer) -> None:
    for windows, message in (
        ("2022", "Remote filename has no length\n"),
        ("2019", "Remote file name has no length!\n"),
    ):
        result = curl(make_machine(windows), "-O", server.url + "/")
        assert (result.exit_code, result.stderr.startswith(f"curl: {message}")) == (23, True), result.stderr


def test_names_come_from_the_hosts_file(machine: Machine, server: ArtifactServer) -> None:
    machine.files.write_text(r"C:\Windows\System32\drivers\etc\hosts", "127.0.0.1 mirror.example # ours\r\n")
    assert curl(machine, "-fs", "-o", "NUL", f"http://mirror.example:{server.port}{FILE}").exit_code == 0


def test_redirects_are_followed_when_asked(machine: Machine, server: ArtifactServer) -> None:
    server.fault("redirect", "/moved", location=server.url + FILE)
    stay = curl(machine, "-s", "-w", "%{http_code} %{redirect_url}", server.url + "/moved")
    assert stay.stdout == f"302 {server.url}{FILE}"
    go = curl(
        machine, "-sL", "-o", "NUL", "-w", "%{http_code} %{num_redirects} %{size_download}\\n", server.url + "/moved"
    )
    assert go.stdout == f"200 1 {len(CONTENT)}\n"


def test_a_loop_of_redirects_ends(machine: Machine, server: ArtifactServer) -> None:
    server.fault("loop")
    result = curl(machine, "-sSL", "--max-redirs", "3", server.url + FILE)
    assert (result.exit_code, result.stderr) == (47, "curl: (47) Maximum (3) redirects followed\n")
    assert server.status()["requests"][FILE] == 4


def test_a_download_is_resumed(machine: Machine, server: ArtifactServer) -> None:
    server.fault("cut", at=5000, times=1)
    arguments = ("-fsS", "-C", "-", "-o", r"C:\part", server.url + FILE)
    broken = curl(machine, *arguments)
    assert broken.exit_code == 18
    assert broken.stderr == f"curl: (18) transfer closed with {len(CONTENT) - 5000} bytes remaining to read\n"
    assert curl(machine, *arguments).exit_code == 0
    assert machine.files.read_bytes(r"C:\part") == CONTENT
    assert server.status()["bytes"][FILE] == len(CONTENT)
    # The file is already complete, so status 416 is not an error.
    assert curl(machine, *arguments).exit_code == 0


def test_resuming_needs_ranges(machine: Machine, server: ArtifactServer) -> None:
    server.fault("no-range")
    machine.files.write_bytes(r"C:\part", CONTENT[:100])
    result = curl(machine, "-sS", "-C", "-", "-o", r"C:\part", server.url + FILE)
    assert result.exit_code == 33
    assert machine.files.read_bytes(r"C:\part") == CONTENT[:100]


def test_transient_errors_are_tried_again(machine: Machine, server: ArtifactServer) -> None:
    server.fault("status", status=503, times=1)
    server.fault("status", status=429, retry_after=1, times=1)
    result = curl(machine, "-f", "--retry", "3", "--no-progress-meter", "-o", r"C:\x", server.url + FILE)
    assert (result.exit_code, machine.files.read_bytes(r"C:\x")) == (0, CONTENT)
    assert "Will retry in 1 second. 3 retries left." in result.stderr
    assert "Will retry in 2 seconds. 2 retries left." in result.stderr


def test_an_old_version_does_not_try_again_after_429(make_machine: MakeMachine, server: ArtifactServer) -> None:
    old = make_machine("2019")
    server.fault("status", status=429, retry_after=1, times=1)
    assert curl(old, "-fs", "--retry", "3", "-o", "NUL", server.url + FILE).exit_code == 22
    server.fault("status", status=503, retry_after=1000, times=1)
    assert curl(old, "-fs", "--retry", "3", "-o", "NUL", server.url + FILE).exit_code == 0


def test_other_errors_are_tried_again_only_when_asked(machine: Machine, server: ArtifactServer) -> None:
    server.fault("cut", at=10, times=1)
    assert curl(machine, "-fs", "--retry", "2", "-o", r"C:\x", server.url + FILE).exit_code == 18
    server.fault("cut", at=10, times=1)
    assert curl(machine, "-fs", "--retry", "2", "--retry-all-errors", "-o", r"C:\x", server.url + FILE).exit_code == 0
    assert machine.files.read_bytes(r"C:\x") == CONTENT
    server.fault("status", status=404)
    assert curl(machine, "-fs", "--retry", "2", "-o", r"C:\x", server.url + FILE).exit_code == 22
    assert server.status()["requests"][FILE] == 4


def test_time_limits(machine: Machine, server: ArtifactServer) -> None:
    server.fault("slow", rate=2000)
    total = curl(machine, "-sS", "-m", "0.5", "-o", r"C:\x", server.url + FILE)
    assert total.exit_code == 28
    assert f"out of {len(CONTENT)} bytes received" in total.stderr
    slow = curl(machine, "-sS", "--speed-limit", "50000", "--speed-time", "1", "-o", r"C:\x", server.url + FILE)
    assert slow.exit_code == 28
    assert "Operation too slow. Less than 50000 bytes/sec transferred the last 1 seconds" in slow.stderr


def test_the_rate_is_limited(machine: Machine, server: ArtifactServer) -> None:
    start = time.monotonic()
    assert curl(machine, "-s", "--limit-rate", "200k", "-o", "NUL", server.url + FILE).exit_code == 0
    assert time.monotonic() - start > 0.3


def test_a_full_disk_is_a_write_error(machine: Machine, server: ArtifactServer) -> None:
    machine.files.reserved += machine.files.free_space() - 50_000
    result = curl(machine, "-sS", "-o", r"C:\x", server.url + FILE)
    assert (result.exit_code, result.stderr) == (23, "curl: (23) Failure writing output to destination\n")


def test_tar_cannot_overwrite_a_file_in_use(machine: Machine, server: ArtifactServer) -> None:
    machine.files.write_text(r"C:\x", "before")
    with machine.files.open.hold(r"C:\x", "r", "r"):
        assert curl(machine, "-sS", "-o", r"C:\x", server.url + FILE).exit_code == 23
    assert machine.files.read_text(r"C:\x") == "before"


def test_curl_keeps_its_file_open_while_writing(machine: Machine, server: ArtifactServer) -> None:
    server.fault("slow", rate=20_000)
    stop = threading.Event()

    def download() -> None:
        with pytest.raises(ProcessEndedError):
            machine.programs.run("curl.exe", ["-s", "-o", r"C:\x", server.url + FILE], stop=stop)

    thread = threading.Thread(target=download)
    thread.start()
    wait_for(lambda: machine.files.open.holders(r"C:\x"), "curl has opened the file", 30)
    files = machine.files.open
    assert files.holders(r"C:\x") == ["curl.exe"]
    assert (files.blocks(r"C:\x", "d"), files.blocks(r"C:\x", "r")) == (True, False)
    stop.set()
    thread.join()
    assert files.holders(r"C:\x") == []


def test_curl_ends_with_its_process(machine: Machine, server: ArtifactServer) -> None:
    server.fault("slow", rate=1000)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    start = time.monotonic()
    with pytest.raises(ProcessEndedError):
        machine.programs.run("curl.exe", ["-s", "-o", r"C:\x", server.url + FILE], stop=stop)
    assert time.monotonic() - start < 3


def test_several_files_side_by_side(machine: Machine, server: ArtifactServer) -> None:
    config = ""
    for number in range(6):
        server.put(f"/example.com/{number}", CONTENT[number:])
        config += f'url = "{server.url}/example.com/{number}"\noutput = "C:\\\\{number}"\n'
    server.fault("slow", rate=len(CONTENT) * 2)
    start = time.monotonic()
    assert curl(machine, "-fsSZ", "-K", "-", stdin=config).exit_code == 0
    assert time.monotonic() - start < 2.5
    assert [machine.files.read_bytes(f"C:\\{number}") for number in range(6)] == [CONTENT[n:] for n in range(6)]


def test_a_proxy_from_the_environment_and_its_exceptions(machine: Machine, server: ArtifactServer) -> None:
    proxy = {"HTTP_PROXY": server.url, "NO_PROXY": "localhost,.internal,10.0.0.0/8"}
    assert curl(machine, "-fs", "-o", "NUL", "http://example.com/file.bin", **proxy).exit_code == 0
    assert curl(machine, "-fs", "-o", "NUL", "http://x.internal/file.bin", **proxy).exit_code == 6
    assert curl(machine, "-fs", "-o", "NUL", "--noproxy", "*", "http://example.com/file.bin", **proxy).exit_code == 6
    assert curl(machine, "-fs", "-x", "http://none.invalid:3128", "http://example.com/file.bin").exit_code == 5


def test_headers_and_user_reach_the_server(machine: Machine, server: ArtifactServer) -> None:
    result = curl(machine, "-sS", "-I", "-H", "If-None-Match: *", "-u", "a:b", server.url + FILE)
    assert result.exit_code == 0
    assert result.stdout.startswith("HTTP/1.1 200 OK\r\n")


def test_an_etag_is_kept_and_compared(machine: Machine, server: ArtifactServer) -> None:
    arguments = ("-fsS", "-o", r"C:\x", "--etag-save", r"C:\tag", "--etag-compare", r"C:\tag", "-w", "%{http_code}")
    assert curl(machine, *arguments, server.url + FILE).stdout == "200"
    assert machine.files.read_text(r"C:\tag").startswith('"')
    machine.files.write_bytes(r"C:\x", b"kept")
    assert curl(machine, *arguments, server.url + FILE).stdout == "304"
    assert machine.files.read_bytes(r"C:\x") == b"kept"
    server.put(FILE, b"other")
    assert curl(machine, *arguments, server.url + FILE).stdout == "200"
    assert machine.files.read_bytes(r"C:\x") == b"other"
    two = curl(machine, "--etag-save", r"C:\tag", server.url + FILE, server.url + FILE)
    assert (two.exit_code, "single URL" in two.stderr) == (2, True)


def test_a_condition_that_is_not_met_makes_no_file(machine: Machine, server: ArtifactServer) -> None:
    tag = curl(machine, "-sI", "-w", "%header{etag}", "-o", "NUL", server.url + FILE).stdout
    arguments = ("-sS", "-H", f"If-None-Match: {tag}", "-o", r"C:\none", "-w", "%{http_code} %{size_download}")
    assert curl(machine, *arguments, server.url + FILE).stdout == "304 0"
    assert not machine.files.exists(r"C:\none")


def test_heads_and_what_is_written_out(make_machine: MakeMachine, server: ArtifactServer) -> None:
    old, new = make_machine("2019"), make_machine("2022")
    for machine in (old, new):
        assert curl(machine, "-sI", "-o", "NUL", "-D", r"C:\head.txt", server.url + FILE).exit_code == 0
        assert f"Content-Length: {len(CONTENT)}" in machine.files.read_text(r"C:\head.txt")
    written = curl(new, "-sI", "-o", "NUL", "-w", "%header{content-length} %{exitcode}", server.url + FILE)
    assert written.stdout == f"{len(CONTENT)} 0"
    assert curl(old, "-sI", "-o", "NUL", "-w", "%header{content-length}|", server.url + FILE).stdout == "|"
    failed = curl(new, "-fs", "-w", "%{http_code}%{onerror} %{errormsg}", server.url + "/none")
    assert failed.stdout == "404 The requested URL returned error: 404"


def test_two_processes_download_at_the_same_time(machine: Machine) -> None:
    with ArtifactServer(rate=len(CONTENT) * 2) as server:
        server.put(FILE, CONTENT)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            runs = [pool.submit(curl, machine, "-fsS", "-o", f"C:\\{n}", server.url + FILE) for n in range(3)]
            assert [run.result().exit_code for run in runs] == [0, 0, 0]
        assert server.status()["most_at_once"] == 3
        assert [machine.files.read_bytes(f"C:\\{n}") for n in range(3)] == [CONTENT] * 3


def test_a_file_on_the_node(machine: Machine) -> None:
    machine.files.write_bytes(r"C:\bundle.bin", CONTENT)
    machine.files.write_bytes(r"C:\part", CONTENT[:1000])
    assert curl(machine, "-fsS", "-C", "-", "-o", r"C:\part", "file:///C:/bundle.bin").exit_code == 0
    assert machine.files.read_bytes(r"C:\part") == CONTENT
    assert curl(machine, "-fsS", "-o", r"C:\x", "file:///C:/none.bin").exit_code == 37
