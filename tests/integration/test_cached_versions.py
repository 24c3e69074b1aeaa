# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines from an image that install other cached versions by themselves, without a cluster and without playbooks.

The simulator interprets the script. test_image.py builds such an image with the playbook, and its machines join.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from ansible.template import trust_as_template
from integration.cached_version_images import (
    AS_CHOSEN,
    BUILDER,
    CHOSEN,
    CLEANED,
    FOLDER,
    INSTALLED,
    LOG,
    MISSING,
    ROLES,
    SCRIPT,
    SYSPREP,
    Image,
    converge,
    files,
    host,
    install,
    store,
)
from integration.networks import free_network

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_user_data import (
    ChosenVersions,
    protected_settings,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubeadm import Join
from simulator.artifacts.server import ArtifactServer
from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.objects import Bound, CmdletError, ProcessEndedError
from simulator.machine.settings import MachineSettings
from wire_provider.batch import Call
from wire_provider.runner import Runner

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cached_versions")]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Prepare a machine, store the versions, and turn it into an image."""
    network = free_network()
    entry = {"name": BUILDER, "address": f"{network}.10", "windows": "2022", "features": ["Containers"]}
    settings = MachineSettings.read({**entry, "time_scale": 0.02, "reboot_seconds": 0.05})
    server = ArtifactServer(f"{network}.2").start()
    with Fleet([settings]) as fleet:
        machine = fleet.machine(BUILDER)
        converge(machine, host(server, {}), *ROLES, "image_cache")
        machine.files.delete(MISSING)
        machine.files.write_text(CLEANED, "")
        assert store(machine, server, {}, check_mode=True)["changed"]
        assert not machine.files.exists(FOLDER)
        built = store(machine, server, {})
        assert machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quit"]).exit_code == 0
        machine.power.power_off()
        yield Image(fleet, server, network, built)
    server.close()


def test_the_image_offers_what_its_cache_contains(image: Image) -> None:
    assert image.built["versions"] == {
        "containerd": ["2.3.7", "1.7.35"],
        "cni-plugins": ["1.9.0", "1.8.0"],
        "flannel": ["0.28.9"],
        "flannel-cni-plugin": ["1.9.1-flannel1"],
        "kubernetes": ["1.36.3", "1.33.8", "1.37.1"],
    }
    reason = "cannot be installed at first boot: the cache does not contain kubernetes 1.35.6"
    assert image.built["warnings"] == [f"win1: Kubernetes 1.35.6 {reason}"]


def test_the_build_needs_two_remote_commands_and_cleans_up_with_them(image: Image) -> None:
    assert (image.built["changed"], image.built["cleaned"], image.built["remote_commands"]) == (True, True, 2)
    assert not image.fleet.machine(BUILDER).files.exists(CLEANED)


def test_a_later_build_writes_only_what_differs(image: Image) -> None:
    machine = image.start()
    again = store(machine, image.server, {})
    assert (again["changed"], again["cleaned"], again["remote_commands"]) == (False, False, 1)
    fewer = store(machine, image.server, {"kube_node_versions": ["1.36.3"]})
    assert fewer["versions"]["kubernetes"] == ["1.36.3"]
    assert [one.path for one in machine.files.walk(FOLDER) if "kubernetes" in one.path] == []


def test_a_machine_that_differs_from_its_variables_offers_nothing(image: Image) -> None:
    machine = image.start()
    before, changed = files(machine), {"kubernetes_node_kubelet_arguments": {"v": 4}}
    result = store(machine, image.server, changed)
    problem = "expected a prepared machine, got one on which these differ: File C:\\k\\kubelet-launcher.json"
    assert result["failed"]
    assert problem in result["msg"]
    assert problem in store(machine, image.server, changed, check_mode=True)["warnings"][-1]
    assert files(machine) == before


def test_a_file_that_depends_on_several_versions_is_not_overwritten(image: Image) -> None:
    machine = image.start()
    # Kubernetes 1.33 and containerd 1.7 need different configurations of containerd than those of the image.
    pause = trust_as_template("registry.k8s.io/pause:{{ '3.9' if '1.33.' in kube_version else '3.10.2' }}")
    result = store(machine, image.server, {"container_runtime_sandbox_image": pause})
    assert result["versions"]["containerd"] == ["2.3.7"]
    assert result["versions"]["kubernetes"] == ["1.36.3", "1.37.1"]
    reason = "the versions of several components affect"
    file = r"File C:\Program Files\containerd\config.toml"
    assert result["warnings"][-2:] == [
        f"win1: {version} cannot be installed at first boot: {reason} {file}"
        for version in ("containerd 1.7.35", "Kubernetes 1.33.8")
    ]


def test_only_administrators_can_read_the_stored_calls(image: Image) -> None:
    machine = image.start()
    for path in (FOLDER, SCRIPT, rf"{FOLDER}\batches.kubernetes-1.33.8.json"):
        assert set(re.findall(r";;;(\w+)\)", machine.files.sddl(path))) == {"SY", "BA"}


def test_a_machine_becomes_what_a_playbook_would_make_of_it(image: Image) -> None:
    machine = image.start()
    requests = image.server.status()["total"]
    result = install(machine, CHOSEN)
    assert not result.stderr, result.stderr
    assert result.exit_code == 0
    assert image.server.status()["total"] == requests
    assert converge(machine, host(image.server, AS_CHOSEN), *ROLES) == []
    containerd = machine.services.get("containerd")
    assert containerd is not None
    assert containerd.state == "Running"
    before = files(machine)
    assert install(machine, CHOSEN).exit_code == 0
    assert files(machine) == before


def test_the_installed_versions_change_nothing_even_on_a_node(image: Image) -> None:
    machine = image.start()
    machine.files.write_text(r"C:\etc\kubernetes\kubelet.conf", "")
    before = files(machine)
    assert install(machine, INSTALLED).exit_code == 0
    assert install(machine, {}).exit_code == 0
    assert files(machine) == before
    result = install(machine, {"Runtime": "1.7.35"})
    assert result.exit_code == 1
    assert "expected a machine that has not joined a cluster, got C:\\etc\\kubernetes\\kubelet.conf" in result.stderr
    assert files(machine) == before


REFUSED = {
    "not cached": (
        {"Runtime": "1.7.35", "Kubernetes": "v1.35.0"},
        "Kubernetes 1.35.0 is not cached in this image; cached: 1.36.3, 1.33.8, 1.37.1",
    ),
    "ambiguous": ({"Network": "1.8.0"}, "-Network: expected NAME=VERSION with a name of cni-plugins, flannel,"),
    "no version": ({"Network": "cni-plugins="}, "-Network: expected NAME=VERSION with a name of cni-plugins, flannel,"),
    "no number": ({"Kubernetes": "v"}, "-Kubernetes: expected NAME=VERSION with a name of kubernetes, got v"),
    "twice": (
        {"Network": "cni-plugins=1.8.0,CNI-plugins=1.9.0"},
        "-Network: expected each name once, got CNI-plugins twice",
    ),
    "unknown": ({"Network": "calico=3.30.0"}, "-Network: expected NAME=VERSION with a name of cni-plugins, flannel,"),
}


def test_what_is_not_cached_is_refused_before_anything_changes(image: Image) -> None:
    machine = image.start()
    before = files(machine)
    for versions, message in REFUSED.values():
        result = install(machine, versions)
        assert result.exit_code == 1
        assert message in result.stderr
        assert message in machine.files.read_text(LOG)
    assert files(machine) == before


def test_an_azure_extension_ends_when_a_version_is_refused(image: Image) -> None:
    machine = image.start()
    join = Join(api_server="192.0.2.1:6443", token="abcdef.0123456789abcdef", ca_cert_hashes=("sha256:0",))
    settings = protected_settings(ChosenVersions(kubernetes="1.35.0"), join, r"C:\k")
    ended = machine.programs.run("cmd.exe", f"/c {json.loads(settings)['commandToExecute']}")
    assert ended.exit_code == 1
    assert "Kubernetes 1.35.0 is not cached in this image" in ended.stderr
    # Neither kubeadm nor the commands before it have run.
    assert "kubeadm" not in ended.stdout + ended.stderr


def test_a_failure_names_the_resource_and_can_be_repaired(image: Image) -> None:
    machine = image.start()
    before = files(machine)
    archive = r"C:\ProgramData\winkube\cache\containerd\1.7.35\containerd-1.7.35-windows-amd64.tar.gz"
    content = machine.files.read_bytes(archive)
    machine.files.write_bytes(archive, b"no archive")
    result = install(machine, CHOSEN)
    assert result.exit_code == 1
    assert "containerd 1.7.35: Artifact containerd 1.7.35 (cached.archive)" in result.stderr
    assert files(machine) == before
    assert install(machine, {"Kubernetes": "1.37.1"}).exit_code == 0
    machine.files.write_bytes(archive, content)
    assert install(machine, {**CHOSEN, "Kubernetes": "1.37.1"}).exit_code == 0
    assert converge(machine, host(image.server, {**AS_CHOSEN, "kube_version": "v1.37.1"}), *ROLES) == []


def test_a_32_bit_program_may_start_the_script(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = image.start()
    program = r"C:\Windows\SysWOW64\WindowsPowerShell\v1.0\powershell.exe"
    attempt, images = Runner._attempt, set()

    def noted(runner: Runner, called: Call, given: list[object]) -> Any:
        images.add(runner.process.image)
        return attempt(runner, called, given)

    monkeypatch.setattr(Runner, "_attempt", noted)
    assert install(machine, CHOSEN, program).exit_code == 0
    assert converge(machine, host(image.server, AS_CHOSEN), *ROLES) == []
    assert program not in images
    refused = install(machine, {"Network": "cni-plugins=1.5.0,flannel=0.28.9"}, program)
    assert refused.exit_code == 1
    assert "CNI plugins 1.5.0 is not cached in this image" in refused.stderr


def test_a_log_that_cannot_be_written_prevents_nothing(image: Image) -> None:
    machine = image.start()
    machine.files.make_directory(LOG)
    refused = install(machine, {"Runtime": "1.5.0"})
    assert refused.exit_code == 1
    assert "containerd 1.5.0 is not cached in this image" in refused.stderr
    assert install(machine, {"Network": "cni-plugins=1.8.0"}).exit_code == 0
    assert converge(machine, host(image.server, {"cni_plugins_version": "1.8.0"}), *ROLES) == []


def test_an_archive_that_is_missing_is_named_before_anything_changes(image: Image) -> None:
    machine = image.start()
    archive = r"C:\ProgramData\winkube\cache\kubernetes\1.33.8\kubernetes-node-windows-amd64.tar.gz"
    machine.files.delete(archive)
    before = files(machine)
    result = install(machine, CHOSEN)
    assert result.exit_code == 1
    assert f"Kubernetes 1.33.8: expected its archive {archive} in the cache, got nothing" in result.stderr
    assert files(machine) == before


def test_a_batch_that_the_module_refuses_changes_no_mark(image: Image) -> None:
    machine = image.start()
    batch = rf"{FOLDER}\batches.containerd-1.7.35.json"
    machine.files.write_text(batch, "no JSON")
    for mark in ("", rf"{FOLDER}\installing.containerd.1.7.35"):
        if mark:
            machine.files.write_text(mark, "\r\n")
        before = files(machine)
        result = install(machine, {"Runtime": "1.7.35"})
        assert result.exit_code == 1
        assert "containerd 1.7.35: " in result.stderr
        assert files(machine) == before


@pytest.mark.parametrize("fails", [False, True])
def test_programs_are_on_the_disk_before_they_count_as_installed(
    image: Image, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    machine = image.start()
    cmdlets, name = machine.families.cmdlets, "write-volumecache"
    layer, flush = cmdlets[name]
    seen: list[tuple[list[str], bool]] = []

    def noted(on: Machine, bound: Bound) -> Iterable[object]:
        seen.append((bound.texts("DriveLetter"), machine.files.exists(rf"{FOLDER}\installing.cni-plugins.1.8.0")))
        if fails:
            raise CmdletError("NotSpecified", "StorageWMI 4", "Failed", "CimException")
        return flush(on, bound)

    monkeypatch.setitem(cmdlets, name, (layer, noted))
    assert install(machine, {"Network": "cni-plugins=1.8.0"}).exit_code == 0
    assert seen == [(["C"], True)]
    assert ("CNI plugins 1.8.0: not written to the disk yet: Failed" in machine.files.read_text(LOG)) is fails


class PowerCut:
    """Cuts the power of a machine at one of the calls of a batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: Machine, call: str) -> None:
        attempt = Runner._attempt
        self.happened = False

        def interrupted(runner: Runner, called: Call, given: list[object]) -> Any:
            if not self.happened and called.id.endswith(call) and runner.machine is machine:
                self.happened = True
                machine.power.power_off()
                raise ProcessEndedError
            return attempt(runner, called, given)

        monkeypatch.setattr(Runner, "_attempt", interrupted)


@pytest.mark.parametrize("call", ["forget", "move-1", "record-0", "write", "restart.0.still"])
def test_an_interrupted_installation_is_completed(image: Image, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    machine = image.start()
    cut = PowerCut(monkeypatch, machine, call)
    with contextlib.suppress(ProcessEndedError):
        install(machine, CHOSEN)
    assert cut.happened
    machine.power_on()
    # Half of the files are those of the requested version.
    result = install(machine, {**CHOSEN, "Runtime": INSTALLED["Runtime"]})
    assert result.exit_code == 1
    advice = "run this again with -Runtime containerd=1.7.35"
    assert f"the installation of containerd 1.7.35 was interrupted; {advice}" in result.stderr
    assert install(machine, {**CHOSEN, "Runtime": "containerd=1.7.35"}).exit_code == 0
    assert converge(machine, host(image.server, AS_CHOSEN), *ROLES) == []


def test_only_the_version_of_the_image_is_replaced(image: Image) -> None:
    machine = image.start()
    assert install(machine, {"Kubernetes": "1.37.1"}).exit_code == 0
    result = install(machine, {"Kubernetes": "1.33.8"})
    assert result.exit_code == 1
    assert "Kubernetes 1.33.8 can only replace 1.36.3, the version of the image, got 1.37.1" in result.stderr
