# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A proxy is set everywhere on a node: environment of the machine, WinHTTP, environments of services, downloads."""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site

from simulator.machine.machine import ENVIRONMENT

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("proxies")]

HOST = "behind"
PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/12"
PREPARE = [
    {
        "name": "Prepare",
        "hosts": "node_windows",
        "gather_facts": False,
        "tasks": [
            {"name": "Prepare", "ansible.builtin.import_role": {"name": "winkube.node.node_prepare"}},
        ],
    }
]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server behind a proxy: the artifact server is the proxy, and counts proxy requests."""
    site = start_site({"name": HOST, "windows": "2022"})
    server = site.world.artifacts
    assert server is not None
    proxy = f"http://{server.address}:{server.port}"
    site.variables |= {
        "http_proxy": proxy,
        "https_proxy": proxy,
        "no_proxy": ".example.org",
        "kube_pods_subnet": PODS,
        "kube_service_addresses": SERVICES,
        "cluster_name": "cluster.example",
        "loadbalancer_apiserver": {"address": "192.0.2.10", "port": 6443},
        # Other tests cover pulls.
        "image_cache_base_images": [],
    }
    return site


@pytest.fixture(scope="module")
def run(site: Site) -> PlayRun:
    return site.run(PREPARE).expect()


@pytest.fixture(scope="module")
def proxy(site: Site) -> str:
    return str(site.variables["http_proxy"])


def excepted(value: Any) -> set[str]:
    return set(str(value).split(","))


def expected_bypasses(site: Site) -> set[str]:
    """Return what bypasses the proxy: the user's hosts, pods, services, the API server, nodes, `.svc`, the domain."""
    machine = site.machine(HOST)
    users = set(site.variables["no_proxy"].split(","))
    return users | {PODS, SERVICES, "192.0.2.10", HOST, machine.address, ".svc", ".cluster.example", "localhost"}


def test_the_machines_environment(site: Site, run: PlayRun, proxy: str) -> None:
    registry = site.machine(HOST).registry
    assert registry.data(ENVIRONMENT, "HTTP_PROXY") == proxy
    assert registry.data(ENVIRONMENT, "HTTPS_PROXY") == proxy
    assert expected_bypasses(site) <= excepted(registry.data(ENVIRONMENT, "NO_PROXY"))


def test_winhttp_which_windows_update_uses(site: Site, run: PlayRun, proxy: str) -> None:
    shown = site.machine(HOST).programs.run("netsh.exe", ["winhttp", "show", "proxy"])
    text = str(shown.stdout)
    assert proxy.removeprefix("http://") in text
    for pattern in ("*.example.org", "10.244.*", "10.96.*", "192.0.2.10", "*.svc", "*.cluster.example"):
        assert pattern in text


@pytest.mark.parametrize("service", ["containerd", "kubelet"])
def test_each_services_environment(site: Site, run: PlayRun, proxy: str, service: str) -> None:
    lines = site.machine(HOST).registry.data(rf"HKLM\SYSTEM\CurrentControlSet\Services\{service}", "Environment")
    own = dict(str(line).split("=", 1) for line in lines)  # type: ignore[union-attr]
    assert own["HTTP_PROXY"] == own["HTTPS_PROXY"] == proxy
    assert expected_bypasses(site) <= excepted(own["NO_PROXY"])


def test_downloads_use_the_proxy(site: Site, run: PlayRun) -> None:
    assert site.world.artifacts is not None
    status = site.world.artifacts.status()
    assert status["proxied"] == sum(status["requests"].values()) > 0


def test_a_second_run_changes_nothing(site: Site, run: PlayRun) -> None:
    again = site.run(PREPARE).expect()
    assert again.changes(HOST) == []


# This comes last: afterwards the site has no proxy.
ARCHIVE = r"C:\ProgramData\winkube\cache\cni-plugins\1.9.0\cni-plugins-windows-amd64-v1.9.0.tgz"


@pytest.fixture(scope="module")
def before(site: Site, run: PlayRun) -> dict[str, Any]:
    """Remove the proxy from the inventory, and return the counters of the artifact server up to then."""
    assert site.world.artifacts is not None
    # This makes the next run download something.
    site.machine(HOST).files.delete(ARCHIVE)
    # A setting of another owner, which is in no inventory.
    site.machine(HOST).registry.set(ENVIRONMENT, "FTP_PROXY", "http://192.0.2.99:21")
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        del site.variables[name]
    return site.world.artifacts.status()


@pytest.fixture(scope="module")
def direct(site: Site, before: dict[str, Any]) -> PlayRun:
    return site.run(PREPARE).expect()


def test_a_proxy_removed_from_the_inventory_is_removed_from_the_machine(site: Site, direct: PlayRun) -> None:
    registry = site.machine(HOST).registry
    assert [registry.data(ENVIRONMENT, name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")] == [None] * 3
    assert registry.data(ENVIRONMENT, "FTP_PROXY")
    shown = site.machine(HOST).programs.run("netsh.exe", ["winhttp", "show", "proxy"])
    assert "Direct access" in str(shown.stdout)


@pytest.mark.parametrize("service", ["containerd", "kubelet"])
def test_the_proxy_is_removed_from_the_services(site: Site, direct: PlayRun, service: str) -> None:
    key = rf"HKLM\SYSTEM\CurrentControlSet\Services\{service}"
    assert site.machine(HOST).registry.data(key, "Environment") is None
    assert f"Service {service}" in direct.changes(HOST)


def test_the_removed_proxy_is_not_used_in_the_same_run(site: Site, before: dict[str, Any], direct: PlayRun) -> None:
    assert site.world.artifacts is not None
    after = site.world.artifacts.status()
    assert sum(after["requests"].values()) > sum(before["requests"].values())
    assert after["proxied"] == before["proxied"]


def test_the_proxy_stays_removed(site: Site, direct: PlayRun) -> None:
    assert site.run(PREPARE).expect().changes(HOST) == []
