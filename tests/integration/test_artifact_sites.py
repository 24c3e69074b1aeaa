# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sites that artifacts are downloaded from: their order, and their secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.caching import SECRET, TOOL, archive, cache, machine_of, offer, requests
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts import ArtifactServer
from simulator.artifacts.certificates import PrivateCA

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("artifact_sites")]


@pytest.fixture(params=["2019", "2022"])
def windows(request: pytest.FixtureRequest) -> str:
    """Return the version of Windows: 2019 has curl 7.55, and 2022 a curl with more features."""
    return str(request.param)


@pytest.fixture
def node(tmp_path: Path, windows: str) -> Iterator[DirectNode]:
    yield from machine_of(tmp_path, windows)


@pytest.fixture
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as server:
        yield server


def test_sites_are_asked_in_order_and_signatures_stay_secret(node: DirectNode, server: ArtifactServer) -> None:
    path = offer(server, "1.0.0", archive("1"))
    server.fault("signature", f"/account/{path}*", signature=SECRET)
    for name in (path, f"{path}.sha256"):
        data = server.content(name)
        assert data is not None
        server.put(f"account/{name}", data)
    sites = [f"{server.url}/empty", {"url": f"{server.url}/account", "query": f"?sig={SECRET}"}]
    run = cache(node, {"tool": ["1.0.0"]}, sites=sites, kinds=TOOL)
    assert run.status() == {"tool 1.0.0": "fetched"}
    assert run.table[0].source == f"{server.url}/account/{path}"
    assert SECRET not in run.shown()
    assert not [each for each in node.machine.files.real("C:\\").rglob("*") if each.is_file() and holds(each, SECRET)]


def holds(file: Path, text: str) -> bool:
    return text.encode() in file.read_bytes()


def test_signatures_of_redirects_stay_secret_too(node: DirectNode, server: ArtifactServer) -> None:
    path = offer(server, "1.0.0", archive("1"))
    server.put("store/blob", archive("1"))
    server.fault("redirect", f"/{path}", location=f"{server.url}/store/blob?sig={SECRET}")
    server.fault("signature", "/store/blob", signature=SECRET)
    run = cache(node, {"tool": ["1.0.0"]}, server, kinds=TOOL)
    assert run.status() == {"tool 1.0.0": "fetched"}
    assert SECRET not in run.shown()
    assert not [each for each in node.machine.files.real("C:\\").rglob("*") if each.is_file() and holds(each, SECRET)]


@pytest.mark.parametrize(("header", "goes_on"), [("X-Key", False), ("Authorization", True)])
def test_a_sites_headers_reach_no_other_host(
    node: DirectNode, windows: str, server: ArtifactServer, header: str, goes_on: bool
) -> None:
    """The other host is another port here. An old curl would even send credentials to it."""
    path = offer(server, "1.0.0", archive("1"))
    with ArtifactServer() as elsewhere:
        elsewhere.put("blob", archive("1"))
        server.fault("redirect", f"/{path}", location=f"{elsewhere.url}/blob")
        sites = [{"url": server.url, "headers": {header: SECRET}}]
        run = cache(node, {"tool": ["1.0.0"]}, kinds=TOOL, sites=sites, upstream=False)
        goes_on = goes_on and windows != "2019"
        assert run.status() == {"tool 1.0.0": "fetched" if goes_on else "failed"}
        assert (requests(elsewhere) > 0) == goes_on
    if not goes_on:
        assert "the site redirects to another address, to which its headers are not sent" in run.outcome.failures[0]
    assert SECRET not in run.shown()


@pytest.mark.parametrize("encrypted", [False, True])
def test_no_redirect_leaves_https(node: DirectNode, server: ArtifactServer, encrypted: bool) -> None:
    authority = PrivateCA()
    Convergence(
        NodeSession(node), load([{"type": "CertificateImport", "name": "ours", "content": authority.pem.decode()}])
    ).run()
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as first:
        path = offer(first, "1.0.0", archive("1"))
        target = ArtifactServer(tls=authority.server_context(["127.0.0.1"])) if encrypted else ArtifactServer()
        with target as elsewhere:
            elsewhere.put("blob", archive("1"))
            first.fault("redirect", f"/{path}", location=f"{elsewhere.url}/blob")
            run = cache(node, {"tool": ["1.0.0"]}, first, kinds=TOOL, ignore_revocation=True)
            assert (requests(elsewhere) > 0) == encrypted
    assert run.status() == {"tool 1.0.0": "fetched" if encrypted else "failed"}
    if not encrypted:
        assert "redirects from HTTPS" in run.outcome.failures[0]
