# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines with cloudbase-init, without any run of a playbook: the plain user data of Cluster API, and a refused one.

test_image.py does the same with machines from a whole image, multi-part user data, and pods.
"""

from __future__ import annotations

import json

import pytest
from integration.cluster_api_data import join_configuration, user_data
from integration.conftest import SiteFactory
from integration.image_sites import log_of
from integration.imaging import put
from integration.joined_nodes import make_token, prepare, server
from integration.launcher_machines import install_launcher
from integration.playbooks import Site, cluster_nodes
from simulator_tests.waiting import wait_for
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from simulator.artifacts import windows_software
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.waits]

HOST, NODE, REFUSED = "builder", "node-7", "node-8"
STATE = r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\{}\Plugins"
SYSPREP = r"C:\Windows\System32\Sysprep\sysprep.exe"
UNATTEND = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\Unattend.xml"


@pytest.fixture(scope="module")
def site(cluster_kind: str, kubeadm: None, start_site: SiteFactory) -> Site:
    return start_site(server(HOST), cluster={"kind": cluster_kind})


@pytest.fixture(scope="module")
def image(site: Site) -> str:
    """Generalize a machine with the kubelet's launcher and with what the role cloudbase_init applies."""
    prepare(site, HOST)
    machine = site.machine(HOST)
    variables = {**resource_cases.IMAGE, "cloudbase_init_platform": "openstack"}
    artifact, *cloudbase = of_role("cloudbase_init", resource_cases.variables(variables))
    put(machine, artifact["path"], windows_software.cloudbase_init("1.1.8"))
    install_launcher(machine, {}, cloudbase)
    # Role sysprep gives the service this start mode.
    machine.services.configure("cloudbase-init", Start=3)
    ended = machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quit", f"/unattend:{UNATTEND}"])
    assert ended.exit_code == 0
    machine.power.power_off()
    return HOST


def start(site: Site, image: str, host: str, address: int, data: str) -> Machine:
    """Start a machine with a config drive of OpenStack."""
    meta = {"uuid": host, "hostname": host, "public_keys": {"key": "ssh-ed25519 AAAA operator"}}
    files = {"openstack/latest/meta_data.json": json.dumps(meta), "openstack/latest/user_data": data}
    drive = {"label": "config-2", "files": files}
    prefix = site.machine(HOST).address.rpartition(".")[0]
    site.world.fleet.deploy_image(image, host, f"{prefix}.{address}", config_drive=drive)
    return site.machine(host)


def bootstrap(site: Site, **arguments: str) -> str:
    cluster = site.world.cluster
    assert cluster is not None
    server_address = cluster.server.removeprefix("https://")
    return join_configuration(server_address, cluster.ca_hash, make_token(site), arguments)


@pytest.fixture(scope="module")
def joined(site: Site, image: str) -> Machine:
    machine = start(site, image, NODE, 91, user_data(bootstrap(site, v="3"), after=["echo x>> C:\\after.txt"]))
    wait_for(lambda: machine.registry.data(STATE.format(NODE), "LocalScriptsPlugin") == 1, "cloudbase-init ends")
    return machine


def test_the_machine_joins_by_itself(site: Site, joined: Machine) -> None:
    wait_for(lambda: joined.files.exists(r"C:\var\lib\kubelet\kubeadm-flags.env"), "kubeadm has run")
    assert "--v=3" in joined.files.read_text(r"C:\var\lib\kubelet\kubeadm-flags.env")
    assert joined.files.read_text(r"C:\after.txt").split() == ["x"]
    assert joined.files.exists(r"C:\run\cluster-api\bootstrap-success.complete")
    assert NODE in cluster_nodes(site)
    assert joined.host_name == NODE
    assert site.counters(NODE)["connections"] == 0


def test_the_account_has_its_keys(joined: Machine) -> None:
    assert joined.files.read_text(r"C:\Users\Admin\.ssh\authorized_keys") == "ssh-ed25519 AAAA operator\n"


def test_user_data_that_would_be_skipped_in_part_joins_nothing(site: Site, image: str, joined: Machine) -> None:
    data = user_data(bootstrap(site)).replace("runcmd:", 'bootcmd: ["echo x> C:\\\\boot.txt"]\nruncmd:')
    machine = start(site, image, REFUSED, 92, data)
    wait_for(lambda: machine.registry.data(STATE.format(REFUSED), "LocalScriptsPlugin") == 1, "cloudbase-init ends")
    assert "plugin 'UserDataPlugin' failed with error" in log_of(machine)
    assert "got bootcmd" in log_of(machine)
    assert not machine.files.exists(r"C:\etc\kubernetes\bootstrap-kubelet.conf")
    assert REFUSED not in cluster_nodes(site)
