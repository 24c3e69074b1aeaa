# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""artifact_cache over Ansible's real connection: the number of commands, and the messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.caching import CACHE, TOOL, archive, offer, requests
from integration.imaging import Machines

from simulator.artifacts import ArtifactServer
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("artifact_cache_module")]

# Upstream's own archives and small ones: 25 together.
LISTS: Mapping[str, list[str]] = {
    "crictl": ["1.35.0", "1.36.0", "1.37.0"],
    "cni-plugins": ["1.8.0", "1.9.0"],
    "flannel": ["0.28.0"],
    "tool": [f"1.0.{number}" for number in range(19)],
}


@pytest.fixture(scope="module")
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as server:
        for version in LISTS["tool"]:
            offer(server, version, archive(version))
        yield server


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machines(1) as machines:
        yield machines.bare()


def cached(machine: Machine, server: ArtifactServer, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    arguments = {"artifacts": LISTS, "kinds": TOOL, "mirror": server.url, "upstream": False, **options}
    with connect(machine) as connection:
        return run_action(connection, "artifact_cache", arguments, check_mode=check_mode)


def test_25_artifacts_are_downloaded_in_few_commands_and_observed_in_one(
    machine: Machine, server: ArtifactServer
) -> None:
    looked = cached(machine, server, check_mode=True)
    assert {entry["status"] for entry in looked["artifacts"]} == {"missing"}
    assert looked["remote_commands"] == 1
    first = cached(machine, server)
    assert "failed" not in first, first.get("msg")
    assert len(first["artifacts"]) == 25
    assert {entry["status"] for entry in first["artifacts"]} == {"fetched"}
    # All users may write to ProgramData, but not to these folders.
    for folder in (r"C:\ProgramData\winkube", CACHE):
        assert machine.files.who_may_write(folder) | machine.files.who_may_read(folder) == set()
    # Observe (with the sizes), start, collect, and one more poll if the machine is busy.
    assert first["remote_commands"] <= 4
    assert [text for text in first["warnings"] if "flannel 0.28.0 is accepted unverified" in text]
    server.reset()
    second = cached(machine, server)
    assert (second["changed"], second["remote_commands"], requests(server)) == (False, 1, 0)
    assert [entry["sha256"] for entry in second["artifacts"]] == [entry["sha256"] for entry in first["artifacts"]]


def test_a_failed_artifact_does_not_hide_the_others_in_the_table(machine: Machine, server: ArtifactServer) -> None:
    result = cached(machine, server, artifacts={"crictl": ["1.37.0"], "tool": ["9.9.9"]})
    assert result["failed"]
    assert "Artifact tool 9.9.9" in result["msg"]
    assert "HTTP 404" in result["msg"]
    good, bad = result["artifacts"]
    assert (good["status"], good["msg"], bad["status"]) == ("cached", "", "failed")
    # With ignore_errors, the reason is in the result of each item.
    assert "HTTP 404" in bad["msg"]
    assert bad["msg"] in result["msg"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"artifacts": {"kubernets": ["1.37.1"]}}, "Did you mean kubernetes?"),
        ({"sites": [{"url": "http://h?sig=s3cret"}]}, "part after the ? to query"),
        ({"kinds": {"tool": {"url": "http://h/x"}}}, "{version}"),
        ({"limit_rate": "fast"}, "no node was touched: limit_rate: expected bytes per second"),
        ({"parallel": 0}, "no node was touched: parallel: expected"),
        ({"cache_dir": "C:\\", "prune": True, "artifacts": {}}, "the absolute path"),
        ({"cache_dir": "cache"}, "the absolute path"),
    ],
)
def test_bad_input_is_one_message_and_no_node_is_touched(
    machine: Machine, server: ArtifactServer, options: dict[str, Any], words: str
) -> None:
    with connect(machine) as connection:
        arguments = {"artifacts": LISTS, "kinds": TOOL, "mirror": server.url, **options}
        result = run_action(connection, "artifact_cache", arguments)
        assert not connection._connected
    assert result["failed"]
    assert words in result["msg"]
    assert "\n" not in result["msg"]
    assert "s3cret" not in str(result)


def test_unlisted_artifacts_are_removed_on_request(machine: Machine, server: ArtifactServer) -> None:
    result = cached(machine, server, artifacts={"crictl": ["1.37.0"]}, prune=True)
    assert result["changed"]
    left = {entry.path for entry in machine.files.walk(CACHE) if not entry.is_directory}
    assert {path.removeprefix(CACHE).split("\\")[1] for path in left} == {"crictl"}
    assert cached(machine, server, artifacts={"crictl": ["1.37.0"]}, prune=True)["changed"] is False
