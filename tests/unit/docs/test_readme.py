# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What README.md tells people to type does what it says, and what it links to is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from simulator.machine.machine import Machine
from simulator.machine.powershell.host import run_script
from simulator.machine.session import Session
from simulator.machine.settings import Settings
from simulator.windows import certificate_store, winrm

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def test_the_commands_for_a_server_open_winrm(tmp_path: Path) -> None:
    machine = Machine(Settings.read({"name": "plain", "address": "127.0.0.13"}), tmp_path / "machine")
    machine.power_on()
    # A simulated server comes with all of it; Windows does not.
    for certificate in certificate_store.certificates(machine, "My"):
        certificate_store.remove(machine, "My", certificate_store.thumbprint(certificate))
    machine.registry.delete_key(winrm.KEY)
    plain = winrm.wire_settings(machine)
    assert (plain.transports, plain.basic) == ({"HTTP"}, False)

    process = machine.processes.begin("powershell.exe", "Administrator")
    session = Session(machine, process, "Administrator")
    opened = []
    for block in re.findall(r"```powershell\n(.*?)```", README, re.DOTALL):
        outcome = run_script(session, block, [])
        assert outcome.failure is None
        assert outcome.errors == []
        settings = winrm.wire_settings(machine)
        opened.append((settings.transports, settings.basic))
    machine.power.power_off()
    assert opened == [({"HTTP", "HTTPS"}, False), ({"HTTP", "HTTPS"}, True)]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [target for target in targets if target and not (ROOT / page).parent.joinpath(target).exists()] == []
