# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl.exe and certificates: Schannel's checks by version, private authorities, revocation lists, tunnels."""

from __future__ import annotations

import pytest
from cryptography import x509
from simulator_tests.windows.test_curl import CONTENT, FILE, MakeMachine, curl

from simulator.artifacts import ArtifactServer
from simulator.artifacts.certificates import PrivateCA
from simulator.machine import certificate_store
from simulator.machine.machine import Machine


@pytest.fixture
def authority() -> PrivateCA:
    return PrivateCA()


def trust(machine: Machine, authority: PrivateCA) -> None:
    certificate_store.add(machine, "Root", x509.load_pem_x509_certificate(authority.pem))


def test_a_private_ca_must_be_in_the_machines_store(machine: Machine, authority: PrivateCA) -> None:
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        server.put(FILE, CONTENT)
        arguments = ("-sS", "--ssl-no-revoke", "-o", r"C:\x", server.url + FILE)
        untrusted = curl(machine, *arguments)
        assert untrusted.exit_code == 60
        assert "SEC_E_UNTRUSTED_ROOT (0x80090325)" in untrusted.stderr
        assert curl(machine, *arguments, "--insecure").exit_code == 0
        trust(machine, authority)
        assert curl(machine, *arguments).exit_code == 0


def test_https_goes_through_a_tunnel(machine: Machine, authority: PrivateCA) -> None:
    trust(machine, authority)
    with ArtifactServer(authority=authority, proxy_user="me:secret") as proxy:
        proxy.put(FILE, CONTENT)
        arguments = ("-sS", "--ssl-no-revoke", "-o", r"C:\x", "https://example.com/file.bin")
        refused = curl(machine, *arguments, HTTPS_PROXY=proxy.url)
        assert (refused.exit_code, refused.stderr) == (56, "curl: (56) CONNECT tunnel failed, response 407\n")
        assert curl(machine, *arguments, "-x", proxy.url, "-U", "me:secret").exit_code == 0
        assert machine.files.read_bytes(r"C:\x") == CONTENT
        assert curl(machine, *arguments, HTTPS_PROXY=proxy.url.replace("//", "//me:secret@")).exit_code == 0
        assert proxy.status()["proxied"] == 3


def test_the_name_must_fit(machine: Machine, authority: PrivateCA) -> None:
    trust(machine, authority)
    with ArtifactServer(tls=authority.server_context(["other.example"])) as server:
        result = curl(machine, "-sS", "--ssl-no-revoke", server.url + FILE)
        assert (result.exit_code, "SEC_E_WRONG_PRINCIPAL" in result.stderr) == (60, True)


def test_cacert_has_an_effect_on_newer_versions_only(make_machine: MakeMachine, authority: PrivateCA) -> None:
    codes = []
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        for key in ("2019", "2022"):
            machine: Machine = make_machine(key)
            machine.files.write_bytes(r"C:\ca.pem", authority.pem)
            codes.append(curl(machine, "-s", "--ssl-no-revoke", "--cacert", r"C:\ca.pem", server.url + FILE).exit_code)
    assert codes == [35, 0]


def test_certificate_errors_by_version_of_curl(make_machine: MakeMachine, authority: PrivateCA) -> None:
    names = ("2019", "2022")
    machines = [make_machine(key) for key in names]
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"], expired=True)) as server:
        for machine in machines:
            assert curl(machine, "-s", server.url + FILE).exit_code in (35, 60)
            trust(machine, authority)
            expired = curl(machine, "-sS", "--ssl-no-revoke", server.url + FILE)
            assert (expired.exit_code, "SEC_E_CERT_EXPIRED (0x80090328)" in expired.stderr) == (35, True)
        machine = machines[1]
        machine.files.write_bytes(r"C:\ca.pem", authority.pem)
        own = curl(machine, "-sS", "--ssl-no-revoke", "--cacert", r"C:\ca.pem", server.url + FILE)
        assert (own.exit_code, "CERT_TRUST_IS_NOT_TIME_VALID" in own.stderr) == (60, True)


def test_a_private_ca_of_its_own_needs_revocation_lists_too(machine: Machine, authority: PrivateCA) -> None:
    machine.files.write_bytes(r"C:\ca.pem", authority.pem)
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        result = curl(machine, "-sS", "--cacert", r"C:\ca.pem", server.url + FILE)
        assert (result.exit_code, "CERT_TRUST_REVOCATION_STATUS_UNKNOWN" in result.stderr) == (60, True)
        best = curl(machine, "-sS", "--cacert", r"C:\ca.pem", "--ssl-revoke-best-effort", server.url + FILE)
        assert best.exit_code == 0


def test_a_revocation_list_that_cannot_be_reached_fails(machine: Machine) -> None:
    authority = PrivateCA(crl_url="http://127.0.0.1:1/ca.crl")
    trust(machine, authority)
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        server.put(FILE, CONTENT)
        result = curl(machine, "-sS", server.url + FILE)
        assert result.exit_code == 35
        assert "CRYPT_E_REVOCATION_OFFLINE (0x80092013)" in result.stderr
        assert curl(machine, "-sS", "-o", "NUL", "--ssl-revoke-best-effort", server.url + FILE).exit_code == 0
        assert curl(machine, "-sS", "-o", "NUL", "--ssl-no-revoke", server.url + FILE).exit_code == 0


def test_a_revocation_list_is_read(machine: Machine) -> None:
    with ArtifactServer() as lists:
        authority = PrivateCA(crl_url=lists.url + "/ca.crl")
        trust(machine, authority)
        lists.put("/ca.crl", authority.crl())
        with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
            server.put(FILE, CONTENT)
            assert curl(machine, "-sS", "-o", "NUL", server.url + FILE).exit_code == 0


def test_a_certificate_without_a_revocation_list_fails_too(machine: Machine, authority: PrivateCA) -> None:
    trust(machine, authority)
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        result = curl(machine, "-sS", server.url + FILE)
        assert (result.exit_code, "CRYPT_E_NO_REVOCATION_CHECK (0x80092012)" in result.stderr) == (35, True)


@pytest.mark.parametrize("days", [-30, 4000])
def test_certificates_are_judged_by_the_machines_clock(machine: Machine, authority: PrivateCA, days: int) -> None:
    trust(machine, authority)
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as server:
        server.put(FILE, CONTENT)
        arguments = ("-sS", "--ssl-no-revoke", "-o", r"C:\x", server.url + FILE)
        machine.clock.offset = days * 86400.0
        wrong = curl(machine, *arguments)
        assert (wrong.exit_code, "SEC_E_CERT_EXPIRED (0x80090328)" in wrong.stderr) == (35, True)
        machine.clock.offset = 0
        assert curl(machine, *arguments).exit_code == 0
