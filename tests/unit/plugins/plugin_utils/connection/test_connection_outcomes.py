# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing and checking connections, and the calls for a renewed certificate, with complete results."""

from __future__ import annotations

import datetime
import itertools
import socket
import ssl
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.connection import certificates, checks, pins, tls
from ansible_collections.winkube.node.plugins.plugin_utils.connection.settings import ConnectionSettings, read_settings
from simulator.machine import certificate_store

UNTIL = datetime.datetime(2027, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)

PLUGINS: dict[str, tuple[str, dict[str, t.Any], dict[str, t.Any]]] = {
    "psrp": ("psrp", {}, {}),
    "psrp of a collection": ("ansible.builtin.psrp", {"remote_addr": "h"}, {}),
    "psrp over http": ("psrp", {"protocol": "http"}, {}),
    "psrp over https on its port": ("psrp", {"protocol": "https"}, {}),
    "psrp on the port of http": ("psrp", {"port": 5985}, {}),
    "psrp on another port": ("psrp", {"port": "443"}, {}),
    "psrp over http on another port": ("psrp", {"protocol": "http", "port": 80}, {}),
    "psrp in full": (
        "psrp",
        {"auth": "kerberos", "cert_validation": "ignore", "message_encryption": "always", "ca_cert": "/ca.pem"},
        {},
    ),
    "winrm": ("winrm", {}, {}),
    "winrm of a domain's user": ("winrm", {"remote_user": "me@example.org", "remote_addr": "h"}, {}),
    "winrm with transports": ("winrm", {"transport": ["ntlm", "", "ssl"], "remote_user": "me@example.org"}, {}),
    "winrm in clear text": ("winrm", {"transport": ["plaintext"], "scheme": "http"}, {}),
    "winrm in full": (
        "winrm",
        {"scheme": "https", "port": 5987},
        {
            "ansible_winrm_server_cert_validation": "ignore",
            "ansible_winrm_message_encryption": "never",
            "ansible_winrm_ca_trust_path": "/ca.pem",
        },
    ),
    "winrm with the library's trust": ("winrm", {}, {"ansible_winrm_ca_trust_path": "legacy_requests"}),
    "ssh": ("ssh", {"remote_addr": "h"}, {}),
}


def test_connections_are_read_as_their_plugins_would() -> None:
    found: dict[str, object] = {
        name: vars(read_settings(plugin, options, extras, "powershell"))
        for name, (plugin, options, extras) in PLUGINS.items()
    }
    outcomes.check("connection/settings", found)


def test_each_connection_is_judged() -> None:
    found: dict[str, object] = {}
    for plugin, auth, https in itertools.product(("psrp", "winrm"), (("ntlm",), ("basic",), ("ntlm", "basic")), (0, 1)):
        for validates, encryption in itertools.product((True, False), ("auto", "always", "never")):
            settings = ConnectionSettings(
                plugin=plugin, auth=auth, https=bool(https), validates=validates, encryption=encryption
            )
            reported = f"{plugin} {'+'.join(auth)} {'https' if https else 'http'}"
            reported += f" {'validates' if validates else 'ignores'} {encryption}"
            found[reported] = checks.problem(settings, allow_insecure=False, installed=lambda _module: True)
            assert checks.problem(settings, allow_insecure=True, installed=lambda _module: True) is None
    outcomes.check("connection/judged", found)


def test_an_unusable_connection_is_reported_with_the_fix() -> None:
    found: dict[str, object] = {}
    for plugin in ("ssh", "smart", "paramiko", "paramiko_ssh", "local", "other"):
        for shell in ("", "sh", "cmd", "powershell"):
            settings = ConnectionSettings(plugin=plugin, shell=shell)
            found[f"{plugin} {shell}"] = checks.problem(settings, allow_insecure=True)
    for plugin, auth in itertools.product(("psrp", "winrm"), ("ntlm", "kerberos", "credssp")):
        for missing in ("pypsrp", "winrm", "gssapi", "kerberos", "requests_credssp"):
            settings = ConnectionSettings(plugin=plugin, auth=(auth,))
            reason = checks.unusable(settings, lambda module, lacks=missing: module != lacks)  # type: ignore[misc]
            found[f"{plugin} {auth} without {missing}"] = reason
    outcomes.check("connection/unusable", found)
    assert checks.is_installed("json")
    assert not checks.is_installed("no_such_module_anywhere")


def made(*names: x509.GeneralName) -> tuple[x509.Certificate, t.Any]:
    return certificate_store.self_signed(x509.Name.from_rfc4514_string("CN=common.example"), list(names), UNTIL)


def test_the_calls_of_a_renewal() -> None:
    own, _key = made()
    listener = certificates.HttpsListener(
        address="IP:192.0.2.21", certificate=certificates.Certificate(thumbprint="A", x509=own)
    )
    outcomes.check(
        "connection/renewal_calls",
        {
            "questions": outcomes.calls(certificates.inspection_calls()),
            "creation": outcomes.calls([certificates.creation(["win.example", "192.0.2.1", "::1"], UNTIL, "u1")]),
            "binding": outcomes.calls([certificates.binding(listener, "B")]),
            "removal": outcomes.calls(certificates.removal(["A", "B"])),
        },
    )


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ([], ["common.example"]),
        (["192.0.2.1", "::1", "common.example"], ["common.example", "192.0.2.1", "::1"]),
        (["*.example.org", "_a-b.c"], ["common.example", "*.example.org", "_a-b.c"]),
        (["", "a b", "a&b", "-a.b", "a..b", "a" * 64, f"{'a' * 63}.b", "b\n"], ["common.example", f"{'a' * 63}.b"]),
        ([".".join(["a" * 50] * 5), ".".join(["a" * 50] * 4)], ["common.example", ".".join(["a" * 50] * 4)]),
    ],
)
def test_names_that_a_certificate_may_have(more: list[str], names: list[str]) -> None:
    assert certificates.renewed_names(made()[0], more) == names


class Server:
    """A TLS server with its own certificate."""

    def __init__(self, folder: Path, own: x509.Certificate, key: t.Any) -> None:
        file = folder / "server.pem"
        text = own.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(text)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(file)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _address = self.socket.accept()
                self.context.wrap_socket(plain, server_side=True).close()
            except ssl.SSLError:
                continue
            except OSError:
                return


@pytest.mark.waits
def test_a_server_s_certificate_is_read_and_verified(tmp_path: Path) -> None:
    own, key = made(x509.DNSName("localhost"))
    other, _key = made(x509.DNSName("localhost"))
    server = Server(tmp_path, own, key)
    with server.socket:
        assert tls.presented("127.0.0.1", server.port) == own
        file = tmp_path / "pins.pem"
        assert pins.update_pins(file, add=[other])
        assert tls.verify("localhost", server.port, str(file)) == "self-signed certificate"
        pins.update_pins(file, add=[own], remove=[other])
        assert tls.verify("localhost", server.port, str(file)) is None
        assert "127.0.0.1" in (tls.verify("127.0.0.1", server.port, str(file)) or "")
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        tls.verify("127.0.0.1", port, str(file))


def test_pins_are_added_and_removed_once(tmp_path: Path) -> None:
    own, other = made()[0], made()[0]
    file = tmp_path / "new" / "pins.pem"
    assert pins.read_pins(file) == []
    assert pins.update_pins(file, add=[own, other])
    assert pins.read_pins(file) == [own, other]
    assert not pins.update_pins(file, add=[other])
    assert pins.update_pins(file, remove=[own])
    assert pins.read_pins(file) == [other]
    assert file.stat().st_mode & 0o777 == 0o644
    assert sorted(one.name for one in file.parent.iterdir()) == [".pins.pem.lock", "pins.pem"]
    file.write_text(" \n", encoding="ascii")
    assert pins.read_pins(file) == []
    file.write_text("no PEM", encoding="ascii")
    with pytest.raises(ValueError, match="PEM"):
        pins.update_pins(file, add=[own])
    assert file.read_text(encoding="ascii") == "no PEM"
