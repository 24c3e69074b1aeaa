# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""cloudbase-init on a simulated machine: the effects of its configuration, its metadata and its user data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulator_tests.waiting import wait_for
from simulator_tests.windows.multi_part import mime

from simulator.artifacts import windows_software
from simulator.machine import accounts
from simulator.machine.files import GIGABYTE
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.cloudbase.configuration import FOLDER, CloudbaseConfiguration

pytestmark = pytest.mark.waits

INIT, KEY = rf"{FOLDER}\Python\Scripts\cloudbase-init.exe", r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init"
CONF = rf"{FOLDER}\conf\cloudbase-init.conf"
PLUGINS = {
    "host": "cloudbaseinit.plugins.common.sethostname.SetHostNamePlugin",
    "user": "cloudbaseinit.plugins.windows.createuser.CreateUserPlugin",
    "keys": "cloudbaseinit.plugins.common.sshpublickeys.SetUserSSHPublicKeysPlugin",
    "volumes": "cloudbaseinit.plugins.windows.extendvolumes.ExtendVolumesPlugin",
    "data": "cloudbaseinit.plugins.common.userdata.UserDataPlugin",
    "scripts": "cloudbaseinit.plugins.common.localscripts.LocalScriptsPlugin",
}
NO_CLOUD = "cloudbaseinit.metadata.services.nocloudservice.NoCloudConfigDriveService"
DRIVE = "cloudbaseinit.metadata.services.configdrive.ConfigDriveService"
Start = Callable[..., Machine]


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Yield a function that starts a machine with cloudbase-init and a config drive."""
    machines: list[Machine] = []

    def make(user_data: str = "", *, drive: object = None, meta: str = "", **more: object) -> Machine:
        files = {"meta-data": meta or "instance-id: i-1\nlocal-hostname: node-1\n", "user-data": user_data}
        entry = {
            "name": "node-1",
            "address": "127.0.0.12",
            "reboot_seconds": 0.01,
            "config_drive": drive or {"label": "cidata", "files": files},
            **more,
        }
        machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
        machines.append(machine)
        machine.power_on()
        machine.files.write_bytes(r"C:\x.msi", windows_software.cloudbase_init("1.1.8"))
        properties = "RUN_SERVICE_AS_LOCAL_SYSTEM=1"
        assert machine.programs.run("msiexec.exe", ["/i", r"C:\x.msi", "/qn", properties]).exit_code == 0
        return machine

    yield make
    for machine in machines:
        machine.power.power_off()


def run(machine: Machine, *plugins: str, services: str = f"{NO_CLOUD},{DRIVE}", more: str = "") -> str:
    """Run cloudbase-init.exe with these plugins, and return its log."""
    names = ",".join(PLUGINS.get(name, name) for name in plugins)
    text = f"[DEFAULT]\nmetadata_services={services}\nplugins={names}\nlog_dir={FOLDER}\\log\nlog_file=x.log\n{more}"
    machine.files.write_text(CONF, text)
    result = machine.programs.run(INIT, ["--config-file", CONF])
    assert result.exit_code == 0, result.stderr
    return machine.files.read_text(rf"{FOLDER}\log\x.log")


def config(**keys: object) -> str:
    return f"#cloud-config\n{json.dumps(keys)}\n"


def test_options_have_sections_lists_and_lines_that_continue() -> None:
    text = "[DEFAULT]\n# no\na = 1,\n  2\nb=$$x\n[nocloud]\na=3\n"
    found = CloudbaseConfiguration(text)
    assert (found.items("a"), found.text("b"), found.text("a", section="nocloud")) == (["1", "2"], "$x", "3")


def test_files_are_written_before_commands_run(start: Start) -> None:
    files = [{"path": "/run/x/a.txt", "content": "YQ==", "encoding": "b64", "permissions": "0640"}]
    machine = start(
        config(runcmd=["type C:\\run\\x\\a.txt > /run/x/b.txt && echo c > /run/x/c.txt"], write_files=files)
    )
    log = run(machine, "data")
    assert machine.files.read_text(r"C:\run\x\b.txt") == "a"
    assert machine.files.read_text(r"C:\run\x\c.txt").split() == ["c"]
    assert "User_data script ended with return code: 0" in log


def test_a_plugin_runs_once_per_instance(start: Start) -> None:
    machine = start(config(runcmd=["echo x>> C:\\x.txt"]))
    for _ in range(2):
        run(machine, "data")
    assert machine.files.read_text(r"C:\x.txt").split() == ["x"]
    assert machine.registry.data(rf"{KEY}\i-1\Plugins", "UserDataPlugin") == 1
    machine.settings.options["config_drive"]["files"]["meta-data"] = "instance-id: i-2\n"
    run(machine, "data")
    assert machine.files.read_text(r"C:\x.txt").split() == ["x", "x"]


def test_a_script_can_ask_for_another_run(start: Start) -> None:
    machine = start("rem cmd\r\n@echo off\r\necho x>> C:\\x.txt\r\nexit /b 1002\r\n")
    for _ in range(2):
        run(machine, "data")
    assert machine.files.read_text(r"C:\x.txt").split() == ["x", "x"]


def test_templates_are_evaluated_in_plain_user_data_only(start: Start) -> None:
    document = "## template: jinja\n" + config(runcmd=["echo {{ ds.meta_data.local_hostname }}{{ v1.x }}> C:\\x.txt"])
    machine = start(document)
    run(machine, "data")
    assert machine.files.read_text(r"C:\x.txt").split() == ["node-1CI_MISSING_JINJA_VAR/x"]
    machine.settings.options["config_drive"]["files"] |= {
        "meta-data": "instance-id: i-2\n",
        "user-data": mime(("cloud-config", document, "a")),
    }
    run(machine, "data")
    assert "{{" in machine.files.read_text(r"C:\x.txt")


def test_what_is_not_supported_is_logged_and_skipped(start: Start) -> None:
    parts = (("cloud-boothook", "#!/bin/sh\n", ""), ("plain", "x", ""), ("cloud-config", config(bootcmd=["x"]), "c"))
    log = run(start(mime(*parts, ("x-shellscript", "echo x> C:\\x.txt", "a.cmd"))), "data")
    assert "text/cloud-boothook content is currently not supported" in log
    assert "Userdata plugin not found for content type: text/plain" in log
    assert "Plugin 'bootcmd' is currently not supported" in log
    assert 'a.cmd" ended with exit code: 0' in log


def test_user_data_is_in_the_log_only_at_the_level_debug(start: Start) -> None:
    machine = start(mime(("cloud-config", config(runcmd=["echo s3cret> C:\\x.txt"]), "c")))
    assert "s3cret" not in run(machine, "data")
    machine.settings.options["config_drive"]["files"]["meta-data"] = "instance-id: i-2\n"
    assert "User data content" in run(machine, "data", more="debug=true\n")


def test_a_new_host_name_needs_a_reboot_before_later_plugins(start: Start) -> None:
    machine = start(
        "rem cmd\r\necho %COMPUTERNAME%> C:\\x.txt\r\n",
        meta="instance-id: i\nlocal-hostname: a-long-name-of-a-host.x\n",
    )
    run(machine, "host", "data")
    assert not machine.files.exists(r"C:\x.txt")
    wait_for(lambda: machine.power.boots == 2 and machine.power.state == "on")
    log = run(machine, "host", "data")
    assert machine.files.exists(r"C:\x.txt")
    assert machine.host_name == "a-long-name-of0"
    assert "Truncating host name" in log


def test_a_config_drive_of_openstack_names_the_account_and_its_keys(start: Start) -> None:
    meta = {
        "uuid": "u",
        "hostname": "node-1",
        "public_keys": {"a": "ssh-ed25519 A x"},
        "meta": {"admin_username": "me"},
    }
    drive = {"label": "config-2", "files": {"openstack/latest/meta_data.json": json.dumps(meta)}}
    machine = start(drive=drive, unallocated_gb=3)
    size = machine.files.size()
    run(machine, "user", "keys", "volumes", "data")
    assert accounts.find(machine, "me", "User") is not None
    assert machine.files.read_text(r"C:\Users\me\.ssh\authorized_keys") == "ssh-ed25519 A x\n"
    assert machine.files.size() == size + 3 * GIGABYTE


def test_without_metadata_nothing_runs(start: Start) -> None:
    machine = start(drive={"label": "x", "files": {}})
    assert "No metadata service found" in run(machine, "user")
    assert accounts.find(machine, "Admin", "User") is None


def test_an_unknown_service_ends_the_run_and_an_unknown_plugin_does_not(start: Start) -> None:
    machine = start("")
    assert "Could not import plugin module 'x.Y'" in run(machine, "x.Y")
    machine.files.write_text(CONF, "[DEFAULT]\nmetadata_services=x.Y\n")
    assert machine.programs.run(INIT, ["--config-file", CONF]).exit_code == 1


def test_local_scripts_run_in_the_order_of_their_names(start: Start) -> None:
    machine = start("")
    machine.files.make_directory(rf"{FOLDER}\LocalScripts")
    for name in ("2.cmd", "1.cmd"):
        machine.files.write_text(rf"{FOLDER}\LocalScripts\{name}", f"@echo {name}>> C:\\x.txt\r\n")
    run(machine, "scripts", more=f"local_scripts_path={FOLDER}\\LocalScripts\\\n")
    assert machine.files.read_text(r"C:\x.txt").split() == ["1.cmd", "2.cmd"]


def test_the_service_ends_with_the_program(start: Start) -> None:
    machine = start(config(runcmd=["echo x> C:\\x.txt"]))
    run(machine)
    machine.files.write_text(CONF, machine.files.read_text(CONF).replace("plugins=", f"plugins={PLUGINS['data']}"))
    machine.services.start("cloudbase-init")
    wait_for(lambda: (service := machine.services.get("cloudbase-init")) and service.state == "Stopped")
    assert machine.files.exists(r"C:\x.txt")


def test_a_new_machine_runs_it_during_setup_and_at_the_end(start: Start) -> None:
    machine = start("", meta="instance-id: i\nlocal-hostname: web-7\n")
    plugins = f"metadata_services={NO_CLOUD}\nplugins={PLUGINS['host']}\nallow_reboot=false\n"
    machine.files.write_text(rf"{FOLDER}\conf\cloudbase-init-unattend.conf", f"[DEFAULT]\n{plugins}")
    run(machine)
    folder = r"C:\Windows\Setup\Scripts"
    machine.files.make_directory(folder)
    machine.files.write_text(rf"{folder}\SetupComplete.cmd", "@echo off\r\necho %COMPUTERNAME%> C:\\done.txt\r\n")
    unattend = rf"/unattend:{FOLDER}\conf\Unattend.xml"
    assert (
        machine.programs.run(
            r"C:\Windows\System32\Sysprep\sysprep.exe", ["/oobe", "/generalize", "/quit", unattend]
        ).exit_code
        == 0
    )
    machine.power.reset()
    assert machine.host_name == "web-7"
    wait_for(lambda: machine.files.exists(r"C:\done.txt"))
    assert machine.files.read_text(r"C:\done.txt").split() == ["WEB-7"]
