# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine that starts from the disk of another one, and the JWS of cluster-info."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path

from simulator.kubernetes_node.kubeadm import discovery
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

from .conftest import Node, own_families

PAUSE = "registry.k8s.io/pause:3.10.2"


def test_cached_images_are_on_the_disk_of_a_machine_from_an_image(node: Node, tmp_path: Path) -> None:
    assert node.ctr("images", "pull", "--hosts-dir", r"C:\certs.d", PAUSE).exit_code == 0
    node.machine.power.power_off()
    settings = MachineSettings.read(
        {"name": "from-image", "address": "127.0.9.99", "windows": "2022", "time_scale": 0.02}
    )

    machine = Machine(settings, tmp_path / "copy", own_families(), source=node.machine)
    machine.power_on()

    try:
        assert Node(machine).ctr("images", "list", "-q").stdout == f"{PAUSE}\n"
    finally:
        machine.power.power_off()


def test_a_detached_jws() -> None:
    content, secret = b"kubeconfig", "0123456789abcdef"
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "abcdef"}).encode()).rstrip(b"=")
    body = base64.urlsafe_b64encode(content).rstrip(b"=")
    mac = hmac.new(secret.encode(), header + b"." + body, hashlib.sha256).digest()
    jws = header.decode() + ".." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()

    assert discovery.signed(content, jws, f"abcdef.{secret}")
    assert not discovery.signed(content + b"x", jws, f"abcdef.{secret}")
    assert not discovery.signed(content, jws, "abcdef.ffffffffffffffff")
    assert not discovery.signed(content, jws, f"zzzzzz.{secret}")
    assert not discovery.signed(content, jws.replace("..", "."), f"abcdef.{secret}")
