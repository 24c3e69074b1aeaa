# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The role windows_patches with Ansible's own command line: it patches, fails with a table, and hides secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.networks import free_network
from integration.patching import QUICK, Files, state
from integration.playbooks import PlayRun, Site

from simulator.windows.updates.update_catalogue import Update

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("patches_role")]

HOST, SIGNATURE = "patched", "S1gnature0fThePatchTest"
FIX = Update("KB5999001", builds=(20348,), reboots=0)
PLAY: dict[str, Any] = {
    "hosts": "all",
    "gather_facts": False,
    "tasks": [
        {"ansible.builtin.import_role": {"name": "winkube.node.windows_patches"}},
        {"ansible.builtin.debug": {"msg": "done"}},
    ],
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    return start_site({"name": HOST, "windows": "2022", **QUICK})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    served = Files(f"{free_network()}.2", tmp_path_factory.mktemp("files"))
    yield served
    served.stop()


@pytest.fixture(scope="module")
def run(site: Site, files: Files) -> PlayRun:
    """Return a run at the highest verbosity: one patch with a signed URL, and one whose signature has expired."""
    good = files.add(FIX)
    variables = {
        "windows_patches_private": [
            good | {"url": f"{good['url']}?sig={SIGNATURE}"},
            {"url": f"{files.url}/expired-kb5999002.msu?sig={SIGNATURE}", "sha256": "0" * 64},
        ],
        "windows_patches_settle_timeout": 4,
    }
    site.variables |= variables
    return site.run([PLAY], "-vvvvvv")


def test_the_play_fails_at_its_end_with_a_table(run: PlayRun, site: Site) -> None:
    run.expect(2)
    message = run.messages(HOST)
    assert f"{HOST}: 1 of 2 patches not installed" in message
    assert f"{FIX.kb}  installed" in message
    assert "KB5999002  failed" in message
    assert (FIX.kb, "Installed") in state(site.machine(HOST))["updates"]


def test_signatures_are_in_no_output_and_in_no_file_on_the_node(run: PlayRun, site: Site, files: Files) -> None:
    assert any(SIGNATURE in path for path in files.requests)
    assert SIGNATURE not in run.output
    assert SIGNATURE not in str(run.report)
    root = site.machine(HOST).files.real("C:\\")
    assert [str(path) for path in _all_files(root) if SIGNATURE.encode() in path.read_bytes()] == []


def test_without_patches_the_role_asks_nothing(run: PlayRun, site: Site) -> None:
    empty = site.run([PLAY], variables={"windows_patches_private": []}).expect()
    assert empty.commands(HOST) == 0


def _all_files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
