# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""collect_logs.yml on two nodes in use and one that is off: archives, index page, Microsoft's scripts."""

from __future__ import annotations

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, link_variables

from simulator.artifacts.archives import tar_gz
from simulator.kubernetes_node.hns import fixtures

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("collect_logs_playbook")]

HOSTS = ("page-psrp", "page-winrm", "page-off")
COMMIT = "0176a112909a9d5a8eea123429a45e93ef328868"
SCRIPTS = {
    "Kubernetes/windows": ("helper.psm1", "hns.psm1"),
    "Kubernetes/windows/debug": (
        *("collectlogs.ps1", "dumpVfpPolicies.ps1", "portReservationTest.ps1", "networkhealth.ps1"),
        *("starthnstrace.cmd", "starthnstrace.ps1", "startpacketcapture.cmd", "startpacketcapture.ps1"),
        "stoppacketcapture.cmd",
    ),
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with two nodes in use, one that is off, and a mirror with Microsoft's scripts."""
    site = start_site(*({"name": host, "features": ["Containers"]} for host in HOSTS))
    site.host_variables = {host: link_variables("winrm" if host == "page-winrm" else "psrp") for host in HOSTS}
    assert site.world.artifacts is not None
    archive = tar_gz(
        {f"SDN-{COMMIT}/{folder}/{name}": name.encode() for folder, names in SCRIPTS.items() for name in names}
    )
    site.world.artifacts.put(f"github.com/microsoft/SDN/archive/{COMMIT}.tar.gz", archive)
    for host in HOSTS[:2]:
        fixtures.install(site.machine(host))
        fixtures.populate(site.machine(host), "flannel-host-gw", running=1, stale=1)
        site.machine(host).files.make_directory(r"C:\var\log\kubelet")
        site.machine(host).files.write_text(r"C:\var\log\kubelet\kubelet.log", "I1121 kubelet started\n")
    site.machine("page-off").power.power_off()
    return site


@pytest.fixture(scope="module")
def run(site: Site) -> PlayRun:
    return site.run("collect_logs.yml", variables={"hns_debug_scripts": True, "collect_logs_since": "12h"})


def test_the_playbook_fails_for_the_node_that_is_off_only(run: PlayRun) -> None:
    run.expect(2)
    assert {host: counters["failed"] for host, counters in run.recap.items()} == {
        "page-psrp": 0, "page-winrm": 0, "page-off": 1
    }  # fmt: skip


def test_the_page_has_every_node(site: Site, run: PlayRun) -> None:
    folder = site.folder / "build" / "logs"
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "page-psrp.tar.gz", "page-winrm.tar.gz"]
    page = (folder / "index.html").read_text(encoding="utf-8")
    for host in HOSTS:
        assert f"<strong>{host}</strong>" in page
    assert 'href="page-psrp.tar.gz"' in page
    assert 'href="page-off.tar.gz"' not in page
    assert "unreachable" in page
    assert "the last 12h" in page


def test_the_scripts_are_where_microsofts_expect_them(site: Site, run: PlayRun) -> None:
    for host in HOSTS[:2]:
        files = site.machine(host).files
        for name in ("collectlogs.ps1", "hns.psm1", "stoppacketcapture.cmd"):
            assert files.read_bytes(rf"C:\k\debug\{name}") == name.encode()
        assert not files.exists(r"C:\k\debug\networkhealth.ps1")
    assert "hns_debug_scripts_sha256" in run.output
