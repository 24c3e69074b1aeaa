# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a user put on a server before its first run is not used, though it proves itself right by its own words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.caching import CACHE, TOOL, archive, offer
from integration.imaging import Machines
from unit.users import USER, own, plant

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import locations
from ansible_collections.winkube.node.plugins.plugin_utils.resources import directory
from simulator.artifacts import ArtifactServer
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("untrusted_content")]

FOLDER = rf"{CACHE}\tool\1.0.0"
GOOD, TROJAN = archive("1.0.0"), archive("trojan")


@pytest.fixture(scope="module")
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as server:
        offer(server, "1.0.0", GOOD)
        yield server


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(2) as machines:
        yield machines


def run(machine: Machine, action: str, **arguments: Any) -> dict[str, Any]:
    with connect(machine) as connection:
        result = run_action(connection, action, arguments)
    assert "failed" not in result, result["msg"]
    return result


def test_the_cache_does_not_vouch_for_what_a_user_put_there(machines: Machines, server: ArtifactServer) -> None:
    machine, checksum = machines.bare(), hashlib.sha256(TROJAN).hexdigest()
    plant(machine.files, rf"{FOLDER}\tool.tar.gz", TROJAN)
    plant(machine.files, rf"{FOLDER}\tool.tar.gz.checksum", checksum.encode())
    wanted = {"artifacts": {"tool": ["1.0.0"]}, "kinds": TOOL, "mirror": server.url, "upstream": False}
    result = run(machine, "artifact_cache", **wanted)
    assert [entry["status"] for entry in result["artifacts"]] == ["fetched"]
    assert machine.files.read_bytes(rf"{FOLDER}\tool.tar.gz") == GOOD
    (warning,) = [text for text in result["warnings"] if "not trusted" in text]
    assert USER in warning
    for path in (r"C:\ProgramData\winkube", CACHE, rf"{FOLDER}\tool.tar.gz", rf"{FOLDER}\tool.tar.gz.checksum"):
        assert machine.files.who_may_write(path) == set(), path
    again = run(machine, "artifact_cache", **wanted)
    assert (again["changed"], again["remote_commands"]) == (False, 1)


def test_a_record_of_what_was_unpacked_does_not_vouch_either(machines: Machines, server: ArtifactServer) -> None:
    """A user who made C:\\k first can write what the collection writes: program, and record of the program's hash."""
    machine = machines.bare()
    files = machine.files
    artifact = locations.resource("tool", "1.0.0", cache_dir=CACHE, kinds=TOOL, mirror=server.url, upstream=False)
    programs = [*directory.closed([CACHE], content="writable"), *directory.closed([r"C:\k"], users="read"), artifact]
    programs.append({"type": "Archive", "name": r"C:\k", "path": artifact["path"], "check": ["tool.exe"]})
    run(machine, "node_state", resources=programs)
    honest = files.read_bytes(r"C:\k\tool.exe")
    files.write_bytes(r"C:\k\tool.exe", b"trojan")
    for entry in files.walk(r"C:\k"):
        if not entry.is_directory and files.read_text(entry.path).strip() == hashlib.sha256(honest).hexdigest():
            files.write_text(entry.path, hashlib.sha256(b"trojan").hexdigest())
    own(files, r"C:\k", *(entry.path for entry in files.walk(r"C:\k")))
    result = run(machine, "node_state", resources=programs)
    assert files.read_bytes(r"C:\k\tool.exe") == honest
    assert [text for text in result["warnings"] if r"C:\k\tool.exe" in text]
    assert files.who_may_write(r"C:\k\tool.exe") == set()
    assert not run(machine, "node_state", resources=programs)["changed"]
