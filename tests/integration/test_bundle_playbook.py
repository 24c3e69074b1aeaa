# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""bundle.yml, and a node that is prepared from its bundle without a network."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.patching import QUICK, state
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from simulator_tests.waiting import wait_for

from simulator.windows.updates import update_package
from simulator.windows.updates.update_catalogue import Update

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("bundle_playbook")]

SECRET = "s3cret-signature"
TOKEN = re.compile(r"/~[A-Za-z0-9_-]{32}")
FIX = Update("KB5999001", builds=(20348,), reboots=0)
ROLE = {"name": "winkube.node.node_prepare"}
# Like site.yml, it prepares the node and joins the cluster.
PREPARE: list[dict[str, Any]] = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"name": part, "ansible.builtin.import_role": {**ROLE, "tasks_from": part}}
            for part in ("resources", "bundle", "converge", "bundle_end")
        ],
    }
]
JOIN = {"name": "Join", "ansible.builtin.import_role": {"name": "winkube.node.node_join"}}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with one plain server, and a cluster without nodes."""
    return start_site({"name": "win22", "windows": "2022", **QUICK}, cluster={"kind": "memory"})


@pytest.fixture(scope="module")
def variables(site: Site) -> dict[str, Any]:
    """Return the variables of all runs."""
    return {
        "bundle_dir": str(site.folder / "bundle"),
        "bundle_key": str(site.folder / "key"),
        "bundle_windows": ["2022"],
        "windows_patches_private": [],
    }


@pytest.fixture(scope="module")
def first(site: Site, variables: dict[str, Any]) -> PlayRun:
    """Return the first run of bundle.yml."""
    assert site.world.artifacts is not None
    data = update_package.make(FIX, "msu")
    site.world.artifacts.put("files.example/windows10.0-kb5999001-x64.msu", data)
    url = f"{site.world.artifacts.url}/files.example/windows10.0-kb5999001-x64.msu?sig={SECRET}"
    variables["windows_patches_private"] = [{"url": url, "sha256": hashlib.sha256(data).hexdigest()}]
    return site.run("bundle.yml", "-vvv", variables=variables).expect()


def asked(site: Site) -> int:
    """Return the number of requests to the network."""
    assert site.world.artifacts is not None
    assert site.world.registry is not None
    return sum(site.world.artifacts.status()["requests"].values()) + site.world.registry.counters["requests"]


def running(site: Site) -> set[str]:
    """Return the names of the containers that run on the node."""
    status: Any = site.node("win22").status()
    return {item["name"] for item in status["containers"] if item["state"] == "RUNNING"}


def index(site: Site) -> dict[str, str]:
    """Return the kinds in the index, by path."""
    files = json.loads((site.folder / "bundle" / "index.json").read_text(encoding="utf-8"))["files"]
    return {entry["path"]: entry["kind"] for entry in files}


def test_the_bundle_has_what_the_roles_need(site: Site, first: PlayRun) -> None:
    kinds = set(index(site).values())
    assert {
        "kubernetes",
        "containerd",
        "crictl",
        "cni-plugins",
        "flannel",
        "container-image",
        "patch",
        "checksum",
    } <= kinds
    assert (site.folder / "key").stat().st_mode & 0o777 == 0o600
    assert site.counters("win22")["remote_commands"] == 0


def test_signatures_are_in_no_output(site: Site, first: PlayRun) -> None:
    assert SECRET not in first.output
    assert SECRET not in (site.folder / "bundle" / "index.json").read_text(encoding="utf-8")


def test_a_second_run_changes_nothing_and_sends_no_requests(
    site: Site, first: PlayRun, variables: dict[str, Any]
) -> None:
    before = asked(site)
    run = site.run("bundle.yml", variables=variables).expect()
    assert run.recap["win22"]["changed"] == 0
    assert asked(site) == before


def test_a_node_joins_with_the_network_shut(
    site: Site, first: PlayRun, variables: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like kubespray's own ansible.cfg, in which facts do not become variables.
    cache = site.folder / "facts"
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN", "jsonfile")
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN_CONNECTION", str(cache))
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", "false")
    before = asked(site)
    patch = {"name": "Patch", "ansible.builtin.import_role": {"name": "winkube.node.windows_patches"}}
    tasks = PREPARE[0]["tasks"]
    noted = {"name": "Note", "ansible.builtin.set_fact": {"noted_for_good": True, "cacheable": True}}
    play = {**PREPARE[0], "tasks": [*tasks[:2], patch, tasks[2], JOIN, tasks[3], noted]}
    quick = {"artifact_mirror": "", "windows_patches_update_server": "none", "windows_patches_settle_timeout": 4}
    run = site.run([play], "-v", "--diff", variables={**variables, **quick}).expect()
    assert asked(site) == before
    # The server requires a token, which appears in no output and on no node.
    assert "/~/github.com/" in run.output
    assert not TOKEN.search(run.output)
    folder = site.machine("win22").files.real(r"C:\ProgramData\winkube")
    manifests = [path.read_text(encoding="utf-8") for path in folder.rglob("*.manifest.json")]
    assert len(manifests) >= 3
    assert not TOKEN.search("".join(manifests))
    assert {"Service containerd", "Service kubelet", "WindowsFeature Containers"} <= set(run.changes("win22"))
    assert cluster_nodes(site)[node_name("win22")]["ready"]
    assert cluster_nodes(site)[node_name("win22")]["version"] == f"v{site.world.cluster.version}"  # type: ignore[union-attr]
    # Pods start when the node is Ready. Their images also come from the bundle.
    wait_for(lambda: running(site) == {"kube-flannel", "kube-proxy"}, "the pods of the network run", 60)
    assert asked(site) == before
    assert site.machine("win22").services.get("containerd").state == "Running"  # type: ignore[union-attr]
    assert dict(state(site.machine("win22"))["updates"])[FIX.kb] == "Installed"
    assert servers(site) == []
    # A later run without the bundle leaves nothing of it: no dead address, and no token.
    facts = "".join(path.read_text(encoding="utf-8") for path in cache.rglob("*") if path.is_file())
    assert "noted_for_good" in facts
    assert "bundle" not in facts
    assert "artifact_upstream" not in facts


def test_an_older_bundle_stops_the_play_before_the_node(site: Site, first: PlayRun, variables: dict[str, Any]) -> None:
    play = {**PREPARE[0], "tasks": [*PREPARE[0]["tasks"][:2], PREPARE[0]["tasks"][3]]}
    state = site.folder / "state" / "winkube" / "bundles.json"
    if not state.exists():
        # A test before this one has used the bundle, unless it was deselected.
        site.run([play], variables=variables).expect()
    seen = json.loads(state.read_text(encoding="utf-8"))
    state.write_text(json.dumps({name: serial + 1 for name, serial in seen.items()}), encoding="utf-8")
    run = site.run([play], variables=variables).expect(2)
    assert "at least as new as the one used last" in run.output
    assert site.counters("win22")["remote_commands"] == 0
    # The older bundle is now the one used last, so that later runs need no option.
    site.run([play], variables={**variables, "bundle_allow_older": True}).expect()
    assert json.loads(state.read_text(encoding="utf-8")) == seen


def test_a_killed_play_leaves_no_running_server(site: Site, first: PlayRun, variables: dict[str, Any]) -> None:
    wait = {"name": "Wait", "ansible.builtin.wait_for": {"timeout": 60}, "delegate_to": "localhost"}
    play = {**PREPARE[0], "tasks": [*PREPARE[0]["tasks"][:2], wait]}
    command = site.command([play], variables=variables)
    with subprocess.Popen(command, cwd=site.folder, env=site.environment(), stdout=subprocess.DEVNULL) as ansible:
        wait_for(lambda: servers(site) != [])
        ansible.send_signal(signal.SIGKILL)
    wait_for(lambda: servers(site) == [])


def test_a_changed_bundle_stops_the_play_before_the_node(site: Site, first: PlayRun, variables: dict[str, Any]) -> None:
    stranger = site.folder / "bundle" / "stranger"
    stranger.write_text("x", encoding="utf-8")
    run = site.run(PREPARE, variables=variables).expect(2)
    stranger.unlink()
    assert "stranger is not in the index" in run.messages("win22")
    assert site.counters("win22")["remote_commands"] == 0


def servers(site: Site) -> list[int]:
    """Return the processes that serve this site's bundle, which only their environment reveals."""
    found = []
    home = f"ANSIBLE_HOME={site.folder / 'ansible'}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if b"from serving import program" in command and home in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found
