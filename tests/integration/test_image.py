# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A golden image: built from a plain server, started as a new machine, joined. Nodes never become images."""

from __future__ import annotations

import hashlib
import json
import re
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
import sbom_schema
import yaml
from integration import image_choices, image_sites
from integration.cluster_api_data import config_drive
from integration.conftest import SiteFactory
from integration.image_sites import BUILDER, RELEASE, VERSIONS, log_of, no_proxy, notes_of
from integration.joined_nodes import make_token
from integration.kubelet_states import kubelet_state, pods_of, process_names
from integration.packer_builds import packer_build
from integration.patching import QUICK
from integration.patching import state as patch_state
from integration.playbooks import PlayRun, Site, cluster_nodes, link_variables, node_name
from integration.states import state_at_rest
from simulator_tests.waiting import wait_for
from unit.packer.packer_templates import MISSING

from simulator.machine import accounts, certificate_store, winrm_settings
from simulator.machine.machine import COMPLETE, GENERALIZED, SETUP_STATE, Machine
from simulator.windows.security.defender import Preferences
from simulator.windows.system.task_parts import Tasks

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("image")]

NEW, ALONE, DRIVEN = "new", "alone", "driven"
BUILD_ACCOUNT, PUBLIC_KEY = "packer", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE operator"
DONE, INSTANCE = "Plugins execution done", r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\i-7\Plugins"
KUBELET = r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet\Parameters"
FLAGS = r"C:\var\lib\kubelet\kubeadm-flags.env"
UNPATCHED, PATCH = "KB5046616", "KB5048654"
# As on an Insider build, on which no container image from a registry runs.
NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
PAUSE, BUILT = "registry.k8s.io/pause:3.10.2", "registry.example/tests/app:1"
DOCKERFILE = f'FROM {NANO}\nENTRYPOINT ["cmd.exe"]\n'
NOTES = r"C:\ProgramData\winkube\release-notes.json"
COMMANDS, STEPS = r"C:\post-commands.txt", r"C:\steps.txt"
AFTER = ["cmd.exe", "/c", f"echo joined>> {COMMANDS}"]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a plain server that lacks a patch, and a cluster without nodes (real if possible)."""
    server = {
        "name": BUILDER,
        "windows": "2022",
        "updates": [UNPATCHED],
        "windows_update": {"offers": [PATCH]},
        "user": BUILD_ACCOUNT,
        "user_apps": ["Contoso.App"],
        **QUICK,
    }
    site = start_site(
        server, cluster={"kind": "auto"}, windows_patches_public=[PATCH], windows_patches_settle_timeout=4
    )
    site.variables |= {
        "nano_server_name": NANO,
        "image_cache_test_images": [{"name": BUILT, "dockerfile": DOCKERFILE}],
        "windows_settings_remote_desktop": "enabled",
        "windows_settings_ssh_server": "capability",
        "windows_settings_ssh_authorized_keys": [PUBLIC_KEY],
        "post_kubeadm_commands": [AFTER],
        "cloudbase_init_enabled": True,
        "cloudbase_init_platform": "nocloud",
        **VERSIONS,
    }
    image_sites.install_base(site)
    return site


@pytest.fixture(scope="module")
def cloudbase_init(site: Site) -> list[tuple[int, str, str]]:
    """Return the state of cloudbase-init's service at each program run on the builder: boots, start mode, state."""
    machine = site.machine(BUILDER)
    seen: list[tuple[int, str, str]] = []
    run = machine.programs.run

    def record(name: str, *more: Any, **keywords: Any) -> Any:
        service = machine.services.get("cloudbase-init")
        assert service is not None
        seen.append((machine.power.boots, service.start_mode, service.state))
        return run(name, *more, **keywords)

    machine.programs.run = record  # type: ignore[method-assign]
    return seen


@pytest.fixture(scope="module")
def built(site: Site, cloudbase_init: list[tuple[int, str, str]]) -> PlayRun:
    """Return the run that builds the image, with Packer if it is installed. At its end the machine shuts down."""
    variables = {"winkube_image_hosts": BUILDER, "sysprep_proxy_credentials": "remove", "image_release": RELEASE}
    if MISSING:
        site.host_variables[BUILDER] = {**link_variables("psrp", "https", "basic"), "ansible_user": BUILD_ACCOUNT}
        run = site.run("build_image.yml", variables=variables).expect()
    else:
        run = packer_build(site, variables).expect()
    wait_for(lambda: site.machine(BUILDER).power.state == "off", "the builder is off", 120)
    return run


@pytest.fixture(scope="module")
def joined(site: Site, built: PlayRun) -> PlayRun:
    """Start a machine from the image, and join it."""
    image_sites.forget_downloads(site)
    address = f"{site.machine(BUILDER).address.rpartition('.')[0]}.99"
    site.world.fleet.deploy_image(BUILDER, NEW, address, user="Administrator", unallocated_gb=5)
    wait_for(lambda: not site.machine(NEW).files.exists(r"C:\Windows\winkube\first-boot"), "the first boot ends", 120)
    return site.run("join_nodes.yml", "--limit", f"{NEW},localhost").expect()


@pytest.fixture(scope="module")
def alone(site: Site, joined: PlayRun) -> Machine:
    """Start another machine from the image, and run nothing but `kubeadm join` on it, as user data does."""
    cluster = site.world.cluster
    assert cluster is not None
    address = f"{site.machine(BUILDER).address.rpartition('.')[0]}.98"
    machine = site.world.fleet.deploy_image(BUILDER, ALONE, address).machine
    # The launcher runs since the boot, and waits.
    wait_for(lambda: kubelet_state(machine) == "Running", "the launcher runs")
    assert "kubelet.exe" not in process_names(machine)
    pin = ["--token", make_token(site), "--discovery-token-ca-cert-hash", cluster.ca_hash]
    result = machine.programs.run(r"C:\k\kubeadm.exe", ["join", urlsplit(cluster.server).netloc, *pin])
    assert result.exit_code == 0, result.stderr
    wait_for(lambda: pods_of(site, machine.host_name.lower()) == pods_of(site, node_name(NEW)), "its pods run", 120)
    return machine


@pytest.fixture(scope="module")
def driven(site: Site, alone: Machine) -> Machine:
    """Start a machine from the image with a config drive. Nothing connects to it."""
    steps = [[f"echo {step}>> {STEPS}"] for step in ("before", "after")]
    drive = config_drive(site, DRIVEN, "i-7", {"node-labels": "example.com/from=user-data"}, *steps)
    address = f"{site.machine(BUILDER).address.rpartition('.')[0]}.97"
    machine = site.world.fleet.deploy_image(BUILDER, DRIVEN, address, config_drive=drive).machine
    wait_for(lambda: machine.registry.data(INSTANCE, "UserDataPlugin") == 1, "its user data has run", 120)
    wait_for(lambda: pods_of(site, DRIVEN) == pods_of(site, node_name(NEW)), "its pods run", 120)
    return machine


@pytest.fixture(scope="module")
def chosen(site: Site, driven: Machine) -> Machine:
    """Start a machine from the image with user data that names other versions. Nothing connects to it."""
    return image_choices.start_with_versions(site, pods_of(site, node_name(NEW)))


def test_the_machine_is_sealed_and_off(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    assert machine.power.state == "off"
    assert machine.registry.data(SETUP_STATE, "ImageState") == GENERALIZED
    # 28 with three versions of everything, two of them for the release notes, and two for the cached versions and the
    # clean-up. Up to two more polls are possible, because reboots take longer on a busy machine.
    assert site.counters(BUILDER)["remote_commands"] <= 30


def test_the_image_contains_no_account_that_can_log_on(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    settings = winrm_settings.wire_settings(machine)
    assert (settings.transports, settings.basic, settings.allow_unencrypted) == ({"HTTP"}, False, False)
    # Otherwise, each machine from the image would have its private key.
    assert certificate_store.certificates(machine, "My") == []


def test_the_image_can_be_reached_with_keys(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    keys = r"C:\ProgramData\ssh\administrators_authorized_keys"
    assert machine.files.read_text(keys).split() == PUBLIC_KEY.split()
    assert "PasswordAuthentication no" in machine.files.read_text(r"C:\ProgramData\ssh\sshd_config")
    assert not machine.files.is_file(r"C:\ProgramData\ssh\ssh_host_ed25519_key")
    sshd = machine.services.get("sshd")
    assert sshd is not None
    assert sshd.start_mode == "Automatic"
    terminal = r"HKLM:\SYSTEM\CurrentControlSet\Control\Terminal Server"
    assert machine.registry.data(terminal, "fDenyTSConnections") == 0
    exclusions = machine.part(Preferences).lists["ExclusionProcess"]
    assert "containerd.exe" in exclusions


def test_packer_passes_no_password_on_the_command_line(built: PlayRun) -> None:
    if MISSING:
        pytest.skip(MISSING)
    (command,) = re.findall(r"^Executing Ansible: (.*)$", built.output, re.MULTILINE)
    # Packer hides the password. It would add an argument with it, or refuse to add one because of ours.
    assert re.findall(r"ansible_password=(\S+)", command) == ["in_environment"]


def test_cloudbase_init_takes_over_at_the_first_boot_and_not_before(
    site: Site, built: PlayRun, cloudbase_init: list[tuple[int, str, str]]
) -> None:
    # Patches reboot the machine, and so do features.
    assert max(entry[0] for entry in cloudbase_init) == 3
    after_reboot = [entry[1:] for entry in cloudbase_init if entry[0] > 1]
    assert after_reboot
    assert after_reboot[0] == ("Disabled", "Stopped")
    # It must not start on the machine that sysprep runs on, either. SetupComplete.cmd starts it.
    assert after_reboot[-1] == ("Manual", "Stopped")
    assert {state for _, state in after_reboot} == {"Stopped"}
    machine = site.machine(BUILDER)
    assert "cloudbase-init-unattend.conf" in machine.files.read_text(r"C:\Windows\Panther\unattend.xml")
    service = machine.services.get("cloudbase-init")
    assert service is not None
    assert (service.start_mode, service.account) == ("Manual", "LocalSystem")
    assert image_sites.BASE not in service.image_path
    assert machine.registry.values(r"HKLM:\SOFTWARE\winkube\managed") == {}


def test_the_image_has_its_patches(site: Site, built: PlayRun) -> None:
    state = patch_state(site.machine(BUILDER))
    assert dict(state["updates"])[PATCH] == "Installed"
    assert (state["marker"], state["files"]) == ([], [])


def test_the_image_has_registries_but_no_credentials_of_them(site: Site, built: PlayRun) -> None:
    files = site.machine(BUILDER).files
    assert not files.exists(rf"{image_sites.CERTS_D}\private.example\hosts.toml")
    assert files.exists(rf"{image_sites.CERTS_D}\public.example\hosts.toml")


def test_the_image_has_no_password_of_a_proxy(site: Site, built: PlayRun) -> None:
    environment = site.machine(BUILDER).environment()
    assert "HTTP_PROXY" not in environment
    assert environment["NO_PROXY"] == no_proxy(site)
    assert "s3cret" not in built.output


def test_the_image_is_prepared_and_knows_no_cluster(site: Site, built: PlayRun) -> None:
    files = site.machine(BUILDER).files
    assert files.is_file(r"C:\k\kubelet.exe")
    assert files.is_file(r"C:\Program Files\containerd\bin\containerd.exe")
    assert not files.exists(r"C:\etc\kubernetes\kubelet.conf")
    # An image has no computer name.
    assert f"ComputerName {node_name(BUILDER)}" not in built.changes(BUILDER)
    assert not cluster_nodes(site)


def test_the_release_notes_are_what_the_image_contains(site: Site, built: PlayRun) -> None:
    machine, notes = site.machine(BUILDER), notes_of(site)
    features: Any = machine.families.status["features"](machine)
    assert notes["windows"]["build"] == f"{machine.windows.build}.{machine.windows.ubr}"
    assert sorted(feature["name"] for feature in notes["features"]) == sorted(features)
    updates = {update["id"] for update in notes["updates"]}
    assert {kb for kb, state in patch_state(machine)["updates"] if state == "Installed"} <= updates
    files = {
        entry.path: hashlib.sha256(machine.files.read_bytes(entry.path)).hexdigest()
        for entry in machine.files.walk(r"C:\ProgramData\winkube\cache")
        if not (entry.is_directory or entry.path.endswith((".manifest.json", ".checksum")))
    }
    assert {artifact["path"]: artifact["sha256"] for artifact in notes["artifacts"]} == files
    assert all(artifact["verified"] for artifact in notes["artifacts"])
    assert {"kubernetes", "containerd"} <= {artifact["kind"] for artifact in notes["artifacts"]}
    for service in notes["services"]:
        found = machine.services.get(service["name"])
        assert found is not None
        # cloudbase-init's start mode is restored after the release notes.
        assert service["name"] == "cloudbase-init" or service["start_mode"] == found.start_mode
    assert {"containerd", "kubelet", "WinRM"} <= {service["name"] for service in notes["services"]}
    assert len(notes["registry_fixes"]) > 50
    for fix in notes["registry_fixes"]:
        assert fix["actual"] == fix["expected"] == machine.registry.data(fix["path"], fix["value_name"])


def test_the_image_says_what_it_contains(site: Site, built: PlayRun) -> None:
    folder = image_sites.kept(site.folder / "build" / "release-notes" / RELEASE)
    assert json.loads(site.machine(BUILDER).files.read_text(NOTES)) == notes_of(site)
    bom = (folder / f"{BUILDER}.cdx.json").read_text(encoding="utf-8")
    assert sbom_schema.objection(bom) is None
    for path in folder.iterdir():
        assert "s3cret" not in path.read_text(encoding="utf-8")
    assert f"release {RELEASE}: Windows Server 2022" in built.output


def test_the_new_machine_joins_under_its_own_name(site: Site, joined: PlayRun) -> None:
    machine = site.machine(NEW)
    assert machine.sid != site.machine(BUILDER).sid
    assert machine.registry.data(SETUP_STATE, "ImageState") == COMPLETE
    assert machine.host_name == node_name(NEW)
    nodes = cluster_nodes(site)
    assert list(nodes) == [node_name(NEW)]
    assert nodes[node_name(NEW)]["ready"]
    # What the image contains is not downloaded again.
    assert not [change for change in joined.changes(NEW) if change.startswith("Artifact ")]


def test_the_first_boot_finishes_the_new_machine(site: Site, built: PlayRun, joined: PlayRun) -> None:
    machine, old = site.machine(NEW), site.machine(BUILDER)
    assert accounts.find(machine, BUILD_ACCOUNT) is None
    assert not machine.files.exists(rf"C:\Users\{BUILD_ACCOUNT}")
    assert machine.files.size() > old.files.size()
    assert not [name for name in machine.part(Tasks).tasks if "winkube" in name]
    assert machine.files.is_file(r"C:\ProgramData\ssh\ssh_host_ed25519_key")


def test_the_image_contains_files_for_its_windows_version(site: Site, built: PlayRun, joined: PlayRun) -> None:
    assert {f"BuiltContainerImage {name}" for name in (PAUSE, BUILT)} <= set(built.changes(BUILDER))
    status: Any = site.node(NEW).status()
    images = {image["name"]: image["digest"] for image in status["container_images"]}
    assert {PAUSE, BUILT} <= set(images)
    noted = {name: image["digest"] for image in notes_of(site)["container_images"] for name in image["names"]}
    assert {PAUSE, BUILT} <= set(noted)
    assert noted.items() <= images.items()
    assert not [change for change in joined.changes(NEW) if "ContainerImage" in change]


def test_a_bare_join_makes_the_same_node(site: Site, alone: Machine) -> None:
    name, other = alone.host_name.lower(), site.machine(NEW)
    nodes = cluster_nodes(site)
    assert nodes[name]["ready"]
    assert pods_of(site, name) == [("kube-flannel-windows", "Running", True), ("kube-proxy-windows", "Running", True)]
    labels = {one: {**nodes[one]["labels"], "kubernetes.io/hostname": ""} for one in (name, node_name(NEW))}
    assert labels[name] == labels[node_name(NEW)]
    for path in (FLAGS, r"C:\k\kubelet-launcher.json", r"C:\k\kube-proxy\config.yaml"):
        texts = [machine.files.read_text(path).replace(machine.host_name.lower(), "") for machine in (alone, other)]
        # The playbook gives kubeadm the name that the machine has anyway.
        texts = [text.replace("--hostname-override=", "") for text in texts]
        assert texts[0] == texts[1], path
    # The playbook changed nothing of the service either.
    parameters = [machine.registry.values(KUBELET) for machine in (alone, other, site.machine(BUILDER))]
    assert parameters[0] == parameters[1] == parameters[2]


def test_user_data_of_cluster_api_makes_the_same_node(site: Site, driven: Machine) -> None:
    assert (site.counters(DRIVEN)["connections"], image_sites.downloads(site)) == (0, {})
    nodes = cluster_nodes(site)
    labels = {one: {**nodes[one]["labels"], "kubernetes.io/hostname": ""} for one in (DRIVEN, node_name(NEW))}
    assert labels[DRIVEN] == {**labels[node_name(NEW)], "example.com/from": "user-data"}
    for path in (FLAGS, r"C:\k\kubelet-launcher.json", r"C:\k\kube-proxy\config.yaml"):
        texts = [machine.files.read_text(path) for machine in (driven, site.machine(NEW))]
        # kubeadm may have written no other flag before the labels.
        own = re.sub(" ?--node-labels=example.com/from=user-data", "", texts[0].replace(DRIVEN, node_name(NEW)))
        assert own == texts[1], path


def test_user_data_leaves_no_secret_and_runs_once(site: Site, driven: Machine) -> None:
    assert driven.files.read_text(STEPS).split() == ["before", "after"]
    assert driven.files.read_text(r"C:\run\cluster-api\bootstrap-success.complete").split() == ["success"]
    kubeadm = r"C:\run\kubeadm\kubeadm-join-config.yaml"
    token = yaml.safe_load(driven.files.read_text(kubeadm))["discovery"]["bootstrapToken"]["token"]
    log = log_of(driven)
    assert token not in log
    assert DONE in log
    # The output of commands repeats their secrets.
    assert "This node has joined the cluster" not in log
    # write_files has no access lists, so the folder gives it one.
    assert set(re.findall(r";;;(\w+)\)", driven.files.sddl(kubeadm))) == {"SY", "BA"}
    assert driven.host_name == DRIVEN
    wait_for(lambda: driven.services.get("cloudbase-init").state == "Stopped", "cloudbase-init has ended")  # type: ignore[union-attr]
    driven.services.start("cloudbase-init")
    wait_for(lambda: log_of(driven).count(DONE) == 1 + log.count(DONE), "it has run again")
    assert driven.files.read_text(STEPS).split() == ["before", "after"]


def test_user_data_chooses_other_versions(site: Site, chosen: Machine) -> None:
    image_choices.check_versions(site, chosen)
    image_choices.check_secrets(site, chosen)
    assert image_choices.drift(site) == {"Service buildkitd", r"File C:\ProgramData\winkube\cni.json"}


def test_user_data_with_a_version_that_is_not_cached_joins_nothing(site: Site, chosen: Machine) -> None:
    image_choices.check_refusal(site, image_choices.start_with_uncached_version(site))


def test_the_commands_after_a_join_run_once(site: Site, alone: Machine) -> None:
    for machine in (alone, site.machine(NEW)):
        wait_for(lambda files=machine.files: files.exists(COMMANDS), "the commands run")
        machine.services.stop("kubelet")
        machine.services.start("kubelet")
    wait_for(lambda: all(node["ready"] for node in cluster_nodes(site).values()), "the nodes are ready")
    time.sleep(3)
    for machine in (alone, site.machine(NEW)):
        assert machine.files.read_text(COMMANDS).split() == ["joined"]


def test_joining_again_changes_nothing(site: Site, joined: PlayRun) -> None:
    run = site.run("join_nodes.yml", "--limit", f"{NEW},localhost").expect()
    assert run.recap[NEW]["changed"] == 0
    assert site.counters(NEW)["remote_commands"] <= 8


def test_a_cluster_node_is_never_generalized(site: Site, joined: PlayRun) -> None:
    before = state_at_rest(site.machine(NEW))
    run = site.run("build_image.yml", variables={"winkube_image_hosts": NEW})
    assert run.exit_code == 2
    assert "cluster" in run.messages(NEW)
    assert state_at_rest(site.machine(NEW)) == before
    assert site.machine(NEW).power.state == "on"
    assert cluster_nodes(site)[node_name(NEW)]["ready"]
