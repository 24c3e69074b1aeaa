# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The traffic that ACLs of endpoints allow, and host-local when a script runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from simulator.kubernetes_node.hns import acls

from .conftest import Node

SUBNET = "10.244.9.0/24"


def test_acls_are_closed_by_default_and_the_lowest_number_decides() -> None:
    block = {
        "Type": "ACL",
        "Action": "Block",
        "Direction": "Out",
        "RemoteAddresses": "169.254.169.254/32",
        "Priority": 200,
    }
    allow = {"Type": "ACL", "Action": "Allow", "Direction": "Out", "Priority": 65500}
    ranges = {"Type": "ACL", "Action": "Allow", "Direction": "In", "LocalPorts": "80,8000-8080", "Priority": 1000}

    assert acls.allows([{"Type": "OutBoundNAT"}], "Out", "10.0.0.1", 80)
    assert not acls.allows([block], "Out", "10.0.0.1", 80), "one rule closes everything else"
    assert not acls.allows([block, allow], "In", "10.0.0.1", 80), "the other direction too"
    assert acls.allows([block, allow], "Out", "10.0.0.1", 80)
    assert not acls.allows([allow, block], "Out", "169.254.169.254", 80)
    assert acls.allows([{**block, "Priority": 65501}, allow], "Out", "169.254.169.254", 80)
    assert [acls.allows([ranges], "In", "10.0.0.1", port) for port in (80, 8040, 8081)] == [True, True, False]


def test_host_local_reserves_the_source_address_of_kube_proxy(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.put(r"C:\opt\cni\bin\host-local.exe", "host-local", "1.9.0")
    request = {"cniVersion": "0.2.0", "name": "flannel.4096", "ipam": {
        "type": "host-local", "ranges": [[{"subnet": SUBNET}]], "dataDir": "/var/lib/cni/networks"}}  # fmt: skip
    variables = {f"CNI_{name}": "dummy" for name in ("CONTAINERID", "NETNS", "IFNAME")}

    def run(command: str, prefix: bytes = b"") -> Any:
        environment = {**variables, "CNI_COMMAND": command}
        stdin = prefix + json.dumps(request).encode()
        result = node.run(r"C:\opt\cni\bin\host-local.exe", stdin=stdin, environment=environment)
        return json.loads(result.stdout or "{}")

    assert run("ADD")["ip4"]["ip"] == "10.244.9.2/24"
    message = "10.244.9.2 has been allocated to dummy, duplicate allocation is not allowed"
    assert run("ADD") == {"code": 999, "msg": f"failed to allocate for range 0: {message}"}
    node.machine.power.reset()
    assert node.machine.files.is_file(r"C:\var\lib\cni\networks\flannel.4096\10.244.9.2"), "it survives a reboot"
    assert run("ADD", b"\xef\xbb\xbf")["code"] == 100
    assert run("DEL") == {}
    assert run("ADD")["ip4"]["ip"] == "10.244.9.3/24"
