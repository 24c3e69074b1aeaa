# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A WinRM certificate that expires soon: plan.yml warns until renew_winrm_certificates.yml has renewed it."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.conftest import SiteFactory
from integration.own_certificates import use_own_certificate
from integration.playbooks import Site, link_variables

from ansible_collections.winkube.node.plugins.plugin_utils.connection.pins import read_pins
from simulator.machine import certificate_store, winrm_settings

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("certificate_playbooks")]

SOON = "win22: the certificate of WinRM at"


def presented(site: Site) -> str:
    return winrm_settings.certificate_of(site.machine("win22"))


def pinned(pins: Path) -> list[str]:
    return [certificate_store.thumbprint(each) for each in read_pins(pins)]


def plan(site: Site) -> str:
    """Return what plan.yml prints. Its exit code is ignored, because the plain server differs."""
    return " ".join(site.run("plan.yml", variables={"node_prepare_roles": ["windows_features"]}).output.split())


def test_the_playbook_renews_what_the_plan_warns_of(start_site: SiteFactory, tmp_path: Path) -> None:
    pins = tmp_path / "pins.pem"
    site = start_site({"name": "win22", "windows": "2022"})
    use_own_certificate(site.machine("win22"), pins, days=20)
    trust = {"ansible_psrp_cert_validation": "validate", "ansible_psrp_ca_cert": str(pins)}
    site.host_variables = {"win22": link_variables("psrp", "https") | trust}
    before = presented(site)
    output = plan(site)
    assert f"{SOON} {site.machine('win22').address}:5986 expires in 19 days" in output
    # The default is the file that the connection trusts.
    renewed = site.run("renew_winrm_certificates.yml").expect()
    assert renewed.recap["win22"]["changed"] == 1
    assert presented(site) != before
    assert pinned(pins) == [presented(site)]
    output = plan(site)
    assert SOON not in output
    assert "could not be reached" not in output
    again = site.run("renew_winrm_certificates.yml").expect()
    assert again.recap["win22"]["changed"] == 0
