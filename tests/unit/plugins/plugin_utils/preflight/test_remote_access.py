# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables of the OpenSSH server and of images that are refused before any node is contacted."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import remote_access

PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE operator@example"


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({}, []),
        ({"windows_settings_ssh_server": "capability"}, []),
        ({"windows_settings_ssh_server": "archive"}, ["windows_settings_ssh_sha256"]),
        (
            {"windows_settings_ssh_server": "archive", "windows_settings_ssh_sha256": "ab"},
            ["windows_settings_ssh_sha256"],
        ),
        ({"windows_settings_ssh_server": "archive", "windows_settings_ssh_sha256": "aB" * 32}, []),
        ({"windows_settings_ssh_authorized_keys": [PUBLIC, f'from="10.0.0.0/8",no-pty {PUBLIC}']}, []),
        (
            {
                "windows_settings_ssh_authorized_keys": [
                    "ecdsa-sha2-nistp256 AAAA=",
                    "sk-ssh-ed25519@openssh.com AAAA x",
                ]
            },
            [],
        ),
        ({"windows_settings_ssh_authorized_keys": [PUBLIC, "id_rsa.pub"]}, ["windows_settings_ssh_authorized_keys[1]"]),
        (
            {"windows_settings_ssh_authorized_keys": [f"{PUBLIC}\n{PUBLIC}"]},
            ["windows_settings_ssh_authorized_keys[0]"],
        ),
        ({"sysprep_max_fill_percent": 100}, []),
        ({"sysprep_max_fill_percent": 101}, ["sysprep_max_fill_percent"]),
        ({"sysprep_max_fill_percent": -1}, ["sysprep_max_fill_percent"]),
    ],
)
def test_values_that_cannot_be_used(values: dict[str, t.Any], where: list[str]) -> None:
    assert [problem.variable for problem in remote_access.problems(values)] == where


def test_a_private_key_is_refused_and_not_shown() -> None:
    secret = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
    (problem,) = remote_access.problems({"windows_settings_ssh_authorized_keys": [secret]})
    assert "b3Blbn" not in f"{problem}{problem.value}"
    assert "public key" in problem.expected
