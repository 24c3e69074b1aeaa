# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's domain, and the account or data for its join, are checked before any node is touched."""

from __future__ import annotations

import base64
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import domains
from simulator.windows.directory.offline_data import encode

SECRET = "S3cr3tPassw0rd"
BLOB = base64.b64encode(encode("corp.example.com", "CORP", "WIN1", SECRET, "dc1")).decode()
DOMAIN = {"node_join_domain": "corp.example.com"}
ACCOUNT = {**DOMAIN, "node_join_domain_user": "CORP\\joiner", "node_join_domain_password": SECRET}
OFFLINE = {**DOMAIN, "node_join_domain_blob": BLOB}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"node_join_domain_user": "me"},
            "node_join_domain: expected the DNS name of a domain, got nothing. node_join_domain_user is set, but no",
        ),
        (
            {"node_join_domain_user": "me", "node_join_domain_password": SECRET},
            (
                "node_join_domain: expected the DNS name of a domain, got nothing. node_join_domain_user, "
                "node_join_domain_password are set, but no machine joins a domain without node_join_domain."
            ),
        ),
        (
            {**ACCOUNT, "node_join_domain": "CORP"},
            "node_join_domain: expected the DNS name of a domain, such as corp.example.com, got 'CORP'. A NetBIOS name",
        ),
        ({**ACCOUNT, "node_join_domain": "corp example.com"}, "node_join_domain: expected the DNS name"),
        (
            {**ACCOUNT, "node_join_domain_ou": "Nodes"},
            "node_join_domain_ou: expected a distinguished name such as OU=Nodes,DC=corp,DC=example,DC=com, got",
        ),
        ({**ACCOUNT, "node_join_domain_ou": "OU=Nodes,DC=corp,"}, "node_join_domain_ou: expected a distinguished name"),
        # The pattern does not try every division of the text.
        ({**ACCOUNT, "node_join_domain_ou": f"OU=x,{'DC=' * 60},,"}, "node_join_domain_ou: expected a distinguished"),
        (
            {**ACCOUNT, "node_join_domain_controller": "http://dc1"},
            "node_join_domain_controller: expected a host name such as dc1.corp.example.com, got 'http://dc1'",
        ),
        (
            {**ACCOUNT, "node_join_domain_password": ""},
            (
                "node_join_domain_password: expected the password of node_join_domain_user, got nothing. A "
                "machine joins corp.example.com with an account, or with node_join_domain_blob."
            ),
        ),
        (
            {**ACCOUNT, "node_join_domain_user": ""},
            "node_join_domain_user: expected an account such as CORP\\joiner, got nothing.",
        ),
        (
            {**OFFLINE, "node_join_domain_password": SECRET},
            "node_join_domain_password: expected nothing, because node_join_domain_blob is set, got 'a value'.",
        ),
        (
            {**OFFLINE, "node_join_domain_ou": "OU=Nodes,DC=corp,DC=example,DC=com"},
            "node_join_domain_ou: expected nothing, because node_join_domain_blob is set",
        ),
        (
            {**DOMAIN, "node_join_domain_blob": SECRET},
            (
                "node_join_domain_blob: expected the data of an offline join in base64, got 'text of 14 characters'. "
                "The text cannot be used: it is not base64. Create it for this computer with djoin.exe"
            ),
        ),
        (
            {**OFFLINE, "node_join_domain": "other.example.com"},
            (
                "node_join_domain_blob: expected data for the domain other.example.com (node_join_domain), got 'data "
                "for corp.example.com'."
            ),
        ),
        (
            {**OFFLINE, "kubernetes_node_hostname": "win2"},
            (
                "node_join_domain_blob: expected data for the computer win2 (kubernetes_node_hostname), got 'data for "
                "WIN1'. Windows would rename the machine."
            ),
        ),
    ],
)
def test_a_domain_that_no_machine_can_join(values: dict[str, t.Any], text: str) -> None:
    (problem,) = domains.problems(values)
    assert str(problem).startswith(text)
    assert SECRET not in str(problem)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"node_join_domain": ""},
        ACCOUNT,
        {**ACCOUNT, "node_join_domain": "corp.example.com."},
        {**ACCOUNT, "node_join_domain_ou": "OU=Nodes, OU=K8s,DC=corp,DC=example,DC=com"},
        {**ACCOUNT, "node_join_domain_ou": "CN=Computers,dc=corp,dc=example"},
        {**ACCOUNT, "node_join_domain_ou": "OU=Nodes\\, Windows,DC=corp,DC=example"},
        {**ACCOUNT, "node_join_domain_controller": "dc1.corp.example.com"},
        OFFLINE,
        {**OFFLINE, "node_join_domain": "CORP.example.com", "kubernetes_node_hostname": "win1"},
        # A value of a wrong type has its own message.
        {**ACCOUNT, "node_join_domain_ou": ["OU=Nodes"]},
    ],
)
def test_what_is_accepted(values: dict[str, t.Any]) -> None:
    assert domains.problems(values) == []
