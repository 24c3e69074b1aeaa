# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert data from Ansible to plain JSON data."""

from __future__ import annotations

import json
import typing as t

from ansible.module_utils.common.json import Direction, get_module_encoder


def plain(value: t.Any) -> t.Any:
    """Return a value as plain JSON data without Ansible's tags. Dates become strings, and vaulted text is decrypted."""
    return json.loads(json.dumps(value, cls=get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)))
