# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Validation of software bills of materials against CycloneDX' schema."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def _validator() -> Any:
    # The import takes more than a second, and each worker would import it to collect its tests.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.V1_5)


def objection(bom: str) -> Any:
    """Return why a document is no CycloneDX 1.5 bill of materials in JSON, or None if it is one."""
    return _validator().validate_str(bom)
