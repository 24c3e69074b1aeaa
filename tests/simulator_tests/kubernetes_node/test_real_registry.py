# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated nodes and a real registry: one node pushes an image, and each other node pulls the entry for its build."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from simulator.kubernetes_node.images.upstream import BUILDS, Blobs, fill
from simulator.kubernetes_node.registry.real import RealRegistry, unavailable

from .conftest import Node

pytestmark = pytest.mark.xdist_group("real_registry")
PAUSE = "registry.k8s.io/pause:3.10.2"
NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
PULL = ("images", "pull", "--hosts-dir", r"C:\certs.d")


@pytest.fixture(scope="module")
def upstream() -> Blobs:
    """Return the images of the upstream registries."""
    return fill(Blobs())


@pytest.fixture(scope="module")
def real(upstream: Blobs) -> Iterator[RealRegistry]:
    """Start a real registry with two images."""
    if reason := unavailable():
        pytest.skip(reason)
    with RealRegistry() as found:
        found.fill(upstream, [PAUSE, NANO])
        yield found


def mirror(node: Node, registry: RealRegistry) -> None:
    """Configure the registry as the mirror of registry.k8s.io and mcr.microsoft.com."""
    for host in ("registry.k8s.io", "mcr.microsoft.com"):
        text = f"server = 'https://{host}'\n[host.'{registry.url}']\n  capabilities = ['pull', 'resolve']\n"
        node.write(rf"C:\certs.d\{host}\hosts.toml", text)


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_a_node_pulls_the_entry_of_its_build(
    make_node: Callable[..., Node], real: RealRegistry, upstream: Blobs, windows: str
) -> None:
    node = make_node(windows)
    mirror(node, real)
    node.start_containerd()

    result = node.ctr(*PULL, PAUSE)

    assert result.exit_code == 0, result.stderr
    assert f"windows({BUILDS[windows]})/amd64" in result.stdout
    assert upstream.tags[PAUSE] == real.digest("pause", "3.10.2")
    assert upstream.tags[PAUSE] in node.ctr("images", "list").stdout
    refused = node.ctr(*PULL, NANO)
    assert (refused.exit_code == 0) is (windows != "2019")
    assert windows != "2019" or "no match for platform in manifest" in refused.stderr


def test_names_that_the_real_registry_does_not_have(make_node: Callable[..., Node], real: RealRegistry) -> None:
    node = make_node()
    node.write(r"C:\certs.d\registry.k8s.io\hosts.toml", f"server = '{real.url}'\n")
    node.start_containerd()
    assert "registry.k8s.io/pause:0.1: not found" in node.ctr(*PULL, "registry.k8s.io/pause:0.1").stderr


def test_a_node_pushes_to_it(make_node: Callable[..., Node], real: RealRegistry) -> None:
    node, other = make_node(), make_node()
    for item in (node, other):
        mirror(item, real)
        item.start_containerd()
    assert node.ctr(*PULL, PAUSE).exit_code == 0
    own = f"{real.address}:{real.port}/built/pause:1"
    pushed = node.ctr("images", "push", "--platform", "windows/amd64", own, PAUSE)
    assert pushed.exit_code == 0, pushed.stderr
    pulled = other.ctr("images", "pull", own)
    assert pulled.exit_code == 0, pulled.stderr
    assert other.ctr("images", "list", "-q").stdout == f"{own}\n"
