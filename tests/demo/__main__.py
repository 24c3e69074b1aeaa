# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The demo: three servers become nodes directly, one of them is upgraded, and a fourth becomes a node from an image.

It measures each run, and cleans up.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kubernetes import client, config

from demo import place
from demo.controller import ROOT, Controller, Ran
from demo.outcome import CAPTION, NodeOutcome, table, write
from simulator.fleet import read_fleet
from simulator.world import World

BUILD = ROOT / "build" / "demo"
MINUTES = 2
"""The duration of the demo, which README.md also states."""
IN_PLACE = ("win-2019", "win-2022", "win-2025")
OLDER = "win-2019"
"""The node that joins with an older version of Kubernetes, and is upgraded."""
BUILDER, IMAGE = "win-build", "win-image"
IMAGE_NUMBER = 31
"""The last part of the address of the machine that is started from the image."""


def main() -> int:
    """Run the demo, and return its exit status, which is 0 if all results are as expected."""
    try:
        with place.alone(BUILD):
            return run()
    except place.BusyError as error:
        _say(str(error))
        return 2


def run() -> int:
    """Start the servers, run all playbooks, and write the results."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    began = time.monotonic()
    here = place.take(BUILD)
    with tempfile.TemporaryDirectory(prefix="winkube-demo-") as state, contextlib.ExitStack() as stack:
        _say(f"it takes about {MINUTES} minutes on two idle cores")
        _say(f"starting four servers, an artifact server, a registry and a cluster on {here.network}.0/24")
        try:
            world = stack.enter_context(World(read_fleet(here.fleet), Path(state) / "fleet"))
        except OSError as error:
            _say(f"the servers do not start on {here.network}.0/24: {error}. `ss -tlnp` lists the listening programs")
            return 2
        assert world.cluster is not None
        _say(f"cluster: {world.cluster.kind}, Kubernetes {world.cluster.version}, {world.cluster.server}")
        good = play(world, Controller(BUILD, world.fleet, Path(world.cluster.kubeconfig), here.inventory))
    _say(f"{BUILD.relative_to(ROOT)}/summary.json and report.html; {time.monotonic() - began:.0f} s")
    return 0 if good else 1


def play(world: World, controller: Controller) -> bool:
    """Run all playbooks in order, and return whether all results are as expected."""
    runs = {
        "first": controller.play("first", "site.yml"),
        "second": controller.play("second", "site.yml"),
        "plan": controller.play("plan", "plan.yml", "-e", f"winkube_plan_report={BUILD / 'plan.json'}"),
    }
    assert world.cluster is not None
    joined = cluster_nodes(str(world.cluster.kubeconfig))
    version = world.cluster.version
    upgrade = controller.play(
        "upgrade", "upgrade_nodes.yml", "--limit", OLDER, "-e", f"kubernetes_node_version={version}",
        "-e", f"winkube_upgrade_report={BUILD / 'upgrade.json'}",
    )  # fmt: skip
    image_runs, image = golden_image(world, controller)
    known = cluster_nodes(str(world.cluster.kubeconfig))
    image["ready"] = known.get(IMAGE, {}).get("ready", False)
    nodes = [
        NodeOutcome(
            name=name,
            key=name.upper(),
            os=world.fleet.machine(name.upper()).windows.key,
            joined_version=joined.get(name, {}).get("version", ""),
            version=known.get(name, {}).get("version", ""),
            ready=known.get(name, {}).get("ready", False),
            runs={**runs, "upgrade": upgrade} if name == OLDER else runs,
        )
        for name in IN_PLACE
    ]
    print(
        f"\n{CAPTION}\n{table(nodes)}\n\nimage: {', '.join(f'{key} {value}' for key, value in image.items())}",
        flush=True,
    )
    every = [*runs.values(), upgrade, *image_runs]
    write(BUILD, nodes, image, every)
    unchanged = all(runs["second"].changed(name) == 0 for name in IN_PLACE)
    return (
        all(ran.status == 0 for ran in every)
        and unchanged
        and all(image.values())
        and all(node.ready and node.version == f"v{version}" for node in nodes)
        and joined.get(OLDER, {}).get("version") != f"v{version}"
    )


def golden_image(world: World, controller: Controller) -> tuple[list[Ran], dict[str, Any]]:
    """Build an image, start a new machine from it, and join the machine to the cluster."""
    outcome: dict[str, Any] = {"generalized": False, "started_as_new_machine": False, "ready": False}
    built = controller.play("image", "build_image.yml", "-e", f"image_notes_dir={BUILD / 'release-notes'}")
    machine = world.fleet.machine(BUILDER.upper())
    end = time.monotonic() + 120
    while machine.power.state != "off" and time.monotonic() < end:
        time.sleep(0.2)
    outcome["generalized"] = machine.generalized and machine.power.state == "off"
    if not outcome["generalized"]:
        return [built], outcome
    address = f"{machine.address.rpartition('.')[0]}.{IMAGE_NUMBER}"
    new = world.fleet.deploy_image(BUILDER.upper(), IMAGE.upper(), address)
    outcome["started_as_new_machine"] = new.machine.sid != machine.sid and new.machine.name != machine.name
    joined = controller.play("join-image", "join_nodes.yml", "-e", "winkube_hosts=from_image")
    return [built, joined], outcome


def cluster_nodes(kubeconfig: str) -> dict[str, dict[str, Any]]:
    """Return the nodes' data from the cluster, by name."""
    core = client.CoreV1Api(config.new_client_from_config(config_file=kubeconfig))
    return {
        node.metadata.name: {
            "version": node.status.node_info.kubelet_version,
            "ready": any(item.type == "Ready" and item.status == "True" for item in node.status.conditions or ()),
        }
        for node in core.list_node().items
    }


def _say(text: str) -> None:
    print(f"demo: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
