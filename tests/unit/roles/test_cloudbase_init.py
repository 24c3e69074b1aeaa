# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The role cloudbase_init: its configuration files, and its plugin for user data, on a simulated machine."""

from __future__ import annotations

import ast
import configparser
import dataclasses
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulator_tests.windows.multi_part import mime
from unit.direct_node import DirectNode
from unit.plugins.plugin_utils.node_resources.test_roles import BUILDING, host
from unit.plugins.plugin_utils.resources.test_on_a_simulated_machine import node, settles

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import cloudbase_configuration, cloudbase_init
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.cloudbase_init import ConfigurationVariables
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.artifacts import windows_software
from simulator.machine.machine import Machine

__all__ = ["node"]

FOLDER = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init"
STATE = r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\i-1\Plugins"
PLAIN = ConfigurationVariables(
    platform="nocloud",
    metadata_services=(),
    plugins=(),
    unattend_metadata_services=(),
    unattend_plugins=(),
    username="Admin",
    groups=("Administrators",),
    inject_user_password=False,
    first_logon_behaviour="no",
    rename_admin_user=False,
    serial_port="",
    debug=False,
    settings={},
    unattend_settings={},
)


def options(text: str) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parsed.read_string(text)
    return parsed


@pytest.mark.parametrize("platform", cloudbase_configuration.facts().platforms)
def test_every_platform_has_its_services_and_runs_user_data(platform: t.Any) -> None:
    variables = dataclasses.replace(PLAIN, platform=platform)
    service = options(cloudbase_configuration.of_service(variables))["DEFAULT"]
    setup = options(cloudbase_configuration.of_setup(variables))["DEFAULT"]
    assert all(name.startswith("cloudbaseinit.metadata.services.") for name in service["metadata_services"].split(","))
    assert "winkube_user_data.UserDataPlugin" in service["plugins"].split(",")
    # Windows Setup would be interrupted, and a node would join under a name that it then loses.
    assert (setup["allow_reboot"], setup["stop_service_on_exit"]) == ("false", "false")
    assert "UserData" not in setup["plugins"]
    assert service["log_file"] != setup["log_file"]


def test_the_name_comes_before_user_data() -> None:
    plugins = options(cloudbase_configuration.of_service(PLAIN))["DEFAULT"]["plugins"].split(",")
    short = [name.rpartition(".")[2] for name in plugins]
    assert short.index("SetHostNamePlugin") < short.index("NetworkConfigPlugin") < short.index("UserDataPlugin")


def test_own_values_replace_the_default_ones() -> None:
    changed = dataclasses.replace(
        PLAIN,
        metadata_services=("a.B", "c.D"),
        plugins=("e.F",),
        serial_port="COM1,115200,N,8",
        settings={"san_policy": "OnlineAll", "debug": True, "config_drive": {"types": ["iso"]}, "username": "a$b"},
    )
    parsed = options(cloudbase_configuration.of_service(changed))
    service = parsed["DEFAULT"]
    assert (service["metadata_services"], service["plugins"]) == ("a.B,c.D", "e.F")
    assert service["logging_serial_port_settings"] == "COM1,115200,N,8"
    assert (service["san_policy"], service["debug"], service["username"]) == ("OnlineAll", "true", "a$$b")
    assert parsed["config_drive"]["types"] == "iso"
    assert "a$$b" not in cloudbase_configuration.of_setup(changed)


OWN_SERVICES = {"metadata_services": ("a.B",), "unattend_metadata_services": ("c.D",)}


@pytest.mark.parametrize("text", [cloudbase_configuration.of_service, cloudbase_configuration.of_setup])
@pytest.mark.parametrize("left_out", [*OWN_SERVICES, ""])
def test_without_a_platform_all_services_are_named(text: t.Callable[[t.Any], str], left_out: str) -> None:
    given: dict[str, t.Any] = {"platform": "", **OWN_SERVICES, **({left_out: ()} if left_out else {})}
    variables = dataclasses.replace(PLAIN, **given)
    if left_out:
        with pytest.raises(
            ResourceError, match=r"^cloudbase_init_platform: expected one of azure, .*, got nothing\. It"
        ):
            text(variables)
    else:
        assert options(text(variables))["DEFAULT"]["metadata_services"] in ("a.B", "c.D")


@pytest.mark.parametrize("text", [cloudbase_configuration.of_service, cloudbase_configuration.of_setup])
def test_no_module_logs_at_the_level_debug(text: t.Callable[[ConfigurationVariables], str]) -> None:
    parsed = options(text(PLAIN))["DEFAULT"]
    levels = dict(pair.split("=") for pair in parsed["default_log_levels"].split(","))
    assert parsed["debug"] == "false"
    assert levels["requests"] == "WARN"
    assert "DEBUG" not in levels.values()


@pytest.fixture
def machine(node: DirectNode) -> Iterator[Machine]:
    """Return a machine with the plugin, and with cloudbase-init that runs it on user data of a config drive."""
    machine = node.machine
    machine.files.write_bytes(r"C:\x.msi", windows_software.cloudbase_init("1.1.8"))
    known = cloudbase_configuration.facts()
    package = {
        "type": "Package",
        "name": "Cloudbase-Init",
        "product_id": known.product_id,
        "path": r"C:\x.msi",
        "folder": known.folder,
        "properties": dict(known.properties),
        "disables": [known.service],
    }
    plugin = cloudbase_init.plugin_file()
    configuration = dataclasses.replace(PLAIN, plugins=("winkube_user_data.UserDataPlugin",))
    conf = {
        "type": "File",
        "name": rf"{FOLDER}\conf\cloudbase-init.conf",
        "content": cloudbase_configuration.of_service(configuration),
    }
    assert settles(node, package, plugin, conf) == ["Package create", "File create", "File create"]
    return machine


def role_resources() -> list[dict[str, t.Any]]:
    """Return the resources of the role while an image is built."""
    return of_role("cloudbase_init", host("cloudbase_init", **BUILDING))


def test_a_product_that_is_there_is_disabled_while_the_image_is_built(node: DirectNode, machine: Machine) -> None:
    services = [one for one in role_resources() if one["type"] == "Service"]
    assert settles(node, *services) == []
    # As after an installation that was interrupted before the service was disabled.
    machine.programs.run("sc.exe", ["config", "cloudbase-init", "start=", "auto"])
    assert settles(node, *services) == ["Service update"]
    service = machine.services.get("cloudbase-init")
    assert service is not None
    assert service.start_mode == "Disabled"


def test_the_service_is_disabled_after_its_package() -> None:
    types = [one["type"] for one in role_resources()]
    assert types.index("Service") == types.index("Package") + 1


def run(machine: Machine, user_data: str | bytes, host: str = "node-1.example") -> str:
    """Run cloudbase-init on user data, and return the new part of its log."""
    files = {"meta-data": f"instance-id: i-1\nlocal-hostname: {host}\n", "user-data": user_data}
    machine.settings.options["config_drive"] = {"label": "cidata", "files": files}
    path = rf"{FOLDER}\log\cloudbase-init.log"
    if machine.files.exists(path):
        machine.files.delete(path)
    init = machine.programs.run(
        rf"{FOLDER}\Python\Scripts\cloudbase-init.exe", ["--config-file", rf"{FOLDER}\conf\cloudbase-init.conf"]
    )
    assert init.exit_code == 0, init.stderr
    return machine.files.read_text(path)


def config(text: str = "{{ ds.meta_data.local_hostname }}", **more: object) -> str:
    keys = {"write_files": [{"path": r"C:\x.txt", "content": text, "owner": "root:root"}], **more}
    return f"## template: jinja\n#cloud-config\n{json.dumps(keys)}\n"


ACCEPTED = {
    "a template": config(),
    "a part": mime(("cloud-config", config(), "a")),
    "a part of the type for templates": mime(("jinja2", config(), "a")),
    "a part after a script": mime(
        ("x-shellscript", "@echo x> C:\\y.txt\r\n", "a.cmd"), ("cloud-config", config(), "b")
    ),
    "an encoded part": mime(("cloud-config", config().replace("root:root", "rööt:root"), "a")),
    "headers in other letters": mime(("cloud-config", config(), "a")).replace("Content-Type: m", "content-type: m", 1),
    "Windows' line ends": mime(("cloud-config", config(), "a")).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_templates_are_evaluated_wherever_they_are(machine: Machine, case: str) -> None:
    log = run(machine, ACCEPTED[case])
    assert "ERROR" not in log
    assert machine.files.read_text(r"C:\x.txt") == "node-1.example"
    assert machine.registry.data(STATE, "UserDataPlugin") == 1


def multi_part(*payloads: bytes, line_end: bytes) -> bytes:
    """Return batch files as multi-part user data whose headers have these line ends."""
    lines = [b"Content-Type: multipart/mixed;", b' boundary="=="', b"MIME-Version: 1.0", b""]
    for number, payload in enumerate(payloads):
        name = f'Content-Disposition: attachment; filename="{number}.cmd"'.encode()
        lines += [b"--==", b"Content-Type: text/x-shellscript", b"Content-Transfer-Encoding: 8bit", name, b"", payload]
    return line_end.join([*lines, b"--==--", b""])


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_scripts_reach_cloudbase_init_as_they_are(machine: Machine, line_end: bytes) -> None:
    copies = tuple(f"@copy /b %0 C:\\{n}.txt > nul{end}@rem ö{end}".encode() for n, end in enumerate(("\r\n", "\n")))
    copies += (b"", b"@copy /b %0 C:\\3.txt > nul")
    assert "ERROR" not in run(machine, multi_part(*copies, line_end=line_end))
    assert [machine.files.read_bytes(rf"C:\{number}.txt") for number in (0, 1, 3)] == [*copies[:2], copies[3]]


HANDLER = """def list_types(): return ["text/x-own", "text/cloud-boothook"]
def handle_part(data, kind, name, payload):
    if payload: raise ValueError(f"{kind} {name} of {len(payload)} bytes")
"""


def test_a_part_handler_gets_the_parts_of_its_types(machine: Machine) -> None:
    log = run(
        machine, mime(("part-handler", HANDLER, "a.py"), ("x-own", "1234567", "b"), ("cloud-config", config(), "c"))
    )
    # The error is that of the handler: cloudbase-init has called it.
    assert "text/x-own b of 7 bytes" in log
    assert machine.files.exists(r"C:\x.txt")


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a boothook": (mime(("cloud-config", config(), "a"), ("cloud-boothook", "x", "")), "part 2 (text/cloud-boothook)"),
    "an include file": (mime(("x-include-url", "file:///etc/x", "")), "part 1 (text/x-include-url)"),
    "a boothook after a part handler": (
        mime(("part-handler", HANDLER, "a.py"), ("cloud-boothook", "x", "")),
        "part 2 (text/cloud-boothook)",
    ),
    "a part before its handler": (
        mime(("x-own", "s3cret", ""), ("part-handler", HANDLER, "a.py")),
        "part 1 (text/x-own) of the user data: expected a part of type text/cloud-config",
    ),
    "a part without a type": (mime(("plain", config(), "")), "part 1 (text/plain)"),
    "a boothook alone": ("#cloud-boothook\nx\n", "got a boothook (text/cloud-boothook)"),
    "an archive": ("#cloud-config-archive\n- x\n", "got a cloud-config archive"),
    "unknown keys": (config(bootcmd=["x"], mounts=[]), "got bootcmd, mounts"),
    "unknown keys of a part": (mime(("cloud-config", config(bootcmd=[]), "a")), "got bootcmd"),
    "an unknown variable": (config("{{ ds.meta_data.region }}"), "got the unknown variable region"),
    "an unknown variable in a part": (mime(("cloud-config", config("{{ x }}"), "a")), "the unknown variable x"),
    "no YAML": ("#cloud-config\nruncmd: [s3cret\n", "got an error in line 3"),
    "a list": ("#cloud-config\n- s3cret\n", "expected a mapping of cloud-config keys"),
    "a script for bash": ("#!/bin/sh\ns3cret\n", "got a script for bash"),
    "a part for bash": (mime(("x-shellscript", "#!/bin/sh\n", "a.sh")), "got a script for bash"),
    "a script without a name": (mime(("x-shellscript", "echo", "")), "expected a script with a file name"),
    "a script of another kind": (mime(("x-shellscript", "echo s3cret", "a.txt")), "got no such header"),
    # cloudbase-init runs a part whose name ends with .sh with bash, whatever it contains.
    "a part named like a script for bash": (mime(("x-shellscript", "rem cmd\n", "a.SH")), "got a script for bash"),
    "a name that is only an ending": (mime(("x-shellscript", "echo s3cret", ".cmd")), "got no such header"),
    "a part with a header in other letters": (mime(("x-shellscript", "REM CMD s3cret\n", "a.txt")), "in other letters"),
    "a part with a blank line before": (mime(("x-shellscript", "\nrem cmd s3cret\n", "a")), "after blank lines"),
    "unknown keys of a part without a header": (mime(("cloud-config", "bootcmd: [s3cret]\n", "a")), "got bootcmd"),
    "a part whose template is not evaluated": (mime(("cloud-config", f"\n{config()}", "a")), "as the first line"),
    "no header": ("kubeadm.exe join s3cret\n", "expected #cloud-config, #ps1_sysnative or rem cmd at the beginning"),
    "no header in the message": ("kubeadm.exe join s3cret\n", "got no such header"),
    "a single part": ("Content-Type: text/cloud-config\n\n#cloud-config\ns3cret: 1\n", "that is not multi-part"),
    "a blank line before a cloud-config": ("\n#cloud-config\ns3cret: 1\n", "got a header after blank lines or spaces"),
    "a blank line after the first line of a template": (
        "## template: jinja\n\n#cloud-config\ns3cret: 1\n",
        "got a header after blank lines or spaces",
    ),
    "a blank line before a template": (f"\n{config()}", "as the first line"),
    "another kind of template": ("## template: basic\n#cloud-config\ns3cret: 1\n", "as the first line"),
    "a blank line before a script": ("\n#ps1_sysnative\ns3cret\n", "got a header after blank lines or spaces"),
    "a header in capital letters": ("#PS1\ns3cret\n", "got a header in other letters"),
    "a batch file in capital letters": ("REM cmd\ns3cret\n", "got a header in other letters"),
    "a header without an end of line": ("#ps1_sysnative", "got no such header"),
    "a byte order mark": ("\ufeff#cloud-config\ns3cret: 1\n", "got a byte order mark"),
    "UTF-16": ("#cloud-config\ns3cret: 1\n".encode("utf-16"), "expected UTF-8 without a byte order mark, got a byte"),
    "another encoding": ("#ps1_sysnative\n# s3cret ä\n".encode("latin-1"), "got another encoding"),
    "a byte order mark before a script": ("\ufeff#ps1_sysnative\ns3cret\n", "got a byte order mark"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_be_skipped_is_refused_by_name(machine: Machine, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The computer that runs the tests has bash. Windows does not have it.
    monkeypatch.setattr("shutil.which", lambda _: None)
    user_data, reason = REFUSED[case]
    log = run(machine, user_data)
    assert "plugin 'UserDataPlugin' failed with error" in log
    assert reason in log
    assert "s3cret" not in log
    # Nothing has run, and the log says so again at each start until the user data is corrected.
    assert not machine.files.exists(r"C:\x.txt")
    assert machine.registry.data(STATE, "UserDataPlugin") is None
    run(machine, config())
    assert machine.files.exists(r"C:\x.txt")


def test_a_machine_with_bash_may_run_scripts_for_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: r"C:\git\bash.exe")
    assert "failed" not in run(machine, "#!/bin/sh\ntrue\n")


WRITES = "Set-Content -Path C:\\x.txt -Value x\n"
PASSED_ON = {
    "nothing": "",
    "white space": " \n\n",
    "PowerShell": f"#ps1_sysnative\n{WRITES}",
    "PowerShell of 64 bits": f"#ps1 \r\n{WRITES}",
    "PowerShell of 32 bits": f"#ps1_x86\n{WRITES}",
    "a batch file": "rem  cmd\r\n@echo x> C:\\x.txt\r\n",
    "sections of Amazon EC2": f"\n<powershell>\n{WRITES}</powershell>\n",
    "a certificate": "\n-----BEGIN CERTIFICATE-----\n",
    "a part without an ending": mime(("x-shellscript", f"#ps1_sysnative\n{WRITES}", "a")),
    "a part with an ending": mime(("x-shellscript", WRITES, "A.PS1")),
}


@pytest.mark.parametrize("case", PASSED_ON)
def test_what_cloudbase_init_runs_is_passed_on(machine: Machine, case: str) -> None:
    log = run(machine, PASSED_ON[case])
    assert "ERROR" not in log
    assert ("Unsupported user_data format" in log) is (case == "white space")
    assert machine.files.exists(r"C:\x.txt") == (case not in ("nothing", "white space", "a certificate"))
    assert machine.registry.data(STATE, "UserDataPlugin") == 1


COMMANDS = {
    "runcmd": config(runcmd=["cmd.exe /c exit 0 --token s3cret", "echo x> C:\\x.txt"], write_files=[]),
    "a batch file": "rem cmd\r\ncmd.exe /c exit 0 --token s3cret\r\necho x> C:\\x.txt\r\n",
    "a batch file as a part": mime(
        ("x-shellscript", "cmd.exe /c exit 0 --token s3cret\r\necho x> C:\\x.txt\r\n", "a.cmd")
    ),
}


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("case", COMMANDS)
def test_a_token_in_a_command_is_logged_only_at_the_level_debug(machine: Machine, case: str, debug: bool) -> None:
    if debug:
        path = rf"{FOLDER}\conf\cloudbase-init.conf"
        machine.files.write_text(path, machine.files.read_text(path).replace("debug=false", "debug=true"))
    log = run(machine, COMMANDS[case])
    assert machine.files.exists(r"C:\x.txt")
    assert "ended with" in log
    assert ("s3cret" in log) is debug


def test_the_plugin_needs_only_the_python_that_cloudbase_init_brings() -> None:
    source = (Path(__file__).parents[3] / "roles/cloudbase_init/files/winkube_user_data.py").read_text(encoding="utf-8")
    # The oldest one is 3.8 (cloudbase-init 1.1.2).
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module}
    imported |= {name.name for one in ast.walk(tree) if isinstance(one, ast.Import) for name in one.names}
    standard = {"__future__", "email", "email.base64mime", "os", "re", "shutil"}
    assert {name for name in imported if not name.startswith("cloudbaseinit")} == standard | {"yaml"}
