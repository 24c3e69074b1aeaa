# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Products of Windows Installer: what is planned, and what a simulated msiexec.exe makes of it."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.direct_node import DirectNode
from unit.plugins.plugin_utils.resources.test_on_a_simulated_machine import converge, item, node, settles
from unit.resource_answers import answer, call, commands, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult
from simulator.artifacts import windows_software
from simulator.machine.machine import Machine
from simulator.windows.software import installer_package
from simulator.windows.software.installer_package import InstallerPackage, PackageService

__all__ = ["node"]

CODE, MSI, FOLDER = "{11111111-2222-3333-4444-555555555555}", r"C:\cache\agent.msi", r"C:\Program Files\Agent"
PROGRAM = rf"{FOLDER}\agent.exe"
AGENT = InstallerPackage(
    "Agent 1.2",
    "1.2.0.0",
    "Example",
    programs={PROGRAM: "installed-service"},
    generated={rf"{FOLDER}\agent.conf": "[DEFAULT]\r\n"},
    services={"agent": PackageService(f'"{PROGRAM}"', "Agent", r".\agent")},
    users=("agent",),
    system_property="AS_SYSTEM",
    code=CODE,
)


def product(**more: t.Any) -> dict[str, t.Any]:
    properties = {"product_id": CODE, "path": MSI, "version": "1.2", "folder": FOLDER, "disables": ["agent"], **more}
    return item("Package", "Agent", **properties)


def put(node: DirectNode, package: InstallerPackage = AGENT) -> Machine:
    machine = node.machine
    machine.files.make_directory(MSI.rpartition("\\")[0])
    machine.files.write_bytes(MSI, installer_package.make(package))
    return machine


def listed(version: str | None) -> CallResult:
    values = {"DisplayVersion": {"value": version, "kind": "String"}}
    entries = ({"key_exists": found, "values": values if found else {}} for found in (version is not None, False))
    return answer(*entries)


def there(exists: bool) -> CallResult:
    return answer({"exists": exists})


def test_a_product_is_installed_with_its_services_disabled() -> None:
    change = must(one(**product(properties={"ADDLOCAL": "ALL"})), product=listed(None), folder=there(False))
    assert call(change, "install").arguments == (
        *("/i", MSI, "/qn", "/norestart", "/l*v", r"C:\Windows\Temp\winkube-msi.log"),
        "ADDLOCAL=ALL",
    )
    assert commands(change) == ["msiexec.exe", "Get-Content", "sc.exe"]
    assert call(change, "log").unless == ("install",)


@pytest.mark.parametrize("version", ["1.2", "1.2.0", "1.2.0.0"])
def test_the_same_version_needs_no_change(version: str) -> None:
    assert planned(one(**product()), product=listed(version), folder=there(True)) is None


def test_a_product_of_any_version_is_accepted_without_a_version() -> None:
    resource = one(type="Package", name="Agent", product_id=CODE, path=MSI)
    assert planned(resource, product=listed("0.9")) is None
    assert must(resource, product=listed(None)).why == "is not installed"


def test_another_version_is_removed_first() -> None:
    change = must(one(**product()), product=listed("1.1.0.0"), folder=there(True))
    assert change.why == "version is 1.1.0.0, expected 1.2"
    assert call(change, "uninstall").arguments[:2] == ("/x", CODE)
    assert change.observe_again


def test_what_another_installation_left_is_removed_first() -> None:
    change = must(one(**product()), product=listed(None), folder=there(True))
    assert (commands(change), change.observe_again) == (["Remove-Item"], True)


def test_absence() -> None:
    absent = one(type="Package", name="Agent", product_id=CODE, state="absent")
    assert planned(absent, product=listed(None)) is None
    assert commands(must(absent, product=listed("1"))) == ["msiexec.exe", "Get-Content"]


def test_a_simulated_machine_gets_a_new_product(node: DirectNode) -> None:
    machine = put(node)
    assert settles(node, product(properties={"AS_SYSTEM": "1"})) == ["Package create"]
    service = machine.services.get("agent")
    assert service is not None
    assert (service.start_mode, service.account) == ("Disabled", "LocalSystem")
    # The configuration of a new version is not mixed with that of the old one.
    machine.files.write_text(rf"{FOLDER}\agent.conf", "[DEFAULT]\r\nown = 1\r\n")
    put(node, dataclasses.replace(AGENT, version="1.3.0.0"))
    assert settles(node, product(version="1.3")) == ["Package remove", "Package create"]
    assert machine.files.read_text(rf"{FOLDER}\agent.conf") == "[DEFAULT]\r\n"
    assert settles(node, product(state="absent")) == ["Package remove"]
    assert not machine.files.exists(FOLDER)


def test_a_reboot_follows_after_the_services_are_disabled(node: DirectNode) -> None:
    machine = put(node, dataclasses.replace(AGENT, exit_code=3010))
    boots = machine.power.boots
    outcome = converge(node, product(), item("File", r"C:\after.txt", content="x"))
    assert (outcome.rebooted, machine.power.boots) == (True, boots + 1)
    assert not machine.power.pending_reboot
    assert machine.files.exists(r"C:\after.txt")
    service = machine.services.get("agent")
    assert service is not None
    assert (service.start_mode, service.state) == ("Disabled", "Stopped")


def failures(node: DirectNode) -> str:
    (failure,) = Convergence(NodeSession(node), load([product()])).run().failures
    return failure


def test_a_failure_names_the_cause_and_quotes_the_log(node: DirectNode) -> None:
    errors = ("Action start: CustomAction", "Product: Agent -- Error 1720. There is a problem with this package.")
    put(node, dataclasses.replace(AGENT, exit_code=1603, errors=errors))
    assert failures(node).partition(": ")[2] == (
        "Package Agent: A step of the installation failed (1603, ERROR_INSTALL_FAILURE). Read the log. "
        r"Product: Agent -- Error 1720. There is a problem with this package. The log is "
        r"C:\Windows\Temp\winkube-msi.log"
    )


def test_a_file_that_is_no_package_is_explained(node: DirectNode) -> None:
    machine = put(node)
    machine.files.write_text(MSI, "404")
    assert "(1620, ERROR_INSTALL_PACKAGE_INVALID)" in failures(node)


def test_another_version_with_the_same_code_has_to_go_first(node: DirectNode) -> None:
    # Windows Installer itself refuses it. The simulated one does, too.
    machine = put(node)
    converge(node, product())
    put(node, dataclasses.replace(AGENT, version="1.3.0.0"))
    assert machine.programs.run("msiexec.exe", ["/i", MSI, "/qn"]).exit_code == 1638


def test_cloudbase_init_has_the_code_that_its_publisher_uses(node: DirectNode) -> None:
    machine = put(node)
    machine.files.write_bytes(MSI, windows_software.cloudbase_init("1.1.8"))
    code = "{ED85F19F-057A-4EE6-BC8D-F576DEACE78D}"
    assert settles(node, item("Package", "Cloudbase-Init", product_id=code, path=MSI, version="1.1.8")) == [
        "Package create"
    ]
