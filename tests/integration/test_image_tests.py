# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The testinfra suite of the molecule scenario `image` compares machines with release notes.

verify_image.yml runs it with the same module. The scenario, which builds the image first, is a variant.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from integration.actions import connect, run_action
from integration.conftest import SiteFactory
from integration.joined_nodes import prepare, server
from integration.playbooks import ROOT, Site, link_variables
from unit.action_run import run

from ansible_collections.winkube.node.plugins.action import image_tests

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("verify_image")]

BUILDER, NEW = "builder", "new"
SUITE = ROOT / "molecule" / "image" / "tests"
COPY = r"C:\ProgramData\winkube\release-notes.json"
INSTALLED = r"C:\containerd"
CTR, PAUSE = rf"{INSTALLED}\ctr.exe", "registry.k8s.io/pause:3.10.2"
ARTIFACT = "crictl"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return two prepared servers, each with an artifact and an image in its cache."""
    site = start_site(server(BUILDER, windows="2022"), server(NEW, windows="2022"), cluster={"kind": "memory"})
    assert site.world.artifacts is not None
    for host in (BUILDER, NEW):
        prepare(site, host)
        machine = site.machine(host)
        # The suite expects it where the containerd role installs it.
        machine.files.make_directory(rf"{INSTALLED}\bin")
        machine.files.write_bytes(rf"{INSTALLED}\bin\ctr.exe", machine.files.read_bytes(CTR))
        pull = ["-n", "k8s.io", "images", "pull", "--hosts-dir", r"C:\certs.d", PAUSE]
        assert machine.programs.run(CTR, pull).exit_code == 0
        options = {"artifacts": {ARTIFACT: ["1.37.0"]}, "mirror": site.world.artifacts.url, "upstream": False}
        with connect(machine) as connection:
            assert run_action(connection, "artifact_cache", options)["changed"]
    return site


@pytest.fixture(scope="module")
def notes(site: Site) -> Path:
    """Return the release notes of the first server, of which the second one has the copy in the image."""
    with connect(site.machine(BUILDER)) as connection:
        options = {"release": "20261126.1a2b3c4d", "directory": str(site.folder), "ctr": CTR, "sbom": False}
        run_action(connection, "release_notes", options, host=BUILDER)
    site.machine(NEW).files.write_text(COPY, site.machine(BUILDER).files.read_text(COPY))
    return site.folder / "20261126.1a2b3c4d" / f"{BUILDER}.json"


def failures(site: Site, host: str, notes: Path) -> tuple[int, set[str]]:
    """Run the suite on a server, and return the number of its tests, and the names of those that failed."""
    variables: dict[str, Any] = {
        **link_variables(),
        "inventory_hostname": host,
        "ansible_host": site.machine(host).address,
        "container_runtime_install_dir": INSTALLED,
    }
    results = site.folder / "results"
    options = {"suite": str(SUITE), "release_notes": str(notes), "directory": str(results)}
    result = run(image_tests, options, variables)
    cases = list(ElementTree.parse(results / "junit_testinfra.xml").iter("testcase"))
    failed = {one.attrib["name"].partition("[")[0] for one in cases if one.find("failure") is not None}
    assert result["rc"] == (1 if failed else 0), result["output"]
    assert not [one for one in cases if one.find("error") is not None], result["output"]
    return len(cases), failed


def test_a_machine_from_the_image_passes(site: Site, notes: Path) -> None:
    count, failed = failures(site, NEW, notes)
    assert failed == set()
    assert count > 100


def test_each_difference_is_found(site: Site, notes: Path) -> None:
    document = json.loads(notes.read_text(encoding="utf-8"))
    document["features"].append({"name": "Telnet-Client", "display_name": ""})
    document["updates"].append({**document["updates"][0], "id": "KB1"})
    document["services"][0]["start_mode"] = "Nonsense"
    document["artifacts"][0]["sha256"] = "0" * 64
    document["container_images"][0]["digest"] = f"sha256:{'0' * 64}"
    changed = notes.with_name("changed.json")
    changed.write_text(json.dumps(document), encoding="utf-8")
    # The server from which the release notes are is not a machine from its image.
    assert failures(site, BUILDER, changed)[1] == {
        "test_a_feature_is_installed",
        "test_an_update_is_installed",
        "test_a_service_starts_as_in_the_image",
        "test_a_cached_artifact",
        "test_a_container_image",
        "test_the_machine_shares_nothing_with_the_build_machine",
        "test_the_https_listener_has_a_certificate_of_this_machine",
    }
