# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module winrm_certificate: see plugins/modules/winrm_certificate.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.connection.certificates import CertificateError
from ..plugin_utils.connection.host import settings_of_connection
from ..plugin_utils.connection.renewal import Renewal, RenewalPolicy, Renewer
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Renews the certificate of a node's WinRM HTTPS listener, and the copy of it that the controller trusts."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "pins": {"type": "path"},
        "days": {"type": "int", "default": 30},
        "valid_days": {"type": "int", "default": 365},
        "names": {"type": "list", "elements": "str", "default": []},
        "force": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        if not 0 <= options["days"] < options["valid_days"]:
            expected = f"expected 0 or more, and less than valid_days ({options['valid_days']})"
            raise ResourceError("days", options["days"], expected)
        settings = settings_of_connection(self._connection)
        path = options["pins"] or settings.ca_file
        if not path:
            expected = "expected the path of a file with trusted certificates, or a connection that uses one"
            raise ResourceError("pins", path, expected)
        policy = RenewalPolicy(
            days=options["days"],
            valid_days=options["valid_days"],
            names=tuple(options["names"]),
            force=options["force"],
        )
        now = datetime.datetime.now(datetime.UTC)
        renewer = Renewer(session.node, settings, pathlib.Path(path), now)
        try:
            listener = renewer.read_listener()
            due = renewer.is_due(listener, policy)
            if self._task.check_mode:
                done = Renewal(certificate=listener.certificate, renewed=due)
            else:
                done = renewer.renew(listener, policy) if due else renewer.keep(listener)
        except (CertificateError, OSError, ValueError) as error:
            raise NodeError(f"{session.name}: {error}") from error
        return session.report(
            changed=done.renewed or done.pinned or bool(done.removed),
            renewed=done.renewed,
            thumbprint=done.certificate.thumbprint,
            not_after=done.certificate.expires.isoformat(),
            days_left=(done.certificate.expires - now).days,
            pins=str(path),
            removed=list(done.removed),
            warnings=done.warnings,
        )
