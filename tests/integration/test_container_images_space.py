# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The disk space for container images: checked before the first byte, and an error if it is not sufficient."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from integration.imaging import CERTS, Machines, converge, ctr, mirrors, names, put, statuses

from simulator.artifacts.archives import tar_gz
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.unpacking import SIZE
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("container_images_room")]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(4) as found:
        yield found


def test_images_that_do_not_fit_are_not_pulled(machines: Machines) -> None:
    machine, blobs = machines.next(), Blobs()
    blobs.add("r.example/small:1", ["2022"], size=1000)
    blobs.add("r.example/large:1", ["2022"], size=400_000)
    machine.files.reserved += machine.files.free_space() - 1_000_600_000
    with SimulatedRegistry(images=blobs) as registry:
        given = {"registries": mirrors(registry, "r.example")}
        # The node can query the registry, because it knows how to reach it.
        assert not converge(machine, ["r.example/small:1"], **given).get("failed")
        registry.reset()
        refused = converge(machine, ["r.example/large:1"], **given)
        assert refused["failed"]
        assert "not enough disk space on C: for the plan; nothing was changed" in refused["msg"]
        assert "ContainerImage r.example/large:1 1 MB" in " ".join(refused["msg"].split())
        assert registry.counters["bytes"] < 10_000  # the manifest and the configuration
        reported = converge(machine, [{"name": "r.example/large:1", "size": 10**10}], **given)
        assert "35.0 GB" in reported["msg"]
    assert names(machine) == {"r.example/small:1"}


@pytest.mark.parametrize("containerd", ["2.3.7", "1.7.29"])
def test_a_layer_of_several_images_counts_once(machines: Machines, containerd: str) -> None:
    """Applications share the layers of their base image. ctr of 1.7 cannot distinguish layers."""
    machine, blobs = machines.next(containerd), Blobs()
    images = [f"r.example/app-{number}:1" for number in range(3)]
    for name in images:
        blobs.add(name, ["2019", "2022"], size=2_000)
    base = blobs.put(oci.LAYER, oci_layer(100_000))
    for name in images:
        share(blobs, name, base)
    # Each takes about 357,000 bytes with the base, and 7,000 without it.
    machine.files.reserved += machine.files.free_space() - 1_000_500_000
    with SimulatedRegistry(images=blobs) as registry:
        given = {"registries": mirrors(registry, "r.example")}
        put_hosts(machine, given["registries"])
        result = converge(machine, images, **given)
        if containerd.startswith("1."):
            assert "not enough disk space on C: for the plan; nothing was changed" in result["msg"]
            return
        assert statuses(result) == dict.fromkeys(images, "pulled")
        assert ctr(machine, "images", "list", "-q").count("app-") >= 3


def oci_layer(size: int) -> bytes:
    """Return a layer of about this size."""
    return tar_gz({"Files/base.bin": random.Random(size).randbytes(size)})


def share(blobs: Blobs, name: str, base: dict[str, Any]) -> None:
    """Add a layer below the others of an image, for each build of it."""
    index = json.loads(blobs.content[blobs.tags[name]][1])
    entries = []
    for entry in index["manifests"]:
        document = json.loads(blobs.content[entry["digest"]][1])
        document["layers"].insert(0, base)
        config = json.loads(blobs.content[document["config"]["digest"]][1])
        config["rootfs"]["diff_ids"].insert(0, base["digest"])
        document["config"] = blobs.put(oci.CONFIG, oci.encode(config))
        entries.append({**blobs.put(oci.MANIFEST, oci.encode(document)), "platform": entry["platform"]})
    blobs.tags[name] = blobs.put(oci.INDEX, oci.encode({**index, "manifests": entries}))["digest"]


def put_hosts(machine: Machine, settings: dict[str, Any]) -> None:
    """Configure how the node reaches registries before the first pull, because sizes are requested at that time."""
    for host, about in settings.items():
        text = f'[host."{about["mirrors"][0]}"]\n  capabilities = ["pull", "resolve"]\n'
        put(machine, f"{CERTS}\\{host}\\hosts.toml", text.encode())


def large(blobs: Blobs, name: str, size: int) -> None:
    """Add an image that is small in the registry, and has this size when it is unpacked."""
    blobs.add(name, ["2022"], size=400)
    index = json.loads(blobs.content[blobs.tags[name]][1])
    (entry,) = index["manifests"]
    document = json.loads(blobs.content[entry["digest"]][1])
    document["layers"][0]["annotations"] = {SIZE: str(size)}
    entry |= {**blobs.put(entry["mediaType"], oci.encode(document)), "platform": entry["platform"]}
    blobs.tags[name] = blobs.put(oci.INDEX, oci.encode(index))["digest"]


def test_a_full_disk_is_reported_and_repaired_once_space_is_free(machines: Machines) -> None:
    machine, blobs = machines.next(), Blobs()
    large(blobs, "r.example/large:1", 3 * 10**9)
    taken = machine.files.free_space() - 2 * 10**9
    machine.files.reserved += taken
    with SimulatedRegistry(images=blobs) as registry:
        # Its manifest does not contain the unpacked size.
        given = {"registries": mirrors(registry, "r.example"), "retries": 0}
        full = converge(machine, ["r.example/large:1"], **given)
        assert statuses(full) == {"r.example/large:1": "failed"}
        assert "the disk is full" in full["msg"]
        machine.files.reserved -= taken
        assert statuses(converge(machine, ["r.example/large:1"], **given)) == {"r.example/large:1": "pulled"}
