# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands in README.md do what it says, and its links have targets."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cryptography import x509

from simulator.machine import certificate_store, winrm_settings
from simulator.machine.machine import Machine
from simulator.machine.powershell.host import run_script
from simulator.machine.session import Session
from simulator.machine.settings import MachineSettings
from simulator.windows.networking.firewall_rules import Firewall

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def test_the_script_for_a_server_opens_winrm_with_a_certificate_that_clients_can_check(tmp_path: Path) -> None:
    machine = Machine(MachineSettings.read({"name": "plain", "address": "127.0.0.13"}), tmp_path / "machine")
    machine.power_on()
    # A simulated server has all of this, unlike Windows.
    for certificate in certificate_store.certificates(machine, "My"):
        certificate_store.remove(machine, "My", certificate_store.thumbprint(certificate))
    machine.registry.delete_key(winrm_settings.KEY)
    assert winrm_settings.wire_settings(machine).transports == {"HTTP"}

    process = machine.processes.begin("powershell.exe", "Administrator")
    session = Session(machine, process, "Administrator")
    (command,) = re.findall(r"```powershell\n\s*\.\\Enable-WinRMOverHttps\.ps1 (.*?)\s*```", README, re.DOTALL)
    script = (ROOT / "scripts/Enable-WinRMOverHttps.ps1").read_text(encoding="utf-8")
    marks = []
    for options in (command, f"{command} -Name plain.example -Address 192.0.2.77"):
        outcome = run_script(session, f"& {{\n{script}\n}} {options}", [])
        assert (outcome.failure, outcome.errors) == (None, [])
        marks.append(winrm_settings.certificate_of(machine))
    settings = winrm_settings.wire_settings(machine)
    level = winrm_settings.cbt_hardening_level(machine)
    rule = machine.part(Firewall).rules["winkube-winrm-https"]
    (exported,) = certificate_store.load(machine.files.read_bytes(r"C:\windows01.pem"))
    machine.power.power_off()
    assert (settings.transports, settings.basic, level) == ({"HTTP", "HTTPS"}, False, "Strict")
    assert len(set(marks)) == 2
    assert certificate_store.thumbprint(exported) == marks[-1]
    names = exported.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["PLAIN", "plain.example"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.13", "192.0.2.77"]
    assert "192.0.2.10" in str(rule)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [target for target in targets if target and not (ROOT / page).parent.joinpath(target).exists()] == []


def test_the_tests_that_the_security_page_names_are_there() -> None:
    named = re.findall(r"`(test_\w+\.py)`", (ROOT / "docs/security.md").read_text(encoding="utf-8"))
    known = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(named) > 20
    assert sorted(set(named) - known) == []
