# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module winrm_certificate_info: see plugins/modules/winrm_certificate_info.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.connection import tls
from ..plugin_utils.connection.host import settings_of_host
from ..plugin_utils.connection.settings import ConnectionSettings


class ActionModule(ControllerAction):
    """Returns when the certificate of a node's WinRM HTTPS listener expires.

    The plugin reads the certificate from a TLS handshake, without logging in.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "warn_days": {"type": "int", "default": 30},
        "timeout": {"type": "float", "default": 5.0},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        settings = settings_of_host(self._task.connection, variables, self._templar.template)
        result: dict[str, t.Any] = {"changed": False, "not_after": "", "days_left": None, "trusted_by": ""}
        if settings.plugin not in ("psrp", "winrm") or not settings.https:
            return result
        try:
            certificate = tls.presented(settings.host, settings.port, seconds=options["timeout"])
        except (OSError, ValueError):
            # Tasks that need the node report connection failures.
            return result
        left = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
        result |= {
            "not_after": certificate.not_valid_after_utc.isoformat(),
            "days_left": left.days,
            "trusted_by": settings.ca_file,
        }
        if left < datetime.timedelta(days=options["warn_days"]):
            result["warnings"] = [_warning(str(variables.get("inventory_hostname")), settings, left)]
        return result


def _warning(host: str, settings: ConnectionSettings, left: datetime.timedelta) -> str:
    ends = f"expires in {left.days} days" if left.days >= 0 else f"expired {-left.days} days ago"
    return (
        f"{host}: the certificate of WinRM at {settings.host}:{settings.port} {ends}; "
        "the playbook winkube.node.renew_winrm_certificates renews self-signed ones"
    )
