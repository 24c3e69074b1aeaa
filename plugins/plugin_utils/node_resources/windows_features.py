# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the windows_features role."""

from __future__ import annotations

from ..role_variables.windows_features import WindowsFeaturesVariables
from .downloads import ResourceMapping

ROLE = "windows_features"


def resources(settings: WindowsFeaturesVariables) -> list[ResourceMapping]:
    """Return the resources that install or remove Windows features.

    Args:
        settings: the role's variables.

    Returns:
        WindowsFeature resources: the features to install, without duplicates, and then the features to remove.
    """
    hyper_v = ["Hyper-V", "Hyper-V-PowerShell"] if settings.hyper_v else []
    return [
        *({"type": "WindowsFeature", "name": name} for name in dict.fromkeys([*settings.names, *hyper_v])),
        *({"type": "WindowsFeature", "name": name, "state": "absent"} for name in settings.absent),
    ]
