# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter sdn_debug_scripts of the playbook collect_logs.yml."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ..plugin_utils.logs import debug_scripts
from ..plugin_utils.values.ansible_data import plain


def sdn_debug_scripts(commit: str, **options: t.Any) -> list[dict[str, t.Any]]:
    """Return the resources that install Microsoft's SDN debug scripts on a node."""
    if not options.get("sha256"):
        Display().warning(
            "GitHub publishes no checksums of commit archives, so the SDN debug scripts are accepted unverified; "
            "set hns_debug_scripts_sha256 to verify them"
        )
    try:
        return debug_scripts.resources(str(commit), **plain(options))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of the playbook collect_logs.yml."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"sdn_debug_scripts": sdn_debug_scripts}
