# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico's address management (IPAM) for a Windows node, with its blocks, affinities and handles.

A Windows node has one block of addresses, in which three addresses at the beginning and one at the end are reserved. On
Windows, it is an error if strict affinity is off in the IPAM configuration (GetIPAMConfig in ipam.go). A node that
already has its block starts even then, but its pods get no addresses.

Source: libcalico-go/lib/ipam.
"""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections.abc import Callable, Iterator
from typing import Any

from simulator.kubernetes_node.cni.calico.datastore import Datastore, DatastoreError, Object

STRICT = "global strict affinity should not be false for Windows node"
BLOCK_LIMIT = "cannot allocate new block due to per host block limit"
NO_POOL = "cannot find a qualified ippool"
RESERVED_HANDLE = "windows-reserved-ipam-handle"
_START, _END = 3, 1
_LONGEST_PREFIX = 29  # four reserved addresses need a block of at least eight
_RETRIES = 20


class IpamError(Exception):
    """Raised if IPAM refuses a request. The text is the reason."""


def name_of(network: ipaddress.IPv4Network) -> str:
    """Return the name of the IPAMBlock object of an address block."""
    return str(network).replace(".", "-").replace("/", "-")


class Ipam:
    """Calico's address management (IPAM) for one node."""

    def __init__(self, datastore: Datastore, host: str) -> None:
        self._datastore, self._host = datastore, host

    def ensure_block(self) -> ipaddress.IPv4Network:
        """Return the node's address block. If the node has no block, claim one first.

        Raises:
            IpamError: no block is available for the node, or strict affinity is off.
            DatastoreError: a request fails.
        """
        pools = self._pools()
        own = self._own_block(pools)
        return own or self._claim(pools)

    def assign(self, handle: str, attributes: dict[str, str]) -> tuple[str, ipaddress.IPv4Network]:
        """Assign an address from the node's block to a pod's handle. Return the address and the block.

        Raises:
            IpamError: no address is available, or strict affinity is off.
            DatastoreError: a request fails.
        """
        pools = self._pools()
        self._datastore.all("ipreservations")
        own = self._own_block(pools)
        self._config()
        block = own or self._claim(pools)
        for _ in range(_RETRIES):
            found = self._datastore.get("ipamblocks", name_of(block))
            spec = found["spec"]
            if not spec["unallocated"]:
                raise IpamError(BLOCK_LIMIT)
            self._count(handle, block, 1)
            ordinal = spec["unallocated"][0]
            try:
                self._datastore.update("ipamblocks", found, _allocated(spec, ordinal, handle, attributes))
                return str(block[ordinal]), block
            except DatastoreError as error:
                self._count(handle, block, -1)
                if error.kind != "conflict":
                    raise
        raise IpamError("Max retries hit - excessive concurrent IPAM requests")

    def release(self, handle: str) -> None:
        """Release the addresses of a handle. A handle that does not exist is not an error.

        Raises:
            DatastoreError: a request fails.
        """
        known = self._datastore.find("ipamhandles", handle.lower())
        for cidr in (known or {}).get("spec", {}).get("block") or {}:
            block = ipaddress.IPv4Network(cidr)
            self._change_block(block, lambda spec: _released(spec, handle))
        if known:
            self._datastore.delete("ipamhandles", handle.lower())

    def _change_block(self, block: ipaddress.IPv4Network, change: Callable[[Object], Object]) -> None:
        for attempt in range(_RETRIES):
            found = self._datastore.find("ipamblocks", name_of(block))
            if found is None:
                return
            try:
                self._datastore.update("ipamblocks", found, change(found["spec"]))
                return
            except DatastoreError as error:
                if error.kind != "conflict" or attempt == _RETRIES - 1:
                    raise

    def _config(self) -> Object:
        """Return the IPAM configuration, and create it if it does not exist.

        Raises:
            IpamError: strict affinity is off.
        """
        found = self._datastore.find("ipamconfigs", "default")
        if found is None:
            default = {"autoAllocateBlocks": True, "maxBlocksPerHost": 0, "strictAffinity": False}
            found = self._datastore.create("ipamconfigs", "default", default)
        if not found["spec"].get("strictAffinity"):
            raise IpamError(STRICT)
        return dict(found["spec"])

    def _pools(self) -> list[Object]:
        """Return the IPv4 pools that this node may use.

        Raises:
            IpamError: there is no such pool.
        """
        node = self._datastore.node(self._host)
        labels = node["metadata"].get("labels") or {}
        enabled = [
            item
            for item in self._datastore.all("ippools")
            if not item["spec"].get("disabled") and ":" not in item["spec"]["cidr"]
        ]
        fitting = [item for item in enabled if int(item["spec"].get("blockSize") or 26) <= _LONGEST_PREFIX]
        if not fitting:
            raise IpamError(NO_POOL)
        selected = [
            item
            for item in enabled
            if item["spec"].get("assignmentMode", "Automatic") == "Automatic"
            and _selects(str(item["spec"].get("nodeSelector") or "all()"), labels)
        ]
        if not selected:
            raise IpamError(f"no configured Calico pools for node {self._host}")
        allowed = [item for item in selected if "Workload" in (item["spec"].get("allowedUses") or ["Workload"])]
        if not allowed:
            raise IpamError(f"{NO_POOL}, no pools match the required use (Workload)")
        return allowed

    def _own_block(self, pools: list[Object]) -> ipaddress.IPv4Network | None:
        networks = [ipaddress.IPv4Network(item["spec"]["cidr"]) for item in pools]
        for affinity in self._datastore.all("blockaffinities"):
            spec = affinity["spec"]
            if spec["node"] != self._host or str(spec.get("deleted")).lower() == "true" or ":" in spec["cidr"]:
                continue
            block = ipaddress.IPv4Network(spec["cidr"])
            if not any(block.subnet_of(network) for network in networks):
                continue
            found = self._datastore.find("ipamblocks", name_of(block))
            if found is None:
                self._config()
                self._create(affinity, block)
                return block
            if found["spec"].get("affinity") != f"host:{self._host}":
                self._datastore.delete("blockaffinities", affinity["metadata"]["name"])
                continue
            if spec.get("state") != "confirmed":
                self._datastore.update("blockaffinities", affinity, {**spec, "state": "confirmed"})
            return block
        return None

    def _claim(self, pools: list[Object]) -> ipaddress.IPv4Network:
        config = self._config()
        if not config.get("autoAllocateBlocks", True):
            raise IpamError("failed to find or claim a block")
        taken = {item["spec"]["cidr"] for item in self._datastore.all("ipamblocks")}
        for block in self._candidates(pools):
            if str(block) in taken:
                continue
            name = f"{self._host}-{name_of(block)}"
            spec = {"cidr": str(block), "deleted": "false", "node": self._host, "state": "pending", "type": "host"}
            try:
                affinity = self._datastore.create("blockaffinities", name, spec)
            except DatastoreError as error:
                if error.kind != "exists":
                    raise
                affinity = self._datastore.get("blockaffinities", name)
            if self._create(affinity, block):
                return block
        raise IpamError("No Free Blocks")

    def _candidates(self, pools: list[Object]) -> Iterator[ipaddress.IPv4Network]:
        """Yield the address blocks of the pools. The node's name determines which block comes first.

        Source: randomBlockGenerator in libcalico-go/lib/ipam.
        """
        for item in pools:
            pool = ipaddress.IPv4Network(item["spec"]["cidr"])
            size = max(int(item["spec"].get("blockSize") or 26), pool.prefixlen)
            count = 1 << (size - pool.prefixlen)
            first = int(hashlib.sha256(self._host.encode()).hexdigest(), 16) % count
            step = 1 << (32 - size)
            for number in range(count):
                address = int(pool.network_address) + (first + number) % count * step
                yield ipaddress.IPv4Network((address, size))

    def _create(self, affinity: Object, block: ipaddress.IPv4Network) -> bool:
        """Create a block, and confirm its affinity to the node. Return False if another node claimed it first."""
        try:
            self._datastore.create("ipamblocks", name_of(block), _new_block(block, self._host))
        except DatastoreError as error:
            if error.kind != "exists":
                raise
            found = self._datastore.get("ipamblocks", name_of(block))
            if found["spec"].get("affinity") != f"host:{self._host}":
                self._datastore.delete("blockaffinities", affinity["metadata"]["name"])
                return False
        self._datastore.update("blockaffinities", affinity, {**affinity["spec"], "state": "confirmed"})
        return True

    def _count(self, handle: str, block: ipaddress.IPv4Network, number: int) -> None:
        """Add `number` to the count of addresses that a handle has in a block.

        Create the handle if necessary, and delete it if it has no addresses left in any block.
        """
        known = self._datastore.find("ipamhandles", handle.lower())
        if known is None:
            if number > 0:
                spec = {"block": {str(block): number}, "deleted": False, "handleID": handle}
                self._datastore.create("ipamhandles", handle.lower(), spec)
            return
        counts = dict(known["spec"].get("block") or {})
        counts[str(block)] = counts.get(str(block), 0) + number
        if counts[str(block)] <= 0:
            del counts[str(block)]
        if counts:
            self._datastore.update("ipamhandles", known, {**known["spec"], "block": counts})
        else:
            self._datastore.delete("ipamhandles", handle.lower())


def _new_block(block: ipaddress.IPv4Network, host: str) -> Object:
    size = block.num_addresses
    free = range(_START, size - _END)
    return {
        "affinity": f"host:{host}",
        "allocations": [None if number in free else 0 for number in range(size)],
        "attributes": [{"handle_id": RESERVED_HANDLE, "secondary": {"note": "windows host rsvd"}}],
        "cidr": str(block),
        "deleted": False,
        "sequenceNumber": time.time_ns(),
        "sequenceNumberForAllocation": {},
        "strictAffinity": False,
        "unallocated": list(free),
    }


def _allocated(spec: Object, ordinal: int, handle: str, attributes: dict[str, str]) -> Object:
    allocations, known = list(spec["allocations"]), list(spec["attributes"])
    known.append({"handle_id": handle, "secondary": attributes})
    allocations[ordinal] = len(known) - 1
    numbers: dict[str, Any] = dict(spec.get("sequenceNumberForAllocation") or {})
    numbers[str(ordinal)] = spec.get("sequenceNumber", 0)
    return {
        **spec,
        "allocations": allocations,
        "attributes": known,
        "sequenceNumber": spec.get("sequenceNumber", 0) + 1,
        "sequenceNumberForAllocation": numbers,
        "unallocated": [item for item in spec["unallocated"] if item != ordinal],
    }


def _released(spec: Object, handle: str) -> Object:
    gone = {number for number, item in enumerate(spec["attributes"]) if item.get("handle_id") == handle}
    kept = [number for number in range(len(spec["attributes"])) if number not in gone]
    order = {number: place for place, number in enumerate(kept)}
    freed = [number for number, item in enumerate(spec["allocations"]) if item in gone]
    numbers = spec.get("sequenceNumberForAllocation") or {}
    return {
        **spec,
        "allocations": [None if item is None or item in gone else order[item] for item in spec["allocations"]],
        "attributes": [spec["attributes"][number] for number in kept],
        "sequenceNumber": spec.get("sequenceNumber", 0) + 1,
        "sequenceNumberForAllocation": {key: item for key, item in numbers.items() if int(key) not in freed},
        "unallocated": [*spec["unallocated"], *freed],
    }


def _selects(selector: str, labels: dict[str, str]) -> bool:
    """Return whether a pool's node selector matches a node's labels.

    The supported forms are `all()`, `has(x)`, `x == 'y'` and `x != 'y'`, and combinations of these with `&&`.
    """
    for part in (item.strip() for item in selector.split("&&")):
        if part == "all()":
            continue
        if part.startswith("has(") and part.endswith(")"):
            if part[4:-1].strip() not in labels:
                return False
            continue
        name, sign, value = part.partition("!=" if "!=" in part else "==")
        equal = labels.get(name.strip()) == value.strip().strip("'\"")
        if equal != (sign == "=="):
            return False
    return True
