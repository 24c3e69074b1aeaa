#!/usr/bin/env python3
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An inventory script: the variables of the Packer templates, as variables of the group `image_builders`.

Packer passes them in the environment, as JSON in Base64, because other users can read command lines, and values such as
the URLs of private patches and proxies may contain secrets.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import sys
from collections.abc import Mapping

VARIABLES = "WINKUBE_BUILD_VARIABLES"


def inventory(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the inventory in the format that Ansible expects from scripts.

    Args:
        environment: the environment, with `WINKUBE_BUILD_VARIABLES`.

    Raises:
        ValueError: the variable is missing, or is not a JSON object in Base64.
    """
    if not environment.get(VARIABLES):
        raise ValueError(
            f"{VARIABLES}: expected the variables of a Packer build, got nothing. Start the build with packer."
        )
    try:
        variables = json.loads(base64.b64decode(environment[VARIABLES], validate=True))
    except (binascii.Error, ValueError):
        raise ValueError(f"{VARIABLES}: expected JSON in Base64, got something else.") from None
    if not isinstance(variables, dict):
        raise ValueError(f"{VARIABLES}: expected a JSON object, got {type(variables).__name__}.")
    return {"image_builders": {"vars": variables}, "_meta": {"hostvars": {}}}


def main() -> int:
    """Print the inventory."""
    try:
        print(json.dumps(inventory(os.environ)))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
