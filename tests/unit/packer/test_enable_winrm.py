# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The scripts of the answer file and the user data enable WinRM over HTTPS so that Packer can use NTLM."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.packer.packer_templates import MISSING, ROOT, TEMPLATES, Packer
from unit.packer.packer_variables import from_iso

from simulator.machine import certificate_store, winrm_settings
from simulator.machine.machine import Machine
from simulator.machine.powershell.host import run_script
from simulator.machine.session import Session
from simulator.machine.settings import MachineSettings
from simulator.windows.networking.firewall_rules import Firewall

ENABLE = (ROOT / "scripts" / "Enable-WinRMOverHttps.ps1").read_text(encoding="utf-8")


def ran_on_plain_windows(tmp_path: Path, script: str) -> tuple[Machine, str]:
    """Run a script on a machine whose WinRM is as Windows sets it up, and return the machine and the firewall rule."""
    machine = Machine(MachineSettings.read({"name": "plain", "address": "127.0.0.13"}), tmp_path / "machine")
    machine.power_on()
    for certificate in certificate_store.certificates(machine, "My"):
        certificate_store.remove(machine, "My", certificate_store.thumbprint(certificate))
    machine.registry.delete_key(winrm_settings.KEY)
    process = machine.processes.begin("powershell.exe", "Administrator")
    outcome = run_script(Session(machine, process, "Administrator"), script, [])
    assert (outcome.failure, outcome.errors) == (None, [])
    rule = str(machine.part(Firewall).rules["winkube-winrm-https"])
    machine.power.power_off()
    return machine, rule


def opened(machine: Machine) -> tuple[bool, bool, str]:
    settings = winrm_settings.wire_settings(machine)
    return "HTTPS" in settings.transports, settings.basic, winrm_settings.cbt_hardening_level(machine)


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_the_command_of_the_first_logon(tmp_path: Path) -> None:
    packer = Packer(tmp_path / "packer")
    code, output = packer.run("build", "-only=answer-file.*", variables=from_iso(winrm_clients=["192.0.2.0/24", "Any"]))
    assert code == 0, output
    script = (packer.folder / "build" / "answer_file" / "first_logon.cmd").read_text(encoding="utf-8")
    command = re.findall(r'-Command "(.*)"$', script, re.MULTILINE)[0]
    # cmd.exe inserts the folder of the script and %TEMP%.
    command = command.replace("& '%~dp0Enable-WinRMOverHttps.ps1'", f"& {{\n{ENABLE}\n}}").replace("%TEMP%", "C:")
    machine, rule = ran_on_plain_windows(tmp_path, command)
    assert opened(machine) == (True, False, "Relaxed")
    assert "192.0.2.0/24" in rule


def test_the_user_data_of_an_ami(tmp_path: Path) -> None:
    text = (TEMPLATES / "amazon.pkr.hcl").read_text(encoding="utf-8")
    relax = re.findall(
        r'relax_channel_binding = "(.*)"', (TEMPLATES / "answer_file.pkr.hcl").read_text(encoding="utf-8")
    )[0]
    data = re.findall(r'user_data += "(.*)"$', text, re.MULTILINE)[0].replace("\\n", "\n")
    data = data.replace("${local.enable_winrm}", ENABLE).replace("${local.relax_channel_binding}", relax)
    # EC2 accepts 16 KB of user data.
    assert len(data) < 16384
    script = re.fullmatch(r"<powershell>\n(.*\n)</powershell>\n", data, re.DOTALL)
    assert script is not None
    machine, _ = ran_on_plain_windows(tmp_path, script[1])
    assert opened(machine) == (True, False, "Relaxed")
