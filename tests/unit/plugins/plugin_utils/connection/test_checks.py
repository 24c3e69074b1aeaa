# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.connection.checks import insecure, problem, unusable
from ansible_collections.winkube.node.plugins.plugin_utils.connection.settings import ConnectionSettings, read_settings


def psrp(**options: t.Any) -> ConnectionSettings:
    return read_settings("psrp", {"auth": "ntlm", "port": 5986, **options}, {})


def winrm(transport: t.Sequence[str] | None = ("ntlm",), **extras: t.Any) -> ConnectionSettings:
    options = {"transport": list(transport) if transport else None, "scheme": extras.pop("scheme", "https")}
    return read_settings("winrm", options, {f"ansible_winrm_{name}": value for name, value in extras.items()})


SAFE = {
    "psrp validates": psrp(),
    "psrp pinned": psrp(ca_cert="windows01.pem"),
    "psrp ignore, sealed": psrp(cert_validation="ignore", message_encryption="always"),
    "psrp kerberos ignore, sealed": psrp(auth="kerberos", cert_validation="ignore", message_encryption="always"),
    "psrp http ntlm": psrp(protocol="http"),
    "psrp http by port": psrp(port=5985),
    "psrp basic, validated": psrp(auth="basic"),
    "winrm validates": winrm(),
    "winrm ignore, sealed": winrm(server_cert_validation="ignore", message_encryption="always"),
    "winrm http ntlm": winrm(scheme="http"),
    "winrm basic, validated": winrm(["ssl"]),
    "ssh": ConnectionSettings(plugin="ssh", shell="powershell"),
}
UNSAFE = {
    "psrp ignore": psrp(cert_validation="ignore"),
    "psrp ignore, never": psrp(cert_validation="ignore", message_encryption="never"),
    "psrp kerberos ignore": psrp(auth="kerberos", cert_validation="ignore"),
    "psrp basic ignore": psrp(auth="basic", cert_validation="ignore"),
    "psrp basic ignore, always": psrp(auth="basic", cert_validation="ignore", message_encryption="always"),
    "psrp certificate ignore": psrp(auth="certificate", cert_validation="ignore", message_encryption="always"),
    "psrp http basic": psrp(auth="basic", protocol="http"),
    "psrp http ntlm never": psrp(protocol="http", message_encryption="never"),
    "winrm ignore": winrm(server_cert_validation="ignore"),
    "winrm default transport ignore": winrm(None, server_cert_validation="ignore", message_encryption="always"),
    "winrm basic among them": winrm(["ntlm", "basic"], server_cert_validation="ignore", message_encryption="always"),
    "winrm http plaintext": winrm(["plaintext"], scheme="http"),
    "winrm http default": winrm(None, scheme="http"),
}


@pytest.mark.parametrize("settings", SAFE.values(), ids=SAFE)
def test_a_protected_connection_is_used(settings: ConnectionSettings) -> None:
    assert insecure(settings) is None


@pytest.mark.parametrize("settings", UNSAFE.values(), ids=UNSAFE)
def test_an_unencrypted_connection_is_refused_unless_it_is_allowed(settings: ConnectionSettings) -> None:
    reason = problem(settings, allow_insecure=False, installed=lambda _: True)
    assert reason is not None
    assert "expected" in reason
    assert "got" in reason
    assert "allow_insecure_connection: true" in reason
    assert problem(settings, allow_insecure=True, installed=lambda _: True) is None


@pytest.mark.parametrize("plugin", ["ssh", "smart", "paramiko_ssh", "local", "ansible.builtin.ssh"])
def test_a_host_without_a_windows_connection_gets_a_hint_what_to_set(plugin: str) -> None:
    reason = unusable(read_settings(plugin, {}, {}))
    assert reason is not None
    assert "ansible_connection: expected psrp or winrm" in reason
    # No variable makes it work.
    assert problem(read_settings(plugin, {}, {}), allow_insecure=True) == reason


def test_ssh_to_powershell_and_foreign_plugins_are_not_checked() -> None:
    assert unusable(read_settings("ssh", {}, {}, "powershell")) is None
    assert unusable(read_settings("amazon.aws.aws_ssm", {}, {})) is None


@pytest.mark.parametrize(
    ("settings", "module", "package"),
    [
        (psrp(), "pypsrp", "pypsrp"),
        (psrp(auth="kerberos"), "gssapi", "pypsrp[kerberos]"),
        (psrp(auth="credssp"), "requests_credssp", "pypsrp[credssp]"),
        (winrm(), "winrm", "pywinrm"),
        (winrm(["kerberos"]), "kerberos", "pywinrm[kerberos]"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    settings: ConnectionSettings, module: str, package: str
) -> None:
    reason = unusable(settings, installed=lambda name: name != module)
    assert reason is not None
    assert f"pip install '{package}'" in reason
    assert unusable(settings, installed=lambda _: True) is None


def test_a_user_of_a_domain_logs_on_with_kerberos_by_default() -> None:
    assert read_settings("winrm", {"remote_user": "me@EXAMPLE.COM"}, {}).auth == ("kerberos",)


@pytest.mark.parametrize(
    ("options", "https", "port"),
    [
        ({}, True, 5986),
        ({"port": 5985}, False, 5985),
        ({"port": "5985"}, False, 5985),
        ({"port": 443}, True, 443),
        ({"protocol": "http"}, False, 5985),
        ({"protocol": "https", "port": 5985}, True, 5985),
    ],
)
def test_scheme_and_port_follow_from_each_other(options: dict[str, t.Any], https: bool, port: int) -> None:
    settings = read_settings("psrp", options, {})
    assert (settings.https, settings.port) == (https, port)
