# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A credential spec of a gMSA, whose plugin gets a secret."""

from __future__ import annotations

import typing as t

SECRET = "S3cr3tPassw0rd"
SPEC: dict[str, t.Any] = {
    "CmsPlugins": ["ActiveDirectory"],
    "DomainJoinConfig": {
        "Sid": "S-1-5-21-2126449477-2524075714-3094792973",
        "MachineAccountName": "WebApp01",
        "Guid": "244818ae-87ac-4fcd-92ec-e79e5252348a",
        "DnsTreeName": "corp.example.com",
        "DnsName": "corp.example.com",
        "NetBiosName": "CORP",
    },
    "ActiveDirectoryConfig": {
        "GroupManagedServiceAccounts": [{"Name": "WebApp01", "Scope": "corp.example.com"}],
        "HostAccountConfig": {
            "PortableCcgVersion": "1",
            "PluginGUID": "{CCC2A336-D7F3-4818-A213-272B7924213E}",
            "PluginInput": SECRET,
        },
    },
}
