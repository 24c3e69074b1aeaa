# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ansible's modules that roles of other projects use: changes, a second run without changes, and check mode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simulator.artifacts import windows_software
from simulator.artifacts.archives import zip_archive
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.machine import accounts, families, modules
from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.objects import NotModelled
from simulator.machine.session import Session
from simulator.windows.networking.firewall_rules import Firewall
from simulator.windows.networking.web_request import INTERNET_SETTINGS

Module = Callable[..., dict[str, Any]]


@pytest.fixture
def module(session: Session) -> Module:
    """Return a function that runs a module by its name."""

    def run(name: str, /, *, check: bool = False, **arguments: Any) -> dict[str, Any]:
        given = {**arguments, "_ansible_check_mode": check}
        return modules.run(session, f"ansible.windows.{name}.ps1", "", given)

    return run


@pytest.fixture
def server() -> Iterator[ArtifactServer]:
    """Start a server with an executable and a file with its checksum."""
    with ArtifactServer() as found:
        found.put("files/tool.exe", make("tool", "1.0"))
        found.put("files/sums.txt", f"{hashlib.sha256(make('tool', '1.0')).hexdigest()}  tool.exe\n".encode())
        yield found


def refusal(answer: dict[str, Any]) -> str:
    """Return the message of a result, which must be a failure."""
    assert answer["failed"], answer
    return str(answer["msg"])


def twice(module: Module, name: str, /, **arguments: Any) -> dict[str, Any]:
    """Run a module in check mode, then twice, and return the result of the second run.

    The first two runs must report a change, and the third one must not.
    """
    check = module(name, check=True, **arguments)
    first, second = module(name, **arguments), module(name, **arguments)
    assert [answer.get("failed", False) for answer in (check, first, second)] == [False] * 3, (check, first, second)
    assert [answer["changed"] for answer in (check, first, second)] == [True, True, False], (check, first, second)
    return first


def test_groups(module: Module, machine: Machine) -> None:
    made = twice(module, "win_group", name="Readers", description="They read", members={"add": ["Administrator"]})
    group = accounts.find(machine, "readers", "Group")
    assert group is not None
    assert (group.description, made["sid"]) == ("They read", accounts.sid(machine, group))
    assert made["sid"].startswith(machine.sid)
    added = twice(module, "win_group_membership", name="Readers", members=["Guest", "NT AUTHORITY\\SYSTEM"])
    assert added["added"] == ["WIN-A\\Guest", "NT AUTHORITY\\SYSTEM"]
    assert added["members"] == ["WIN-A\\Administrator", *added["added"]]
    pure = twice(module, "win_group_membership", name="Readers", members=[".\\Guest"], state="pure")
    assert (pure["added"], pure["removed"]) == ([], ["WIN-A\\Administrator", "NT AUTHORITY\\SYSTEM"])
    assert module("win_group_membership", name="Readers", members=[])["changed"] is False
    gone = twice(module, "win_group_membership", name="Readers", members=["Guest"], state="absent")
    assert gone["members"] == []
    assert "account_name nobody is not a valid account" in refusal(
        module("win_group_membership", name="Readers", members=["nobody"])
    )
    assert refusal(module("win_group_membership", name="X", members=[])) == "Could not find local group X"
    unknown = refusal(module("win_group", name="Readers", members={"add": ["nobody"]}))
    assert "Failed to translate 'nobody' to a SecurityIdentifier" in unknown
    twice(module, "win_group", name="Readers", state="absent")
    assert accounts.find(machine, "Readers") is None


def test_access_lists(module: Module, machine: Machine) -> None:
    folder = r"C:\Program Files\Tool"
    machine.files.make_directory(folder)
    twice(module, "win_acl_inheritance", path=folder, state="absent", reorganize=True)
    assert machine.files.descriptor(folder).protected
    assert machine.files.who_may_read(folder), "what was inherited was copied"
    entry = {"path": folder, "user": "BUILTIN\\Guests", "rights": "ReadAndExecute", "type": "allow"}
    for state, says in (
        ("present", "the specified rule already exists"),
        ("absent", "the specified rule does not exist"),
    ):
        changed, same = module("win_acl", state=state, **entry), module("win_acl", state=state, **entry)
        assert (changed["changed"], same["changed"], same["msg"]) == (True, False, says)
        assert ("BG" in machine.files.who_may_read(folder)) == (state == "present")
    assert module("win_acl", check=True, **entry)["skipped"], "the module has no check mode"
    refused = refusal(module("win_acl", **{**entry, "rights": "Everything"}))
    head = f"an error occurred when attempting to present Everything permission(s) on {folder} for BUILTIN\\Guests - "
    assert refused.startswith(head)
    assert "valid enumerator" in refused
    assert "not a valid account" in refusal(module("win_acl", **{**entry, "user": "nobody"}))
    twice(module, "win_acl_inheritance", path=folder, state="present", reorganize=True)
    own = [ace for ace in machine.files.descriptor(folder).entries or () if "ID" not in ace.flags]
    assert own == [], "copies of what is inherited again are taken away"


def test_the_list_of_program_files(module: Module, machine: Machine) -> None:
    """An inherited entry with generic rights becomes two entries: one for the item, and one for its child items.

    https://learn.microsoft.com/windows/win32/secauthz/ace-inheritance-rules
    """
    folder = r"C:\Program Files\Tool"
    machine.files.make_directory(folder)
    users = [str(ace) for ace in machine.files.descriptor(folder).entries or () if ace.trustee == "BU"]
    assert users == ["(A;ID;0x1200a9;;;BU)", "(A;OICIIOID;GXGR;;;BU)"]
    machine.files.write_text(rf"{folder}\a.txt", "")
    users = [str(ace) for ace in machine.files.descriptor(rf"{folder}\a.txt").entries or () if ace.trustee == "BU"]
    assert users == ["(A;ID;0x1200a9;;;BU)"]
    module("win_acl_inheritance", path=folder, state="absent", reorganize=True)
    readers = {"path": folder, "user": "BUILTIN\\Users", "rights": "ReadAndExecute,Synchronize", "type": "allow"}
    assert module("win_acl", **readers, state="absent", inherit="None", propagation="None")["changed"]
    assert "BU" not in machine.files.who_may_read(folder)


def test_user_rights(module: Module) -> None:
    first = twice(module, "win_user_right", name="SeServiceLogonRight", users=["Administrator"], action="add")
    assert first["added"] == ["WIN-A\\Administrator"]
    gone = twice(module, "win_user_right", name="SeServiceLogonRight", users=["Administrator"], action="remove")
    assert gone["removed"] == ["WIN-A\\Administrator"]
    unknown = refusal(module("win_user_right", name="SeServiceLogonRight", users=["nobody"], action="add"))
    assert unknown == "Failed to translate the account 'nobody' to a SID"


def test_variables(module: Module, machine: Machine, session: Session) -> None:
    before = str(machine.registry.data(ENVIRONMENT, "Path"))
    added = twice(module, "win_path", elements=["C:\\k", "%SystemRoot%\\k"])
    assert added["path_value"] == f"{before};C:\\k;%SystemRoot%\\k"
    value = machine.registry.get(ENVIRONMENT, "Path")
    assert value is not None
    assert (value.data, value.kind) == (added["path_value"], "ExpandString")
    assert module("win_path", elements="c:\\K\\")["changed"] is False, "neither case nor a backslash counts"
    gone = twice(module, "win_path", elements=["C:\\k"], state="absent")
    assert gone["path_value"] == f"{before};%SystemRoot%\\k"
    first = twice(module, "win_environment", level="machine", variables={"ONE": "1", "TWO": "2"})
    assert first["values"]["ONE"] == {"before": None, "after": "1", "changed": True}
    assert machine.environment()["TWO"] == "2"
    twice(module, "win_environment", level="machine", name="ONE", state="absent")
    twice(module, "win_environment", level="process", name="HERE", value="x", state="present")
    assert session.variable("here") == "x"
    assert "must be defined" in refusal(module("win_environment", level="user", name="X", state="present"))
    assert "value of level" in refusal(module("win_environment", level="world", name="X"))


def test_features(module: Module) -> None:
    answer = twice(module, "win_feature", name=["Containers", "Hyper-V-PowerShell"], state="present")
    assert (answer["exitcode"], answer["reboot_required"]) == ("SuccessRestartRequired", True)
    assert next(feature["display_name"] for feature in answer["feature_result"]) == "Containers"
    again = module("win_feature", name="Containers")
    assert (again["exitcode"], again["feature_result"]) == ("NoChangeNeeded", [])
    assert refusal(module("win_feature", name="Container")).startswith("Failed to install Windows Feature: ")
    twice(module, "win_feature", name="Hyper-V-PowerShell", state="absent")


def test_firewall_rules(module: Module, machine: Machine) -> None:
    rule = {"name": "kubelet", "localport": 10250, "action": "allow", "direction": "in", "protocol": "tcp"}
    assert twice(module, "win_firewall_rule", **rule)["msg"] == "Firewall rule 'kubelet' created."
    made = next(rule for rule in machine.part(Firewall).rules.values() if rule.display_name == "kubelet")
    assert (made.protocol, made.local_port, made.enabled) == ("TCP", ("10250",), "True")
    changed = {"name": "kubelet", "remoteip": "10.0.0.1,10.0.0.2", "enabled": False, "profiles": ["domain", "private"]}
    twice(module, "win_firewall_rule", **changed)
    made = machine.part(Firewall).rules[made.name.casefold()]
    assert (made.remote_address, made.enabled, made.profile) == (("10.0.0.1", "10.0.0.2"), "False", "Domain, Private")
    assert made.local_port == ("10250",), "what the task does not say stays"
    assert module("win_firewall_rule", name="kubelet", remoteip="10.0.0.2,10.0.0.1")["changed"] is False
    assert "0x80070057" in refusal(module("win_firewall_rule", name="x", localport="80"))
    assert refusal(module("win_firewall_rule", name="x", protocol="tpc")) == "Unknown protocol 'tpc'."
    twice(module, "win_firewall_rule", name="kubelet", state="absent")


def test_downloads(module: Module, machine: Machine, server: ArtifactServer) -> None:
    url, dest = f"{server.url}/files/tool.exe", "C:\\tools\\"
    assert "does not exist" in refusal(module("win_get_url", url=url, dest=dest))
    machine.files.make_directory(dest)
    first = twice(module, "win_get_url", url=url, dest=dest)
    assert (first["dest"], first["status_code"], first["msg"]) == ("C:\\tools\\tool.exe", 200, "OK")
    assert first["checksum_src"] == first["checksum_dest"] == hashlib.sha1(make("tool", "1.0")).hexdigest()
    assert first["size"] == len(make("tool", "1.0"))
    count = server.status()["total"]
    kept = module("win_get_url", url=url, dest=dest, force=False, checksum=first["checksum_dest"])
    assert (kept["changed"], server.status()["total"]) == (False, count), "nothing is asked for"
    listed = {"checksum_url": f"{server.url}/files/sums.txt", "checksum_algorithm": "sha256"}
    assert module("win_get_url", url=url, dest="C:\\tools\\b.exe", **listed)["changed"]
    assert "did not match" in refusal(module("win_get_url", url=url, dest="C:\\tools\\c.exe", checksum="00"))
    assert not machine.files.exists("C:\\tools\\c.exe")
    missing = module("win_get_url", url=f"{server.url}/nothing", dest=dest)
    assert missing["status_code"] == 404
    assert "The remote server returned an error: (404) Not Found." in refusal(missing)
    server.fault("redirect", "/once", location=url)
    server.fault("redirect", "/twice", location=f"{server.url}/once")
    limited = {"dest": "C:\\tools\\d.exe", "maximum_redirection": 1}
    assert module("win_get_url", url=f"{server.url}/once", **limited)["changed"]
    assert "Too many automatic redirections" in refusal(module("win_get_url", url=f"{server.url}/twice", **limited))
    elsewhere = module("win_get_url", url="http://nowhere.example/x", dest=dest)
    assert "The remote name could not be resolved: 'nowhere.example'" in refusal(elsewhere)


def test_downloads_go_through_the_proxy_of_internet_options(module: Module, machine: Machine) -> None:
    """They do not use the proxy of the environment. The authority of a proxy has to be trusted."""
    authority = PrivateCA()
    with ArtifactServer(authority=authority) as server:
        settings = {"ProxyEnable": 1, "ProxyServer": f"{server.address}:{server.port}", "ProxyOverride": "*.local"}
        url = "https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-log-runner.exe"
        assert "could not be resolved" in refusal(module("win_get_url", url=url, dest="C:\\a.exe"))
        machine.registry.write(INTERNET_SETTINGS, settings)
        assert "trust relationship" in refusal(module("win_get_url", url=url, dest="C:\\a.exe"))
        assert module("win_get_url", url=url, dest="C:\\a.exe", validate_certs=False)["changed"]
        assert "could not be resolved" in refusal(module("win_get_url", url="http://a.local/", dest="C:\\b.exe"))
        assert "could not be resolved" in refusal(module("win_get_url", url=url, dest="C:\\b.exe", use_proxy=False))


def test_packages(module: Module, machine: Machine) -> None:
    machine.files.write_bytes("C:\\cloudbase.msi", windows_software.cloudbase_init("1.1.6"))
    machine.files.make_directory("C:\\logs")
    twice(module, "win_package", path="C:\\cloudbase.msi", log_path="C:\\logs\\a.log")
    service = machine.services.get("cloudbase-init")
    assert service is not None
    assert (service.start_mode, service.account) == ("Automatic", ".\\cloudbase-init")
    assert accounts.find(machine, "cloudbase-init", "User") is not None
    assert machine.files.is_file("C:\\logs\\a.log")
    twice(module, "win_package", path="C:\\cloudbase.msi", state="absent")
    assert machine.services.get("cloudbase-init") is None
    machine.files.write_bytes("C:\\broken.msi", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert "1620" in refusal(module("win_package", path="C:\\broken.msi", provider="msi"))
    assert "cannot be reached" in refusal(module("win_package", path="C:\\none.msi"))


def test_archives(module: Module, machine: Machine) -> None:
    machine.files.write_bytes("C:\\a.zip", zip_archive({"top/inner/a.txt": b"a", "b.txt": b"b"}))
    assert module("win_unzip", check=True, src="C:\\a.zip", dest="C:\\out", delete_archive=True)["changed"]
    assert machine.files.is_file("C:\\a.zip")
    assert not machine.files.exists("C:\\out")
    unpacked = module("win_unzip", src="C:\\a.zip", dest="C:\\out", delete_archive=True)
    assert (unpacked["changed"], unpacked["removed"]) == (True, True)
    assert machine.files.read_bytes("C:\\out\\top\\inner\\a.txt") == b"a"
    assert not machine.files.exists("C:\\a.zip")
    assert module("win_unzip", src="C:\\a.zip", dest="C:\\out", creates="C:\\out\\b.txt")["skipped"]
    machine.files.write_bytes("C:\\evil.zip", zip_archive({"../outside.txt": b"x"}))
    assert "outside the destination" in refusal(module("win_unzip", src="C:\\evil.zip", dest="C:\\out"))
    assert not machine.files.exists("C:\\outside.txt")
    machine.files.write_bytes("C:\\a.tar", b"")
    assert "PSCX" in refusal(module("win_unzip", src="C:\\a.tar", dest="C:\\out"))


def test_nssm_services(module: Module, machine: Machine) -> None:
    machine.files.make_directory("C:\\k")
    machine.files.write_bytes("C:\\k\\kubelet.exe", make("kubelet", "1.37.1"))
    service = {"name": "kubelet", "application": "C:\\k\\kubelet.exe", "arguments": "--v=2 --x", "start_mode": "manual"}
    assert "Could not find file 'nssm.exe'." in refusal(module("win_nssm", **service))
    machine.files.write_bytes("C:\\Windows\\System32\\nssm.exe", make("nssm", "2.24"))
    twice(module, "win_nssm", **service, stdout_file="C:\\k\\out.log", dependencies=["W32Time"])
    found = machine.services.get("kubelet")
    assert found is not None
    assert (found.start_mode, found.dependencies) == ("Manual", ["W32Time"])
    key = r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet\Parameters"
    assert machine.registry.data(key, "AppParameters") == "--v=2 --x"
    assert machine.registry.data(key, "AppRotateSeconds") == 86400
    twice(module, "win_nssm", **{**service, "start_mode": "auto"})
    twice(module, "win_nssm", name="kubelet", state="absent")


def test_unmodelled_features_are_refused_by_name(module: Module, machine: Machine) -> None:
    machine.files.write_bytes("C:\\a.msix", b"")
    with pytest.raises(NotModelled, match="the option security of win_firewall_rule"):
        module("win_firewall_rule", name="x", security="authenc")
    with pytest.raises(NotModelled, match="win_package with"):
        module("win_package", path="C:\\a.msix")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("win_acl", {"path": "C:\\", "user": "Guest", "rights": "Read", "type": "allow"}),
        ("win_acl_inheritance", {"path": "C:\\"}),
        ("win_feature", {"name": "Containers"}),
        ("win_firewall_rule", {"name": "x"}),
        ("win_group", {"name": "x"}),
        ("win_group_membership", {"name": "Users", "members": []}),
        ("win_nssm", {"name": "x"}),
        ("win_package", {"path": "C:\\a.msi"}),
        ("win_path", {"elements": ["x"]}),
    ],
)
def test_a_misspelled_state_is_refused(module: Module, name: str, arguments: dict[str, Any]) -> None:
    assert "presnt" in refusal(module(name, **arguments, state="presnt"))


def test_all_unmodelled_options_are_named() -> None:
    new = "acl acl_inheritance environment feature firewall_rule get_url group group_membership nssm package path unzip"
    assert {f"win_{name}" for name in [*new.split(), "user_right"]} <= families.load().modules.keys()
