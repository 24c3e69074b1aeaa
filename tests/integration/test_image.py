# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A golden image: built from a plain server, started as a new machine, joined. Nodes never become images."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from integration.conftest import SiteFactory
from integration.packer_builds import packer_build
from integration.patching import QUICK
from integration.patching import state as patch_state
from integration.playbooks import PlayRun, Site, cluster_nodes, link_variables, node_name
from integration.states import state_at_rest, state_of
from unit.packer.packer_templates import MISSING

from simulator.machine import certificate_store, winrm_settings
from simulator.machine.executables import make
from simulator.machine.machine import COMPLETE, ENVIRONMENT, GENERALIZED, SETUP_STATE

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("image")]

BUILDER, NEW = "builder", "new"
CLOUDBASE = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf"
CERTS_D = r"C:\Program Files\containerd\certs.d"
UNPATCHED, PATCH = "KB5046616", "KB5048654"
# As on an Insider build, on which no container image from a registry runs.
NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
PAUSE, BUILT = "registry.k8s.io/pause:3.10.2", "registry.example/tests/app:1"
DOCKERFILE = f'FROM {NANO}\nENTRYPOINT ["cmd.exe"]\n'
UNATTEND = "<unattend><!-- runs cloudbase-init.exe --config-file cloudbase-init-unattend.conf --></unattend>"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a plain server that lacks a patch, and a cluster without nodes (real if possible)."""
    server = {
        "name": BUILDER,
        "windows": "2022",
        "updates": [UNPATCHED],
        "windows_update": {"offers": [PATCH]},
        **QUICK,
    }
    site = start_site(
        server, cluster={"kind": "auto"}, windows_patches_public=[PATCH], windows_patches_settle_timeout=4
    )
    site.variables |= {"nano_server_name": NANO, "image_cache_test_images": [{"name": BUILT, "dockerfile": DOCKERFILE}]}
    machine = site.machine(BUILDER)
    machine.files.make_directory(CLOUDBASE)
    machine.files.write_bytes(rf"{CLOUDBASE}\OpenStackService.exe", make("svchost", "1.1.6"))
    machine.files.write_text(rf"{CLOUDBASE}\Unattend.xml", UNATTEND)
    for host, more in (("private.example", "[header]\n  X-Token = 's3cret'\n"), ("public.example", "")):
        machine.files.make_directory(rf"{CERTS_D}\{host}")
        machine.files.write_text(rf"{CERTS_D}\{host}\hosts.toml", f"server = 'https://{host}'\n{more}")
    machine.registry.set(ENVIRONMENT, "HTTP_PROXY", "http://robot:s3cret@proxy.example:3128", "String")
    machine.registry.set(ENVIRONMENT, "NO_PROXY", no_proxy(site), "String")
    machine.services.create("cloudbase-init", rf'"{CLOUDBASE}\OpenStackService.exe" cloudbase-init', Start=2)
    return site


def no_proxy(site: Site) -> str:
    """Return the addresses that the machine reaches without the proxy: the world's own servers."""
    assert site.world.artifacts is not None
    assert site.world.registry is not None
    return ",".join(str(urlsplit(server.url).hostname) for server in (site.world.artifacts, site.world.registry))


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
    variables = {"winkube_image_hosts": BUILDER, "sysprep_proxy_credentials": "remove"}
    if MISSING:
        site.host_variables[BUILDER] = link_variables("psrp", "https", "basic")
        run = site.run("build_image.yml", variables=variables).expect()
    else:
        run = packer_build(site, variables).expect()
    end = time.monotonic() + 120
    while site.machine(BUILDER).power.state != "off" and time.monotonic() < end:
        time.sleep(0.1)
    return run


@pytest.fixture(scope="module")
def joined(site: Site, built: PlayRun) -> PlayRun:
    """Start a machine from the image, and join it."""
    address = f"{site.machine(BUILDER).address.rpartition('.')[0]}.99"
    site.world.fleet.deploy_image(BUILDER, NEW, address)
    return site.run("join_nodes.yml", "--limit", f"{NEW},localhost").expect()


def test_the_machine_is_sealed_and_off(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    assert machine.power.state == "off"
    assert machine.registry.data(SETUP_STATE, "ImageState") == GENERALIZED
    # 24, and up to four more polls, because two reboots and the shutdown take longer on a busy machine.
    assert site.counters(BUILDER)["remote_commands"] <= 28


def test_the_image_contains_no_account_that_can_log_on(site: Site, built: PlayRun) -> None:
    machine = site.machine(BUILDER)
    settings = winrm_settings.wire_settings(machine)
    assert (settings.transports, settings.basic, settings.allow_unencrypted) == ({"HTTP"}, False, False)
    # Otherwise, each machine from the image would have its private key.
    assert certificate_store.certificates(machine, "My") == []


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
    # It is reset for sysprep, and must not start on the machine that sysprep runs on, either.
    assert after_reboot[-1] == ("Automatic", "Stopped")
    assert {state for _, state in after_reboot} == {"Stopped"}
    machine = site.machine(BUILDER)
    assert machine.files.read_text(r"C:\Windows\Panther\unattend.xml") == UNATTEND
    service = machine.services.get("cloudbase-init")
    assert service is not None
    assert service.start_mode == "Automatic"
    assert machine.registry.values(r"HKLM:\SOFTWARE\winkube\managed") == {}


def test_the_image_has_its_patches(site: Site, built: PlayRun) -> None:
    state = patch_state(site.machine(BUILDER))
    assert dict(state["updates"])[PATCH] == "Installed"
    assert (state["marker"], state["files"]) == ([], [])


def test_the_image_has_registries_but_no_credentials_of_them(site: Site, built: PlayRun) -> None:
    files = site.machine(BUILDER).files
    assert not files.exists(rf"{CERTS_D}\private.example\hosts.toml")
    assert files.exists(rf"{CERTS_D}\public.example\hosts.toml")


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


def test_the_image_contains_files_for_its_windows_version(site: Site, built: PlayRun, joined: PlayRun) -> None:
    assert {f"BuiltContainerImage {name}" for name in (PAUSE, BUILT)} <= set(built.changes(BUILDER))
    status: Any = site.node(NEW).status()
    assert {PAUSE, BUILT} <= {image["name"] for image in status["container_images"]}
    assert not [change for change in joined.changes(NEW) if "ContainerImage" in change]


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


def test_a_machine_that_is_not_prepared_does_not_join(start_site: SiteFactory) -> None:
    site = start_site({"name": "plain"}, cluster={"kind": "memory"})
    before = state_of(site.machine("plain"))
    run = site.run("join_nodes.yml").expect(2)
    assert "prepared" in run.messages("plain")
    assert state_of(site.machine("plain")) == before
