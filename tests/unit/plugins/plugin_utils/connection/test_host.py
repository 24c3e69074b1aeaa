# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.connection.host import settings_of_host

VARIABLES = {
    "inventory_hostname": "windows01",
    "ansible_host": "192.0.2.21",
    "ansible_port": 5986,
    "ansible_psrp_auth": "kerberos",
    "ansible_psrp_cert_validation": "ignore",
    "ansible_psrp_message_encryption": "always",
    "ansible_winrm_transport": "ntlm",
    "ansible_winrm_server_cert_validation": "ignore",
}


@pytest.mark.parametrize("plugin", ["psrp", "ansible.builtin.psrp", "ansible.legacy.psrp"])
def test_the_variables_of_psrp_are_its_options(plugin: str) -> None:
    settings = settings_of_host("ssh", {**VARIABLES, "ansible_connection": plugin}, lambda value: value)
    assert (settings.plugin, settings.host, settings.port) == ("psrp", "192.0.2.21", 5986)
    assert (settings.auth, settings.validates, settings.encryption) == (("kerberos",), False, "always")


def test_the_variables_that_winrm_passes_on_count() -> None:
    settings = settings_of_host("winrm", VARIABLES, lambda value: value)
    assert (settings.plugin, settings.auth, settings.validates, settings.encryption) == (
        "winrm",
        ("ntlm",),
        False,
        "auto",
    )


def test_values_are_templated_and_passwords_are_not_read() -> None:
    seen: list[object] = []

    def template(value: object) -> object:
        seen.append(value)
        return "psrp" if value == "{{ plugin }}" else value

    variables = {**VARIABLES, "ansible_connection": "{{ plugin }}", "ansible_password": "{{ secret }}"}
    assert settings_of_host("ssh", variables, template).plugin == "psrp"
    assert "{{ secret }}" not in seen


def test_a_host_without_a_plugin_uses_that_of_the_task() -> None:
    assert settings_of_host("ssh", {"ansible_host": "192.0.2.21"}, lambda value: value).plugin == "ssh"


def test_an_unknown_plugin_is_reported_by_ansible() -> None:
    assert settings_of_host("example.none.such", {}, lambda value: value).plugin == "example.none.such"
