# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Certificates with their own keys for the HTTPS listeners of simulated servers, as real servers have them."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509

from ansible_collections.winkube.node.plugins.plugin_utils.connection.pins import update_pins
from simulator.machine import certificate_store, winrm_settings
from simulator.machine.machine import Machine


def use_own_certificate(machine: Machine, pins: Path, days: int) -> None:
    """Replace the certificate of a server's listener by a self-signed one, and pin it.

    Args:
        machine: the server.
        pins: the controller's file of pinned certificates.
        days: the validity of the certificate.
    """
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    names: list[x509.GeneralName] = [x509.DNSName("win.example")]
    names.append(x509.IPAddress(ipaddress.ip_address(machine.address)))
    certificate, key = certificate_store.self_signed(x509.Name.from_rfc4514_string("CN=win.example"), names, until)
    former = winrm_settings.certificate_of(machine)
    mark = certificate_store.add(machine, "My", certificate, key)
    machine.registry.set(f"{winrm_settings.KEY}\\Listener\\*+HTTPS", "certThumbprint", mark)
    certificate_store.remove(machine, "My", former)
    update_pins(pins, add=[certificate])
