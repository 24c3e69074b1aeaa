# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters for nodes that do not run containerd."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils import nssm
from ..plugin_utils._link import plain


def nssm_parameters(service: str, **settings: t.Any) -> list[dict[str, t.Any]]:
    """Registry resources of a service that nssm.exe runs."""
    try:
        return nssm.parameters(str(service), **{key: plain(value) for key, value in settings.items()})
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"service {service}: {error}") from error


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"nssm_parameters": nssm_parameters}
