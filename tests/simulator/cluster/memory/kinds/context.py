# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The context in which admission checks an object, such as the user who sent the request."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from ..requests import User
from ..store import ObjectStore


@dataclass(frozen=True)
class Context:
    """The state of the cluster, and the user who sent a request."""

    store: ObjectStore
    service_network: ipaddress.IPv4Network
    user: User
